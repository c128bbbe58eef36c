"""Lines of a log as programs wrote them: without colours, and without what launchers put before them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from byteways.topology.foreign_text import MOST_LINE, FormatError

_ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
#: Prefixes of launchers: `[1,0]<stdout>:` of Open MPI, `[0] ` of Hydra, `0: ` of srun, `node7: ` of pdsh.
_PREFIX = re.compile(rb"(\[\d+,\d+\](?:<std(?:out|err)>)?:|\[\d+\] |\d+: |[A-Za-z][\w.-]*\d: )[ \t]?")


class Line(NamedTuple):
    """A line of an output: its number from 1, what came before it, its text."""

    number: int
    prefix: str  # of a launcher; lines with the same prefix are one process's output
    text: str


def lines_of_log(content: Iterable[bytes]) -> Iterator[Line]:
    """Yields the lines of a log.

    Args:
        content: Its raw lines, as a file opened in binary mode yields them.

    Raises:
        FormatError: A line is no text, or longer than any row of a table.
    """
    for number, raw in enumerate(content, start=1):
        if len(raw) > MOST_LINE and not raw.lstrip().startswith(b"{"):  # a document in one line
            raise FormatError(f"the line has {len(raw)} bytes", number)
        if b"\0" in raw:
            raise FormatError("the file is binary", number)
        line = raw.rstrip(b"\r\n")
        if b"\r" in line:  # a progress bar overwrites its line
            line = line.rsplit(b"\r", 1)[1]
        if b"\x1b" in line:
            line = _ESCAPES.sub(b"", line)
        found = _PREFIX.match(line)
        prefix, rest = (found[1].decode(), line[found.end() :]) if found else ("", line)
        try:
            yield Line(number, prefix, rest.decode())
        except UnicodeDecodeError as error:
            raise FormatError("the line is not UTF-8 text", number) from error
