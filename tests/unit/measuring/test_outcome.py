"""What becomes of a native measurement: figures, corruption, placement, health."""

from __future__ import annotations

import resource
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.work.health import HealthMonitor
from byteways.measuring.work.outcome import misplaced, on_other_pages, outcome_of
from byteways.measuring.work.outcome_fields import Outcome
from byteways.record.evidence import EvidenceFields

HOST = "cpu0:pageable"
#: What the core notes of most interfaces.
NOTED = SimpleNamespace(
    window_messages=0,
    own_caches=False,
    library="",
    library_version="",
    call="",
    fallback=SimpleNamespace(from_="", to="", reason=""),
    transports=[],
)


def measurement(flows: int = 1, **fields: Any) -> Any:
    """A _core.Measurement as the native core fills it."""
    good = SimpleNamespace(ok=True, checked_bytes=65536, bad_count=0, first_offset_bytes=0, expected=0, got=0)
    each = [
        SimpleNamespace(
            bytes_per_s=1e9 * (index + 1), end_to_end_bytes_per_s=9e8, start_skew_ns=10.0 * index,
            verification=good, blocks=0, threads=0, parts={},
            before=[], after=[], timed=[], bytes_per_touch=0,
        )
        for index in range(flows)
    ]  # fmt: skip
    summary = SimpleNamespace(
        median=1000.0, ci95=(990.0, 1010.0), min=980.0, max=1020.0, mean=1000.5, sd=5.0, n=3
    )
    filled = {
        "samples_ns": [999.12345678, 1000.0, 1001.0], "time_ns": summary, "batch": 4, "slope": False,
        "gated": True, "verified": True, "verified_every_sample": False, "verified_first": True,
        "timed_by": "device-events", "timer_resolution_ns": 32.0, "submit_ns": 1234.56789, "first_ns": 5000.0,
        "host_ns": 0.0, "times": [], "discarded": [], "traces": [],
        "clock_alignment_ns": 5.0, "window_ns": 4e6, "end_to_end_ns": 5e6, "engine": "copy-engine",
        "engine_evidence": "counter", "flows": each, "warnings": [], "distinct_source_bytes": 1,
        "distinct_destination_bytes": 2, "evidence": NOTED,
    }  # fmt: skip
    return SimpleNamespace(**{**filled, **fields})


def buffers(flows: int = 1, domains: dict[int, int] | None = None) -> list[Any]:
    buffer = SimpleNamespace(page_bytes=4096, placement=lambda: domains or {})
    return [(buffer, buffer)] * flows


def gpu_case(pattern: str, *paths: str) -> Case:
    flows = []
    for path in paths:
        source, destination = path.split(">")
        flows.append(Flow(Buffer(source, "device"), Buffer(destination, "device"), source))
    return Case("copy", pattern, tuple(flows), 1 << 20)


@pytest.mark.parametrize(
    ("noted", "fields"),
    [
        ({}, None),
        ({"window_messages": 64}, {"window": 64}),
        ({"own_caches": True}, {"own_caches": True}),
        (
            {"library": "NCCL", "library_version": "2.28.3"},
            {"library": "NCCL", "library_version": "2.28.3"},
        ),
        (
            {"library": "UCX", "library_version": "1.22.0", "transports": ["cma/memory"]},
            {"library": "UCX", "library_version": "1.22.0", "transports": ("cma/memory",)},
        ),
        (
            {"library": "UCX", "library_version": "1.12.1"},
            {"library": "UCX", "library_version": "1.12.1", "transports_unknown": "old-library"},
        ),
        (
            {"call": "ncclGather"},
            {"call": "ncclGather"},
        ),
        (
            {"fallback": SimpleNamespace(from_="copies", to="mpi-staged", reason="rank 0: no access")},
            {"fallback": {"asked": "copies", "used": "mpi-staged", "reason": "rank 0: no access"}},
        ),
    ],
)
def test_what_the_core_noted_as_evidence(noted: dict[str, Any], fields: dict[str, Any] | None) -> None:
    """Catches a fact that the core notes and no record has, and empty fields in every record."""
    seen = measurement(evidence=SimpleNamespace(**{**vars(NOTED), **noted}))
    outcome = outcome_of(gpu_case("unidirectional", "gpu0>gpu1"), seen, buffers())
    assert outcome.get("evidence") == fields
    assert fields is None or msgspec.to_builtins(msgspec.convert(fields, EvidenceFields)) == fields


