"""explain/audit: verdicts on numbers whose truth is known, and the causes that are named."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import audit as validation
from audit_plants import GB_S, GIB, MB_S, MIB, Plant, from_host, local, messages, peers, plants, value
from byteways.ext.audit.imported.reader import Found, UnreadPlace
from byteways.ext.audit.imported.value import ForeignValue, Hints, Operation, Unit
from byteways.ext.audit.judging.audit import ReadFile, audited
from byteways.ext.audit.judging.bound import RAW_OVER_DATA
from byteways.ext.audit.judging.machine import machines_of
from byteways.ext.audit.judging.verdict import (
    AUDIT_VERDICTS,
    CAUSES,
    COUNTED_OTHERWISE,
    HIGH_NUMBER,
    IMPOSSIBLE_NUMBER,
    LOW_NUMBER,
    NORMAL_NUMBER,
    NOT_JUDGED,
    AuditedValue,
)
from byteways.ext.audit.judging.wording_audit import audit_notes, explanation
from byteways.machine import link_rates
from byteways.machine.model import Topology
from byteways.machine.nominal import nominal_topology
from byteways.models.library import load
from byteways.models.topology import topology_of
from byteways.record.run_folder import RunFolder
from byteways.verdicts.checks.normal import read_normal
from unpack_examples import recorded

NORMAL = read_normal(None)
PLANTS = plants(NORMAL)
H100 = nominal_topology("h100-x8")
PROGRAM = ("program", GB_S, 2)
UCX = ("ucx_perftest", Unit("MiB/s", "MB/s"), 2)


def verdict(one: ForeignValue, topology: Topology = H100, form: str = "test") -> AuditedValue:
    """The verdict on one number alone."""
    read = ReadFile("log", (Found(form, 1, [one]),))
    return audited([read], topology, NORMAL, machine="test").values[0]


def test_both_ends_on_one_gpu() -> None:
    """The example of the guide: ucx_perftest over an NVLink, 1,347 GB/s."""
    one = replace(value(UCX, 1347e9, messages(), GIB), differences=("no-case", "devices-unknown"))
    told = verdict(replace(one, operation=replace(one.operation, interface="")))
    assert told.verdict == IMPOSSIBLE_NUMBER and told.bound is not None
    assert told.bound.value == pytest.approx(18 * 26.5625e9) and told.bound.kind == "physical"
    assert [cause.code for cause in told.causes] == ["one-device"]
    assert "both ends on one GPU" in explanation(told)


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name)
def test_planted_mistakes_are_named(plant: Plant) -> None:
    """Catches a cause that is no longer tried, or that no longer fits."""
    told = validation.named(plant, NORMAL)
    named = (plant.cause, plant.machine) not in UNNAMED
    assert validation.right(plant, told) == named, (told.verdict, [cause.code for cause in told.causes])


#: The wide bundles of an MI250X leave open what both directions of a copy engine give.
UNNAMED = {("one-direction", "frontier-mi250x")}


def test_every_cause_is_planted() -> None:
    """Catches a cause without a mistake that it must explain; pageable memory depends on CPUs."""
    planted = {plant.cause for plant in PLANTS}
    assert CAUSES.keys() - planted == {"pageable-memory"}


def test_pageable_host_memory_is_named() -> None:
    back = replace(from_host(), source="gpu0:device", destination="cpu0:pinned")
    told = verdict(value(PROGRAM, 12.5e9, back, 256 * MIB))
    assert told.verdict == LOW_NUMBER and "pageable-memory" in [cause.code for cause in told.causes]


def test_recorded_values_are_possible() -> None:
    """A part of validation/audit.py: a run of all copies and kernels, on its machine and a nominal one."""
    run = RunFolder(recorded("h100x2/quick"))
    values = [one for turn, record in enumerate(run.records) for one in validation.values_of(record, turn)]
    assert len(values) > 60
    for topology in (run.topology, H100):
        told = validation.tally("h100x2/quick", values, topology, NORMAL)
        assert told.impossible == () and told.verdicts[NORMAL_NUMBER] > len(values) / 3


def test_recorded_values_are_read_back_from_other_programs_texts() -> None:
    """Catches a unit, a count or a direction that is lost between the text and the verdict."""
    run = RunFolder(recorded("h100x2/collectives"))
    told = [*validation.as_texts("run", run.topology, list(run.records), NORMAL)]
    assert len(told) == 4 and not any(one.impossible for one in told)
    assert all(one.verdicts[NORMAL_NUMBER] and not one.verdicts[LOW_NUMBER] for one in told)


@pytest.mark.parametrize(
    ("rate", "expected"),
    [(390e9, NORMAL_NUMBER), (300e9, LOW_NUMBER), (460e9, HIGH_NUMBER), (480e9, IMPOSSIBLE_NUMBER)],
)
def test_verdicts_of_a_copy_by_its_rate(rate: float, expected: str) -> None:
    """18 NVLinks of an H100 carry at most 478 GB/s; copies reach 395."""
    assert verdict(value(PROGRAM, rate, peers(), GIB)).verdict == expected


def test_another_count_is_converted() -> None:
    told = verdict(value(PROGRAM, 2970e9, local(), GIB, "read+write"))
    assert told.verdict == COUNTED_OTHERWISE and told.factor == 0.5
    assert (
        told.counted == pytest.approx(1485e9) and told.own is not None and told.own.counts == "per-direction"
    )


def test_a_rate_within_rounding_of_the_limit_is_possible() -> None:
    """Catches 0.5 TB/s, which may be 0.478, as beyond a limit of 478 GB/s."""
    one = replace(value(PROGRAM, 0, peers(), GIB), text="500", unit=Unit("GB/s"))
    assert verdict(one).verdict == IMPOSSIBLE_NUMBER
    coarse = replace(one, text="0.5e3")
    assert verdict(coarse).verdict == HIGH_NUMBER


def test_a_link_without_a_raw_rate_has_a_nominal_bound() -> None:
    """Catches a limit from a data rate that is too low: no known link exceeds its data rate by more."""
    told = verdict(value(PROGRAM, 900e9, peers(), GIB), nominal_topology("a100-x8"))
    assert told.verdict == IMPOSSIBLE_NUMBER and told.bound is not None and told.bound.kind == "nominal"
    raw = (
        (link.signalling_bytes_per_s, link.data_bytes_per_s)
        for link in link_rates.NVLINK.values()
        if link.signalling_bytes_per_s
    )
    assert max(rate / data for rate, data in raw) <= RAW_OVER_DATA


def test_switches_that_add_allow_more_bus_bandwidth_in_an_allreduce_alone() -> None:
    """In-network sums make the bus bandwidth of an all-reduce larger than the rate of the links."""
    reduced = Operation("xccl", "allreduce", "?:device", "?:device", ranks=8)
    assert verdict(value(PROGRAM, 485e9, reduced, GIB, "bus")).verdict != IMPOSSIBLE_NUMBER
    gathered = replace(reduced, pattern="allgather")
    assert verdict(value(PROGRAM, 485e9, gathered, GIB, "bus")).verdict == IMPOSSIBLE_NUMBER


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"text": "0.00"}, "zero"),
        ({"size_bytes": 4096, "text": "1.5"}, "small-size"),
        ({"unit": Unit("1/s")}, "rate"),
        ({"differences": ("sum-of-turns",)}, "sum-of-turns"),
        ({"operation": Operation()}, "no-case"),
        ({"size_bytes": None}, "size-unknown"),
        ({"operation": replace(peers(), destination="gpu9:device")}, "no-case"),
    ],
)
def test_what_is_not_judged_has_a_reason(changed: dict[str, object], reason: str) -> None:
    """Catches a verdict on what the output does not contain."""
    told = verdict(replace(value(PROGRAM, 390e9, peers(), GIB), **changed))  # type: ignore[arg-type]
    assert (told.verdict, told.reason) == (NOT_JUDGED, reason)


def test_what_is_not_compared_is_still_bounded() -> None:
    """Catches an impossible number that is excused by an unknown size."""
    told = verdict(replace(value(PROGRAM, 900e9, peers(), GIB), size_bytes=None))
    assert told.verdict == IMPOSSIBLE_NUMBER


@pytest.mark.parametrize(("rate", "expected"), [(24e9, NORMAL_NUMBER), (9e9, LOW_NUMBER)])
def test_an_unknown_domain_of_the_host_is_each_of_them(rate: float, expected: str) -> None:
    """Catches copies from the host that are not judged on machines with several domains."""
    host = replace(from_host(), source="?:pinned")
    told = verdict(value(PROGRAM, rate, host, GIB), topology_of(load("jureca-a100")))
    assert (told.verdict, told.differences, told.equal) == (expected, ("devices-unknown",), False)


def test_a_fast_loop_over_small_arrays_is_of_a_cache() -> None:
    """Catches a verdict on memory from what never left the L2 cache."""
    stream = Operation("stream-copy", "unidirectional", "gpu0:device", "gpu0:device", "gpu0")
    told = verdict(value(("BabelStream", MB_S, 3), 6e12, stream, 4 * MIB, "read+write", ("extreme",)))
    assert told.verdict == IMPOSSIBLE_NUMBER and "cache" in [cause.code for cause in told.causes]
    small = verdict(value(PROGRAM, 3e12, local("kernel"), 4 * MIB))
    assert small.verdict == HIGH_NUMBER, "a copy does not claim to be of the memory"
    assert "cache" in [cause.code for cause in small.causes]


def test_the_usual_size_of_a_program_is_assumed() -> None:
    """p2pBandwidthLatencyTest does not print its size."""
    one = replace(value(PROGRAM, 391e9, peers(), GIB), size_bytes=None, differences=("size-unknown",))
    assert verdict(one, form="p2p-bandwidth-latency-test").verdict == NORMAL_NUMBER


def test_everything_is_plain_data() -> None:
    """Catches values that JSON cannot hold, and a verdict without a place in the counts."""
    values = [value(PROGRAM, rate, peers(), GIB) for rate in (390e9, 780e9, 20e9)]
    read = ReadFile("log", (Found("test", 3, values),), (UnreadPlace(9, "a row", "add it"),))
    found = audited([read], H100, NORMAL, machine="h100-x8", marks=["NOMINAL"])
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert data["failed"] is True and sum(data["counts"].values()) == 3 == len(data["values"])
    assert [*data["counts"]] == [*AUDIT_VERDICTS]
    assert data["values"][1]["causes"][0]["code"] == "sum-of-directions"
    assert data["mistakes"] == [{"file": "log", "line": 9, "what": "a row", "hint": "add it"}]
    assert any("line 9" in note for note in audit_notes(found))


def hints(*models: str) -> list[Hints]:
    return [Hints(gpus=dict(enumerate(models)))]


def test_the_machine_follows_from_the_printed_gpus() -> None:
    """Catches another board of the same GPU, and more GPUs than the machine has."""
    assert [one.name for one in machines_of(hints(*["NVIDIA H100 80GB HBM3"] * 2))] == ["h100-x8"]
    assert [one.name for one in machines_of(hints(*["AMD Instinct MI300X OAM"] * 8))] == ["mi300x-8"]
    assert machines_of(hints("NVIDIA H100 PCIe")) == ()
    assert machines_of(hints(*["NVIDIA H100 80GB HBM3"] * 9)) == ()
    assert machines_of(hints("NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB")) == ()
    assert machines_of([]) == ()


def test_machines_with_other_links_are_all_named() -> None:
    """Four A100 are linked in two ways: both are offered, none is guessed."""
    assert {one.name for one in machines_of(hints(*["NVIDIA A100-SXM4-40GB"] * 4))} == {
        "jureca-a100",
        "a100-x8",
    }
