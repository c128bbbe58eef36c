"""What is measured on a simulated machine without noise is what its sheet says, through the whole core."""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from tests.native import simulated as toy
from tests.native.simulated import FIXED_NS, GB, GIB, KIB, MIB, RATES

SIZE = 64 * MIB


def figure(session: _core.Session, *flows: _core.Flow, **settings: Any) -> dict[str, Any]:
    """What a test looks at of a measurement."""
    measured = session.measure(list(flows), toy.options(**settings))
    return {
        "time_ns": measured.time_ns.median,
        "samples_ns": measured.samples_ns,
        "rates": [flow.bytes_per_s for flow in measured.flows],
        "verified": measured.verified,
        "gated": measured.gated,
        "engine": measured.engine,
        "timed_by": measured.timed_by,
        "warnings": [warning.id for warning in measured.warnings],
    }


def one(sheet: str, source: str, destination: str, executor: str, interface: str, size: int = SIZE) -> Any:
    """Figures of one flow; an end is `device:memory`."""

    def scene(session: _core.Session) -> Any:
        if source[:3] == destination[:3] == "gpu":
            session.prove_peer(executor, ({source[:4], destination[:4]} - {executor} or {executor}).pop())
        ends = [tuple(end.split(":")) for end in (source, destination)]
        return figure(session, toy.flow(session, ends[0], ends[1], executor, interface, size))

    return toy.play(sheet, scene)


#: source, destination, executor, interface -> the way it takes, and the engine.
NVIDIA_WAYS = [
    ("gpu0:device", "gpu1:device", "gpu0", "copy", "engine-peer-write", "copy-engine"),
    ("gpu1:device", "gpu0:device", "gpu0", "copy", "engine-peer-read", "copy-engine"),
    ("gpu0:device", "gpu0:device", "gpu0", "copy", "blit-local", "kernel"),
    ("cpu0:pinned", "gpu0:device", "gpu0", "copy", "engine-host-read", "copy-engine"),
    ("gpu0:device", "cpu0:pinned", "gpu0", "copy", "engine-host-write", "copy-engine"),
    ("gpu0:device", "gpu0:device", "gpu0", "kernel", "kernel-local", ""),
    ("gpu1:device", "gpu0:device", "gpu0", "kernel", "kernel-peer-read", ""),
    ("gpu0:device", "gpu1:device", "gpu0", "kernel", "kernel-peer-write", ""),
    ("cpu0:pinned", "gpu0:device", "gpu0", "kernel", "kernel-host-read", ""),
    ("gpu0:device", "cpu0:pinned", "gpu0", "kernel", "kernel-host-write", ""),
]


@pytest.mark.parametrize(
    ("source", "destination", "executor", "interface", "way", "engine"), NVIDIA_WAYS, ids=lambda each: each
)
def test_unidirectional(
    source: str, destination: str, executor: str, interface: str, way: str, engine: str
) -> None:
    """Catches an operation that takes another way, or another engine, than its vendor's call takes."""
    got = one(toy.nvidia(), source, destination, executor, interface)
    wanted = FIXED_NS[way.split("-")[0]] + SIZE / RATES[way] * 1e9
    assert got["time_ns"] == pytest.approx(wanted, rel=1e-6)
    assert got["verified"] and got["gated"] and got["timed_by"] == "device-events"
    if engine:
        assert got["engine"] == engine


@pytest.mark.parametrize(
    ("environment", "size", "way"),
    [
        ({}, SIZE, "engine-peer-write"),
        ({}, MIB, "blit-peer-write"),
        ({"ROC_P2P_SDMA_SIZE": "64"}, MIB, "engine-peer-write"),
        ({"HSA_ENABLE_PEER_SDMA": "0"}, SIZE, "blit-peer-write"),
        ({"HSA_ENABLE_SDMA": "0"}, SIZE, "blit-peer-write"),
    ],
)
def test_engines_of_hip_copies(environment: dict[str, str], size: int, way: str) -> None:
    """Catches a setting of ROCm that the simulated runtime reads otherwise than the real one."""

    def scene(session: _core.Session) -> Any:
        session.prove_peer("gpu0", "gpu1")
        ends = ("gpu0", "device"), ("gpu1", "device")
        return figure(session, toy.flow(session, *ends, "gpu0", "copy", size))

    got = toy.play(toy.amd(), scene, environment)
    assert got["time_ns"] == pytest.approx(FIXED_NS[way.split("-")[0]] + size / RATES[way] * 1e9, rel=1e-6)
    assert got["engine"] == {"engine": "copy-engine", "blit": "kernel"}[way.split("-")[0]]


