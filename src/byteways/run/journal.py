"""The journal of a run: every measurement is on disk before the next begins.

One write a record, then fdatasync, so that kill -9 or a power cut loses at most the case in hand. A lock on
the file keeps two runs out of one folder.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from byteways.errors import BytewaysError
from byteways.results.record import Record
from byteways.results.run_folder import JOURNAL, JournalText, read_journal

#: Above this a synchronisation is slow (network file systems: 10 to 100 ms, local ones 0.15 ms), and is then
#: done once a second instead of once a record. The write itself still happens at every record: only a crash
#: of the whole machine, not of byteways, could lose that second.
SLOW_SYNC_S = 0.01
SLOW_SYNC_EVERY_S = 1.0

#: Where the end of a journal goes that was cut off in the middle of a line, when the run is taken up again.
CUT_OFF = "measurements.cut-off"


def encode(record: Record) -> bytes:
    """The line of a record. Raises ValueError when a figure is not a number (JSON has none of those)."""
    return json.dumps(record.to_json(), separators=(",", ":"), allow_nan=False).encode() + b"\n"


class Journal:
    """Appends records to a run folder's journal, which it keeps locked while open.

    Args:
        folder: The run folder; must exist.
        clock: Seconds, for tests of the synchronisation policy.

    Raises:
        BytewaysError: Another run has the folder, or the file cannot be opened.
    """

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.folder = folder
        self.path = folder / JOURNAL
        self.seconds = 0.0  # spent writing and synchronising
        self._clock = clock
        self._sync_cost_s = 0.0
        self._synced_at = clock()
        self._unsynced = False
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            hint = "choose another --out"
            if self.path.exists():  # a run is taken up, which knows no --out
                hint = f"take up a copy: cp -r {folder} COPY, then: byteways run --resume COPY"
            cause = f"{self.path}: {error.strerror}"
            raise BytewaysError(f"cannot write to {folder}", cause=cause, hint=hint) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._file)
            raise BytewaysError(f"another run is writing into {folder}", hint="wait until it ends") from error
        except OSError as error:
            # Some cluster file systems are mounted without locks; a run there is still worth having.
            if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
                os.close(self._file)
                raise BytewaysError(f"cannot lock {self.path}", cause=error.strerror) from error

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def read(self) -> JournalText:
        return read_journal(self.path)

    def repair(self) -> JournalText:
        """Cuts off a last line that is incomplete, keeping it in a file beside; returns what is left."""
        text = self.read()
        if text.unfinished_bytes:
            with self._explained():
                end = os.pread(self._file, text.unfinished_bytes, text.finished_bytes)
                with (self.folder / CUT_OFF).open("ab") as kept:
                    kept.write(end + b"\n")
                os.ftruncate(self._file, text.finished_bytes)
                os.fdatasync(self._file)
        return text

    def append(self, record: Record) -> None:
        """Writes one record, whole or not at all.

        Raises:
            BytewaysError: The disk is full or the file system failed; what was recorded before is safe.
            ValueError: A figure in the record is not a number.
        """
        line = encode(record)
        began = self._clock()
        with self._explained():
            end = os.fstat(self._file).st_size
            written = 0
            try:
                while written < len(line):
                    written += os.write(self._file, line[written:])
            except OSError:
                os.ftruncate(self._file, end)  # never half a line
                raise
            self._unsynced = True
            slow = self._sync_cost_s > SLOW_SYNC_S
            if not slow or began - self._synced_at >= SLOW_SYNC_EVERY_S:
                self._sync()
        self.seconds += self._clock() - began

    def sync(self) -> None:
        """Waits until everything written is on the disk itself."""
        if self._unsynced:
            with self._explained():
                self._sync()

    def close(self) -> None:
        """Synchronises what is not yet, and lets go of the lock. Calling it twice is fine."""
        if self._file < 0:
            return
        try:
            self.sync()
        finally:
            os.close(self._file)
            self._file = -1

    def _sync(self) -> None:
        began = self._clock()
        os.fdatasync(self._file)
        self._synced_at = self._clock()
        self._sync_cost_s = self._synced_at - began
        self._unsynced = False

    def _explained(self) -> _Explained:
        return _Explained(self.folder)


class _Explained:
    """Turns an OSError into what it means for the run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: TracebackType | None) -> None:
        if not isinstance(error, OSError):
            return
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        what = f"no space left for {self._folder}" if full else f"cannot write to {self._folder}"
        remedy = "free some space" if full else "see to the file system"
        raise BytewaysError(
            what,
            cause=error.strerror or str(error),
            hint=f"everything measured so far is kept; {remedy}, then: byteways run --resume {self._folder}",
        ) from error