def test_outcome_of_one_flow() -> None:
    """Would catch a bandwidth that is not bytes over the median time, or samples with digits no timer has."""
    case = gpu_case("unidirectional", "gpu0>gpu1")
    outcome = outcome_of(case, measurement(), buffers())
    assert outcome["bandwidth_bytes_per_s"] == pytest.approx((1 << 20) / 1000 * 1e9, rel=1e-6)
    assert outcome["directions"] == {"gpu0>gpu1": outcome["bandwidth_bytes_per_s"]}
    assert outcome["counts"] == "per-direction"
    assert outcome["samples_ns"][0] == 999.1235
    assert outcome["verification"] == "every sample, strided; first and last in full"
    whole = outcome_of(case, measurement(verified_every_sample=True), buffers())
    assert whole["verification"] == "every sample"
    later = outcome_of(case, measurement(verified_first=False), buffers())
    assert later["verification"] == "every sample, strided; last in full"
    assert "end_to_end_bytes_per_s" not in outcome


@pytest.mark.parametrize(
    ("memory", "page_bytes", "warned"),
    [
        ("hugepage", 1 << 21, False),
        ("hugepage", resource.getpagesize(), True),
        ("hugepage", 0, True),  # only part of it is on huge pages
        ("pageable", resource.getpagesize(), False),
        ("pageable", 1 << 21, True),
        ("registered", 1 << 21, True),
        ("pinned", 1 << 21, False),  # the driver's choice
    ],
)
def test_pages_of_another_size_than_asked_for(memory: str, page_bytes: int, warned: bool) -> None:
    """Catches results of base pages reported as of huge pages, and the reverse."""
    end = Buffer("cpu0", memory)
    case = Case("memcpy", "unidirectional", (Flow(end, end, "cpu0"),), 1 << 20)
    got = SimpleNamespace(page_bytes=page_bytes)
    assert [one.id for one in on_other_pages(case, [(got, got)])] == ["page-size"] * warned
    step = replace(case, interface="allocate")
    assert on_other_pages(step, [(got, got)]) == []  # it holds no memory


def test_what_is_kept_of_every_sample() -> None:
    """Would catch a time, a discarded sample or the marks of a flow that are lost on the way; a time that was
    not seen is no list of zeros.
    """
    times = [SimpleNamespace(device_ns=1000.0, submit_ns=0.0, host_ns=1200.123456)] * 2
    run = [
        SimpleNamespace(released=5e9 + 10 * k, marks=[5e9 + 100, 5e9 + 200], operations=[2, 4])
        for k in (0, 1)
    ]
    kept = outcome_of(
        gpu_case("bidirectional", "gpu0>gpu1", "gpu1>gpu0"),
        measurement(
            2,
            times=times,
            host_ns=1200.0,
            traces=[run, run],
            discarded=[SimpleNamespace(reason="gate-opened", time_ns=5e6)],
        ),
        buffers(2),
    )
    assert kept["discarded_samples"] == 1 and kept["host_ns"] == 1200.0
    samples = kept["samples"]
    assert samples["device_ns"] == [1000.0, 1000.0] and samples["submit_ns"] == []
    assert samples["host_ns"] == [1200.123, 1200.123]
    assert samples["discarded"] == [{"reason": "gate-opened", "time_ns": 5e6}]
    assert [flow["path"] for flow in samples["flows"]] == ["gpu0>gpu1", "gpu1>gpu0"]
    assert samples["flows"][1] == {
        "path": "gpu1>gpu0",
        "operations": [4, 4],
        "released_ns": [10.0, 10.0],
        "marks_ns": [[100.0, 200.0]] * 2,
    }


