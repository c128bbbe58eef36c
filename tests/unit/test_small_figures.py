"""Small figures and choices of many modules: their bounds, and what they do without data."""

from __future__ import annotations

import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import force_setattr

from byteways.explain.bottlenecks.resources import Resource
from byteways.explain.claims.wording import by_factor, difference, faster, keeps_speed, slower
from byteways.explain.results.obstacles import _excess
from byteways.explain.studies.checks import _quotient
from byteways.explain.subjects.collectives import time_of
from byteways.plan.case import Buffer, Case, Flow
from byteways.plan.estimate import HOST_TOTAL_BYTES_PER_S, LINK_EFFICIENCY, Estimator
from byteways.plan.footprint import flow_buffer_bytes
from byteways.plan.suite import load
from byteways.record.journal_lines import MOST_LINE_BYTES, JournalLines
from byteways.record.physical import with_caches
from byteways.record.record_check import wrong
from byteways.record.samples import SamplesFile, of_outcome
from byteways.record.warnings import Warning
from byteways.run.conduct.interruption import Interruption
from byteways.run.shared.options import RunOptions
from byteways.run.work.measuring import _exports
from tests.changed import replace
from tests.report.few_records import flow, record
from tests.unit import machines

MIB = 2**20


@pytest.mark.parametrize(
    ("observed", "required", "excess"),
    [(2.0, 1.0, 2.0), (1.0, -4.0, 4.0), (0.0, 3.0, 0.0), ("10 GB/s", 3.0, 0.0), (0.0, 0.0, 0.0)],
)
def test_excess_of_a_warning(observed: Any, required: Any, excess: float) -> None:
    """Catches a factor below 1, and one of numbers that are none."""
    assert _excess(Warning("noisy", observed, required, "")) == excess


def test_what_keeps_its_speed_is_shown_to() -> None:
    """Catches words of equality for a claim that does not show it."""
    unequal: Any = SimpleNamespace(equal=False)
    equal: Any = SimpleNamespace(equal=True)
    assert keeps_speed([equal]) == "is not slowed down"
    for claims in ([], [unequal], [equal, unequal]):
        with pytest.raises(ValueError, match="no equality"):
            keeps_speed(claims)


def test_no_greater_time_is_faster() -> None:
    """Catches the words of rates on a claim about times, which would name the slower side the faster one."""
    claim: Any = SimpleNamespace(quantity="latency", differ=True, leads=True)
    for words in (difference, faster, slower):
        with pytest.raises(ValueError, match="claim on latency"):
            words(claim)


def test_samples_of_an_outcome() -> None:
    """Catches samples taken for none because a part of them is missing."""
    assert of_outcome("a", 0, {}) is None
    assert of_outcome("a", 0, {"samples_ns": None, "samples": None}) is None
    alone, more = of_outcome("a", 1, {"samples_ns": [1.0]}), of_outcome("b", 2, {"samples": {}})
    assert alone is not None and (alone.case_id, alone.round, [*alone.samples_ns]) == ("a", 1, [1.0])
    assert more is not None and [*more.samples_ns] == []


def test_a_missing_file_of_samples_has_none(tmp_path: Path) -> None:
    """Catches a traceback from runs that were recorded before samples had a file."""
    assert SamplesFile(tmp_path / "samples.jsonl").of("a", 0) is None


def test_probed_caches_fill_gaps_only() -> None:
    """Catches a cache of the topology that is overwritten, and a text taken for a size."""
    topology, _ = machines.h200x4()
    first, *others = (replace(device, last_level_cache_bytes=None) for device in topology.devices)
    known = replace(topology, devices=(replace(first, last_level_cache_bytes=5), *others))
    told = {device.name: {"last_level_cache_bytes": 7} for device in topology.devices}
    told[others[0].name] = {"last_level_cache_bytes": "7"}  # type: ignore[dict-item]
    found = [device.last_level_cache_bytes for device in with_caches(known, told).devices]
    assert found == [5, None, *[7] * (len(others) - 1)]


@pytest.mark.parametrize(
    ("size", "all_mib"), [(4096, 128), (2 * MIB, 128), (50 * MIB, 100), (1024 * MIB, 1024)]
)
def test_regions_of_prefetches(size: int, all_mib: int) -> None:
    """Catches too few regions for a batch that can be timed: 128 MiB of them, in blocks of 2 MiB."""
    moved = Flow(Buffer("cpu0", "managed"), Buffer("gpu0", "managed"), "cpu0")
    case = Case("prefetch", "unidirectional", (moved,), size)
    assert flow_buffer_bytes(case, moved, lambda _: 0) == all_mib * MIB


def test_host_memory_is_shared_by_gpus_and_not_by_cores() -> None:
    """Catches copies of two GPUs from one host estimated as if they took turns, and two CPUs' as if not."""
    topology, capabilities = machines.h200x4()
    estimator = Estimator(topology, capabilities)
    size = 1024 * MIB

    def seconds(interface: str, *paths: tuple[str, str, str]) -> float:
        flows = tuple(Flow(Buffer.parse(a), Buffer.parse(b), by) for a, b, by in paths)
        return estimator._operation_s(Case(interface, "fan-out", flows, size))

    gpus = [("cpu0:pinned", f"gpu{k}:device", f"gpu{k}") for k in range(2)]
    alone = seconds("copy", gpus[0])
    assert seconds("copy", *gpus) == pytest.approx(alone + size / HOST_TOTAL_BYTES_PER_S)
    assert seconds("copy", *gpus) < 2 * alone
    host = ("cpu0:pageable", "cpu0:pageable", "cpu0")
    assert seconds("memcpy", host, host) == pytest.approx(2 * seconds("memcpy", host))


