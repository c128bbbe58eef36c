"""What is measured while other flows load the machine, and the load itself: through the whole core, on
simulated machines and on this host.
"""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from tests.native import simulated as toy
from tests.native.simulated import FIXED_NS, GB, MIB, RATES

SIZE = 64 * MIB
LOAD = 16 * MIB
#: A gate, a launch or an event costs these machines something, as they do real ones.
COSTLY = {"calls__event_ns": 2000.0, "calls__launch_ns": 3000.0}


def chase(session: _core.Session, executor: str, owner: str, memory: str) -> _core.Flow:
    buffer = session.allocate(owner, memory, SIZE, owner)
    ends = {"cold": False}
    return _core.Flow(buffer, buffer, executor, "pointer-chase", SIZE, **ends)


def loaded(executor: str, owner: str, interface: str, **more: Any) -> Any:
    """Returns latency alone and under load over gpu0>gpu1, and that load in bytes/s."""
    memory = "pageable" if owner.startswith("cpu") else "device"

    def scene(session: _core.Session) -> Any:
        session.prove_peer("gpu0", "gpu1")
        alone = session.measure([chase(session, executor, owner, memory)], toy.options())
        load = toy.flow(session, ("gpu0", "device"), ("gpu1", "device"), "gpu0", interface, LOAD, **more)
        flows = [chase(session, executor, owner, memory), load]
        beside = session.measure(flows, toy.options(interference=True))
        return {
            "alone": alone.time_ns.median,
            "beside": beside.time_ns.median,
            "rates": [flow.bytes_per_s for flow in beside.flows],
            "verified": beside.verified,
            "warnings": [warning.id for warning in beside.warnings],
            "window_ns": beside.window_ns,
        }

    return toy.play(toy.nvidia(**COSTLY), scene)


@pytest.mark.parametrize(("executor", "owner"), [("gpu0", "gpu0"), ("gpu1", "gpu1"), ("cpu0", "cpu0")])
def test_a_chase_is_not_slowed_by_being_watched(executor: str, owner: str) -> None:
    """Catches launches and marks that are timed as steps: where nothing is shared, both figures are one."""
    got = loaded(executor, owner, "copy")
    assert got["verified"] and not got["warnings"]
    assert got["beside"] == pytest.approx(got["alone"], rel=0.005)
    assert got["rates"][0] == 0  # its steps move no bytes


@pytest.mark.parametrize("pause_ns", [0, 50_000, 1_000_000])
def test_pauses_make_the_load(pause_ns: int) -> None:
    """Catches a pause that is not there, or is left out of the time that the load is taken over; and a load
    that ends before what it disturbs.
    """
    got = loaded("gpu0", "gpu0", "copy", pause_ns=pause_ns)
    copy_ns = FIXED_NS["engine"] + LOAD / RATES["engine-peer-write"] * 1e9
    assert got["rates"][1] == pytest.approx(LOAD / (copy_ns + pause_ns) * 1e9, rel=0.02)
    assert got["window_ns"] > 4e6


def test_what_disturbs_outlasts_what_it_slows() -> None:
    """Catches a load planned by what the measured flow takes alone: here both share the memory of a GPU, the
    copy takes several times as long, and most of it would run undisturbed.
    """

    def scene(session: _core.Session) -> Any:
        ends = ("gpu0", "device"), ("gpu0", "device")
        few = toy.flow(session, *ends, "gpu0", "kernel", SIZE, stream=0)
        many = [toy.flow(session, *ends, "gpu0", "kernel", SIZE, stream=k) for k in range(1, 6)]
        beside = session.measure([few, *many], toy.options(interference=True))
        return [flow.bytes_per_s for flow in beside.flows]

    rates = toy.play(toy.nvidia(), scene)
    assert rates[0] == pytest.approx(RATES["kernel-local"] / 6, rel=0.03)


def test_the_window_is_cut_to_whole_parts_of_a_walk() -> None:
    """Catches steps that went on alone, after the load had ended, and are counted as loaded ones."""
    walk = (0.0, [100.0, 200.0, 300.0, 400.0, 410.0], [100, 200, 300, 400, 500])
    load = (0.0, [50.0, 100.0, 200.0, 300.0, 405.0], [1, 2, 3, 4, 5])
    rates, _ = _core.window([walk, load], cut_at=0)
    assert rates[0] == pytest.approx(1.0)
    uncut, _ = _core.window([walk, load])
    assert uncut[0] > 1.1


def test_only_a_walk_cuts_its_window() -> None:
    """Catches a window cut at marks of copies, of which few lie in the window of a slow load."""

    def scene(session: _core.Session) -> Any:
        copies = toy.flow(session, ("gpu0", "device"), ("gpu0", "device"), "gpu0", "kernel", 64 * toy.KIB)
        load = toy.flow(session, ("gpu1", "device"), ("gpu1", "device"), "gpu1", "kernel", 256 * toy.MIB)
        beside = session.measure([copies, load], toy.options(interference=True))
        return [beside.window_ns > 0, [warning.id for warning in beside.warnings]]

    assert toy.play(toy.nvidia(), scene) == [True, []]


def test_one_operation_is_not_timed_by_what_goes_on_after_it() -> None:
    """Catches the end of the load, which comes later by design, taken for that of the one operation."""
    one, load = (0.0, [200.0], [1]), (0.0, [100.0, 400.0], [1, 2])
    assert _core.window([one, load], interference=True)[0][0] == pytest.approx(1 / 200)
    assert _core.window([one, load])[0][0] == pytest.approx(1 / 400)  # flows of one rank: of the whole run