def test_outcome_of_concurrent_flows() -> None:
    """Would catch a sum that counts disturbers, or a direction that is missing."""
    bidirectional = outcome_of(
        gpu_case("bidirectional", "gpu0>gpu1", "gpu1>gpu0"), measurement(2), buffers(2)
    )
    assert bidirectional["bandwidth_bytes_per_s"] == pytest.approx(2 * (1 << 20) / 1000 * 1e9, rel=1e-6)
    assert bidirectional["directions"] == {"gpu0>gpu1": 1e9, "gpu1>gpu0": 2e9}
    assert bidirectional["start_skew_ns"] == {"gpu0>gpu1": 0.0, "gpu1>gpu0": 10.0}
    assert bidirectional["counts"] == "sum-of-directions"
    beside = gpu_case("interference", "gpu0>gpu1", "gpu2>gpu3", "gpu2>gpu3")
    disturbed = outcome_of(beside, measurement(3), buffers(3))
    assert disturbed["bandwidth_bytes_per_s"] == pytest.approx((1 << 20) / 1000 * 1e9, rel=1e-6)
    assert disturbed["directions"] == {"gpu0>gpu1": 1e9, "gpu2>gpu3": 5e9}
    assert disturbed["counts"] == "per-direction"


def test_outcome_of_corruption() -> None:
    """Fail closed. Would catch a wrong word that is reported as a measurement, or without where and what."""
    wrong = measurement(2, verified=False)
    wrong.flows[1].verification = SimpleNamespace(
        ok=False,
        checked_bytes=512,
        bad_count=3,
        first_offset_bytes=128,
        expected=(1 << 64) - 1,
        got=0,
        guard_of="",
    )
    outcome = outcome_of(gpu_case("bidirectional", "gpu0>gpu1", "gpu1>gpu0"), wrong, buffers(2))
    assert outcome["status"] == "corrupt"
    assert outcome["corruption"] == {
        "path": "gpu1>gpu0", "first_offset_bytes": 128, "bad_words": 3,
        "expected": "0xffffffffffffffff", "got": "0x0000000000000000",
    }  # fmt: skip
    assert "gpu1>gpu0: 3 wrong words" in outcome["reason"]
    wrong.flows[1].verification.guard_of, wrong.flows[1].verification.buffer_bytes = "gpu1:device", 120
    behind = outcome_of(gpu_case("bidirectional", "gpu0>gpu1", "gpu1>gpu0"), wrong, buffers(2))
    assert behind["corruption"] == outcome["corruption"] | {"overrun": "gpu1:device", "buffer_bytes": 120}
    unproved = outcome_of(gpu_case("unidirectional", "gpu0>gpu1"), measurement(verified=False), buffers())
    assert unproved["status"] == "corrupt"
    nothing = outcome_of(
        gpu_case("unidirectional", "gpu0>gpu1"), measurement(verified=False, samples_ns=[]), buffers()
    )
    assert (nothing["status"], "time_ns" in nothing) == ("corrupt", False)


def test_an_outcome_has_no_field_that_is_not_declared() -> None:
    """Would catch an outcome that the conductor has to refuse (test_record_declaration.py has the types)."""
    outcome = outcome_of(
        gpu_case("bidirectional", "gpu0>gpu1", "gpu1>gpu0"), measurement(2), buffers(2, {0: 8})
    )
    assert {*outcome} <= {*Outcome.__annotations__}


def test_misplaced_pages_are_warned_of() -> None:
    """Would catch a figure of remote memory that is taken for local."""
    buffer = Buffer("cpu0", "pageable")
    local = Case("memcpy", "unidirectional", (Flow(buffer, buffer, "cpu0"),), 4096)
    domains = {"cpu0": 1}
    assert misplaced(local, buffers(1, {1: 100}), domains) == []
    (warning,) = misplaced(local, buffers(1, {0: 50, 1: 50}), domains)
    assert (warning.id, warning.observed, warning.required) == ("placement", 0.5, 0.99)
    assert misplaced(local, buffers(1, {0: 50}), {"cpu0": -1}) == [], "nothing was asked for"


