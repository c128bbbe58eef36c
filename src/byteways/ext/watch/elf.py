"""What a program file is: whether the dynamic linker will load our libraries into it."""

from __future__ import annotations

import os
import stat
import struct
from pathlib import Path

from byteways.base.files import open_regular
from byteways.ext.watch.problems import Problem

#: Of the ELF specification (gABI 4.1 and its registry): the interpreter's segment; machines by os.uname().
_SEGMENT_INTERPRETER = 3
_MACHINES = {"x86_64": 62, "aarch64": 183, "ppc64le": 21, "riscv64": 243}
_CLASS_64 = 2
#: Program headers lie at the beginning of a file; a line with #! has at most so many bytes (Linux 5.1).
_MOST_HEAD = 1 << 16
_MOST_LINE = 256


def obstacle(program: Path) -> Problem | None:
    """Returns why libraries cannot be loaded into a program; None if they can, or nothing is known of it."""
    found = _file(program)
    if isinstance(found, Problem):
        return found
    head, path = found
    if head.startswith(b"#!"):  # a script: its interpreter is what runs
        words = head[2:_MOST_LINE].split(b"\n")[0].split()
        if not words:
            return None
        found = _file(Path(os.fsdecode(words[0])))
        if isinstance(found, Problem):
            return found
        head, path = found
    return _of_elf(head, path) if head.startswith(b"\x7fELF") else None


def _file(path: Path) -> tuple[bytes, Path] | Problem:
    """Returns the beginning of a file, empty if unreadable; or why the linker loads nothing into it."""
    try:
        found = path.stat()
        other_user = found.st_mode & stat.S_ISUID and found.st_uid != os.getuid()
        other_group = found.st_mode & stat.S_ISGID and found.st_gid != os.getgid()
        if other_user or other_group:  # secure-execution mode of ld.so(8)
            return Problem("privileged-program", path.name)
        if os.getuid() != 0 and "security.capability" in os.listxattr(path):
            return Problem("privileged-program", path.name)
        with open_regular(path) as file:
            return file.read(_MOST_HEAD), path
    except OSError:
        return b"", path


def _of_elf(head: bytes, path: Path) -> Problem | None:
    try:
        (machine,) = struct.unpack_from("<H", head, 18)
        if head[4] != _CLASS_64 or machine != _MACHINES.get(os.uname().machine, machine):
            return Problem("other-architecture", path.name)
        offset, size, count = *struct.unpack_from("<Q", head, 32), *struct.unpack_from("<HH", head, 54)
        for at in range(count):
            kind, _, start = struct.unpack_from("<IIQ", head, offset + at * size)
            (length,) = struct.unpack_from("<Q", head, offset + at * size + 32)
            if kind == _SEGMENT_INTERPRETER:
                musl = b"ld-musl" in head[start : start + length]
                return Problem("other-c-library", path.name) if musl else None
    except (struct.error, IndexError):
        return None
    return Problem("static-program", path.name)
