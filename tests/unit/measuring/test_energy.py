"""Energy from counters that move in steps, under a clock and a load of the test's own."""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence

import pytest

from byteways import _core
from byteways.measuring.work.energy import (
    LEAST_S,
    LEAST_UPDATES,
    MOST_S,
    POLL_S,
    CounterSpan,
    CounterWatch,
    EnergyMeter,
)

GB = 1e9


class Machine:
    """Devices whose counters step every `step_s`; a load adds watts while it runs.

    Args:
        idle_w: Watts by device.
        load_w: Watts that a running load adds on each device.
        step_s: Time between two steps of the counters.
        drift_w_per_s: What a device takes more each second.
    """

    def __init__(
        self,
        idle_w: Mapping[str, float],
        load_w: float,
        step_s: float = 0.05,
        drift_w_per_s: float = 0.0,
    ) -> None:
        self.now_s = 100.0
        self.drift_w_per_s = drift_w_per_s
        self.idle_w, self.load_w, self.step_s = idle_w, load_w, step_s
        self.busy = False
        self.millijoules = dict.fromkeys(idle_w, 0.0)
        self.shown = dict(self.millijoules)
        self.next_step_s = self.now_s
        self.idle_watches = 0

    def clock(self) -> float:
        return self.now_s

    def pass_time(self, seconds: float) -> None:
        end = self.now_s + seconds
        while self.now_s < end:
            until = min(end, self.next_step_s)
            for name, watts in self.idle_w.items():
                power = watts + (self.load_w if self.busy else 0.0) + self.drift_w_per_s * (self.now_s - 100)
                self.millijoules[name] += 1000 * power * (until - self.now_s)
            self.now_s = until
            if self.now_s >= self.next_step_s:
                self.shown = dict(self.millijoules)
                self.next_step_s += self.step_s

    def sleep(self, seconds: float) -> None:
        self.idle_watches += seconds >= 0.5
        self.pass_time(seconds)

    def counters(self, devices: Sequence[str]) -> dict[str, float]:
        self.pass_time(0.001)
        return {name: self.shown[name] for name in devices if name in self.shown}


class Copying:
    """A load of so many bytes/s that goes on whatever others do."""

    def __init__(self, machine: Machine, bytes_per_s: float, slice_s: float) -> None:
        self.machine, self.rate, self.slice_s = machine, bytes_per_s, slice_s
        self.begun_s = machine.now_s

    @property
    def moved_bytes(self) -> float:
        slices = int((self.machine.now_s - self.begun_s) / self.slice_s)
        return self.rate * self.slice_s * slices

    def start(self) -> None:
        self.begun_s = self.machine.now_s
        self.machine.busy = True

    def finish(self) -> None:
        self.machine.busy = False


def meter(machine: Machine) -> EnergyMeter:
    return EnergyMeter(machine.counters, machine.clock, machine.sleep)


def test_energy_is_what_the_load_adds() -> None:
    """Catches idle power that is left in, bytes and joules over different times, and a device that is left
    out.
    """
    machine = Machine({"gpu0": 110.0, "gpu1": 120.0}, 90.0)
    found = meter(machine).measure(["gpu0", "gpu1", "cpu0"], lambda s: Copying(machine, 400 * GB, s))
    assert found["joules_per_GB"] == pytest.approx(2 * 90 / 400, rel=0.01)
    assert found["bytes_per_s"] == pytest.approx(400 * GB, rel=0.01)
    assert found["idle_watts"] == pytest.approx(230, rel=0.01)
    assert found["watts"] == pytest.approx(410, rel=0.01)
    assert found["counted"] == ["gpu0", "gpu1"] and found["not_counted"] == ["cpu0"]
    low, high = found["joules_per_GB_ci95"]
    assert low < 2 * 90 / 400 < high and high - low < 0.1 * found["joules_per_GB"]


def test_an_operation_that_is_long_is_a_doubt() -> None:
    """Catches an interval that counts a slice of 5 ms where one operation takes a tenth of the time."""
    widths = []
    for operation_bytes in (0, 20 * GB):
        machine = Machine({"gpu0": 110.0}, 90.0)
        found = meter(machine).measure(
            ["gpu0"], lambda s, on=machine: Copying(on, 100 * GB, s), operation_bytes
        )
        low, high = found["joules_per_GB_ci95"]
        widths.append((high - low) / found["joules_per_GB"])
    assert widths[1] > widths[0]
    assert widths[1] > 0.1  # 0.2 s of the 2 s and more that were watched, on either side


def test_power_that_drifts_widens_the_interval() -> None:
    """Catches an interval of the counter's resolution alone, however the power changes."""
    widths = []
    for drift in (0.0, 5.0):
        machine = Machine({"gpu0": 100.0}, 50.0, drift_w_per_s=drift)
        low, high = meter(machine).measure(["gpu0"], lambda s, on=machine: Copying(on, 100 * GB, s))[
            "joules_per_GB_ci95"
        ]
        widths.append(high - low)
    assert widths[1] > 3 * widths[0] > 0


