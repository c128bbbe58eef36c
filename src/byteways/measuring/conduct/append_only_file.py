"""An append-only file whose lines are written completely or not at all, and can be repaired after kill -9."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

from byteways.base.errors import BytewaysError
from byteways.base.files import sync_folder
from byteways.base.system_errors import hint_for
from byteways.base.writing import open_appended
from byteways.record.run_folder import MANIFEST


class Appended:
    """An append-only file of a run folder. Methods raise OSError; use explained() for a readable message.

    Args:
        path: The file; created if missing.

    Raises:
        OSError: The file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        is_new = not path.exists()
        self.descriptor = open_appended(path)
        self.unsynced = False
        if is_new:
            sync_folder(path.parent)

    def write(self, data: bytes) -> None:
        """Appends all bytes or none; they are durable only after sync()."""
        found = os.fstat(self.descriptor)
        if found.st_nlink == 0:  # deleted meanwhile: further data would be lost
            raise FileNotFoundError(errno.ENOENT, "The file was deleted while it was written", str(self.path))
        written = 0
        try:
            while written < len(data):
                written += os.write(self.descriptor, data[written:])
        except OSError:
            os.ftruncate(self.descriptor, found.st_size)  # remove a partial line
            raise
        self.unsynced = True

    def sync(self) -> None:
        """Waits until all written data is on disk."""
        if self.unsynced:
            os.fdatasync(self.descriptor)
            self.unsynced = False

    def cut(self, finished_bytes: int, kept_in: Path) -> None:
        """Truncates the file to `finished_bytes` and saves the removed tail in `kept_in`."""
        size = os.fstat(self.descriptor).st_size
        if size > finished_bytes:
            end = os.pread(self.descriptor, size - finished_bytes, finished_bytes)
            with os.fdopen(open_appended(kept_in), "ab") as kept:
                kept.write(end + b"\n")
            os.ftruncate(self.descriptor, finished_bytes)
            os.fdatasync(self.descriptor)

    def cut_unfinished(self, kept_in: Path) -> None:
        """Calls cut() if the file does not end with a line end."""
        size = os.fstat(self.descriptor).st_size
        position, tail = size, b""
        while position > 0 and b"\n" not in tail:
            step = min(position, 1 << 20)
            position -= step
            tail = os.pread(self.descriptor, step, position)
        self.cut(position + tail.rfind(b"\n") + 1, kept_in)

    def close(self) -> None:
        """Closes the file without sync(); repeated calls have no effect."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


class explained:  # noqa: N801 - reads as what it does: `with explained(folder):`
    """Converts an OSError into a BytewaysError that says what it means for this run folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, OSError):
            return
        if error.filename is None:
            error.filename = str(self._folder)
        cause = error.strerror or str(error)
        gone = error.errno == errno.ENOENT
        if gone and not (self._folder / MANIFEST).exists():
            raise BytewaysError(
                f"{self._folder} was deleted while the run was writing into it",
                cause=cause,
                hint="its contents are lost; start a new run: byteways run",
            ) from error
        again = f"byteways run --resume {self._folder}"
        if gone:
            raise BytewaysError(
                f"a file of {self._folder} was deleted while the run was writing into it",
                cause=cause,
                hint=f"the other files are kept; measure again what was in it: {again}",
            ) from error
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        what = f"no space left for {self._folder}" if full else f"cannot write to {self._folder}"
        remedy = hint_for(error, writing=True) or "check the file system"
        if not (self._folder / MANIFEST).exists():  # nothing to resume: the caller takes the folder away
            raise BytewaysError(what, cause=cause, hint=f"{remedy}, then repeat the command") from error
        raise BytewaysError(
            what, cause=cause, hint=f"all measurements so far are kept; {remedy}, then: {again}"
        ) from error
