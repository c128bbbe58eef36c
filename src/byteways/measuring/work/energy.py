"""Energy of operations from the devices' own counters: sustained load minus idle power.

GPU energy counters update 10 to 50 times a second, too coarse for samples of milliseconds. So after
sampling, a case runs on for at least LEAST_S and LEAST_UPDATES updates of every counter. The increase
between two updates, minus the idle energy of the same device, is the energy of the operations.

The accuracy comes from the spread between rounds, each of which measures idle power again. The interval of a
single round only estimates how slowly the power drifts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import stdev
from typing import Any, Protocol

#: Least duration of the sustained load and of the idle measurement …
LEAST_S = 2.0
#: … and least number of updates of every counter; MOST_S limits the wait.
LEAST_UPDATES = 20
MOST_S = 10.0
#: Duration of the work enqueued at once. It bounds the uncertainty of the moved bytes at a given time: at
#: most 0.5 % of LEAST_S for both ends together.
SLICE_S = 0.005
#: Interval between counter readings.
POLL_S = 0.005
#: Time for the load to reach its steady state.
BEGIN_S = 0.05
#: Time after a case until a device counts as idle: clocks and regulators settle.
SETTLE_S = 0.5

#: Quantile of Student's t for a 95 % interval, by degrees of freedom: number of segments minus one. The
#: measurement is cut into few, long segments: neighbouring updates share the error of the observed update
#: time, which hardly affects long segments.
STUDENT_OF_SEGMENTS = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776}
#: Factor on the scatter of the segments. Neighbouring segments are correlated, as temperature and regulators
#: change power over about a second, so their scatter is too small. With power correlated over up to 1 s, the
#: interval of LEAST_S then covers the mean in at least 95 %, over 2 s in 87 % (test_energy.py); without the
#: factor in 61 % and 45 %.
DEPENDENCE = 3.0

#: Energy in millijoules by device; devices without a counter are absent.
Counters = Callable[[Sequence[str]], Mapping[str, float]]


class SustainedLoad(Protocol):
    """Operations that run continuously (`_core.LoadGenerator`)."""

    def start(self) -> None: ...
    def finish(self) -> None: ...
    @property
    def moved_bytes(self) -> float: ...


@dataclass(frozen=True)
class CounterSpan:
    """A counter between its first and its last observed update."""

    joules: float
    seconds: float
    updates: int
    parts_watts: tuple[float, ...]  # of segments with equal numbers of updates
    steps: tuple[tuple[float, float], ...] = ()  # seconds and joules since the first update

    @property
    def watts(self) -> float:
        return self.joules / self.seconds

    @property
    def half_width_watts(self) -> float | None:
        """Half-width of the 95 % interval in W: DEPENDENCE times the scatter of the segments, plus one
        polling interval of delay at an end; None with a single segment.
        """
        if len(self.parts_watts) < 2:
            return None
        scatter = (
            STUDENT_OF_SEGMENTS[len(self.parts_watts) - 1]
            * stdev(self.parts_watts)
            / math.sqrt(len(self.parts_watts))
        )
        return math.hypot(DEPENDENCE * scatter, self.watts * POLL_S / self.seconds)


class CounterWatch:
    """Tracks counters from update to update.

    Args:
        first: Counter values at the start, in mJ.
    """

    def __init__(self, first: Mapping[str, float]) -> None:
        self._shown = dict(first)
        self._edges: dict[str, list[tuple[float, float]]] = {name: [] for name in first}

    def see(self, now_s: float, shown: Mapping[str, float]) -> None:
        """Records the counters that changed since the last call."""
        for name, value in shown.items():
            if name in self._shown and value != self._shown[name]:
                self._shown[name] = value
                self._edges[name].append((now_s, value))

    @property
    def updates(self) -> int:
        """Number of updates of the slowest counter."""
        return min((len(edges) for edges in self._edges.values()), default=0)

    def spans(self) -> dict[str, CounterSpan]:
        """Returns the span of each device whose counter updated at least twice."""
        found = {}
        for name, edges in self._edges.items():
            if len(edges) < 2 or edges[-1][0] <= edges[0][0]:
                continue
            (begin, first), end = edges[0], edges[-1][0]
            steps = tuple((now_s - begin, (energy - first) / 1000) for now_s, energy in edges)
            found[name] = CounterSpan(steps[-1][1], end - begin, len(edges), _parts_watts(edges), steps)
        return found


def _parts_watts(edges: Sequence[tuple[float, float]]) -> tuple[float, ...]:
    """Returns the power of each segment of (seconds, mJ) updates; at most as many as STUDENT covers."""
    count = min(len(STUDENT_OF_SEGMENTS) + 1, len(edges) - 1)
    cuts = [edges[round(index * (len(edges) - 1) / count)] for index in range(count + 1)]
    return tuple(
        (energy - before) / 1000 / (now_s - then_s) for (then_s, before), (now_s, energy) in pairwise(cuts)
    )


class EnergyMeter:
    """Measures energy; idle power is measured once per round.

    Args:
        counters: Reads the counters.
        clock: Monotonic seconds.
        sleep: Sleeps for seconds.
    """

    def __init__(
        self,
        counters: Counters,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._counters = counters
        self._clock = clock
        self._sleep = sleep
        self._idle: dict[str, CounterSpan] = {}

    def begin_round(self) -> None:
        """Discards idle power, so that the spread between rounds includes its error."""
        self._idle.clear()

    def measure(
        self, devices: Sequence[str], start: Callable[[float], SustainedLoad], operation_bytes: int = 0
    ) -> dict[str, Any]:
        """Returns the field `energy` of a record; it has a `reason` instead of values if unavailable.

        Args:
            devices: All devices that take part.
            start: Creates the load from the duration of a slice in seconds.
            operation_bytes: Bytes that one operation of all flows moves.
        """
        first = self._counters(devices)
        if not first:
            return {"reason": f"no energy counter on {', '.join(devices)}"}
        counted = list(first)
        self._watch_idle([name for name in counted if name not in self._idle])
        watch, moved, seconds = self._sustain(counted, start)
        spans = watch.spans()
        lost = [name for name in counted if name not in spans or name not in self._idle]
        if lost:
            return {"reason": f"the energy counter of {', '.join(lost)} did not advance"}
        if moved <= 0:
            return {"reason": "no bytes moved while the counters were read"}
        rate = moved / seconds
        active = sum(spans[name].watts for name in counted)
        idle = sum(self._idle[name].watts for name in counted)
        if active <= idle:
            return {
                "reason": (
                    f"{', '.join(counted)} drew no more power than when idle: {active:.1f} of {idle:.1f} W"
                )
            }
        joules_per_gb = (active - idle) / (rate / 1e9)
        widths = [kept[name].half_width_watts for kept in (spans, self._idle) for name in counted]
        known = [width for width in widths if width is not None]
        half = math.hypot(*known) / (rate / 1e9)
        # The bytes of the slices in flight at both ends are uncertain; a slice is at least one operation.
        half = math.hypot(half, joules_per_gb * max(SLICE_S, operation_bytes / rate) / seconds)
        return {
            "joules_per_GB": _digits(joules_per_gb),
            **(
                {"joules_per_GB_ci95": [_digits(joules_per_gb - half), _digits(joules_per_gb + half)]}
                if len(known) == len(widths)
                else {}
            ),
            "watts": _digits(active),
            "idle_watts": _digits(idle),
            "duration_s": _digits(min(span.seconds for span in spans.values())),
            "counter_updates": min(span.updates for span in spans.values()),
            "bytes_per_s": _digits(rate),
            "steps": {name: _steps(spans[name]) for name in counted},
            "idle_steps": {name: _steps(self._idle[name]) for name in counted},
            "counted": counted,
            "not_counted": [name for name in devices if name not in counted],
        }

    def _watch_idle(self, devices: Sequence[str]) -> None:
        """Measures the power of devices with open contexts and no running work."""
        if not devices:
            return
        self._sleep(SETTLE_S)
        watch = CounterWatch(self._counters(devices))
        begun = self._clock()
        while not self._enough(watch, self._clock() - begun):
            self._sleep(POLL_S)
            watch.see(self._clock(), self._counters(devices))
        self._idle |= watch.spans()

    def _sustain(
        self, devices: Sequence[str], start: Callable[[float], SustainedLoad]
    ) -> tuple[CounterWatch, float, float]:
        """Returns the counters under load, the bytes moved and the seconds elapsed."""
        load = start(SLICE_S)
        load.start()
        try:
            self._sleep(BEGIN_S)
            watch = CounterWatch(self._counters(devices))
            begun, before = self._clock(), load.moved_bytes
            while not self._enough(watch, self._clock() - begun):
                self._sleep(POLL_S)
                watch.see(self._clock(), self._counters(devices))
            return watch, load.moved_bytes - before, self._clock() - begun
        finally:
            load.finish()

    @staticmethod
    def _enough(watch: CounterWatch, passed_s: float) -> bool:
        spans = watch.spans().values()
        long_enough = bool(spans) and min(span.seconds for span in spans) >= LEAST_S
        return passed_s >= MOST_S or (long_enough and watch.updates >= LEAST_UPDATES)


def _steps(span: CounterSpan) -> list[list[float]]:
    return [[round(seconds, 4), round(joules, 4)] for seconds, joules in span.steps]


def _digits(value: float) -> float:
    return float(f"{value:.5g}")
