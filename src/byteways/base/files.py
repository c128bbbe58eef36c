"""Reads user-named files: only regular files of limited size.

A FIFO would block forever, a device would never end, and a file of gigabytes would fill memory before it
could be rejected.
"""

from __future__ import annotations

import codecs
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

#: Suites, models and studies: the largest built-in one has 60 KB.
MOST_TOML_BYTES = 4 << 20
#: Manifests contain the topology, capabilities, and the texts of suite and model.
MOST_MANIFEST_BYTES = 256 << 20
#: Records, samples and plans: a run of 16 GPUs has 25 MB.
MOST_LINES_BYTES = 4 << 30
#: Topologies as XML or JSON.
MOST_TOPOLOGY_BYTES = 64 << 20


def read_bytes(path: Path, most: int) -> bytes:
    """Reads a regular file.

    Args:
        path: The file; links are followed. A byte order mark of UTF-8 at its beginning is left out: editors
            on Windows write one.
        most: Maximum size in bytes.

    Raises:
        OSError: The file cannot be read, is not regular, or is larger; `strerror` says which.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size  # read() allocates as many bytes as requested
        content = file.read(size + 1) if size <= most else b""
    if max(size, len(content)) > most:
        raise OSError(errno.EFBIG, f"It has more than {most >> 20} MiB", str(path))
    return content.removeprefix(codecs.BOM_UTF8)


def lines_of(path: Path, most: int) -> Iterator[bytes]:
    """Yields the lines of a regular file with their ends, without holding all of it.

    Args:
        path: The file; links are followed.
        most: Maximum size in bytes, also of a file that grows meanwhile.

    Raises:
        OSError: Like read_bytes().
    """
    with open_regular(path) as file:
        length = os.fstat(file.fileno()).st_size
        if length <= most:
            length = 0
            for line in file:
                length += len(line)
                if length > most:
                    break
                yield line
    if length > most:
        raise OSError(errno.EFBIG, f"It has more than {most >> 20} MiB", str(path))


def open_regular(path: Path) -> BinaryIO:
    """Opens a regular file for reading. Raises OSError like read_bytes()."""
    # Non-blocking: opening a FIFO would wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "It is not a regular file", str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_text(path: Path, most: int) -> str:
    """Reads UTF-8 text. Raises UnicodeDecodeError, a ValueError, if it is not."""
    return read_bytes(path, most).decode("utf-8")


def sync_folder(folder: Path) -> None:
    """Waits until a folder's entries are on disk: before that, a new or renamed file may lose its name.

    File systems without support (some network ones) are ignored.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