@pytest.mark.parametrize(
    ("effect", "said"), [(3.9, "3.9 times"), (999.0, "999 times"), (1500.0, "more than 1000 times")]
)
def test_factors_of_claims(effect: float, said: str) -> None:
    """Catches a factor with digits that nobody needs, and a bound told of small ones."""
    claim: Any = SimpleNamespace(effect=effect, low=effect * 0.9999, high=effect * 1.0001)
    assert by_factor(claim) == said


@pytest.mark.parametrize(("members", "family"), [(1, False), (2, True)])
def test_a_family_has_several_resources(members: int, family: bool) -> None:
    """Catches one link told as "each link"."""
    assert Resource("the link", (lambda _: True,) * members).family == family


@pytest.mark.parametrize(
    ("pattern", "time_ns", "expected"),
    [("allreduce", 2000.0, 2000.0), ("allreduce", None, 7.0), ("barrier", 2000.0, 7.0)],
)
def test_time_of_a_collective(pattern: str, time_ns: float | None, expected: float) -> None:
    """Catches a bandwidth told as a time: a barrier's value is its time, that of others is a rate."""
    cell: Any = SimpleNamespace(
        record=SimpleNamespace(pattern=pattern), time_ns=time_ns, value=7.0, low=6.0, high=8.0
    )
    found = time_of(cell)
    assert found.value == expected
    assert (found.low, found.high) == (
        (6.0, 8.0) if expected == 7.0 else (pytest.approx(2000 * 7 / 8), pytest.approx(2000 * 7 / 6))
    )


@pytest.mark.parametrize(
    ("given", "rounds"),
    [({}, 3), ({"for_s": 60.0}, 1), ({"rounds": 5}, 5), ({"for_s": 60.0, "rounds": 4}, 4)],
)
def test_rounds_of_a_suite_under_options(given: dict[str, Any], rounds: int) -> None:
    """Catches rounds of the suite in a run that repeats it, or one round where none was asked for."""
    applied = RunOptions(**given).applied(load("quick"))
    assert applied.rounds == rounds


def test_an_optional_precision_is_that_of_every_sweep() -> None:
    """Catches sweeps that keep their own precision, and one that is set without being asked for."""
    suite = load("quick")
    assert RunOptions().applied(suite) == suite
    asked = RunOptions(precision=0.125).applied(suite)
    assert {sweep.precision for sweep in asked.sweeps} == {0.125} == {asked.precision}


def test_a_quotient_of_a_value_with_itself() -> None:
    """Catches an interval for a ratio that is exactly 1, and ends of the interval on the wrong side."""
    one, other = (SimpleNamespace(low=low, high=high) for low, high in ((90.0, 110.0), (45.0, 55.0)))
    assert _quotient(one, one) == (1.0, 1.0)  # type: ignore[arg-type]
    assert _quotient(one, other) == (90 / 55, 110 / 45)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("interface", "memory", "exports"),
    [
        ("open-ipc", "device", True),
        ("copy", "ipc", True),
        ("copy", "device", False),
        ("store", "pool", False),
    ],
)
def test_cases_with_memory_of_another_process(interface: str, memory: str, exports: bool) -> None:
    """Catches the exporting process reported as a foreign user of the GPU."""
    moved = Flow(Buffer("gpu0", "device"), Buffer("gpu1", memory), "gpu0")
    assert _exports(Case(interface, "unidirectional", (moved,), 4096)) == exports


def test_hangups_that_are_ignored_stay_so() -> None:
    """Catches a run under nohup that ends with its terminal, and other signals that end it at once."""
    before = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)}
    try:
        for ignored in (signal.SIGHUP, signal.SIGINT):
            signal.signal(ignored, signal.SIG_IGN)
        with Interruption() as interruption:
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGINT) == interruption._handle
            assert signal.getsignal(signal.SIGTERM) == interruption._handle
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        with Interruption() as interruption:
            assert signal.getsignal(signal.SIGHUP) == interruption._handle
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_handler_of_a_library_is_left_at_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a run that fails at its end because a preloaded MPI has handlers, which Python calls None."""
    told: dict[int, object] = {}

    def record(number: int, handler: object) -> None:
        told[number] = handler

    monkeypatch.setattr(signal, "signal", record)
    with Interruption():
        assert callable(told[signal.SIGTERM])
    assert told[signal.SIGTERM] is signal.SIG_DFL


def test_the_host_link_of_the_gpu_at_either_end() -> None:
    """Catches the estimate of another link, and of none, for a copy between host and GPU."""
    topology, capabilities = machines.h200x4()
    estimator = Estimator(topology, capabilities)
    host, gpu = Buffer("cpu0", "pinned"), Buffer("gpu1", "device")
    (peak,) = {
        link.peak_bytes_per_s for link in topology.links if link.kind == "pcie" and "gpu1" in (link.a, link.b)
    }
    assert peak is not None
    for source, destination in ((host, gpu), (gpu, host)):
        rate = estimator._rate("copy", source, destination, "gpu1")
        assert rate == pytest.approx(LINK_EFFICIENCY * peak)


def test_a_record_without_flows_is_refused() -> None:
    """Catches a record that names no devices, or names them by numbers."""
    one = record("copy", [flow("gpu0:device", "gpu1:device", "gpu0")], 1e9)
    force_setattr(one, "flows", ())
    assert "flows" in wrong(one)


def test_the_longest_line_of_a_journal() -> None:
    """Catches another limit than the one that is told."""
    with pytest.raises(ValueError, match=f"more than {MOST_LINE_BYTES // MIB} MiB"):
        JournalLines().record(b" " * (MOST_LINE_BYTES + 1))
