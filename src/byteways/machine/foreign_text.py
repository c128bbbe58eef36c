"""What the readers of topology files share: mistakes with their lines, and XML whose elements know theirs."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from xml.parsers import expat

#: Elements inside each other: real files have some twenty. Deeper ones would overflow Python's stack.
MOST_XML_DEPTH = 200
#: Elements: a machine of 512 logical CPUs has some 20,000 in hwloc's XML.
MOST_ELEMENTS = 100_000


class FormatError(ValueError):
    """A mistake in a file, with its line (from 1; None: the whole file) and what to do about it."""

    def __init__(self, what: str, line: int | None = None, hint: str = "") -> None:
        super().__init__(what)
        self.line = line
        self.hint = hint


@contextmanager
def at_line(line: int | None) -> Iterator[None]:
    """Gives a ValueError of the block this line, unless it has one."""
    try:
        yield
    except FormatError as error:
        if error.line is None:
            error.line = line
        raise
    except ValueError as error:
        raise FormatError(str(error), line) from error


def parse_xml(content: bytes) -> tuple[ET.Element, Mapping[ET.Element, int]]:
    """Parses XML that may name an external document type, which is not loaded.

    Returns:
        The root, and the line of each element.

    Raises:
        FormatError: It is malformed, nested too deeply, or declares entities, which may expand without limit.
    """
    builder, parser = ET.TreeBuilder(), expat.ParserCreate()
    lines: dict[ET.Element, int] = {}
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MOST_XML_DEPTH:
            raise FormatError("its elements are nested deeper than any machine", parser.CurrentLineNumber)
        if len(lines) >= MOST_ELEMENTS:
            raise FormatError(f"it has more than {MOST_ELEMENTS} elements", parser.CurrentLineNumber)
        lines[builder.start(tag, attributes)] = parser.CurrentLineNumber

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def doctype(name: str, system: str | None, public: str | None, declares: bool) -> None:
        if declares:
            what = "its document type declares entities or elements, which no topology needs"
            raise FormatError(what, parser.CurrentLineNumber)

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = builder.data, doctype
    try:
        parser.Parse(content, True)
        return builder.close(), lines
    except expat.ExpatError as error:
        raise FormatError(f"XML: {expat.ErrorString(error.code)}", error.lineno) from error
    except LookupError as error:  # an encoding that Python does not know
        raise FormatError(str(error), 1) from error


#: Colours and underlines, which nvidia-smi prints in a terminal.
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
#: A longer line is no line of a table.
MOST_LINE = 1 << 16


def text_lines(content: bytes) -> Iterator[tuple[int, str]]:
    """Yields the lines of a text with their numbers from 1, without escape sequences and ends.

    Raises:
        FormatError: It is not UTF-8, or has a line that no table has.
    """
    for number, line in enumerate(content.split(b"\n"), start=1):
        if len(line) > MOST_LINE:
            raise FormatError(f"the line has {len(line)} bytes", number)
        try:
            yield number, _ESCAPES.sub("", line.decode()).rstrip("\r")
        except UnicodeDecodeError as error:
            raise FormatError("the line is not UTF-8 text", number) from error
