"""Suites: TOML files of sweeps. What they hold once read, and loading them by name or path."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from byteways.errors import BytewaysError
from byteways.plan.toml_lines import Place, line_of

#: Python 3.10 has no TOML parser of its own; tomli is the same one.
tomllib: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

#: Where tomllib's messages say what they are about.
_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)$")


@dataclass(frozen=True)
class BufferGlob:
    """A pattern for buffers, `gpu*:device` or `cpu*:pageable@gpu*`; any part may be a glob."""

    agent: str
    memory: str
    first_touch: str | None
    text: str


@dataclass(frozen=True)
class Origin:
    """The file a sweep was read from, for messages about what only the machine at hand can tell is wrong."""

    file: str
    lines: Mapping[Place, int] = field(default_factory=dict)
    place: Place = ()

    def at(self, key: str) -> str:
        """`my.toml:12`, the line of `key` or of its sweep."""
        line = line_of(self.lines, (*self.place, key))
        return f"{self.file}:{line}" if line else self.file


@dataclass(frozen=True)
class Sweep:
    """A product of cases: every value of every axis with every other.

    `executors` holds "source", "destination", "both" or globs of agents. A chase walks `sources` alone and
    has no `destinations`. Axes of options and environment are swept as well. Higher `priority` is kept longer
    when time is short.
    """

    name: str
    interfaces: tuple[str, ...]
    patterns: tuple[str, ...]
    sources: tuple[BufferGlob, ...]
    destinations: tuple[BufferGlob, ...]
    executors: tuple[str, ...]
    sizes: tuple[int, ...]
    caches: tuple[str, ...]
    options: Mapping[str, tuple[int | str | bool, ...]]
    environment: Mapping[str, tuple[str, ...]]
    pairs: str
    same_agent: str | None  # None: "also" for one-way and chase, "never" for the rest
    beside_sources: tuple[BufferGlob, ...]
    beside_destinations: tuple[BufferGlob, ...]
    when: str
    precision: float
    case_budget_s: float
    priority: int
    origin: Origin


@dataclass(frozen=True)
class Suite:
    """A suite as read: `text` is the file word for word, for the manifest."""

    name: str
    title: str
    text: str
    replicates: int
    precision: float
    case_budget_s: float
    budget_s: float | None  # total time the whole is planned to fit in; None: as long as it takes
    sweeps: tuple[Sweep, ...]


def _shipped() -> dict[str, str]:
    """TOML text of the suites in the package, by name, `quick` first because it is the default."""
    folder = resources.files("byteways.suites")
    texts = {
        entry.name[: -len(".toml")]: entry.read_text(encoding="utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    }
    return dict(sorted(texts.items(), key=lambda item: (item[0] != "quick", item[0])))


def names() -> list[tuple[str, str]]:
    """(name, title) of every suite that comes with byteways."""
    return [(name, str(tomllib.loads(text).get("title", ""))) for name, text in _shipped().items()]


def load(name_or_path: str) -> Suite:
    """The suite of that name, or in that file.

    Raises:
        BytewaysError: There is no such suite or file, or the file is no valid suite; then the message names
            file, line and key.
    """
    shipped = _shipped()
    if name_or_path in shipped:
        return parse(shipped[name_or_path], file=f"{name_or_path}.toml")
    path = Path(name_or_path)
    if path.suffix != ".toml" and "/" not in name_or_path and not path.is_file():
        raise BytewaysError(f"unknown suite '{name_or_path}'", hint="byteways list suites")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else f"not UTF-8 text: {error}"
        raise BytewaysError(
            f"cannot read the suite file '{name_or_path}'",
            cause=cause,
            hint="byteways list suites shows the suites that come with byteways",
        ) from error
    return parse(text, file=name_or_path)


def parse(text: str, *, file: str) -> Suite:
    """The suite in a TOML text; `file` is what messages call it.

    Raises:
        BytewaysError: The text is no TOML or no valid suite.
    """
    from byteways.plan.suite_check import read_suite  # it needs the types above

    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = _AT_LINE.search(str(error))
        line = int(at[1]) if at else text.count("\n", 0, len(text.rstrip())) + 1  # "(at end of document)"
        place = f"{file}:{line}"
        raise BytewaysError(
            f"{place} is no valid TOML", cause=str(error), hint="see https://toml.io"
        ) from error
    return read_suite(data, text=text, file=file)
