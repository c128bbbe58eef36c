"""Energy of a case's operations, from the devices' own counters: sustained, with the idle device subtracted.

The counters of GPUs move in steps, ten to fifty a second, so a sample of milliseconds says nothing. After its
samples a case goes on for LEAST_S and LEAST_UPDATES steps of every counter. Between two steps, what a counter
rose by less what the same device takes when idle is what the operations cost.

How far that is right, rounds tell: each watches the idle devices again. The interval of a single round only
guesses how slowly the power of a device wanders.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import stdev
from typing import Any, Protocol

#: A case is sustained, and idle devices are watched, for at least so long …
LEAST_S = 2.0
#: … and until every counter has moved so often, or MOST_S have passed.
LEAST_UPDATES = 20
MOST_S = 10.0
#: Work that is enqueued at once, and so the doubt about the bytes that were done at a time: at both ends
#: together 0.5 % of LEAST_S at most.
SLICE_S = 0.005
#: Between two readings of the counters.
POLL_S = 0.005
#: Until the load is under way.
BEGIN_S = 0.05
#: After the last operation of a case until a device counts as idle: clocks and regulators settle.
SETTLE_S = 0.5

#: Quantile of Student's t for a 95 % interval, by degrees of freedom: one less than the stretches that a
#: watch is cut into, each with a power of its own. Few and long ones: neighbouring steps share the error of
#: when the step between them was seen, which long stretches hardly feel.
STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776}
#: The scatter of the stretches counts so many times: neighbouring ones are alike, as temperature and
#: regulators move power over a second or so, and their scatter then shows too little. With power that is
#: correlated over up to a second the interval of LEAST_S holds the mean in 95 % or more, over two seconds in
#: 87 % (test_energy.py); without the factor in 61 % and 45 %.
DEPENDENCE = 3.0

#: Millijoules by device; without those that have no counter.
Counters = Callable[[Sequence[str]], Mapping[str, float]]


class Load(Protocol):
    """Operations that go on (`_core.LoadGenerator`)."""

    def start(self) -> None: ...
    def finish(self) -> None: ...
    @property
    def moved_bytes(self) -> float: ...


@dataclass(frozen=True)
class Span:
    """What a counter did between its first and its last step within the time it was watched."""

    joules: float
    seconds: float
    updates: int
    parts_watts: tuple[float, ...]  # of stretches of equally many steps
    steps: tuple[tuple[float, float], ...] = ()  # seconds and joules since the first

    @property
    def watts(self) -> float:
        return self.joules / self.seconds

    @property
    def half_width_watts(self) -> float | None:
        """Of the 95 % interval: DEPENDENCE times what the stretches scatter, and that an end may be seen a
        poll late; None where there is but one stretch.
        """
        if len(self.parts_watts) < 2:
            return None
        scatter = (
            STUDENT[len(self.parts_watts) - 1] * stdev(self.parts_watts) / math.sqrt(len(self.parts_watts))
        )
        return math.hypot(DEPENDENCE * scatter, self.watts * POLL_S / self.seconds)


class Watch:
    """Follows counters from step to step.

    Args:
        first: What the counters showed when watching began.
    """

    def __init__(self, first: Mapping[str, float]) -> None:
        self._shown = dict(first)
        self._edges: dict[str, list[tuple[float, float]]] = {name: [] for name in first}

    def see(self, now_s: float, shown: Mapping[str, float]) -> None:
        """Notes the counters that moved since they were last seen."""
        for name, value in shown.items():
            if name in self._shown and value != self._shown[name]:
                self._shown[name] = value
                self._edges[name].append((now_s, value))

    @property
    def updates(self) -> int:
        """Steps of the counter that moved least often."""
        return min((len(edges) for edges in self._edges.values()), default=0)

    def spans(self) -> dict[str, Span]:
        """By device; without those whose counter did not step twice."""
        found = {}
        for name, edges in self._edges.items():
            if len(edges) < 2 or edges[-1][0] <= edges[0][0]:
                continue
            (begin, first), end = edges[0], edges[-1][0]
            steps = tuple((now_s - begin, (energy - first) / 1000) for now_s, energy in edges)
            found[name] = Span(steps[-1][1], end - begin, len(edges), _parts_watts(edges), steps)
        return found


def _parts_watts(edges: Sequence[tuple[float, float]]) -> tuple[float, ...]:
    """Power of each of a few stretches of (seconds, millijoules), as many as STUDENT has quantiles for."""
    count = min(len(STUDENT) + 1, len(edges) - 1)
    cuts = [edges[round(index * (len(edges) - 1) / count)] for index in range(count + 1)]
    return tuple(
        (energy - before) / 1000 / (now_s - then_s) for (then_s, before), (now_s, energy) in pairwise(cuts)
    )


class EnergyMeter:
    """Measures energy; an idle device is watched once a round.

    Args:
        counters: Reads the counters.
        clock: Seconds, monotonic.
        sleep: Waits for seconds.
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
        self._idle: dict[str, Span] = {}

    def begin_round(self) -> None:
        """Idle devices are watched again, so that what rounds scatter holds the error of that, too."""
        self._idle.clear()

    def measure(
        self, devices: Sequence[str], start: Callable[[float], Load], operation_bytes: int = 0
    ) -> dict[str, Any]:
        """The field `energy` of a record, which has a `reason` in place of figures when there are none.

        Args:
            devices: All that take part.
            start: Makes the load, whose slices take about so many seconds.
            operation_bytes: What one operation of all flows moves.
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
        # Slices in hand at both ends may or may not have moved; none is less than an operation.
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
        """Contexts are open and nothing runs: what a GPU takes that is ready to work."""
        if not devices:
            return
        self._sleep(SETTLE_S)
        watch = Watch(self._counters(devices))
        begun = self._clock()
        while not self._enough(watch, self._clock() - begun):
            self._sleep(POLL_S)
            watch.see(self._clock(), self._counters(devices))
        self._idle |= watch.spans()

    def _sustain(self, devices: Sequence[str], start: Callable[[float], Load]) -> tuple[Watch, float, float]:
        """The counters under load, and the bytes that moved in so many seconds."""
        load = start(SLICE_S)
        load.start()
        try:
            self._sleep(BEGIN_S)
            watch = Watch(self._counters(devices))
            begun, before = self._clock(), load.moved_bytes
            while not self._enough(watch, self._clock() - begun):
                self._sleep(POLL_S)
                watch.see(self._clock(), self._counters(devices))
            return watch, load.moved_bytes - before, self._clock() - begun
        finally:
            load.finish()

    @staticmethod
    def _enough(watch: Watch, passed_s: float) -> bool:
        spans = watch.spans().values()
        long_enough = bool(spans) and min(span.seconds for span in spans) >= LEAST_S
        return passed_s >= MOST_S or (long_enough and watch.updates >= LEAST_UPDATES)


def _steps(span: Span) -> list[list[float]]:
    return [[round(seconds, 4), round(joules, 4)] for seconds, joules in span.steps]


def _digits(value: float) -> float:
    return float(f"{value:.5g}")
