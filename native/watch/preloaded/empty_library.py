"""Writes a shared library with nothing in it, for programs of 32 bits on x86.

    python empty_library.py OUTPUT

Their loader reads the same LD_PRELOAD as that of other programs. Where it finds no library, or one of another
architecture, it says so on the program's standard error.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

#: Of the ELF specification (gABI) and the supplement for i386.
_SHARED, _I386 = 3, 3
_HEADER_BYTES, _SEGMENT_BYTES, _SYMBOL_BYTES = 52, 32, 16
_LOAD, _DYNAMIC, _STACK = 1, 2, 0x6474E551  # the last says that the stack holds no code
_READ_WRITE = 6
_HASH, _STRINGS, _SYMBOLS, _STRING_BYTES, _BYTES_OF_SYMBOL = 4, 5, 6, 10, 11


def empty_library() -> bytes:
    """Returns the library: a header, three segments, one empty string, and the symbol that each table has."""
    hashes = _HEADER_BYTES + 3 * _SEGMENT_BYTES
    symbols = hashes + 16
    strings = symbols + _SYMBOL_BYTES
    entries = strings + 4
    tables = ((_HASH, hashes), (_STRINGS, strings), (_SYMBOLS, symbols))
    sizes = ((_STRING_BYTES, 1), (_BYTES_OF_SYMBOL, _SYMBOL_BYTES), (0, 0))
    dynamic = b"".join(struct.pack("<II", *entry) for entry in (*tables, *sizes))
    content = struct.pack("<4I", 1, 1, 0, 0) + bytes(_SYMBOL_BYTES + 4) + dynamic
    size = hashes + len(content)
    header = b"\x7fELF" + bytes([1, 1, 1]) + bytes(9)
    header += struct.pack("<HHIIIII", _SHARED, _I386, 1, 0, _HEADER_BYTES, 0, 0)
    header += struct.pack("<HHHHHH", _HEADER_BYTES, _SEGMENT_BYTES, 3, 0, 0, 0)
    segments = ((_LOAD, 0, size, 4096), (_DYNAMIC, entries, len(dynamic), 4), (_STACK, 0, 0, 16))
    for kind, at, length, alignment in segments:
        header += struct.pack("<8I", kind, at, at, at, length, length, _READ_WRITE, alignment)
    return header + content


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(empty_library())
