"""Records that somebody else wrote: which are taken, and what is said of the others."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import force_setattr

from byteways.cases.case import Case
from byteways.record.record import Record
from byteways.record.record_check import Checker, wrong
from byteways.record.record_parts import wrong_part
from tests.changed import replace
from tests.report.few_records import GB, flow, record

ENDS = {"source": "gpu0:device", "destination": "gpu1:device", "executor": "gpu0"}


def plausible(**more: Any) -> Record:
    """A record whose parts agree, with other flows or options if they are given."""
    interface = more.pop("interface", "copy")
    flows = more.pop("flows", [flow(**ENDS)])
    one = replace(record(interface, flows, 100 * GB), **more)
    case = Case.from_json(one.definition)
    told = {name: getattr(case, name) for name in ("category", "path", "access")}
    return replace(one, executor=",".join(case.executors), **told)


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (1, ""),
        (0, ""),
        (None, ""),
        (-1, "the size of a flow is not positive"),
        (1.5, "the size of a flow is not positive"),
        (True, "the size of a flow is not positive"),
    ],
)
def test_sizes_of_flows(size: Any, said: str) -> None:
    """Catches a flow of less than nothing, and a boolean or a part of a byte taken for a size."""
    own = {} if size is None else {"size_bytes": size}
    assert wrong(plausible(flows=[flow(**ENDS, **own)])) == said


@pytest.mark.parametrize(
    ("median", "taken"), [(0.009, False), (0.011, True), (0.9e14, True), (1.1e14, False), (0.0, False)]
)
def test_times_are_from_a_part_of_a_cycle_to_a_day(median: float, taken: bool) -> None:
    """Catches times that no operation has, whose squares overflow."""
    assert ("time" in wrong(with_times(median=median, min=median, max=median))) != taken


def with_times(**changes: Any) -> Record:
    one = plausible()
    assert one.time_ns is not None
    return replace(one, time_ns=replace(one.time_ns, **{"min": 1.0, "median": 2.0, "max": 3.0, **changes}))


@pytest.mark.parametrize(
    ("changes", "taken"),
    [
        ({}, True),
        ({"min": 2.0, "max": 2.0}, True),
        ({"min": 1e-9}, True),  # of a single sample: the difference of two batches
        ({"min": 0.0}, False),
        ({"min": 2.1}, False),
        ({"max": 1.9}, False),
        ({"max": 1e14}, True),
        ({"max": 1.01e14}, False),
        ({"min": 1e-3, "median": 1e-2}, True),
        ({"min": 1e-3, "median": 0.9e-2}, False),
        ({"n": 1}, True),
        ({"n": 0}, False),
    ],
)
def test_summaries_of_times(changes: dict[str, Any], taken: bool) -> None:
    """Catches a summary in no order, of no samples, or with times that no operation has."""
    assert wrong(with_times(**changes)) == ("" if taken else "time_ns is not a summary of times")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"status": "perfect"}, "status 'perfect' is unknown"),
        ({"interface": "telepathy"}, "interface 'telepathy' is unknown"),
        ({"pattern": "star"}, "pattern 'star' is unknown"),
        ({"cache": "hot"}, "cache 'hot' is unknown"),
        ({"access": "touch"}, "access 'touch' is unknown"),
        ({"round": -1}, "round is out of range"),
        ({"round": 2**31}, "round is out of range"),
        ({"round": 2**31 - 1}, ""),
        ({"size_bytes": -1}, "size_bytes is negative"),
        ({"size_bytes": 2**63}, "size_bytes is above 9.22e+18 bytes"),
        ({"size_bytes": 2**63 - 1}, ""),
        ({"size_bytes": 0}, ""),
        ({"flows": []}, "flows"),
        ({"flows": [{"source": "gpu0:device"}]}, "flows: 'destination'"),
        ({"flows": [{**ENDS, "source": "here"}]}, "flows: 'here' is not a buffer"),
        ({"flows": [{**ENDS, "executor": 3}]}, "flows are none"),
        ({"flows": [{**ENDS, "interface": "telepathy"}]}, "interface 'telepathy' of a flow is unknown"),
        (
            {"flows": [{**ENDS, "destination": "gpu1:thoughts"}]},
            "memory of 'gpu0:device' or 'gpu1:thoughts' is unknown",
        ),
        ({"category": "other"}, "category, path, executor or access are not those of its flows"),
        ({"path": "gpu1>gpu0"}, "category, path, executor or access are not those of its flows"),
        ({"executor": "gpu1"}, "category, path, executor or access are not those of its flows"),
        ({"access": "read"}, "category, path, executor or access are not those of its flows"),
        ({"source": "gpu0:pool"}, "source or destination are not those of its first flow"),
        ({"destination": "gpu1:pool"}, "source or destination are not those of its first flow"),
        ({"time_ns": None}, "it was measured and has no time"),
        ({"bandwidth_bytes_per_s": None}, "it was measured and has no result"),
        ({"status": "failed"}, "it is failed without a reason"),
        ({"status": "failed", "reason": ""}, "it is failed without a reason"),
        ({"status": "failed", "reason": "lost", "time_ns": None}, ""),
        ({"bandwidth_bytes_per_s": 1.0}, ""),
        ({"bandwidth_bytes_per_s": 0.9}, "bandwidth_bytes_per_s of 0.9 is not a valid value"),
        ({"bandwidth_bytes_per_s": 1e16}, ""),
        ({"bandwidth_bytes_per_s": 1.1e16}, "bandwidth_bytes_per_s of 1.1e+16 is not a valid value"),
        ({"peak_bytes_per_s": 0.0}, "peak_bytes_per_s of 0 is not a valid value"),
        ({"limit_bytes_per_s": -1.0}, "limit_bytes_per_s of -1 is not a valid value"),
        ({"latency_ns": 1e-2}, ""),
        ({"latency_ns": 0.9e-2}, "latency_ns of 0.009 is not a valid value"),
        ({"latency_ns": 1e14}, ""),
        ({"latency_ns": 1.1e14}, "latency_ns of 1.1e+14 is not a valid value"),
        ({"directions": {"a": 0.0, "b": 1.0}}, ""),
        ({"directions": {"a": 0.5}}, "directions of a of 0.5 is not a valid value"),
        ({"end_to_end_bytes_per_s": {"a": 1e17}}, "end_to_end_bytes_per_s of a of 1e+17 is not a valid"),
    ],
    ids=str,
)
def test_what_is_wrong_with_a_record(changes: dict[str, Any], said: str) -> None:
    """Catches a record taken that no table, logarithm or sentence can hold, and a good one refused."""
    found = wrong(replace(plausible(), **changes))
    assert found.startswith(said) if said else found == ""


@pytest.mark.parametrize(
    ("option", "value", "taken"),
    [
        ("block_sizes", "3x1KiB,1x24", True),
        ("block_sizes", "3x", False),
        ("blocks", 8, True),
        ("blocks", True, False),
        ("blocks", "8", False),
        ("gate", False, True),
        ("gate", 0, False),
        ("submit", "graph", True),
        ("submit", 1, False),
        ("via", "gpu1", True),
        ("via", 1, False),
        ("of_a_newer_version", 1, True),
        ("of_a_newer_version", "word", True),
        ("of_a_newer_version", 1.5, False),
        ("of_a_newer_version", [1], False),
    ],
)
def test_values_of_options(option: str, value: Any, taken: bool) -> None:
    """Catches an option of another type, which comparisons and sentences cannot hold."""
    said = "" if taken else f"option {option} cannot be {value!r}"
    assert wrong(replace(plausible(), options={option: value})) == said
    beside = flow("gpu1:device", "gpu0:device", "gpu1", interface="kernel", options={option: value})
    disturbed = plausible(flows=[flow(**ENDS), beside], pattern="interference")
    assert wrong(disturbed) == said


def test_a_long_value_of_an_option_is_cut() -> None:
    """Catches a megabyte of text in one message."""
    found = wrong(replace(plausible(), options={"blocks": "x" * 100}))
    assert found == f"option blocks cannot be {'x' * 100!r:.40}" and len(found) < 70


def test_the_first_device_that_is_absent_is_named() -> None:
    """Catches a record of another machine that is shown."""
    one = plausible()
    assert Checker(["gpu0", "gpu1", "cpu0"]).wrong(one) == ""
    assert Checker(["gpu0"]).wrong(one) == "the topology has no gpu1"
    assert Checker([]).wrong(one) == "the topology has no gpu0"


ENERGY = {
    "joules_per_GB": 1.0,
    "watts": 2.0,
    "idle_watts": 1.0,
    "duration_s": 3.0,
    "counter_updates": 4,
    "counted": ["gpu0"],
    "not_counted": [],
}
RANK = {"rank": 0, "begin_ns": 0.0, "end_ns": 1.0, "begins_last": 0.5, "no_cpu": None}


@pytest.mark.parametrize(
    ("part", "good", "bad"),
    [
        ("ranks", [RANK], [{**RANK, "no_cpu": "much"}]),
        ("ranks", [{**RANK, "no_cpu": 0.5}], [{"rank": 0}]),
        ("other_count", {"counts": "a", "bytes_per_s": 1.0}, {"counts": "a"}),
        (
            "other_count",
            {"counts": "a", "bytes_per_s": 1.0, "read_bytes_per_s": 1.0},
            {"counts": "a", "bytes_per_s": 1.0, "written_bytes_per_s": "fast"},
        ),
        ("corruption", {}, {"bad_words": "many"}),
        ("corruption", {"path": "a", "first_offset_bytes": 0, "got": "1"}, {"path": 1}),
        ("health", {"gpu0": {"before": None, "after": {"power_mw": 1.0}}}, {"gpu0": {"before": 3}}),
        ("health", {"gpu0": {}}, {"gpu0": {"after": {"temperature_c": "hot"}}}),
        ("energy", {"reason": "no counter"}, {"reason": 1}),
        ("energy", ENERGY, {"joules_per_GB": 1.0}),
        ("energy", {**ENERGY, "joules_per_GB_ci95": [1.0, 2.0]}, {**ENERGY, "joules_per_GB_ci95": [1.0]}),
    ],
    ids=str,
)
def test_tables_within_a_record(part: str, good: Any, bad: Any) -> None:
    """Catches text where a sum is computed, and a table of a real run refused."""
    assert wrong_part(replace(plausible(), **{part: good})) == ""
    assert wrong(replace(plausible(), **{part: good})) == ""
    assert wrong(replace(plausible(), **{part: bad})).startswith(f"{part}: ")


def test_a_later_round_is_checked_where_it_differs() -> None:
    """Catches a round that is taken because another of its case was good, or for its case_id alone."""
    checker, good = Checker(["gpu0", "gpu1"]), plausible()
    assert checker.wrong(good) == ""
    assert checker.wrong(replace(good, round=1)) == ""
    assert checker.wrong(replace(good, round=-1)) == "round is out of range"
    assert checker.wrong(replace(good, round=2, status="perfect")) == "status 'perfect' is unknown"
    assert checker.wrong(replace(good, round=2, cache="hot")) == "cache 'hot' is unknown"
    far = plausible(flows=[flow("gpu0:device", "gpu7:device", "gpu0")])
    assert checker.wrong(replace(far, case_id=good.case_id, round=2)) == "the topology has no gpu7"
    assert Checker().wrong(far) == ""


def test_a_record_without_flows_is_refused() -> None:
    """Catches a record that names no devices, or names them by numbers."""
    one = record("copy", [flow("gpu0:device", "gpu1:device", "gpu0")], 1e9)
    force_setattr(one, "flows", ())
    assert "flows" in wrong(one)
