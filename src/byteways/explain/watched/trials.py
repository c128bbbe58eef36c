"""A program run again in turns with other settings: how its times change, with intervals.

The first variant is the program as it is. Each turn runs every variant once, so that what changes over the
hour changes all of them; ratios are of one turn, and their interval is that of their logarithms' mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean, median, stdev
from typing import Any

from byteways.explain.display.table import Table
from byteways.explain.results.repeatability import student
from byteways.explain.results.summary import Part
from byteways.units import short_time
from byteways.watch.bins import Watched
from byteways.watch.questions import time_of

#: How often an interval lacks the true ratio.
MISSES = 0.05


@dataclass(frozen=True)
class Trial:
    """One run of a variant."""

    variant: str  # `UCX_TLS=tcp`; empty: the program as it is
    turn: int  # from 0
    duration_ns: float  # of the whole command
    moving_ns: float | None  # in calls and transfers, added over its processes; None: nothing was seen
    exit_status: int | None  # None: a signal ended it


@dataclass(frozen=True)
class TriedVariant:
    """What a variant changes."""

    variant: str
    turns: int  # in which it and the plain program ended well
    duration_ns: float | None  # median; None: it never ended well
    moving_ns: float | None
    of_duration: Part | None  # ratio to the plain program's, with its interval; None: fewer than two turns
    of_moving: Part | None

    def to_json(self) -> dict[str, Any]:
        return {
            "variant": self.variant,
            "turns": self.turns,
            "duration_ns": self.duration_ns,
            "moving_ns": self.moving_ns,
            "duration_ratio": _ends(self.of_duration),
            "moving_ratio": _ends(self.of_moving),
        }


def moving_ns(watched: Watched) -> float | None:
    """Returns the time in calls and transfers that a program was seen in, added over its processes."""
    times = [time for each in watched.bins if (time := time_of(each)) is not None]
    return sum(times) if times else None


def tried(trials: Sequence[Trial]) -> list[TriedVariant]:
    """Returns what each variant changes, in the order of the first turn."""
    good = [one for one in trials if one.exit_status == 0]
    return [_tried(name, good) for name in dict.fromkeys(one.variant for one in trials)]


def trials_table(found: Sequence[TriedVariant]) -> Table:
    """Returns the variants; below 1 a ratio is a gain."""
    return Table(
        "The program with other settings, in turns",
        ("setting", "turns", "time", "of the plain one", "calls and transfers", "of the plain one"),
        tuple(map(_row, found)),
        (1, 2, 3, 4, 5),
    )


def _tried(name: str, good: Sequence[Trial]) -> TriedVariant:
    plain = {one.turn: one for one in good if not one.variant}
    own = [one for one in good if one.variant == name]
    pairs = [(one, plain[one.turn]) for one in own if one.turn in plain]
    moving = [one.moving_ns for one in own if one.moving_ns is not None]
    return TriedVariant(
        name,
        len(pairs),
        median(one.duration_ns for one in own) if own else None,
        median(moving) if moving else None,
        _ratio([(one.duration_ns, other.duration_ns) for one, other in pairs]) if name else None,
        _ratio([(one.moving_ns, other.moving_ns) for one, other in pairs]) if name else None,
    )


def _ratio(pairs: Sequence[tuple[float | None, float | None]]) -> Part | None:
    """Returns the mean ratio of pairs with its interval; None with fewer than two."""
    logs = [log(one / other) for one, other in pairs if one and other]
    if len(logs) < 2:
        return None
    middle = fmean(logs)
    reach = student(MISSES, len(logs) - 1) * stdev(logs) / sqrt(len(logs))
    return Part(exp(middle), exp(middle - reach), exp(middle + reach))


def _row(one: TriedVariant) -> tuple[str, ...]:
    return (
        one.variant or "as it is",
        str(one.turns),
        "–" if one.duration_ns is None else short_time(one.duration_ns),
        _shown(one.of_duration),
        "–" if one.moving_ns is None else short_time(one.moving_ns),
        _shown(one.of_moving),
    )


def _shown(ratio: Part | None) -> str:
    return "–" if ratio is None else f"{ratio.value:.3f} ({ratio.low:.3f} to {ratio.high:.3f})"


def _ends(ratio: Part | None) -> dict[str, float] | None:
    return None if ratio is None else {"value": ratio.value, "low": ratio.low, "high": ratio.high}
