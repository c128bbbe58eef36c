"""Lines of a log as programs wrote them: without colours, and without what launchers put before them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from byteways.machine.foreign_text import MOST_LINE, FormatError

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
#: Prefixes of launchers: `[1,0]<stdout>:` of Open MPI, `[0] ` of Hydra, `0: ` of srun, `node7: ` of pdsh.
_PREFIX = re.compile(r"(\[\d+,\d+\](?:<std(?:out|err)>)?:|\[\d+\] |\d+: |[A-Za-z][\w.-]*\d: )[ \t]?")

#: A line that NCCL or RCCL logs, behind a prefix or not: a log has millions, and no output contains any.
_LOGGED = re.compile(
    rb"(?:\[\d+,\d+\](?:<std(?:out|err)>)?:|\[\d+\] |\d+: )?"
    rb"[\w.-]+:\d+:\d+ \[\d+\] (?:NCCL|RCCL) (?:INFO|TRACE) "
)


class Line(NamedTuple):
    """A line of an output: its number from 1, what came before it, its text."""

    number: int
    prefix: str  # of a launcher; lines with the same prefix are one process's output
    text: str


def lines_of_log(content: Iterable[bytes]) -> Iterator[Line]:
    """Yields the lines of a log but those that NCCL logs.

    Args:
        content: Its raw lines, as a file opened in binary mode yields them.

    Raises:
        FormatError: A line is no text, or longer than any row of a table.
    """
    logged = _LOGGED.match
    for number, raw in enumerate(content, start=1):
        if logged(raw):
            continue
        if len(raw) > MOST_LINE and not raw.lstrip().startswith(b"{"):  # a document in one line
            raise FormatError(f"the line has {len(raw)} bytes", number)
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            binary = b"\0" in raw
            raise FormatError(
                "the file is binary" if binary else "the line is not UTF-8 text", number
            ) from error
        text = text.rstrip("\r\n")
        if not text.isprintable():
            if "\0" in text:
                raise FormatError("the file is binary", number)
            if "\r" in text:  # a progress bar overwrites its line
                text = text.rsplit("\r", 1)[1]
            if "\x1b" in text:
                text = _ESCAPES.sub("", text)
        found = _PREFIX.match(text)
        yield Line(number, found[1], text[found.end() :]) if found else Line(number, "", text)
