"""A chart of two runs, with how much of it changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from byteways.answers.claims.wording import alike
from byteways.questions.display.chart import Chart
from byteways.verdicts.two_runs.paired_cases import PairedCase
from byteways.verdicts.two_runs.wording_comparison import interval, percent, values

#: What the series of both runs are called.
FIRST_RUN, SECOND_RUN = "first run", "second run"
#: Stands for a change that is not significant, as in the map.
NOT_SIGNIFICANT = "="
#: Stands for a change that its interval does not decide.
NOT_DECIDED_SIGN = "?"


@dataclass(frozen=True)
class Changed:
    """`cases` are those that the chart shows, of which `differ` changed."""

    chart: Chart
    cases: int
    differ: int


def counted(chart: Chart, shown: Iterable[PairedCase]) -> Changed:
    """Returns the chart with the number of its cases, and of those that differ."""
    pairs = list(shown)
    return Changed(chart, len(pairs), sum(pair.claim.differ for pair in pairs))


def said(pair: PairedCase) -> str:
    """`-50.0 %`, or `=` without a significant difference, `?` if that is not decided."""
    if pair.claim.differ:
        return percent(pair.speed)
    return NOT_DECIDED_SIGN if pair.undecided else NOT_SIGNIFICANT


def details(pair: PairedCase) -> str:
    """Returns the case with both values, the change of speed and its interval."""
    first, second = values(pair)
    text = said(pair) if pair.claim.differ else alike(pair.claim)
    return f"{pair.case}: {first} and {second}, {text} ({interval(pair)})"
