"""Reading files that a user names: regular files of a bounded size, and nothing else.

A FIFO would be waited for without end, a device read without end, and a file of gigabytes would be held in
memory before anything could say that it is none of ours.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

#: Suites, models and studies: the largest that comes with byteways has 60 KB.
MOST_TOML_BYTES = 4 << 20
#: Manifests hold the topology, what was probed, and the text of the suite and of the model.
MOST_MANIFEST_BYTES = 256 << 20
#: Records, samples and plans: a run of 16 GPUs has 25 MB.
MOST_LINES_BYTES = 4 << 30
#: Topologies as XML or JSON.
MOST_TOPOLOGY_BYTES = 64 << 20


def read_bytes(path: Path, most: int) -> bytes:
    """The content of a regular file.

    Args:
        path: Of the file; links are followed.
        most: Bytes that it may have.

    Raises:
        OSError: It cannot be read, is no regular file, or has more bytes; `strerror` says which.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size  # read() takes memory for as many bytes as it is asked for
        content = file.read(size + 1) if size <= most else b""
    if max(size, len(content)) > most:
        raise OSError(errno.EFBIG, f"It has more than {most >> 20} MiB", str(path))
    return content


def open_regular(path: Path) -> BinaryIO:
    """A regular file, open for reading. Raises OSError as read_bytes()."""
    # Not blocking: opening a FIFO waits for somebody to write to it.
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
    """The same as UTF-8 text. Raises UnicodeDecodeError, a ValueError, where it is none."""
    return read_bytes(path, most).decode("utf-8")


def sync_folder(folder: Path) -> None:
    """Waits until the names in a folder are on the disk: a file that was made or renamed has none before
    that.

    File systems that cannot do this (some network ones) keep names in their own way.
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
