"""Writes files: the only module of byteways that opens one for writing (a test checks that).

A file is written under a random name in its folder and renamed when it is complete, so that neither a reader
nor a full disk leaves a part of it. The unfinished file is created exclusively: in a folder that others can
write, nobody can plant a link under its name.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from byteways.base.files import sync_folder
from byteways.base.text import ESCAPED

#: Names of unfinished files. They do not contain the name of the file, which may have the greatest length.
DRAFT = re.compile(r"\.byteways-[0-9a-f]{16}")

#: As a name of a file: standard output.
STANDARD_OUTPUT = Path("-")


@contextmanager
def replacing(path: Path, *, durable: bool = False) -> Iterator[BinaryIO]:
    """Provides a file that takes the place of `path` when the block ends without an error.

    A link at `path` is replaced, never followed: run folders come from other people, too.

    Args:
        path: A regular file, or nothing yet; its permissions are kept.
        durable: Wait until the content and the name are on disk.

    Raises:
        OSError: The file cannot be written; the previous one is intact.
    """
    draft = path.with_name(f".byteways-{secrets.token_hex(8)}")
    with _about(path, draft):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(draft, flags, 0o666)
        try:
            with os.fdopen(descriptor, "wb") as file:
                with contextlib.suppress(OSError):
                    os.fchmod(descriptor, stat.S_IMODE(os.lstat(path).st_mode) & 0o777)
                yield file
                file.flush()
                if durable:
                    os.fsync(descriptor)
            draft.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                draft.unlink()
            raise
    if durable:
        sync_folder(path.parent)


@contextmanager
def named(path: Path) -> Iterator[BinaryIO]:
    """Provides the file that the user named for output.

    A link stays, and its target is replaced. Standard output (`-`, `/dev/stdout`), a FIFO and a terminal are
    written directly.

    Raises:
        OSError: The file cannot be written; a regular one is intact. A FIFO that nobody reads is ENXIO.
    """
    if is_standard_output(path):
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    if not stat.S_ISREG(mode):
        with _about(path), os.fdopen(_open_stream(path, mode), "wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    with _about(path, target), replacing(target) as file:
        yield file


def write(path: Path, content: str | bytes, *, durable: bool = False) -> None:
    """Writes a file of byteways: replacing() for content that is at hand. Raises OSError."""
    with replacing(path, durable=durable) as file:
        file.write(_encoded(content))


def write_named(path: Path, content: str | bytes) -> None:
    """Writes the file that the user named: named() for content that is at hand. Raises OSError."""
    with named(path) as file:
        file.write(_encoded(content))


def open_appended(path: Path) -> int:
    """Opens a regular file for appending and reading, creating it if missing; returns its descriptor.

    Raises:
        OSError: The file cannot be opened, is a link, or is not regular.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP and path.is_symlink():
            raise OSError(errno.ELOOP, "It is a link", str(path)) from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "It is not a regular file", str(path))
    return descriptor


def is_standard_output(path: Path) -> bool:
    """Whether a path names this process's standard output, under any name."""
    if path == STANDARD_OUTPUT:
        return True
    try:
        return os.path.samestat(path.stat(), os.fstat(1))
    except OSError:
        return False


def _open_stream(path: Path, mode: int) -> int:
    """Opens something that is no regular file, without waiting for a reader."""
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if stat.S_ISBLK(mode):
        raise OSError(errno.EINVAL, "It is a block device", str(path))
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    os.set_blocking(descriptor, True)
    return descriptor


def _encoded(content: str | bytes) -> bytes:
    return content.encode("utf-8", ESCAPED) if isinstance(content, str) else content


@contextmanager
def _about(path: Path, *aliases: Path) -> Iterator[None]:
    """Lets an OSError without a path, or about one of the aliases, name `path`."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename in (None, *map(str, aliases)):
            error.filename = str(path)
            del error.filename2
        raise