def test_first_touch_is_told() -> None:
    """Catches a first touch that filled memory and is taken for one that placed it, and pages of page-locked
    memory that are sought where they were filled.
    """
    pinned, pageable = Buffer("cpu0", "pinned", "cpu1"), Buffer("cpu0", "pageable", "cpu1")
    case = Case("memcpy", "unidirectional", (Flow(pinned, pageable, "cpu0"),), 1 << 20)
    told = outcome_of(case, measurement(), buffers(1, {0: 8}))["first_touch"]
    assert "which the allocation had placed: cpu1" in told["cpu0:pinned@cpu1"]
    assert told["cpu0:pageable@cpu1"] == "placed the pages: cpu1 wrote them first"
    domains = {"cpu0": 0, "cpu1": 1}
    [warning] = misplaced(case, buffers(1, {0: 8}), domains)  # of the pageable memory
    assert warning.id == "placement"
    own = Case("memcpy", "unidirectional", (Flow(pinned, pinned, "cpu0"),), 1 << 20)
    assert misplaced(own, buffers(1, {0: 8}), domains) == []
    untouched = outcome_of(gpu_case("unidirectional", "gpu0>gpu1"), measurement(), buffers())
    assert "first_touch" not in untouched


def health(**fields: Any) -> Any:
    calm = {
        "sm_clock_mhz": 1980, "memory_clock_mhz": 3201, "temperature_c": 40, "power_mw": 120_000,
        "throttle_reasons": 1, "pcie_replays": 0, "nvlink_errors": 0, "nvlink_data_tx_bytes": 0,
        "nvlink_data_rx_bytes": 0, "unknown": {},
    }  # fmt: skip
    return SimpleNamespace(**{**calm, **fields})


@pytest.mark.parametrize(
    ("after", "warned"),
    [
        ({}, []),
        ({"throttle_reasons": 0x4 | 0x40}, ["throttled"]),
        ({"memory_clock_mhz": 2600}, ["clock-drop"]),
        ({"sm_clock_mhz": 345}, []),  # an idle GPU lowers its clock as soon as the case is over
        ({"pcie_replays": 2}, ["pcie-replays"]),
        ({"nvlink_errors": 1}, ["link-errors"]),
        ({"nvlink_data_tx_bytes": 100 << 20}, []),
        ({"nvlink_data_tx_bytes": 50 << 20}, ["unexpected-path"]),
        ({"nvlink_data_tx_bytes": None}, []),
    ],
)
def test_health_warnings(after: dict[str, Any], warned: list[str]) -> None:
    """100 operations of 1 MiB. Would catch a change that is not told, and a warning of a normal idle
    clock.
    """
    before = {"gpu0": health(), "gpu1": health()}
    now = {"gpu0": health(**after), "gpu1": health()}
    changes = HealthMonitor.compare(gpu_case("unidirectional", "gpu0>gpu1"), before, now, 100)
    assert [warning.id for warning in changes.warnings] == warned
    assert changes.health["gpu0"]["before"]["memory_clock_mhz"] == 3201


@pytest.mark.parametrize(
    ("interface", "source", "second", "destination", "other"),
    [
        ("stream-copy", "gpu0", None, "gpu0", ("per-direction", 1, None, None)),
        ("stream-copy", "gpu1", None, "gpu1", ("between-agents", 2, 1, 1)),
        ("stream-triad", "gpu1", None, "gpu0", ("between-agents", 2, 2, 0)),
        ("stream-triad", "gpu1", "gpu0", "gpu2", ("between-agents", 2, 1, 1)),
    ],
)
def test_stream_counts_every_array_and_the_other_count_stands_beside(
    interface: str, source: str, second: str | None, destination: str, other: tuple[Any, ...]
) -> None:
    """Would catch a STREAM figure in bytes of one direction, or arrays over a link not counted there."""
    named = None if second is None else Buffer(second, "device")
    flow = Flow(Buffer(source, "device"), Buffer(destination, "device"), "gpu0", named)
    case = Case(interface, "unidirectional", (flow,), 1 << 20)
    held = [buffers()[0] * (1 if interface == "stream-copy" else 2)]
    outcome = outcome_of(case, measurement(), [held[0][: len(case.buffers_of(flow))]])
    array = (1 << 20) / 1000 * 1e9
    counted = 2 if interface == "stream-copy" else 3
    assert outcome["bandwidth_bytes_per_s"] == pytest.approx(counted * array, rel=1e-6)
    assert outcome["counts"] == "read+write"
    found = outcome["other_count"]
    assert found["counts"] == other[0]
    for name, times in zip(
        ("bytes_per_s", "read_bytes_per_s", "written_bytes_per_s"), other[1:], strict=True
    ):
        assert found.get(name) == (None if times is None else pytest.approx(times * array, rel=1e-6))


