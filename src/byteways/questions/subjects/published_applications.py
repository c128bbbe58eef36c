"""Published gains of applications by another transport or memory: section 7 of schieffer2025."""

from __future__ import annotations

from functools import cache
from importlib import resources

from msgspec import Struct, field

from byteways.base.toml_files import read_toml
from byteways.base.toml_reading import TomlPlace

APPLICATIONS_FILE = "applications.toml"


class PublishedChoice(Struct, frozen=True, forbid_unknown_fields=True):
    """A transport, and the memory of data and of messages, by the names of cases/case.py."""

    transport: str
    data: str
    messages: str


class PublishedGain(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A published ratio of two times, `before` over `after`."""

    id: str
    says: str
    pattern: str
    timed: str  # `iteration`, `exchange`
    before: PublishedChoice
    after: PublishedChoice
    ratio: tuple[float, float] = field(name="published")  # twice the same, or the range of several problems
    locator: str
    seconds: tuple[float, ...] = ()  # of whole runs, before and after; empty: not published
    size_bytes: int | None = None  # of one rank's data; None: any
    crossing: int | None = None  # the option; None: any

    @property
    def published(self) -> str:
        """`1.5`, `1.05 to 1.11`."""
        return " to ".join(f"{end:g}" for end in dict.fromkeys(self.ratio))


class GainsFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The key of the file."""

    gain: tuple[PublishedGain, ...]


@cache
def gains() -> tuple[PublishedGain, ...]:
    """Returns the rows of the file, in its order."""
    text = (resources.files("byteways.ext.studies.published") / APPLICATIONS_FILE).read_text(encoding="utf-8")
    data = read_toml(text, file=APPLICATIONS_FILE)
    return TomlPlace.of(data, text, APPLICATIONS_FILE).read(GainsFile).gain
