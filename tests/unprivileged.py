"""Runs a test's function as a user to whom permissions apply: root, as in containers, may read everything."""

from __future__ import annotations

import ctypes
import os
import traceback
from collections.abc import Callable

#: capabilities(7): those that pass by the permissions of files and folders.
_OVERRIDE = (1 << 1) | (1 << 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
_VERSION_3 = 0x20080522


class _Header(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _Sets(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("effective", "permitted", "inheritable")]


def _drop() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = _Header(_VERSION_3, 0), (_Sets * 2)()
    if libc.capget(ctypes.byref(header), sets):
        raise OSError(ctypes.get_errno(), "capget")
    for name, _ in _Sets._fields_:
        setattr(sets[0], name, getattr(sets[0], name) & ~_OVERRIDE)
    if libc.capset(ctypes.byref(header), sets):
        raise OSError(ctypes.get_errno(), "capset")


def assert_unprivileged(check: Callable[[], None]) -> None:
    """Calls `check` in a child process without these capabilities; an error of it fails the test."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            _drop()
            check()
        except BaseException:
            os.write(writer, traceback.format_exc()[-4000:].encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(pid, 0)
    assert not said, said