def test_both_ways_at_once() -> None:
    """Catches two directions of a link that share one direction's rate."""

    def scene(session: _core.Session) -> Any:
        for pair in (("gpu0", "gpu1"), ("gpu1", "gpu0")):
            session.prove_peer(*pair)
        flows = [
            toy.flow(session, (near, "device"), (far, "device"), near, "kernel", SIZE)
            for near, far in (("gpu0", "gpu1"), ("gpu1", "gpu0"))
        ]
        return figure(session, *flows)

    got = toy.play(toy.nvidia(), scene)
    assert got["verified"]
    assert got["rates"] == pytest.approx([RATES["kernel-peer-write"]] * 2, rel=0.01)


def test_two_flows_share_a_link() -> None:
    """Catches two copies over one link that each get all of it."""

    def scene(session: _core.Session) -> Any:
        session.prove_peer("gpu0", "gpu1")
        flows = [
            toy.flow(session, ("gpu0", "device"), ("gpu1", "device"), "gpu0", "kernel", SIZE, stream=stream)
            for stream in (0, 1)
        ]
        return figure(session, *flows)

    got = toy.play(toy.nvidia(), scene)
    assert sum(got["rates"]) == pytest.approx(RATES["kernel-peer-write"], rel=0.02)


def test_directions_add_up_where_samples_scatter() -> None:
    """Catches medians of single flows, which do not add up to the median of their sum."""

    def scene(session: _core.Session) -> Any:
        pairs = [("gpu0", "gpu1"), ("gpu1", "gpu0")]
        for pair in pairs:
            session.prove_peer(*pair)
        flows = [
            toy.flow(session, (near, "device"), (far, "device"), near, "kernel", SIZE) for near, far in pairs
        ]
        return figure(session, *flows)

    got = toy.play(toy.nvidia(noise=0.3), scene)
    assert len(set(got["samples_ns"])) > 2
    assert sum(got["rates"]) == pytest.approx(2 * SIZE / got["time_ns"] * 1e9, rel=1e-9)


def test_noise_never_exceeds_the_rate_of_a_link() -> None:
    """Catches noise that makes a simulated transfer faster than its link."""
    ends = ("gpu0:device", "gpu1:device", "gpu0", "kernel")
    quiet, noisy = (one(toy.nvidia(noise=noise), *ends)["samples_ns"] for noise in (0.0, 0.05))
    assert len(set(noisy)) > 2
    assert min(noisy) >= min(quiet)


def test_a_team_of_cores_costs_a_start() -> None:
    """Catches small copies of many cores that run at the sum of their caches' rates."""
    got = one(toy.nvidia(), "cpu0:pageable", "cpu0:pageable", "cpu0", "memcpy-mt", 64 << 10)
    assert 5000.0 < got["time_ns"] < 10000.0


def test_host_copy() -> None:
    """Catches host memory whose rate is not that of the model's cores."""
    got = one(toy.nvidia(), "cpu0:pageable", "cpu0:pageable", "cpu0", "memcpy")
    assert got["rates"] == pytest.approx([toy.CORE_COPY], rel=1e-3)
    assert got["verified"] and got["timed_by"] == "host-clock"


def test_pageable_copy_is_found_to_block() -> None:
    """Catches a staged copy that the gate does not find out, or whose time is not the staging's."""
    got = one(toy.nvidia(), "cpu0:pageable", "gpu0:device", "gpu0", "copy")
    assert got["engine"] == "staged" and not got["gated"]
    assert got["rates"] == pytest.approx([4 * GB], rel=0.01)
    assert got["verified"]


