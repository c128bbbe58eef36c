"""One statement of a run and what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

HOLDS, CONTRADICTED, NOT_CHECKABLE = "holds", "contradicted", "not checkable"


@dataclass(frozen=True)
class Statement:
    """`kind` groups statements in the table, `said` is where and what, `why` tells of what does not hold."""

    kind: str
    said: str
    outcome: str
    why: str = ""


def check(kind: str, said: str, holds: bool | None, why: str = "") -> Statement:
    """A statement that holds, does not, or (None) cannot be checked."""
    outcome = NOT_CHECKABLE if holds is None else HOLDS if holds else CONTRADICTED
    return Statement(kind, said, outcome, "" if holds else why)


def near(one: float | None, other: float | None, part: float = 1e-4) -> bool:
    """Whether two figures are the same but for rounding."""
    if one is None or other is None:
        return one is other
    return abs(one - other) <= part * max(abs(one), abs(other), 1e-30)


Statements = Iterator[Statement]
