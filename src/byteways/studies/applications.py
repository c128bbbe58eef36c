"""Published gains of applications by another transport or memory: section 7 of schieffer2025."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from byteways.plan.toml_files import read_toml

APPLICATIONS_FILE = "applications.toml"
#: Key of the source in published values.
GAINS_SOURCE = "schieffer2025"


@dataclass(frozen=True)
class PublishedChoice:
    """A transport, and the memory of data and of messages, by the names of plan/case.py."""

    transport: str
    data: str
    messages: str


@dataclass(frozen=True)
class PublishedGain:
    """A published ratio of two times, `before` over `after`."""

    id: str
    says: str
    pattern: str
    timed: str  # `iteration`, `exchange`
    before: PublishedChoice
    after: PublishedChoice
    low: float  # the published ratio, or the range of several problems
    high: float
    locator: str
    seconds: tuple[float, ...] = ()  # of whole runs, before and after; empty: not published
    size_bytes: int | None = None  # of one rank's data; None: any
    crossing: int | None = None  # the option; None: any

    @property
    def published(self) -> str:
        """`1.5`, `1.05 to 1.11`."""
        return f"{self.low:g}" if self.low == self.high else f"{self.low:g} to {self.high:g}"


@cache
def gains() -> tuple[PublishedGain, ...]:
    """Returns the rows of the file, in its order."""
    text = (resources.files("byteways.studies") / APPLICATIONS_FILE).read_text(encoding="utf-8")
    return tuple(_gain(entry) for entry in read_toml(text, file=APPLICATIONS_FILE)["gain"])


def _gain(entry: Mapping[str, Any]) -> PublishedGain:
    told = dict(entry)
    low, high = told.pop("published")
    before, after = (PublishedChoice(**told.pop(side)) for side in ("before", "after"))
    seconds = tuple(told.pop("seconds", ()))
    return PublishedGain(before=before, after=after, low=low, high=high, seconds=seconds, **told)