@pytest.mark.parametrize(
    ("device", "memory", "executor", "size", "latency_ns"),
    [
        ("gpu0", "device", "gpu0", MIB, 100.0),
        ("gpu0", "device", "gpu0", SIZE, 300.0),
        ("gpu1", "device", "gpu0", SIZE, 800.0),
        ("cpu0", "pinned", "gpu0", SIZE, 1000.0),
        ("cpu0", "pageable", "cpu0", SIZE, 90.0),
        ("cpu1", "pageable", "cpu0", SIZE, 150.0),
    ],
)
def test_latency(device: str, memory: str, executor: str, size: int, latency_ns: float) -> None:
    """Catches a chase that does not walk where its buffer is, or ends elsewhere than it must."""

    def scene(session: _core.Session) -> Any:
        if memory == "device" and device != executor:
            session.prove_peer(executor, device)
        buffer = session.allocate(device, memory, size, device)
        return figure(session, _core.Flow(buffer, buffer, executor, "pointer-chase", size))

    got = toy.play(toy.nvidia(), scene)
    assert got["time_ns"] == pytest.approx(latency_ns, rel=1e-6)
    assert got["verified"]


@pytest.mark.parametrize(("size", "latency_ns"), [(MIB, 40.0), (2 * MIB, 100.0), (8 * MIB, 300.0)])
def test_a_chase_meets_the_l2_of_its_die_first(size: int, latency_ns: float) -> None:
    """Catches a hierarchy without the tier below the last-level cache."""

    def scene(session: _core.Session) -> Any:
        buffer = session.allocate("gpu0", "device", size, "gpu0")
        return figure(session, _core.Flow(buffer, buffer, "gpu0", "pointer-chase", size))

    machine = toy.amd(gpu__l2_bytes=MIB, gpu__l2_latency_ns=40.0)
    assert toy.play(machine, scene)["time_ns"] == pytest.approx(latency_ns, rel=1e-6)


@pytest.mark.parametrize("owner", ["gpu0", "gpu1"])
@pytest.mark.parametrize("loads", ["ordinary", "system"])
def test_ordinary_loads_meet_the_l1_of_their_multiprocessor(owner: str, loads: str) -> None:
    """Catches loads of system scope that a cache serves, and ordinary loads that none does."""

    def scene(session: _core.Session) -> Any:
        if owner != "gpu0":
            session.prove_peer("gpu0", owner)
        found = []
        for bytes_walked in (32 * KIB, 64 * KIB):
            buffer = session.allocate(owner, "device", bytes_walked, owner)
            flow = _core.Flow(buffer, buffer, "gpu0", "pointer-chase", bytes_walked, loads=loads)
            measured = session.measure([flow], toy.options(max_samples=3))
            found.append([measured.time_ns.median, measured.verified, measured.evidence.own_caches])
        return found

    beyond = 100.0 if owner == "gpu0" else 800.0
    within = 20.0 if loads == "ordinary" else beyond
    for machine in (toy.amd, toy.nvidia):
        small, large = toy.play(machine(gpu__l1_bytes=32 * KIB, gpu__l1_latency_ns=20.0), scene)
        assert small == [pytest.approx(within, rel=1e-6), True, loads == "ordinary"]
        assert large == [pytest.approx(beyond, rel=1e-6), True, loads == "ordinary"]


@pytest.mark.parametrize("loads", ["ordinary", "system"])
def test_a_cpu_has_one_kind_of_load(loads: str) -> None:
    """Catches a CPU's coherent caches taken for those that make a figure mean something else."""

    def scene(session: _core.Session) -> Any:
        buffer = session.allocate("cpu0", "pageable", MIB, "cpu0")
        flow = _core.Flow(buffer, buffer, "cpu0", "pointer-chase", MIB, loads=loads)
        measured = session.measure([flow], toy.options(max_samples=3))
        return [measured.time_ns.median, measured.verified, measured.evidence.own_caches]

    assert toy.play(toy.nvidia(), scene) == [pytest.approx(4.0, rel=1e-6), True, False]


