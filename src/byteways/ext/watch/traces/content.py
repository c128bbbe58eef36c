"""The content of a trace file, compressed or not, of bounded size: its beginning, its lines, the elements of
an array of its document, or all of it.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from byteways.base.decoding import decoded
from byteways.base.files import MOST_LINES_BYTES, open_regular
from byteways.machine.foreign_text import FormatError

#: A format is recognised by this much: the keys of a trace's outermost object and the header of a table.
HEAD_BYTES = 1 << 16
#: Documents are decoded whole, which takes up to three times their size in memory (125 MB of JSON: 336 MiB).
MOST_DOCUMENT_BYTES = 1 << 30
#: A record of a recorder with its counts for each of 10^4 ranks is shorter.
MOST_TRACE_LINE_BYTES = 1 << 20
#: Profilers' JSON and CSV are 10 to 30 times smaller compressed. A few MB that are made to expand a thousand
#: times would take minutes and fill the memory.
MOST_EXPANSION = 50
#: What deflate can reach at most (zlib's technical details).
_MOST_DEFLATED = 1032
#: Content below is read whatever its ratio: small files may be very repetitive.
LEAST_LIMITED_BYTES = 32 << 20
#: Elements of a document are decoded together up to this length, …
PART_BYTES = 4 << 20
#: … and one of them, or what lies around the array, is no longer than this.
MOST_ELEMENT_BYTES = 64 << 20
#: Places at which a part is tried to end before its elements are counted: `},{` also lies within an element.
_MOST_ENDS = 8
_NEXT_OBJECT = re.compile(rb"\s*,\s*\{")
_BETWEEN = re.compile(r"\s*(,?)\s*")
_GZIP = b"\x1f\x8b"
#: Numbers that C++ streams print and JSON lacks: a bandwidth over no time.
_NO_NUMBER = re.compile(rb"(:\s*)[-+]?(?:inf|nan|Infinity|NaN)\b")
_LET_IT_END = "let the profiler end before copying its trace"
SMALLER = "record fewer steps (torch.profiler.schedule), or use --import on each process's trace"


def open_content(path: Path) -> BufferedIOBase:
    """Opens a regular file for reading, decompressing it where it is compressed by gzip. Raises OSError."""
    file = open_regular(path)
    try:
        compressed = file.read(len(_GZIP)) == _GZIP
        file.seek(0)
        return _Inflated(file) if compressed else file  # type: ignore[return-value]
    except BaseException:
        file.close()
        raise


class _Inflated(gzip.GzipFile):
    """Decompresses a file up to MOST_EXPANSION times its size. Reading raises FormatError beyond."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(fileobj=file)
        self._file = file
        self._size = os.fstat(file.fileno()).st_size
        self._most = max(LEAST_LIMITED_BYTES, MOST_EXPANSION * self._size)
        # The last four bytes are the length of the content (RFC 1952): most files are refused before they are
        # decompressed. Those that lie are refused when they come to the limit.
        file.seek(max(0, self._size - 4))
        length = int.from_bytes(file.read(4), "little")
        file.seek(0)
        if length <= _MOST_DEFLATED * self._size:  # else the file was cut, which reading it shows
            self._check(length)

    def read(self, size: int | None = -1) -> bytes:
        return self._counted(super().read(size))

    def readline(self, size: int | None = -1) -> bytes:
        return self._counted(super().readline(size))

    def close(self) -> None:
        super().close()
        self._file.close()

    def _counted(self, part: bytes) -> bytes:
        self._check(self.tell())
        return part

    def _check(self, length: int) -> None:
        if length > self._most:
            raise FormatError(
                f"its {self._size} compressed bytes become more than {self._most >> 20} MiB",
                hint="if you trust it, decompress it and read the result: gunzip -k FILE",
            )


def head_of(path: Path) -> bytes:
    """Returns the beginning of the content. Raises OSError, or FormatError for a damaged compressed file."""
    with open_content(path) as file:
        return bytes(_read(file, HEAD_BYTES))


def document_of(path: Path) -> bytearray:
    """Returns the content, all of it.

    Raises:
        OSError: It cannot be read, or has more than MOST_DOCUMENT_BYTES.
        FormatError: It is compressed, and damaged.
    """
    with open_content(path) as file:
        content = _read(file, MOST_DOCUMENT_BYTES + 1)
    if len(content) > MOST_DOCUMENT_BYTES:
        raise _too_long("its content", MOST_DOCUMENT_BYTES)
    return content


def _too_long(what: str, most: int) -> FormatError:
    return FormatError(f"{what} has more than {most >> 20} MiB", hint=SMALLER)


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


def _read(file: BufferedIOBase, most: int) -> bytearray:
    content = bytearray()
    while len(content) < most and (part := _part_of(file, min(1 << 22, most - len(content)))):
        content += part
    return content


def _part_of(file: BufferedIOBase, size: int) -> bytes:
    try:
        return file.read(size)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        hint = "copy the file again, or let the profiler write it again"
        raise FormatError(f"its compressed content is damaged or cut: {error}", hint=hint) from error