class Counters:
    """Energy counters of devices in mJ; one that is missing raises as a management library does."""

    def __init__(self, told: dict[str, float]) -> None:
        self.told = told
        self.report = SimpleNamespace(usable=True)

    def tells(self, device: str) -> bool:
        return device in self.told

    def energy_mj(self, device: str) -> float:
        if device not in self.told:
            raise RuntimeError(device)
        return self.told[device]


def test_energy_is_read_where_there_is_a_counter() -> None:
    """Catches a GPU that is asked by both of its sources, and a missing counter told as zero or less."""
    management = Counters({"GPU-1": 5.0, "GPU-2": -1.0})
    core = SimpleNamespace(Error=RuntimeError, Management=lambda simulator: management)
    uuids = {"gpu1": "GPU-1", "gpu2": "GPU-2", "gpu3": "GPU-3", "gpu4": "GPU-1"}
    monitor = HealthMonitor(core, uuids, driver=Counters({"gpu0": 7.0, "gpu4": 0.0}))  # type: ignore[arg-type]
    assert monitor.energy_mj([f"gpu{index}" for index in range(6)]) == {"gpu0": 7.0, "gpu1": 5.0, "gpu4": 0.0}
    alone = HealthMonitor(core, {})  # type: ignore[arg-type]
    assert alone.energy_mj(["gpu0"]) == {}


@pytest.mark.parametrize(("pattern", "measured"), [("bidirectional", 2), ("interference", 1)])
def test_concurrent_streams_count_every_array(pattern: str, measured: int) -> None:
    """Catches arrays of concurrent STREAM kernels that are not counted, and disturbers that are."""
    flows = tuple(
        Flow(Buffer(gpu, "device"), Buffer(gpu, "device"), gpu) for gpu in ("gpu0", "gpu1")
    )  # fmt: skip
    case = Case("stream-copy", pattern, flows, 1 << 20)
    found = outcome_of(case, measurement(2), buffers(2))
    assert found["bandwidth_bytes_per_s"] == pytest.approx(measured * 2 * (1 << 20) * 1e6, rel=1e-6)
    assert found["counts"] == "read+write"
    assert found.get("load_bytes_per_s") == (2e9 if measured == 1 else None)


@pytest.mark.parametrize(("pace", "half_ns"), [("back-to-back", 500.0), ("one-at-a-time", None)])
def test_half_of_a_round_trip(pace: str, half_ns: float | None) -> None:
    """Catches another part of the round trip, and half of a time that includes the launch."""
    flow = Flow(Buffer("cpu0", "pinned"), Buffer("gpu0", "device"), "cpu0", partner="gpu0")
    case = Case("ping-pong", "unidirectional", (flow,), 8, options={"pace": pace})
    found = outcome_of(case, measurement(), buffers(), {})
    assert (found["latency_ns"], found["counts"]) == (1000.0, "round-trip")
    assert found.get("half_round_trip_ns") == half_ns


@pytest.mark.parametrize(
    ("pages", "warned"), [({0: 999, 1: 1}, False), ({0: 9, 1: 1}, True), ({1: 10}, True), ({}, False)]
)
def test_pages_of_the_first_domain(pages: dict[int, int], warned: bool) -> None:
    """Catches a domain whose number, 0, is taken for none."""
    ends = Flow(Buffer.parse(HOST), Buffer.parse(HOST), "cpu0")
    case = Case("memcpy", "unidirectional", (ends,), 4096)
    held: Any = (SimpleNamespace(placement=lambda: pages),) * 2
    assert bool(misplaced(case, [held], {"cpu0": 0})) == warned
