"""Physical limits: which resource sets them, when they are unknown, and what becomes of a figure beyond."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from byteways.measure.conduct.requested import request_fields
from hypothesis import given
from hypothesis import strategies as st

from byteways.answers.results.summary import cells
from byteways.cases.case import Buffer, Case, Flow, PlannedCase
from byteways.cli.measure_and_report import _beyond_limit
from byteways.machine.model import Device, Link, Topology
from byteways.measuring.conduct.recording import measured_record
from byteways.plan.limits import excess, excess_of_pages, limit
from byteways.plan.physical import judged, judged_all
from byteways.record import warnings
from byteways.record.record import Record
from byteways.record.run_folder import RunFolder
from scripts.unpack_examples import recorded
from tests.changed import replace
from tests.report import run_builder

MIB, GIB = 2**20, 2**30
NVLINK, PCIE = 478.125e9, 64e9
HBM, CACHE = 4.8e12, 60 * MIB
COLD = {"source": 128 * MIB, "destination": 128 * MIB}
LARGE = {"source": 8 * GIB, "destination": 8 * GIB}


def link(a: str, b: str, kind: str, raw: float | None) -> Link:
    return Link(a, b, kind, 1, None, raw and 0.94 * raw, raw, f"toy {kind}", kind.upper())


def machine(gpus: int = 4, **changed: Any) -> Topology:
    """GPUs behind an NVSwitch, each on PCIe, one NUMA domain whose modules nobody tells."""
    cpu = Device("cpu0", "cpu", "toy", last_level_cache_bytes=32 * MIB)
    devices = [
        Device(
            f"gpu{i}",
            "gpu",
            "toy",
            memory_peak_bytes_per_s=HBM,
            memory_peak_source="pins of the toy",
            last_level_cache_bytes=CACHE,
        )
        for i in range(gpus)
    ]
    links = [link(f"gpu{i}", "cpu0", "pcie", PCIE) for i in range(gpus)]
    links += [link(f"gpu{i}", "nvswitch", "nvlink", NVLINK) for i in range(gpus)]
    topology = Topology("toy", (cpu, *devices), ("nvswitch",), tuple(links))
    return replace(topology, **changed)


def flow(source: str, destination: str, executor: str | None = None, **own: Any) -> Flow:
    memory = {"cpu": "pinned", "gpu": "device"}
    ends = [Buffer(device, memory[device[:3]]) for device in (source, destination)]
    return Flow(*ends, executor or source, **own)


def case(*flows: Flow, interface: str = "copy", pattern: str = "unidirectional", **changed: Any) -> Case:
    return replace(Case(interface, pattern, flows, 4096), **changed)


def record(wanted: Case, **changed: Any) -> Record:
    fields: dict[str, Any] = {
        **request_fields(PlannedCase(wanted, "s", 0, 1.0, 0.01)),
        "status": "measured",
        "reason": None,
        "method_version": 4,
        "counts": "per-direction",
        "distinct_bytes": COLD,
        **changed,
    }
    return Record.from_json(fields)


def copied(bandwidth: float, wanted: Case | None = None, **changed: Any) -> Record:
    """A copy from gpu0 to gpu1, held against its limit."""
    wanted = wanted or case(flow("gpu0", "gpu1"))
    found = record(
        wanted, bandwidth_bytes_per_s=bandwidth, directions={wanted.flows[0].path: bandwidth}, **changed
    )
    return judged(found, wanted, machine())


def test_more_than_a_link_signals_is_void() -> None:
    """Catches the 692 GB/s of 4 KiB copies over 18 NVLinks that led a report, and 460 GB/s thrown away that
    only pass the nominal 450.
    """
    beyond = copied(692e9)
    assert beyond.limit_bytes_per_s == NVLINK
    assert beyond.limit_source == "gpu0>nvswitch (NVLINK: raw signalling rate of 478.1 GB/s)"
    (warning,) = beyond.warnings
    assert (warning.id, warning.observed) == ("beyond-limit", "692.0 GB/s")
    assert warning.required == "at most 478.1 GB/s over gpu0>gpu1"
    within = copied(460e9)
    assert within.limit_bytes_per_s == NVLINK
    assert not within.beyond_limit


def test_no_void_figure_is_a_cell() -> None:
    """Catches a case whose impossible round is dropped and whose other rounds are ranked: all analysis is
    made of cells.
    """
    good, wrong = copied(400e9), copied(692e9, round=1)
    (cell,) = cells([good])
    assert (cell.value, cell.records) == (400e9, (good,))
    assert cells([good, wrong]) == cells([wrong, good]) == cells([wrong]) == []


def test_the_fastest_sample_is_held_against_the_limit_too() -> None:
    """Catches an operation that a batch of seven left out and that took no time, where the median does not
    follow it; and differences of two times, which noise makes too short, taken for that.
    """
    normal = {
        "median": 700.0,
        "ci95": [699.0, 701.0],
        "min": 600.0,
        "max": 702.0,
        "mean": 699.0,
        "sd": 9.0,
        "n": 30,
    }
    found = copied(420e9, time_ns=normal)
    assert [warning.observed for warning in found.warnings] == ["490.0 GB/s"]
    assert not copied(420e9, time_ns=normal | {"min": 650.0}).beyond_limit
    assert not copied(420e9, time_ns=normal, slope=True).beyond_limit


def test_an_old_run_is_held_against_the_limit_when_it_is_read() -> None:
    """Catches runs recorded before the check, whose impossible figures would lead a report for ever."""
    wanted = case(flow("gpu0", "gpu1"))
    bare = tuple(replace(device, last_level_cache_bytes=None) for device in machine().devices)
    old = record(wanted, bandwidth_bytes_per_s=692e9, directions={"gpu0>gpu1": 692e9})
    (found,) = judged_all([old], machine(devices=bare), {"gpu0": {"last_level_cache_bytes": CACHE}})
    assert found.beyond_limit
    assert judged(found, wanted, machine()).warnings == found.warnings


def test_a_recorded_run_with_an_impossible_figure(tmp_path: Path) -> None:
    """Catches a run folder of version 1 that is read without the check, by its own topology and caches."""
    example = recorded("h200x4")
    shutil.copy(example / "run.json", tmp_path)
    lines = (example / "measurements.jsonl").read_text().splitlines()
    copies = [json.loads(line) for line in lines if '"copy"' in line and '"gpu0>gpu1"' in line]
    copies = [one for one in copies if one["pattern"] == "one-way" and one["status"] == "measured"]
    for one in copies[:2]:
        one["bandwidth_bytes_per_s"], one["directions"] = 692e9, {"gpu0>gpu1": 692e9}
    (tmp_path / "measurements.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in copies))
    found = RunFolder(tmp_path).records
    assert [one.beyond_limit for one in found] == [True, True] + [False] * (len(copies) - 2)
    assert len(cells(found)) == len(copies) - 2 > 0
    untouched = RunFolder(example).records
    assert not any(one.beyond_limit for one in untouched)
    assert sum(one.limit_bytes_per_s is not None for one in untouched) > 400


def test_a_run_says_how_many_figures_count_for_nothing(tmp_path: Path) -> None:
    """Catches a run that ends as if all of its figures were good."""
    records = [copied(692e9), copied(400e9), copied(500e9)]
    folder = cast(RunFolder, SimpleNamespace(records=records, path=tmp_path))
    assert _beyond_limit(folder).startswith("2 results are beyond a physical limit and void")
    assert _beyond_limit(cast(RunFolder, SimpleNamespace(records=records[1:2], path=tmp_path))) == ""


def test_a_direction_and_a_load_are_held_against_the_limit_too() -> None:
    """Catches a sum below its limit with one direction above it, and what disturbs left unchecked."""
    wanted = case(flow("gpu0", "gpu1"), flow("gpu1", "gpu0"), pattern="bidirectional")
    rates = {"gpu0>gpu1": 600e9, "gpu1>gpu0": 100e9}
    both = record(wanted, bandwidth_bytes_per_s=700e9, directions=rates, counts="sum-of-directions")
    found = judged(both, wanted, machine())
    assert found.limit_bytes_per_s == pytest.approx(2 * NVLINK)
    assert [warning.observed for warning in found.warnings] == ["600.0 GB/s"]

    walk = Flow(Buffer("gpu0", "device"), Buffer("gpu0", "device"), "gpu0")
    load = flow("cpu0", "gpu0", "gpu0", interface="copy")
    beside = case(walk, load, interface="pointer-chase", pattern="interference")
    loaded = record(beside, latency_ns=500.0, directions={"cpu0>gpu0": 70e9}, counts="dependent-load")
    assert judged(loaded, beside, machine()).beyond_limit
    assert not judged(replace(loaded, directions={"cpu0>gpu0": 55e9}), beside, machine()).beyond_limit


def test_a_load_that_took_turns_is_not_added() -> None:
    """Catches 394 and 394 GB/s, each of its own turns on one link, added to 787 over its 478."""
    beside = case(flow("gpu0", "gpu1"), flow("gpu0", "gpu2"), pattern="interference")
    rates = {"gpu0>gpu1": 394e9, "gpu0>gpu2": 394e9}
    found = record(beside, bandwidth_bytes_per_s=394e9, directions=rates, counts="per-direction")
    assert judged(found, beside, machine()).beyond_limit
    turns = replace(found, warnings=[warnings.make("serialised", 394e9, 788e9)])
    assert not judged(turns, beside, machine()).beyond_limit
    faster = replace(turns, directions={**rates, "gpu0>gpu2": 500e9})
    assert judged(faster, beside, machine()).beyond_limit


def test_what_a_formula_counts_is_exempt() -> None:
    """Catches the bus bandwidth of a collective voided, which is no rate of any link."""
    found = copied(692e9, counts="bus-bandwidth")
    assert found.limit_bytes_per_s is None
    assert "formula" in (found.limit_source or "")
    assert not found.beyond_limit


def test_memory_limits_only_what_caches_cannot_hold() -> None:
    """Catches a local copy within the L2 that is voided by the DRAM's rate, and one far beyond it that is
    not; between them caches may serve what they hold of each pass, and no more.
    """
    local = case(flow("gpu0", "gpu0"))
    warm = limit(machine(), local, {"source": 4096, "destination": 4096})
    assert warm.bytes_per_s is None
    assert "caches of 60 MiB may hold them" in warm.source
    assert limit(machine(), local).bytes_per_s is None
    huge = limit(machine(), local, {"source": 2**45, "destination": 2**45}).bytes_per_s
    assert huge == pytest.approx(HBM / 2, rel=1e-5)
    some = limit(machine(), local, {"source": 2 * CACHE, "destination": 2 * CACHE}).bytes_per_s
    assert some == pytest.approx(HBM / 2 * 4 / 3)
    unknown = machine(devices=tuple(replace(a, last_level_cache_bytes=None) for a in machine().devices))
    assert "size of the caches" in limit(unknown, local, LARGE).source


def test_loads_from_the_executors_cache_cross_no_link() -> None:
    """Catches a warm kernel voided whose caches held what it read again; a copy engine has no such cache."""
    warm = {"source": 4096, "destination": 4096}
    kernel = case(flow("gpu1", "gpu0", "gpu0"), interface="kernel", cache="warm")
    found = limit(machine(), kernel, warm)
    assert found.bytes_per_s is None
    assert "the caches of gpu0 may absorb" in found.source
    assert limit(machine(), replace(kernel, interface="copy"), warm).bytes_per_s == NVLINK
    assert limit(machine(), kernel, LARGE).bytes_per_s == NVLINK


def test_pages_that_move_cross_the_link_whole() -> None:
    """Catches 524 TB/s of one touched word a page: what moved are pages, and the link carries 64 GB/s."""
    ends = Flow(Buffer("cpu0", "managed"), Buffer("gpu0", "managed"), "gpu0")
    wanted = case(ends, interface="prefetch", size_bytes=4096)
    times = {"median": 1000.0, "ci95": [999, 1001], "min": 999, "max": 1001, "mean": 1000, "sd": 1, "n": 3}
    moved = record(wanted, bandwidth_bytes_per_s=4e9, directions={"cpu0>gpu0": 4e9}, time_ns=times)
    found = judged(replace(moved, migrated_bytes=65536), wanted, machine())
    (warning,) = found.warnings
    assert (warning.observed, warning.required) == (
        "65.54 GB/s",
        "at most 64.00 GB/s over cpu0>gpu0, by pages",
    )
    assert not judged(replace(moved, migrated_bytes=32768), wanted, machine()).beyond_limit


def test_hidden_links_leave_the_limit_open() -> None:
    """Catches every good figure between GPUs voided on a machine that hides its NVLinks from byteways."""
    pcie = tuple(one for one in machine().links if one.kind == "pcie")
    devices = tuple(
        replace(a, hidden_links="nobody tells them") if a.kind == "gpu" else a for a in machine().devices
    )
    wanted = case(flow("gpu0", "gpu1"))
    open_ = limit(machine(links=pcie, devices=devices), wanted, COLD)
    assert (open_.bytes_per_s or 0) > HBM
    assert "not counted are gpu0>cpu0, cpu0>gpu1 (nobody tells them)" in open_.source
    assert limit(machine(links=pcie), wanted, COLD).bytes_per_s == PCIE
    host = case(flow("cpu0", "gpu0"))
    assert limit(machine(links=pcie, devices=devices), host, COLD).bytes_per_s == PCIE
    superchip = tuple(
        replace(device, architecture="aarch64" if device.kind == "cpu" else "sm_90") for device in devices
    )
    assert "NVLink-C2C" in limit(machine(links=pcie, devices=superchip), host, COLD).source


@given(st.data())
def test_no_flow_within_its_limit_is_beyond(data: st.DataObject) -> None:
    """Catches sums that are voided although every resource carries them, and such that are not."""
    pairs = [(a, b) for a in machine().names() for b in machine().names() if a != b]
    chosen = data.draw(st.lists(st.sampled_from(pairs), min_size=2, max_size=6, unique=True))
    wanted = case(
        *(flow(a, b, a if a != "cpu0" else b) for a, b in chosen), interface="copy", pattern="all-pairs"
    )
    most = limit(machine(), wanted, LARGE).bytes_per_s
    assert most is not None
    share = data.draw(st.floats(0.1, 3.0))
    rates = {f"{a}>{b}": share * most / len(chosen) for a, b in chosen}
    found = excess(machine(), wanted, LARGE, rates)
    if share > 1.01:
        assert found is not None
    loads: dict[str, float] = {}
    for (a, b), rate in zip(chosen, rates.values(), strict=True):
        for name in _crossed(a, b):
            loads[name] = loads.get(name, 0.0) + rate
    over = {name: rate for name, rate in loads.items() if rate > 1.002 * _raw(name)}
    assert (found is not None) >= bool(over)
    assert found is None or loads[found.resource] > _raw(found.resource)


def _crossed(a: str, b: str) -> tuple[str, ...]:
    return (f"{a}>{b}",) if "cpu0" in (a, b) else (f"{a}>nvswitch", f"nvswitch>{b}")


def _raw(name: str) -> float:
    return NVLINK if "nvswitch" in name else PCIE


def test_every_shipped_link_has_a_limit_or_a_reason() -> None:
    """Catches a link whose signalling rate is below its data rate, and a missing one without a word."""
    from byteways.machine.capacity import links_between
    from byteways.models import library
    from byteways.models.topology import topology_of

    known: Mapping[str, float | None] = {}
    for name in library.names():
        topology = topology_of(library.load(name))
        for one in topology.links:
            assert one.signalling_bytes_per_s is None or (
                one.signalling_bytes_per_s >= (one.peak_bytes_per_s or 0)
            )
        for gpu in topology.names("gpu"):
            for arc in links_between(topology, "cpu0", gpu) or ():
                assert arc.limit is not None or len(arc.limit_source) > 20
        known = {**known, **{one.link_class: one.signalling_bytes_per_s for one in topology.links}}
    assert known["NVLink4 ×18"] == 18 * 26.5625e9
    assert known["xGMI ×4"] == 200e9


def test_the_part_of_the_peak_is_that_of_the_bandwidth() -> None:
    """Catches a fraction of the peak that is its inverse, in every record at once."""
    wanted = case(flow("gpu0", "gpu1"))
    rate = 0.5 * 0.94 * NVLINK
    outcome = {"status": "measured", "bandwidth_bytes_per_s": rate, "counts": "per-direction"}
    made, _ = measured_record(PlannedCase(wanted, "s", 0, 1.0, 0.01), outcome, 5, machine())
    assert made.peak_bytes_per_s == pytest.approx(0.94 * NVLINK)
    assert made.fraction_of_peak == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("ends", "found"),
    [
        (("cpu0", "gpu0", "gpu0"), True),
        (("gpu0", "gpu0", "gpu0"), False),  # its own memory: no link
        (("cpu0", "gpu9", "gpu0"), False),  # a device of another machine
        (("gpu9", "gpu9", "gpu9"), False),
    ],
)
def test_whose_pages_cross_a_link(ends: tuple[str, str, str], found: bool) -> None:
    """Catches pages of a device's own memory held against a link, and a device that the machine lacks."""
    source, destination, executor = ends
    moved = Flow(Buffer(source, "managed"), Buffer(destination, "managed"), executor)
    assert (excess_of_pages(machine(), moved, 2 * PCIE) is not None) is found
    assert excess_of_pages(machine(), moved, PCIE) is None


def test_a_run_of_this_version_is_not_judged_again(tmp_path: Path) -> None:
    """Catches records that were judged when they were made, and are judged by what a reader knows later."""
    wanted = case(flow("gpu0", "gpu1"))
    builder = run_builder.Builder(machine())
    builder.records = [record(wanted, bandwidth_bytes_per_s=692e9, directions={"gpu0>gpu1": 692e9})]
    run = RunFolder(builder.write(tmp_path))
    assert not any(one.beyond_limit for one in run.records)
