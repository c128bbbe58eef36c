"""Finds and reads the outputs in a file: tables in a log, each process's lines on their own, or documents."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from byteways.base.errors import BytewaysError
from byteways.base.files import MOST_LINES_BYTES, lines_of
from byteways.base.system_errors import unusable
from byteways.ext.audit.imported.formats import DOCUMENT_FORMATS, TEXT_FORMATS, TextFormat
from byteways.ext.audit.imported.lines import Line, lines_of_log
from byteways.ext.audit.imported.reader import Found, TextReader, UnreadPlace
from byteways.machine.foreign_text import FormatError

#: A row of numbers that no reader took: a table without its header.
_ROW = re.compile(r"\s*\d+(?:[ \t]+-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?){1,}\s*$")
#: Beginnings of all formats at once, whose groups have no names: a log has millions of lines.
_ANY = re.compile("|".join(re.sub(r"\(\?P<\w+>", "(?:", each.begins.pattern) for each in TEXT_FORMATS))


#: Strings of JSON, whose braces do not count.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
#: A longer document is refused: a run of many ranks has some 10 MB.
MOST_DOCUMENT = 256 << 20


@dataclass
class _Document:
    """A document of JSON whose end has not come yet."""

    begins_at: int
    parts: list[str] = field(default_factory=list)
    depth: int = 0
    length: int = 0

    def take(self, text: str) -> bool:
        """Adds a line. Returns whether the document ends with it."""
        self.parts.append(text)
        self.length += len(text)
        bare = _STRING.sub("", text)
        self.depth += bare.count("{") - bare.count("}")
        return self.depth <= 0


@dataclass
class _Process:
    """What is known of the lines of one process."""

    reader: TextReader | None = None
    document: _Document | None = None
    headless_at: int | None = None  # first of the rows without a header since the last output


@dataclass
class OutputsOfFile:
    """What a file contains."""

    outputs: list[Found] = field(default_factory=list)
    mistakes: list[UnreadPlace] = field(default_factory=list)  # outside any output


def read_outputs(path: Path) -> OutputsOfFile:
    """Reads all outputs in a file.

    Raises:
        BytewaysError: It cannot be read, is no text, or holds no output that is known.
    """
    try:
        found = scan_text(lines_of(path, MOST_LINES_BYTES))
    except OSError as error:
        raise unusable(f"cannot read {path}", error) from error
    except FormatError as error:
        place = f"{path}:{error.line}" if error.line else str(path)
        raise BytewaysError(f"cannot read {place}", cause=str(error), hint=formats_hint()) from error
    if not found.outputs:
        first = found.mistakes[0] if found.mistakes else None
        cause = "its content has none of the formats that are known"
        if first is not None:
            cause = first.what if first.line is None else f"line {first.line}: {first.what}"
        raise BytewaysError(f"{path} is no output that byteways reads", cause=cause, hint=formats_hint())
    return found


def formats_hint() -> str:
    """Returns which outputs are read."""
    names = [*(known.says for known in TEXT_FORMATS), *(known.says for known in DOCUMENT_FORMATS)]
    return f"byteways reads {', '.join(names)}"


def scan_text(content: Iterable[bytes]) -> OutputsOfFile:
    """Reads all outputs of a log.

    Args:
        content: Its raw lines, as a file opened in binary mode yields them; not all are held at once.

    Raises:
        FormatError: It is no text.
    """
    found, processes = OutputsOfFile(), dict[str, _Process]()
    begins = _ANY.match
    for line in lines_of_log(content):
        process = processes.get(line.prefix)
        if process is None:
            process = processes[line.prefix] = _Process()
        if process.document is not None:
            _take_part(process, line.text, found)
            continue
        known = _format_begun(line) if begins(line.text) else None
        if known is not None and not _goes_on(process, known, line):
            if process.reader is not None:
                process.reader.end()
            process.reader, process.headless_at = known.reader(line), None
            found.outputs.append(process.reader.found)
        elif known is None and (process.reader is None or not process.reader.take(line)):
            if line.text.lstrip()[:1] == "{":
                process.document = _Document(line.number)
                _take_part(process, line.text, found)
            elif process.headless_at is None and _ROW.match(line.text):
                process.headless_at = line.number
                what = "a row of numbers without the header of its table"
                hint = "add the lines that the program prints before its table"
                found.mistakes.append(UnreadPlace(line.number, what, hint))
    for process in processes.values():
        if process.reader is not None:
            process.reader.end()
        if process.document is not None:
            what = "the document of JSON that begins here has no end: it was cut"
            found.mistakes.append(UnreadPlace(process.document.begins_at, what))
    return found


def _take_part(process: _Process, text: str, found: OutputsOfFile) -> None:
    """Adds a line to the document of a process, and reads the document if it ends."""
    document = process.document
    assert document is not None
    if not document.take(text):
        if document.length > MOST_DOCUMENT:
            raise FormatError(f"the document has more than {MOST_DOCUMENT >> 20} MiB", document.begins_at)
        return
    process.document = None
    try:
        output = _read_document("\n".join(document.parts), document.begins_at)
    except ValueError as error:  # FormatError is one
        line = error.line if isinstance(error, FormatError) and error.line else document.begins_at
        found.mistakes.append(UnreadPlace(line, str(error)))
        return
    found.outputs.append(output)


def _read_document(text: str, line: int) -> Found:
    """Returns what a document contains. Raises FormatError if it is none that is known."""
    try:
        document = _decoded(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the document is not JSON: {error}", line) from error
    if not isinstance(document, dict):
        raise FormatError("the document is not an object", line)
    known = [each for each in DOCUMENT_FORMATS if each.keys <= document.keys()]
    if not known:
        keys = ", ".join(f"'{key:.30}'" for key in [*document][:3])
        raise FormatError(f"no program that is known writes a document of {keys or 'no keys'}", line)
    return known[0].reader(document, line)


def _decoded(text: str) -> Any:
    """Decodes JSON, and NaN and Infinity, which Python's own library writes: readers refuse them in place."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return json.loads(text)


def _format_begun(line: Line) -> TextFormat | None:
    return next((known for known in TEXT_FORMATS if known.begins.match(line.text)), None)


def _goes_on(process: _Process, known: TextFormat, line: Line) -> bool:
    """Whether the line belongs to the output before it: some outputs may also begin at their later tables."""
    return (
        process.reader is not None and process.reader.found.format == known.name and process.reader.take(line)
    )