def test_a_counter_of_two_steps_has_no_interval() -> None:
    """Catches an interval of nothing, which would rank a figure that a single stretch is behind."""
    machine = Machine({"gpu0": 100.0}, 50.0, step_s=4.4)
    found = meter(machine).measure(["gpu0"], lambda s: Copying(machine, GB, s))
    assert found["counter_updates"] == 2 and "joules_per_GB_ci95" not in found


@pytest.mark.parametrize(("step_s", "updates"), [(0.02, 90), (0.1, 20), (0.3, 20)])
def test_it_goes_on_until_both_conditions_hold(step_s: float, updates: int) -> None:
    """Catches a figure from a few steps of a slow counter, or from a moment of a quick one."""
    machine = Machine({"gpu0": 100.0}, 50.0, step_s)
    found = meter(machine).measure(["gpu0"], lambda s: Copying(machine, GB, s))
    assert found["counter_updates"] >= max(updates, LEAST_UPDATES)
    assert found["duration_s"] >= 0.99 * LEAST_S


@pytest.mark.parametrize(("correlated_s", "least"), [(0.0, 0.95), (0.5, 0.95), (1.0, 0.93), (2.0, 0.83)])
def test_cover_of_power_that_wanders(correlated_s: float, least: float) -> None:
    """Catches an interval that takes neighbouring stretches for independent: 61 % at one second."""
    chance, step_s, trials = random.Random(7), 0.05, 1000
    kept = math.exp(-step_s / correlated_s) if correlated_s else 0.0
    held = 0
    for _ in range(trials):
        millijoules, wander = 0.0, chance.gauss(0, 3)
        watch = CounterWatch({"gpu0": -1.0})
        for number in range(round(LEAST_S / step_s) + 1):
            watch.see(number * step_s, {"gpu0": millijoules})
            millijoules += 1000 * step_s * (300 + wander)
            wander = kept * wander + math.sqrt(1 - kept**2) * chance.gauss(0, 3)
        span = watch.spans()["gpu0"]
        held += abs(span.watts - 300) <= (span.half_width_watts or 0)
    assert held / trials >= least


def test_steps_are_kept() -> None:
    """Catches figures that nobody can compute again from what the counters showed."""
    machine = Machine({"gpu0": 110.0}, 90.0)
    found = meter(machine).measure(["gpu0"], lambda s: Copying(machine, 400 * GB, s))
    watts = []
    for field in ("steps", "idle_steps"):
        steps = found[field]["gpu0"]
        assert steps[0] == [0, 0] and len(steps) >= LEAST_UPDATES
        watts.append(steps[-1][1] / steps[-1][0])
    assert watts == pytest.approx([found["watts"], found["idle_watts"]], rel=1e-3)
    assert found["counter_updates"] == len(found["steps"]["gpu0"])


def test_an_idle_device_is_watched_once_a_round() -> None:
    """Catches two seconds that every case pays for what does not change, and an error of the idle power that
    all rounds share, so that their scatter does not show it.
    """
    machine = Machine({"gpu0": 100.0, "gpu1": 100.0}, 50.0)
    shared = meter(machine)
    for devices in (["gpu0"], ["gpu0"], ["gpu0", "gpu1"]):
        shared.measure(devices, lambda s: Copying(machine, GB, s))
    assert machine.idle_watches == 2  # gpu0, later gpu1
    shared.begin_round()
    shared.measure(["gpu0", "gpu1"], lambda s: Copying(machine, GB, s))
    assert machine.idle_watches == 3


def test_no_counter_is_a_reason() -> None:
    """Catches a figure for devices that nobody measures, such as a CPU."""
    machine = Machine({}, 0.0)
    found = meter(machine).measure(["cpu0"], lambda s: Copying(machine, GB, s))
    assert found == {"reason": "no energy counter on cpu0"}


def test_less_than_idle_is_a_reason() -> None:
    """Catches a figure below zero where an idle device still cools down."""
    machine = Machine({"gpu0": 100.0}, -5.0)
    found = meter(machine).measure(["gpu0"], lambda s: Copying(machine, GB, s))
    assert found["reason"].startswith("gpu0 drew no more power than when idle: ")


def test_a_counter_that_stands_still_is_a_reason() -> None:
    """Catches energy of zero where the counter is frozen, and a wait without end."""
    machine = Machine({"gpu0": 100.0}, 50.0, step_s=1e9)
    machine.next_step_s = 1e12
    begun = machine.now_s
    found = meter(machine).measure(["gpu0"], lambda s: Copying(machine, GB, s))
    assert found == {"reason": "the energy counter of gpu0 did not advance"}
    assert machine.now_s - begun < 3 * MOST_S


@pytest.fixture(scope="module")
def session() -> _core.Session:
    return _core.Session(gpus=False)


def under_way(load: _core.LoadGenerator, least: int = 1) -> list[int]:
    """Starts the load; operations of each flow once every flow has done so many."""
    load.start()
    wait_for(lambda: min(load.operations) >= least)
    return load.operations


