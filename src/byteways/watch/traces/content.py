"""The content of a trace file, compressed or not, of bounded size: its beginning, its lines, or all of it."""

from __future__ import annotations

import errno
import gzip
import re
import zlib
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import msgspec

from byteways.decoding import decoded
from byteways.files import MOST_LINES_BYTES, open_regular
from byteways.topology.foreign_text import FormatError

#: A format is recognised by this much: the keys of a trace's outermost object and the header of a table.
HEAD_BYTES = 1 << 16
#: Documents are decoded whole, which takes up to three times their size in memory (125 MB of JSON: 336 MiB).
MOST_DOCUMENT_BYTES = 1 << 30
#: A record of a recorder with its counts for each of 10^4 ranks is shorter.
MOST_TRACE_LINE_BYTES = 1 << 20
_GZIP = b"\x1f\x8b"
#: Numbers that C++ streams print and JSON lacks: a bandwidth over no time.
_NO_NUMBER = re.compile(rb"(:\s*)[-+]?(?:inf|nan|Infinity|NaN)\b")
SMALLER = "record fewer steps (torch.profiler.schedule), or use --import on each process's trace"


def open_content(path: Path) -> BufferedIOBase:
    """Opens a regular file for reading, decompressing it where it is compressed by gzip. Raises OSError."""
    file = open_regular(path)
    try:
        compressed = file.read(len(_GZIP)) == _GZIP
        file.seek(0)
        return gzip.GzipFile(fileobj=file) if compressed else file  # type: ignore[return-value]
    except BaseException:
        file.close()
        raise


def head_of(path: Path) -> bytes:
    """Returns the beginning of the content. Raises OSError, or FormatError for a damaged compressed file."""
    with open_content(path) as file:
        return _read(file, HEAD_BYTES)


def document_of(path: Path) -> bytes:
    """Returns the content, all of it.

    Raises:
        OSError: It cannot be read, or has more than MOST_DOCUMENT_BYTES.
        FormatError: It is compressed, and damaged.
    """
    with open_content(path) as file:
        content = _read(file, MOST_DOCUMENT_BYTES + 1)
    if len(content) > MOST_DOCUMENT_BYTES:
        raise FormatError(f"its content has more than {MOST_DOCUMENT_BYTES >> 20} MiB", hint=SMALLER)
    return content


def lines_of_trace(path: Path) -> Iterator[tuple[int, str]]:
    """Yields the lines of a trace in text with their numbers from 1, without their ends.

    Raises:
        OSError: It cannot be read, or is too long.
        FormatError: A line is no text, or longer than any of a trace.
    """
    length = 0
    with open_content(path) as file:
        for number in range(1, 1 << 62):
            try:
                line = file.readline(MOST_TRACE_LINE_BYTES)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise FormatError(f"its compressed content is damaged or cut: {error}", number) from error
            if not line:
                return
            length += len(line)
            if length > MOST_LINES_BYTES:
                raise OSError(errno.EFBIG, f"It has more than {MOST_LINES_BYTES >> 20} MiB", str(path))
            if len(line) == MOST_TRACE_LINE_BYTES:
                raise FormatError(f"the line has more than {MOST_TRACE_LINE_BYTES >> 10} KiB", number)
            try:
                yield number, line.decode().rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise FormatError("the line is not UTF-8 text", number) from error


def _read(file: BufferedIOBase, most: int) -> bytes:
    parts, length = [], 0
    try:
        while length < most and (part := file.read(min(1 << 22, most - length))):
            parts.append(part)
            length += len(part)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        hint = "copy the file again, or let the profiler write it again"
        raise FormatError(f"its compressed content is damaged or cut: {error}", hint=hint) from error
    return b"".join(parts)


def json_of(content: bytes, kind: Any) -> Any:
    """Decodes a document of JSON, and NaN and infinities, which become null.

    Raises:
        FormatError: It is no JSON, or ends too early.
        msgspec.ValidationError: It has not the form of this type.
    """
    try:
        try:
            return decoded(content, kind)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            if not _NO_NUMBER.search(content):
                raise
            return decoded(_NO_NUMBER.sub(rb"\1null", content), kind)
    except msgspec.ValidationError:
        raise
    except ValueError as error:
        line = None
        found = re.search(r"byte (\d+)", str(error))
        if found:
            line = content.count(b"\n", 0, int(found[1])) + 1
        hint = "let the profiler end before copying its trace"
        raise FormatError(f"it is not whole JSON: {error}", line, hint) from error