def test_no_other_loads() -> None:
    """Catches a word that passes for the usual loads."""

    def scene(session: _core.Session) -> str:
        buffer = session.allocate("gpu0", "device", MIB, "gpu0")
        flow = _core.Flow(buffer, buffer, "gpu0", "pointer-chase", MIB, loads="volatile")
        with pytest.raises(_core.UnsupportedError) as caught:
            session.measure([flow], toy.options())
        return caught.value.code

    assert toy.play(toy.nvidia(), scene) == "loads"


def test_two_processes_give_the_same_samples() -> None:
    """Catches anything of the real machine, its clock above all, that shows in a simulated figure."""

    def scene(session: _core.Session) -> Any:
        session.prove_peer("gpu0", "gpu1")
        flow = toy.flow(session, ("gpu0", "device"), ("gpu1", "device"), "gpu0", "copy", SIZE)
        host = toy.flow(session, ("cpu0", "pageable"), ("cpu1", "pageable"), "cpu0", "memcpy", MIB)
        return [figure(session, one)["samples_ns"] for one in (flow, host)]

    noisy = toy.nvidia(noise=0.01, seed=7)
    first, second = toy.play(noisy, scene), toy.play(noisy, scene)
    assert first == second
    assert len(set(first[0])) > 10  # noise is there
    assert toy.play(toy.nvidia(noise=0.01, seed=8), scene) != first


def test_corrupted_data_is_noticed() -> None:
    """Catches a fault of the sheet that does not reach what the core verifies."""
    got = one(toy.nvidia(faults__0="corrupt:gpu0>gpu1:word=7"), "gpu0:device", "gpu1:device", "gpu0", "copy")
    assert not got["verified"]


def test_peer_access_that_is_only_claimed() -> None:
    """Catches access that is believed because the driver grants it."""

    def scene(session: _core.Session) -> list[Any]:
        proof = session.prove_peer("gpu0", "gpu1")
        return [proof.available, proof.reason]

    available, reason = toy.play(toy.nvidia(faults__0="false-peer:gpu0>gpu1"), scene)
    assert not available and "did not arrive" in reason


@pytest.mark.parametrize("pair", ["gpu0-gpu1", "gpu1-gpu0"])
def test_slow_link_has_no_order(pair: str) -> None:
    """Catches a fault of a link that does nothing when its ends are named the other way round."""
    for source, destination, way in (("gpu0", "gpu1", "write"), ("gpu1", "gpu0", "read")):
        sheet = toy.nvidia(faults__0=f"slow:{pair}:0.25")
        got = one(sheet, f"{source}:device", f"{destination}:device", "gpu0", "kernel")
        whole = one(toy.nvidia(), f"{source}:device", f"{destination}:device", "gpu0", "kernel")
        assert got["rates"][0] < 0.5 * whole["rates"][0], way


@pytest.mark.parametrize(
    ("sheet", "name"), [(toy.nvidia, "CUDA_ERROR_NOT_SUPPORTED"), (toy.amd, "hipErrorNotSupported")]
)
def test_model_that_lacks_a_rate_says_which(sheet: Any, name: str) -> None:
    """Catches a gap of the model told in the vendor's words alone; they have none for it."""

    def scene(session: _core.Session) -> str:
        session.prove_peer("gpu0", "gpu1")
        flow = toy.flow(session, ("gpu0", "device"), ("gpu1", "device"), "gpu0", "copy", SIZE)
        try:
            session.measure([flow], toy.options())
        except _core.Error as error:
            return f"{error.code}: {error.text}"
        return ""

    said = toy.play(sheet(**{"rates.engine-peer-write.efficiency": 0.0}), scene)
    assert said == f"{name}: operation not supported: the machine model has no [rates.engine-peer-write]"