def wait_for(condition: Callable[[], bool]) -> None:
    """As long as it takes on a busy machine; what is not so after a minute never will be."""
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


def sustained(session: _core.Session, flows: list[_core.Flow], slice_s: float, least: int) -> list[int]:
    """Operations of each flow after every flow has done so many."""
    load = session.sustain(flows, slice_s)
    assert load.operations == [0] * len(flows)
    seen = under_way(load, least)
    load.finish()
    done = load.operations
    assert all(now >= before for now, before in zip(done, seen, strict=True))
    time.sleep(0.01)
    assert load.operations == done
    return seen


def copying(session: _core.Session, size: int, **options: int) -> _core.Flow:
    ends = [session.allocate("cpu0", "pageable", size, "cpu0") for _ in range(2)]
    return _core.Flow(*ends, "cpu0", "memcpy", size, **options)


def test_operations_go_on_by_themselves(session: _core.Session) -> None:
    """Catches a load that stands still while somebody reads a counter, which then reads idle power; and
    operations that go on after the end.
    """
    sustained(session, [copying(session, 1 << 20)], 0.001, 100)


def test_bytes_are_those_of_the_operations(session: _core.Session) -> None:
    """Catches bytes of the last slice, not of all that was done."""
    size = 1 << 20
    load = session.sustain([copying(session, size)], 0.002)
    under_way(load)
    load.finish()
    (done,) = load.operations
    assert done > 0 and load.moved_bytes == done * size


def test_no_flow_waits_for_a_slower_one(session: _core.Session) -> None:
    """Catches flows that go on in step: the faster one, and its devices, would idle most of the time."""
    slow, fast = (copying(session, 4096, pause_ns=pause_ns) for pause_ns in (50_000_000, 1_000_000))
    load = session.sustain([slow, fast], 0.001)  # every operation is a slice of its own
    under_way(load, 2)
    # In step they are two slices apart at most, however long one waits.
    wait_for(lambda: (done := load.operations)[1] > done[0] + 20)
    load.finish()


def test_flows_of_one_stream_take_turns(session: _core.Session) -> None:
    """Catches flows that ran apart where they were measured in one stream."""
    pauses_ns = (20_000_000, 1_000_000)  # one that ran apart would get ahead
    flows = [copying(session, 4096, pause_ns=pause_ns, stream=0) for pause_ns in pauses_ns]
    load = session.sustain(flows, 0.001)
    under_way(load, 4)
    load.finish()
    first, second = load.operations
    assert first == second


def test_a_list_that_changes_is_not_what_goes_on(session: _core.Session) -> None:
    """Catches flows whose buffers are freed under a load, once its caller has emptied the list of them."""
    flows = [copying(session, 1 << 20)]
    flow = flows[0]
    held = sys.getrefcount(flow)
    load = session.sustain(flows, 0.001)
    flows.clear()
    assert sys.getrefcount(flow) == held  # the load's, in place of the list's
    with pytest.raises(TypeError, match="flows"):
        session.sustain([flow, "flow"], 0.001)  # type: ignore[list-item]
    del flow
    under_way(load)
    load.finish()


def test_a_load_that_nobody_ends_is_over_before_its_memory_goes(session: _core.Session) -> None:
    """Catches buffers that are freed while queued operations still write them."""
    flows = [copying(session, 1 << 20, stream=stream) for stream in (0, 0, 1)]
    load = session.sustain(flows, 0.02)
    load.start()
    with pytest.raises(_core.Error, match="going on already"):
        load.start()
    del flows, load


def test_operations_that_are_waited_for_are_sustained_one_by_one(session: _core.Session) -> None:
    """Catches a queue that is kept full for a case whose device has pauses."""
    word = session.allocate("cpu0", "pageable", 8, "cpu0")
    sustained(session, [_core.Flow(word, word, "cpu0", "launch", 8, pace="one-at-a-time")], 0.001, 3)


def test_nothing_is_not_sustained(session: _core.Session) -> None:
    """Catches a thread that looks at the first of no flows."""
    with pytest.raises(_core.Error, match="nothing would go on"):
        session.sustain([], 0.001)


def test_a_counter_that_stands_still_hides_no_other() -> None:
    """Catches devices behind one without updates that have no span."""
    watch = CounterWatch({"gpu0": 0.0, "gpu1": 0.0})
    for second in (1.0, 2.0, 3.0):
        watch.see(second, {"gpu0": 0.0, "gpu1": 1000 * second})
    assert {name: (one.joules, one.seconds) for name, one in watch.spans().items()} == {"gpu1": (2.0, 2.0)}


def test_steady_power_is_known_to_a_polling_interval() -> None:
    """Catches an interval without the delay of reading, which is all that steady power has."""
    steady = CounterSpan(joules=100.0, seconds=2.0, updates=4, parts_watts=(50.0, 50.0, 50.0))
    assert steady.half_width_watts == pytest.approx(50.0 * POLL_S / 2.0)