def test_pages_that_move_once_beside_a_load() -> None:
    """Catches a figure of one operation at a time that is diluted by the load, or does not say what it is."""

    def scene(session: _core.Session) -> Any:
        session.prove_peer("gpu0", "gpu1")
        pages = toy.flow(session, ("cpu0", "managed"), ("gpu0", "device"), "gpu0", "kernel", LOAD)
        load = toy.flow(session, ("gpu1", "device"), ("gpu1", "device"), "gpu1", "copy", LOAD)
        alone = session.measure([pages], toy.options())
        beside = session.measure([pages, load], toy.options(interference=True))
        return [(one.time_ns.median, [warning.id for warning in one.warnings]) for one in (alone, beside)]

    (alone_ns, _), (beside_ns, said) = toy.play(toy.nvidia(), scene)
    assert beside_ns == pytest.approx(alone_ns, rel=0.02)
    assert said == ["few-operations"]


@pytest.mark.parametrize("sheet", [toy.nvidia, toy.amd])
@pytest.mark.parametrize(("executor", "memory"), [("gpu0", "device"), ("cpu0", "pageable")])
def test_compute_takes_the_time_of_its_arithmetic(sheet: Any, executor: str, memory: str) -> None:
    """Catches work that the multiprocessors do not share, or a result that is not checked."""

    def scene(session: _core.Session) -> Any:
        buffer = session.allocate(executor, memory, MIB, executor)
        measured = session.measure([_core.Flow(buffer, buffer, executor, "compute", MIB)], toy.options())
        return measured.time_ns.median, measured.verified, [flow.blocks for flow in measured.flows]

    time_ns, verified, blocks = toy.play(sheet(), scene)
    operations = 2 * 4 * 8192  # multiplications and multiply-adds of an item's four chains
    wanted = operations / 2e9 if executor == "cpu0" else operations * 512 * 128 / 10e12
    assert verified and blocks == [8 if executor == "cpu0" else 128]
    assert time_ns == pytest.approx(wanted * 1e9, rel=1e-3)


def test_compute_keeps_most_of_its_speed_beside_a_copy() -> None:
    """Catches a measured flow without bytes whose time is not that of its operations in the window."""

    def scene(session: _core.Session) -> Any:
        session.prove_peer("gpu0", "gpu1")
        buffer = session.allocate("gpu0", "device", MIB, "gpu0")
        compute = _core.Flow(buffer, buffer, "gpu0", "compute", MIB)
        load = toy.flow(session, ("gpu0", "device"), ("gpu1", "device"), "gpu0", "copy", LOAD)
        alone = session.measure([compute], toy.options())
        beside = session.measure([compute, load], toy.options(interference=True))
        return alone.time_ns.median, beside.time_ns.median, beside.flows[1].bytes_per_s

    alone, beside, load = toy.play(toy.nvidia(), scene)
    assert beside == pytest.approx(alone, rel=0.005)
    assert load > 80 * GB


def test_a_load_that_moves_no_bytes_is_refused() -> None:
    """Catches a background flow without bytes whose rate is reported in bytes."""

    def scene(session: _core.Session) -> str:
        load = toy.flow(session, ("gpu0", "device"), ("gpu0", "device"), "gpu0", "kernel", LOAD)
        try:
            flows = [load, chase(session, "gpu0", "gpu0", "device")]
            session.measure(flows, toy.options(interference=True))
        except _core.UnsupportedError as error:
            return error.text
        return ""

    assert "moves no bytes" in toy.play(toy.nvidia(), scene)


@pytest.fixture(scope="module")
def session() -> _core.Session:
    return _core.Session(gpus=False)


def test_compute_on_this_host(session: _core.Session) -> None:
    """Catches arithmetic that rounds otherwise in the kernel than in what it is checked against, and work
    that the compiler left out.
    """
    buffer = session.allocate("cpu0", "pageable", 64 << 10, "cpu0")
    measured = session.measure(
        [_core.Flow(buffer, buffer, "cpu0", "compute", 64 << 10, threads=1)], toy.options(budget_s=0.05)
    )
    assert measured.verified and measured.engine == "cpu"
    assert measured.time_ns.median > 8192  # a step of all chains takes at least 1 ns on any processor


def test_idle_time_of_this_host(session: _core.Session) -> None:
    """Catches a pause that ends early, or that is counted into no operation."""
    ends = [session.allocate("cpu0", "pageable", MIB, "cpu0") for _ in range(2)]
    flow = _core.Flow(*ends, "cpu0", "memcpy", MIB, pause_ns=3_000_000)
    measured = session.measure([flow], toy.options(budget_s=0.05))
    assert measured.verified and measured.time_ns.min >= 3e6


def test_loaded_latency_on_this_host(session: _core.Session) -> None:
    """Catches a walk and a load that do not share a window with the host's own clock and threads."""
    load = [session.allocate("cpu0", "pageable", 4 * MIB, "cpu0") for _ in range(2)]
    buffer = session.allocate("cpu0", "pageable", 4 * MIB, "cpu0")
    walk = _core.Flow(buffer, buffer, "cpu0", "pointer-chase", 4 * MIB, cold=False)
    flows = [walk, _core.Flow(*load, "cpu0", "memcpy", 4 * MIB, pause_ns=100_000)]
    measured = session.measure(flows, toy.options(interference=True, budget_s=0.3))
    assert measured.verified and measured.time_ns.median > 0
    assert measured.flows[0].bytes_per_s == 0 and measured.flows[1].bytes_per_s > 0
