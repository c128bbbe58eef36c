"""`--only` and `--size`: what they let through, and what they say when they are mistyped."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byteways.base.errors import BytewaysError, ExitStatus
from byteways.cases.case import Case, PlannedCase
from byteways.cases.interfaces import INTERFACES, OPTIONS
from byteways.plan.filter_keys import KEYS
from byteways.plan.filters import only_filter, sizes_filter
from byteways.plan.suite import load
from tests.unit import machines
from tests.unit.planning import plan

MACHINE = machines.h200x4()
QUICK = load("quick")


@functools.cache
def all_of_quick() -> Sequence[PlannedCase]:
    return plan(QUICK, *MACHINE, budget_s=3600)


def kept(*only: str, sizes: str | None = None) -> list[Case]:
    return [entry.case for entry in plan(QUICK, *MACHINE, only=only, sizes=sizes, budget_s=3600)]


@pytest.mark.parametrize(
    ("only", "condition"),
    [
        ("interface=copy", lambda case: case.interface == "copy"),
        ("interface=kernel*", lambda case: case.interface in ("kernel", "kernel-bulk")),
        ("interface=copy|pointer-chase", lambda case: case.interface in ("copy", "pointer-chase")),
        (
            "interface = copy , path = gpu0>gpu1",
            lambda case: (case.interface, case.path) == ("copy", "gpu0>gpu1"),
        ),
        ("path=gpu0>gpu1,gpu2,gpu3", lambda case: case.path == "gpu0>gpu1,gpu2,gpu3"),
        (
            "path=gpu0>gpu1,gpu2,gpu3,interface=copy",
            lambda case: (case.path, case.interface) == ("gpu0>gpu1,gpu2,gpu3", "copy"),
        ),
        ("pattern=fan-*", lambda case: case.pattern.startswith("fan-")),
        ("source=cpu0:pinned", lambda case: any(str(flow.source) == "cpu0:pinned" for flow in case.flows)),
        ("source=cpu0", lambda case: any(flow.source.device == "cpu0" for flow in case.flows)),
        ("destination=gpu3", lambda case: any(flow.destination.device == "gpu3" for flow in case.flows)),
        ("executor=gpu2", lambda case: "gpu2" in case.executors),
        ("access=read", lambda case: case.access == "read"),
        ("memory=pinned", lambda case: ":pinned" in str([flow.to_json() for flow in case.flows])),
        ("size=256MiB", lambda case: case.size_bytes == 2**28),
        ("size=32MiB..128MiB|1GiB", lambda case: case.size_bytes in (2**27, 2**30)),
        ("cache=warm", lambda case: case.cache == "warm"),
        ("category=direct access", lambda case: case.category == "direct access"),
        ("category=direct-*", lambda case: case.category == "direct access"),
    ],
)
def test_only(only: str, condition: object) -> None:
    """Catches a key that filters by something else, or a value that is split where a path has its comma."""
    expected = [entry.case for entry in all_of_quick() if condition(entry.case)]  # type: ignore[operator]
    assert 0 < len(expected) < len(all_of_quick())
    assert {case.case_id for case in kept(only)} == {case.case_id for case in expected}


def test_sweep_is_a_key() -> None:
    """Catches the one key that is not a field of the case."""
    planned = plan(QUICK, *MACHINE, only=["sweep=latency"])
    assert {entry.sweep for entry in planned} == {"latency"}


def test_several_only_are_alternatives() -> None:
    """Catches --only being combined by and."""
    one, two = kept("interface=pointer-chase"), kept("pattern=bidirectional")
    assert len(kept("interface=pointer-chase", "pattern=bidirectional")) == len(one) + len(two)


devices = st.sampled_from(["gpu0", "gpu1", "gpu*", "*", "cpu0", "gpu[12]"])


@given(st.sampled_from(["copy", "kernel", "k*", "*"]), devices, devices)
def test_keys_are_combined_by_and(interface: str, source: str, destination: str) -> None:
    """Catches a condition of one --only that is dropped."""
    lets = only_filter([f"interface={interface},path={source}>{destination}"])
    for entry in all_of_quick():
        path = f"{source}>{destination}"
        wanted = fnmatchcase(entry.case.interface, interface) and fnmatchcase(entry.case.path, path)
        assert lets(entry.case, entry.sweep) == wanted


def test_sizes() -> None:
    """Catches a range that adds sizes, and --size that does not combine with --only by and."""
    assert {case.size_bytes for case in kept(sizes="256MiB")} == {2**28}
    assert {case.size_bytes for case in kept(sizes="100MiB..300MiB")} == {2**27, 2**28}
    assert {case.interface for case in kept("interface=copy", sizes="1GiB")} == {"copy"}
    assert all(sizes_filter(None)(size) for size in (1, 2**40))


@pytest.mark.parametrize(
    ("only", "what", "hint"),
    [
        ("interfaces=copy", "unknown key 'interfaces'", "did you mean 'interface'?"),
        ("copy", "'copy' is not key=value", "--only 'interface=copy"),
        ("interface=", "'interface=' is not key=value", "--only"),
        ("", "is not key=value", "--only"),
        ("size=64XB", "is not a size", "64KiB..1GiB"),
    ],
)
def test_mistyped_filters_are_usage_errors(only: str, what: str, hint: str) -> None:
    """Catches a filter that is misunderstood in silence."""
    with pytest.raises(BytewaysError) as caught:
        only_filter([only])
    assert caught.value.status == ExitStatus.USAGE
    assert what in caught.value.what
    assert hint in (caught.value.hint or "")


def test_an_unknown_key_lists_the_keys() -> None:
    """Catches a hint that does not say what there is."""
    with pytest.raises(BytewaysError) as caught:
        only_filter(["colour=red"])
    assert all(key in (caught.value.hint or "") for key in KEYS)


def test_sizes_that_the_suite_lacks_are_measured() -> None:
    """Catches a size by name that is refused because no sweep has it, or no selected one."""
    assert 2**28 in {entry.case.size_bytes for entry in all_of_quick()}
    assert 2**28 not in {case.size_bytes for case in kept("interface=copy")}
    per_size = Counter(case.size_bytes for case in kept("interface=copy", sizes="10MB, 3MiB,256MiB,1GiB"))
    assert {*per_size} == {10_000_000, 3 * 2**20, 2**28, 2**30}
    assert per_size[10_000_000] == per_size[3 * 2**20] == per_size[2**28] >= per_size[2**30]


def test_a_size_that_an_interface_cannot_have_is_refused_with_the_reason() -> None:
    """Catches a kernel started on a size that it does not handle, because no suite was checked for it."""
    cases = plan(QUICK, *MACHINE, only=["interface=pointer-chase"], sizes="10MB", budget_s=3600)
    assert cases and all("power of two" in (one.reason or "") for one in cases)


@pytest.mark.parametrize("sizes", ["big", "0", "1GiB..1MiB"])
def test_mistyped_sizes_are_usage_errors(sizes: str) -> None:
    """Catches --size that crashes or lets nothing through without a word."""
    with pytest.raises(BytewaysError, match="--size"):
        sizes_filter(sizes)


def test_a_filter_that_matches_nothing_says_what_would() -> None:
    """Catches an empty run, and a message that leaves the user guessing."""
    with pytest.raises(BytewaysError, match="no case matches --only 'path=gpu0>gpu9'") as caught:
        kept("path=gpu0>gpu9")
    assert "gpu0>gpu1" in (caught.value.hint or "")
    with pytest.raises(BytewaysError, match=r"--only 'interface=copy' and --size 5KiB\.\.8KiB") as both:
        kept("interface=copy", sizes="5KiB..8KiB")
    assert "16 MiB, 128 MiB, 256 MiB" in (both.value.hint or "")


#: The cases of suites with many options and variables.
OF_OPTIONS = ("algorithms", "collectives", "halo", "launch-modes", "saturation")


def kept_of(name: str, *only: str) -> list[Case]:
    return [entry.case for entry in plan(load(name), *MACHINE, only=only)]


def as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("name", OF_OPTIONS)
def test_each_option_and_variable_of_a_suite_is_a_key(name: str) -> None:
    """Catches an option or a variable that no filter knows, and one that selects cases of another value."""
    cases = {case.case_id: case for case in kept_of(name)}
    axes = {(key, as_text(value)) for case in cases.values() for key, value in case.options.items()}
    settings = {pair for case in cases.values() for pair in case.environment.items()}
    assert axes | settings
    for key, value in axes | settings:
        lets = only_filter([f"{key}={value}"])
        chosen = {case_id for case_id, case in cases.items() if lets(case, "")}
        told = {
            case_id
            for case_id, case in cases.items()
            if as_text(case.options.get(key, case.environment.get(key))) == value
        }
        default = key in OPTIONS and OPTIONS[key].left_out == value
        assert told <= chosen if default else told == chosen


def test_a_case_has_the_default_of_an_option_that_it_leaves_out() -> None:
    """Catches defaults that select nothing, or cases whose interface has no such option."""
    chosen = {case.case_id: case for case in kept_of("collectives", "in_place=no")}
    everything = {case.case_id: case for case in kept_of("collectives")}
    takes = {one for one, case in everything.items() if "in_place" in INTERFACES[case.interface].takes}
    written = {one for one, case in everything.items() if "in_place" in case.options}
    assert chosen.keys() == takes - written
    assert written and takes < everything.keys()


def test_options_select_one_way_of_a_collective() -> None:
    """Catches keys that are not combined, and a suite without in-place allreduce by each algorithm."""
    only = "interface=direct,in_place=yes,algorithm=one-shot,protocol=Simple"  # as NCCL writes it
    cases = kept_of("algorithms", only)
    options = {"in_place": "yes", "algorithm": "one-shot", "protocol": "simple", "launch": "thread"}
    assert cases and all(
        (case.interface, case.pattern, dict(case.options)) == ("direct", "allreduce", options)
        for case in cases
    )
    assert {case.size_bytes for case in cases} == {2**10, 2**16, 2**20, 2**26}


def test_a_combination_that_a_suite_lacks() -> None:
    """Catches a refusal without the keys that match nothing, their values, or a suite that has such cases."""
    only = "interface=direct,in_place=yes,algorithm=one-shot,protocol=simple"
    with pytest.raises(BytewaysError) as caught:
        kept_of("collectives", only)
    assert caught.value.status == ExitStatus.USAGE
    cause, hint = caught.value.cause or "", caught.value.hint or ""
    assert "algorithm=one-shot" in cause and "protocol=simple" in cause
    assert "interface" not in cause and "in_place" not in cause  # there are in-place cases of direct
    assert "values of algorithm: auto" in hint
    command = f"byteways run algorithms --only '{only}'"
    assert command in hint and kept_of("algorithms", only)


def test_values_are_those_of_cases_that_match_the_other_keys() -> None:
    """Catches suggestions that match nothing either, and a wrong cause where only the combination lacks."""
    with pytest.raises(BytewaysError) as caught:
        kept_of("algorithms", "protocol=LL,algorithm=two-shot")
    assert "at once" in (caught.value.cause or "")
    assert "values of algorithm: one-shot" in (caught.value.hint or "")
    with pytest.raises(BytewaysError) as other:
        kept("interface=copy,algorithm=one-shot")
    assert "algorithm is an option of direct" in (other.value.hint or "")
    with pytest.raises(BytewaysError) as variable:
        kept_of("algorithms", "NCCL_ALG=Ring")
    assert "NCCL_ALGO" in (variable.value.hint or "")


@pytest.mark.parametrize(
    ("only", "hint"),
    [
        ("in_place=maybe", "valid: no, yes"),
        ("blocks=many", "blocks=8"),
        ("blocks=0", "blocks=8"),
        ("gate=on", "valid: true, false"),
        ("algoritm=one-shot", "did you mean 'algorithm'?"),
    ],
)
def test_mistyped_options_are_usage_errors(only: str, hint: str) -> None:
    """Catches a value that an option cannot have, which would select nothing on any machine."""
    with pytest.raises(BytewaysError) as caught:
        only_filter([only])
    assert caught.value.status == ExitStatus.USAGE and hint in (caught.value.hint or "")
