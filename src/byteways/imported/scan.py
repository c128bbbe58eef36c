"""Finds and reads the outputs in a file: tables in a log, each process's lines on their own, or documents."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from byteways.imported.formats import TEXT_FORMATS, TextFormat
from byteways.imported.lines import Line, lines_of_log
from byteways.imported.reader import Found, Mistake, TextReader

#: A row of numbers that no reader took: a table without its header.
_ROW = re.compile(r"\s*\d+(?:[ \t]+-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?){1,}\s*$")
#: Beginnings of all formats at once: a log has millions of lines.
_ANY = re.compile("|".join(f"(?:{each.begins.pattern})" for each in TEXT_FORMATS))


@dataclass
class _Process:
    """What is known of the lines of one process."""

    reader: TextReader | None = None
    headless_at: int | None = None  # first of the rows without a header since the last output


@dataclass
class Scan:
    """What a file contains."""

    outputs: list[Found] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)  # outside any output


def scan_text(content: Iterable[bytes]) -> Scan:
    """Reads all outputs of a log.

    Args:
        content: Its raw lines, as a file opened in binary mode yields them; not all are held at once.

    Raises:
        FormatError: It is no text.
    """
    found, processes = Scan(), dict[str, _Process]()
    for line in lines_of_log(content):
        process = processes.setdefault(line.prefix, _Process())
        known = _begins(line)
        if known is not None and not _goes_on(process, known, line):
            if process.reader is not None:
                process.reader.end()
            process.reader, process.headless_at = known.reader(line), None
            found.outputs.append(process.reader.found)
        elif known is None and (process.reader is None or not process.reader.take(line)):
            _note_headless(process, line, found)
    for process in processes.values():
        if process.reader is not None:
            process.reader.end()
    return found


def _begins(line: Line) -> TextFormat | None:
    if _ANY.match(line.text) is None:
        return None
    return next((known for known in TEXT_FORMATS if known.begins.match(line.text)), None)


def _goes_on(process: _Process, known: TextFormat, line: Line) -> bool:
    """Whether the line belongs to the output before it: some outputs may also begin at their later tables."""
    return (
        process.reader is not None and process.reader.found.format == known.name and process.reader.take(line)
    )


def _note_headless(process: _Process, line: Line, found: Scan) -> None:
    if process.headless_at is None and _ROW.match(line.text):
        process.headless_at = line.number
        hint = "add the lines that the program prints before its table"
        found.mistakes.append(Mistake(line.number, "a row of numbers without the header of its table", hint))