class ElementsOfArray:
    """Reads the elements of an array in a document of JSON, part by part: not all of them are in memory.

    Args:
        path: The file.
        key: Of the array, in the outermost object.
        decode: Decodes a part, the text of an array. Raises ValueError if it is no JSON.
    """

    def __init__(self, path: Path, key: str, decode: Callable[[bytes], list[Any]]) -> None:
        self._path, self._decode = path, decode
        self._begin = re.compile(rb'"%s"\s*:\s*\[' % key.encode())
        self._lines = 0  # that have been read before the part
        self.rest = b""  # the document with an empty array, once all parts were read

    def __iter__(self) -> Iterator[list[Any]]:
        """Yields lists of elements in their order.

        Raises:
            OSError: It cannot be read.
            FormatError: It is no JSON, cut, or longer than MOST_DOCUMENT_BYTES.
        """
        self._lines, length = 0, 0
        wanted, head, data = PART_BYTES, b"", bytearray()
        begun = ended = False
        with open_content(self._path) as file:
            while not ended:
                while len(data) < wanted and not ended:
                    part = _part_of(file, min(1 << 20, wanted - len(data)))
                    data += part
                    length += len(part)
                    ended = not part
                if length > MOST_DOCUMENT_BYTES:
                    raise _too_long("its content", MOST_DOCUMENT_BYTES)
                if not begun and (found := self._begin.search(data)) is not None:
                    begun, head = True, bytes(data[: found.end()])
                    self._lines += head.count(b"\n")
                    del data[: found.end()]
                    continue
                if begun and not ended and (whole := self._whole(data)) is not None:
                    yield whole
                    wanted = PART_BYTES
                    continue
                if (wanted := 2 * wanted) > 2 * MOST_ELEMENT_BYTES and not ended:
                    raise _too_long("one of its elements", MOST_ELEMENT_BYTES)
        if not begun:
            self.rest = bytes(data)
            return
        end = self._end_of_array(data)
        yield self._decoded(data, end, b"")
        self.rest = head + b"]" + data[end:]

    def _whole(self, data: bytearray) -> list[Any] | None:
        """Takes as many whole elements off as there are; None: more has to be read first."""
        end = len(data)
        for _ in range(_MOST_ENDS):
            end = data.rfind(b"}", 0, end)
            if end < 0:
                return None
            if (following := _NEXT_OBJECT.match(data, end + 1)) is None:
                continue
            try:
                found = self._decode(b"[" + data[: end + 1] + b"]")
            except ValueError:  # it ends within an element
                continue
            self._drop(data, following.end() - 1)
            return found
        if (without := without_infinities(data)) is not None:
            data[:] = without
        if not (end := _end_of_elements(data)):
            return None
        found = self._decoded(data, end, b"]")
        self._drop(data, end + 1)
        return found

    def _decoded(self, data: bytearray, end: int, bracket: bytes) -> list[Any]:
        """Decodes elements that are whole. Raises FormatError: Python's own reader of JSON accepts more."""
        try:
            return self._decode(b"[" + data[:end] + bracket)
        except ValueError as error:
            raise FormatError(f"it is not JSON: {error}", self._lines + 1, _LET_IT_END) from error

    def _drop(self, data: bytearray, end: int) -> None:
        self._lines += data.count(b"\n", 0, end)
        del data[:end]

    def _end_of_array(self, data: bytearray) -> int:
        """Returns where the array ends, behind its bracket, in what is left of the document."""
        if (without := without_infinities(data)) is not None:
            data[:] = without
        text = f"[{data.decode('latin-1')}"  # a character a byte, so that places are those of bytes
        try:
            return json.JSONDecoder(strict=False).raw_decode(text)[1] - 1
        except (ValueError, RecursionError) as error:
            try:
                json_of(b"[" + data, Any)
            except FormatError as whole:
                line = self._lines + (whole.line or 1 + data.count(b"\n"))
                raise FormatError(str(whole), line, whole.hint) from error
            raise FormatError(f"it is not whole JSON: {error}") from error


def _end_of_elements(data: bytearray) -> int:
    """Returns the place of the comma behind the last whole element at the beginning; 0: there is none."""
    text, decode = data.decode("latin-1"), json.JSONDecoder(strict=False).raw_decode
    end, begin = 0, len(text) - len(text.lstrip())
    try:
        while True:
            _, after = decode(text, begin)
            between = _BETWEEN.match(text, after)
            if between is None or not between[1] or between.end() == len(text):
                return end
            end, begin = between.start(1), between.end()
    except (ValueError, RecursionError):  # the next element is not whole
        return end


def json_of(content: bytes | bytearray, kind: Any) -> Any:
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
            if (without := without_infinities(content)) is None:
                raise
            return decoded(without, kind)
    except msgspec.ValidationError:
        raise
    except ValueError as error:
        line = None
        found = re.search(r"byte (\d+)", str(error))
        if found:
            line = content.count(b"\n", 0, int(found[1])) + 1
        raise FormatError(f"it is not whole JSON: {error}", line, _LET_IT_END) from error


def without_infinities(content: bytes | bytearray) -> bytes | None:
    """Returns JSON whose NaN and infinities are null; None: it has none."""
    return _NO_NUMBER.sub(rb"\1null", content) if _NO_NUMBER.search(content) else None