def test_memory_that_cannot_be_had() -> None:
    """Catches a failed allocation that is another error than out of memory."""

    def scene(session: _core.Session) -> str:
        try:
            session.allocate("gpu1", "device", MIB, "gpu1")
        except _core.OutOfMemoryError as error:
            return f"{error.code} {error.device}"
        return ""

    got = toy.play(toy.nvidia(faults__0="no-memory:gpu1"), scene)
    assert got == "CUDA_ERROR_OUT_OF_MEMORY gpu1"


def test_blocking_copies_beside_each_other_are_refused() -> None:
    """Catches threads that wait for each other while time stands still: a run that never ends."""

    def scene(session: _core.Session) -> str:
        flows = [
            toy.flow(session, ("cpu0", "pageable"), (gpu, "device"), gpu, "copy", MIB)
            for gpu in ("gpu0", "gpu1")
        ]
        try:
            session.measure(flows, toy.options())
        except _core.UnsupportedError as error:
            return error.code
        return ""

    assert toy.play(toy.nvidia(), scene) == "virtual time"


def test_kernels_that_run_at_once_leave_each_other_room() -> None:
    """Catches the first of two kernels taking every multiprocessor, so that they run one after the other."""

    def scene(session: _core.Session) -> Any:
        ends = ("cpu0", "pinned"), ("gpu0", "device")
        there, back = (toy.flow(session, *way, "gpu0", "kernel", SIZE) for way in (ends, ends[::-1]))
        few = toy.flow(session, *ends, "gpu0", "kernel", SIZE, blocks=3)
        shapes = {
            "alone": session.measure([there], toy.options()),
            "both": session.measure([there, back], toy.options()),
            "disturbed": session.measure([there, back], toy.options(interference=True)),
            "asked": session.measure([few, back], toy.options()),
        }
        return {
            name: [(flow.blocks, flow.threads) for flow in measured.flows]
            for name, measured in shapes.items()
        }

    found = toy.play(toy.nvidia(), scene)
    (alone,) = found["alone"]
    resident = 64 * 2048  # threads of the toy at a time
    assert [blocks * threads for blocks, threads in found["both"]] == [resident // 2] * 2
    assert found["disturbed"] == [alone, alone]
    assert found["asked"][0] == [3, 512]


@pytest.mark.parametrize(
    ("interface", "ends", "size", "shape"),
    [
        ("kernel", ("gpu0", "gpu0"), 64 * 1024, (16, 256)),  # an access of 16 bytes a thread
        ("kernel", ("gpu0", "gpu0"), MIB, (64, 256)),  # tiles of four
        ("kernel", ("gpu0", "gpu0"), GIB, (262144, 256)),
        ("kernel", ("gpu0", "gpu1"), 64 * 1024, (16, 256)),
        ("kernel", ("gpu0", "gpu1"), GIB, (65536, 256)),
        ("stream-copy", ("gpu0", "gpu0"), GIB, (262144, 256)),
        ("kernel-2d", ("gpu0", "gpu0"), MIB, (256, 256)),
    ],
)
def test_grids_cover_the_data(
    interface: str, ends: tuple[str, str], size: int, shape: tuple[int, int]
) -> None:
    """Catches a grid that leaves most of the device idle, or whose last blocks wait for a second turn."""

    def scene(session: _core.Session) -> Any:
        rows = {"width_bytes": 4096, "pitch_bytes": 4096} if interface == "kernel-2d" else {}
        ends_ = ((ends[0], "device"), (ends[1], "device"))
        (flow,) = session.measure(
            [toy.flow(session, *ends_, "gpu0", interface, size, **rows)], toy.options()
        ).flows
        return flow.blocks, flow.threads

    assert tuple(toy.play(toy.nvidia(), scene)) == shape


def test_amd_stores_to_a_peer_come_from_a_resident_grid() -> None:
    """Catches a fence of system scope, which writes back the L2, at the end of each of 262,144 blocks."""

    def scene(session: _core.Session) -> Any:
        found = []
        for to in ("gpu0", "gpu1"):
            flow = toy.flow(session, ("gpu0", "device"), (to, "device"), "gpu0", "kernel", GIB)
            (result,) = session.measure([flow], toy.options()).flows
            found.append(result.blocks * result.threads)
        return found

    own, peer = toy.play(toy.amd(), scene)
    assert own == GIB // 16 and peer <= 64 * 2048


def test_a_later_round_repeats_no_trials() -> None:
    """Catches rounds that find out again how a flow completes and how long a batch is, a third of their time;
    and knowledge about one flow that is used for another, or for other settings.
    """

    def scene(session: _core.Session) -> Any:
        def measured(size: int, **settings: Any) -> dict[str, Any]:
            # For each operation a slot, so that each counts.
            ends = [session.allocate(gpu, "device", 3 * GIB, gpu) for gpu in ("gpu0", "gpu1")]
            flow = _core.Flow(*ends, "gpu0", "copy", size)
            found = session.measure([flow], toy.options(**settings))
            checked = found.flows[0].verification.checked_bytes
            first, every = found.verified_first, found.verified_every_sample
            kept = {"batch": found.batch, "n": found.time_ns.n, "slope": found.slope}
            return {**kept, "checked": checked, "first": first, "every": every}

        session.prove_peer("gpu0", "gpu1")
        sizes = [size for size in (4 * MIB, MIB, 4096) for _ in range(2)]
        return [*(measured(size) for size in sizes), measured(4 * MIB, batch=3), measured(4 * MIB)]

    found = toy.play(toy.nvidia(), scene)
    for first, second in zip(found[0:6:2], found[1:6:2], strict=True):
        same = ("batch", "n", "slope")
        assert [first[name] for name in same] == [second[name] for name in same]
        assert second["checked"] < first["checked"]
        assert first["first"] and second["first"] == second["every"]
    assert [each["slope"] for each in found[:6]] == [False] * 4 + [True] * 2
    assert found[6]["batch"] == 3 != found[7]["batch"] == found[0]["batch"]


def test_a_later_round_of_concurrent_flows_warms_up_shortly() -> None:
    """Catches flows that warm up as long in each round, and a later round that leaves words unchecked."""

    def scene(session: _core.Session) -> Any:
        for pair in (("gpu0", "gpu1"), ("gpu1", "gpu0")):
            session.prove_peer(*pair)
        pairs = (("gpu0", "gpu1"), ("gpu1", "gpu0"))
        flows = []
        for near, far in pairs:  # for each operation a slot, so that each counts
            ends = [session.allocate(gpu, "device", 3 * GIB, gpu) for gpu in (near, far)]
            flows.append(_core.Flow(*ends, near, "copy", MIB))
        for alone in flows:
            session.measure([alone], toy.options())  # finds out how it completes
        found = [session.measure(flows, toy.options(precision=0.0, max_samples=3)) for _ in range(2)]
        return [
            {
                "verified": each.verified,
                "rates": [flow.bytes_per_s for flow in each.flows],
                "checked": [flow.verification.checked_bytes for flow in each.flows],
            }
            for each in found
        ]

    first, second = toy.play(toy.nvidia(), scene)
    assert first["verified"] and second["verified"]
    assert second["rates"] == pytest.approx(first["rates"], rel=0.01)
    for before, after in zip(first["checked"], second["checked"], strict=True):
        assert 0 < after < before


def test_gpus_of_one_model_share_what_was_seen_of_their_copies() -> None:
    """Catches an engine that is observed again on each equal GPU, and one of a pair taken for another's."""

    def scene(session: _core.Session) -> Any:
        def seen(source: str, destination: str) -> list[str]:
            flow = toy.flow(session, (source, "device"), (destination, "device"), source, "copy", SIZE)
            found = session.measure([flow], toy.options())
            return [found.engine, found.engine_evidence]

        for pair in (("gpu0", "gpu1"), ("gpu1", "gpu0")):
            session.prove_peer(*pair)
        ways = (("gpu0", "gpu0"), ("gpu1", "gpu1"), ("gpu0", "gpu1"), ("gpu1", "gpu0"))
        return [seen(*way) for way in ways]

    own, other, there, back = toy.play(toy.nvidia(), scene)
    assert own == other and own[0] == "kernel"
    assert there[0] == back[0] == "copy-engine" and there[1] != back[1]
