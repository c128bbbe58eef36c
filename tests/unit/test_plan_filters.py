"""`--only` and `--size`: what they let through, and what they say when they are mistyped."""

from __future__ import annotations

from collections import Counter
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byteways.errors import BytewaysError, ExitStatus
from byteways.plan.case import Case
from byteways.plan.filters import KEYS, only_filter, sizes_filter
from byteways.plan.planner import plan
from byteways.plan.suite import load
from tests.unit import machines

MACHINE = machines.h200x4()
QUICK = load("quick")
ALL = plan(QUICK, *MACHINE, budget_s=3600)


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
        ("size=1KiB..128MiB|1GiB", lambda case: case.size_bytes in (2**27, 2**30)),
        ("cache=warm", lambda case: case.cache == "warm"),
        ("category=direct access", lambda case: case.category == "direct access"),
        ("category=direct-*", lambda case: case.category == "direct access"),
    ],
)
def test_only(only: str, condition: object) -> None:
    """Catches a key that filters by something else, or a value that is split where a path has its comma."""
    expected = [entry.case for entry in ALL if condition(entry.case)]  # type: ignore[operator]
    assert 0 < len(expected) < len(ALL)
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
    for entry in ALL:
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
        ("size=64KB", "decimal", "64KiB..1GiB"),
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
    assert 2**28 in {entry.case.size_bytes for entry in ALL}
    assert {case.size_bytes for case in kept("interface=copy")} == {2**27, 2**30}
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
    with pytest.raises(BytewaysError, match=r"--only 'interface=copy' and --size 4KiB\.\.8KiB") as both:
        kept("interface=copy", sizes="4KiB..8KiB")
    assert "size is one of 128 MiB, 256 MiB, 1 GiB" in (both.value.hint or "")
