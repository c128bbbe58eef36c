"""A file that lines are appended to, whole or not at all, and that is found again after kill -9."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

from byteways.errors import BytewaysError
from byteways.files import sync_folder


class Appended:
    """An open file of a run folder. Its methods raise OSError; explained() makes a message of that.

    Args:
        path: Of the file, which is made if need be.

    Raises:
        OSError: It cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        is_new = not path.exists()
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self.unsynced = False
        if is_new:
            sync_folder(path.parent)

    def write(self, data: bytes) -> None:
        """Appends bytes, all or none; they may not be on the disk itself before sync()."""
        found = os.fstat(self.descriptor)
        if found.st_nlink == 0:  # writing would go on into a file that is nowhere
            raise FileNotFoundError(errno.ENOENT, "The file was deleted while it was written", str(self.path))
        written = 0
        try:
            while written < len(data):
                written += os.write(self.descriptor, data[written:])
        except OSError:
            os.ftruncate(self.descriptor, found.st_size)  # never half a line
            raise
        self.unsynced = True

    def sync(self) -> None:
        """Waits until all that was written is on the disk itself."""
        if self.unsynced:
            os.fdatasync(self.descriptor)
            self.unsynced = False

    def cut(self, finished_bytes: int, kept_in: Path) -> None:
        """Cuts off what follows the last whole line, and keeps it in a file beside."""
        size = os.fstat(self.descriptor).st_size
        if size > finished_bytes:
            end = os.pread(self.descriptor, size - finished_bytes, finished_bytes)
            with kept_in.open("ab") as kept:
                kept.write(end + b"\n")
            os.ftruncate(self.descriptor, finished_bytes)
            os.fdatasync(self.descriptor)

    def cut_unfinished(self, kept_in: Path) -> None:
        """cut() where the last line end is not the end of the file."""
        size = os.fstat(self.descriptor).st_size
        position, tail = size, b""
        while position > 0 and b"\n" not in tail:
            step = min(position, 1 << 20)
            position -= step
            tail = os.pread(self.descriptor, step, position)
        self.cut(position + tail.rfind(b"\n") + 1, kept_in)

    def close(self) -> None:
        """Without sync(). Calling it twice is fine."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


class explained:  # noqa: N801 - reads as what it does: `with explained(folder):`
    """Turns an OSError into what it means for the run in this folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, OSError):
            return
        if isinstance(error, FileNotFoundError):
            raise BytewaysError(
                f"{self._folder} was deleted while the run was writing into it",
                cause=error.strerror,
                hint="its contents are lost; start a new run: byteways run",
            ) from error
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        what = f"no space left for {self._folder}" if full else f"cannot write to {self._folder}"
        remedy = "free some space" if full else "check the file system"
        raise BytewaysError(
            what,
            cause=error.strerror or str(error),
            hint=f"all measurements so far are kept; {remedy}, then: byteways run --resume {self._folder}",
        ) from error
