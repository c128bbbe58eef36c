"""A program run again with changes: how its times differ, with intervals.

The first change is the program as it is. Each turn runs every change once, so that what changes over the
hour changes all of them; ratios are of one turn, and their interval is that of their logarithms' mean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean, median, stdev
from typing import Any

from byteways.answers.results.repeatability import student
from byteways.answers.results.summary import Part
from byteways.base.units import short_time
from byteways.ext.watch.advice.expected import ExpectedRatio, communication_ns
from byteways.ext.watch.bins import Watched
from byteways.questions.display.table import Table

#: How often an interval lacks the true ratio.
MISSES = 0.05


@dataclass(frozen=True)
class ProgramRun:
    """One run of a program, as it is or with a change."""

    change: str  # `UCX_TLS=tcp`; empty: the program as it is
    turn: int  # from 0
    duration_ns: float  # of the whole command
    moving_ns: float | None  # in calls and transfers, added over its processes; None: nothing was seen
    exit_status: int | None  # None: a signal ended it
    signal: int | None = None  # that ended it


@dataclass(frozen=True)
class BadEnd:
    """An end of a changed program other than exit status 0, and in how many turns it was."""

    exit_status: int | None  # None: a signal ended it
    signal: int | None
    turns: int

    @property
    def code(self) -> int:
        """As subprocess has it: a signal is a negative number."""
        return self.exit_status if self.exit_status is not None else -(self.signal or 0)


@dataclass(frozen=True)
class TriedChange:
    """What a change gives."""

    change: str
    of_turns: int  # in which it was run
    turns: int  # in which it and the plain program ended well
    bad_ends: tuple[BadEnd, ...]  # the most frequent first
    bad_alone: int  # turns in which it did not end well and the plain program did
    duration_ns: float | None  # median; None: it never ended well
    moving_ns: float | None
    of_duration: Part | None  # ratio to the plain program's, with its interval; None: fewer than two turns
    of_moving: Part | None

    def to_json(self) -> dict[str, Any]:
        return {
            "change": self.change,
            "of_turns": self.of_turns,
            "turns": self.turns,
            "bad_ends": [
                {"exit_status": one.exit_status, "signal": one.signal, "turns": one.turns}
                for one in self.bad_ends
            ],
            "duration_ns": self.duration_ns,
            "moving_ns": self.moving_ns,
            "duration_ratio": _ends(self.of_duration),
            "moving_ratio": _ends(self.of_moving),
        }


def moving_ns(watched: Watched) -> float | None:
    """Returns the time in calls and transfers that a program was seen in, added over its processes."""
    times = [time for each in watched.bins if (time := communication_ns(each)) is not None]
    return sum(times) if times else None


def tried(trials: Sequence[ProgramRun]) -> list[TriedChange]:
    """Returns what each change gives, in the order of the first turn."""
    return [_tried(name, trials) for name in dict.fromkeys(one.change for one in trials)]


def trials_table(
    found: Sequence[TriedChange], expected: Mapping[str, ExpectedRatio], ended: Mapping[str, str]
) -> Table:
    """Returns the changes; below 1 a ratio is a gain.

    Args:
        found: From tried().
        expected: By change, of the ratio in calls and transfers.
        ended: By change, how it ended in turns that do not count, in words.
    """
    names: tuple[str, ...] = (
        "change",
        "turns",
        "time",
        "ratio",
        "calls and transfers",
        "ratio ",
        "predicted",
    )
    rows: tuple[tuple[str, ...], ...] = tuple(_row(one, expected.get(one.change)) for one in found)
    if ended:
        names = (*names, "ended by")
        rows = tuple((*row, ended.get(one.change, "")) for row, one in zip(rows, found, strict=True))
    return Table("The program with changes, each turn runs all of them", names, rows, (1, 2, 3, 4, 5, 6))


def _tried(name: str, trials: Sequence[ProgramRun]) -> TriedChange:
    plain = {one.turn: one for one in trials if not one.change and one.exit_status == 0}
    runs = [one for one in trials if one.change == name]
    own = [one for one in runs if one.exit_status == 0]
    bad = [one for one in runs if one.exit_status != 0]
    pairs = [(one, plain[one.turn]) for one in own if one.turn in plain]
    moving = [one.moving_ns for one in own if one.moving_ns is not None]
    return TriedChange(
        name,
        len(runs),
        len(pairs),
        tuple(
            BadEnd(*end, count)
            for end, count in Counter((one.exit_status, one.signal) for one in bad).most_common()
        ),
        sum(one.turn in plain for one in bad),
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


def _row(one: TriedChange, expected: ExpectedRatio | None) -> tuple[str, ...]:
    return (
        one.change or "as it is",
        f"{one.turns} of {one.of_turns}" if one.turns < one.of_turns else str(one.turns),
        "–" if one.duration_ns is None else short_time(one.duration_ns),
        _shown(one.of_duration),
        "–" if one.moving_ns is None else short_time(one.moving_ns),
        _shown(one.of_moving),
        _shown(expected.ratio if expected else None),
    )


def _shown(ratio: Part | None) -> str:
    return "–" if ratio is None else f"{ratio.value:.3f} ({ratio.low:.3f} to {ratio.high:.3f})"


def _ends(ratio: Part | None) -> dict[str, float] | None:
    return None if ratio is None else {"value": ratio.value, "low": ratio.low, "high": ratio.high}
