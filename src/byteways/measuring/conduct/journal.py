"""The journal of a run: every measurement is on disk before the next begins.

Samples are written first, then the record, each with one write and fdatasync. So kill -9 or a power failure
loses at most the current case, and every record has its samples. A lock on the records prevents two runs in
one folder.
"""

from __future__ import annotations

import errno
import fcntl
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from byteways.base.decoding import encoded_lines
from byteways.base.errors import BytewaysError
from byteways.base.json_text import json_line
from byteways.base.system_errors import hint_for
from byteways.measuring.conduct.append_only_file import Appended, explained
from byteways.record.record import Record
from byteways.record.run_folder import JOURNAL, JournalText, read_journal
from byteways.record.samples import SAMPLES_CUT_OFF, SAMPLES_FILE, Samples
from byteways.record.samples import encode as encode_samples

#: Above this duration of a synchronisation (network file systems: 10 to 100 ms, local ones: 0.15 ms), it is
#: done once a second instead of once a record. Each record is still written at once: only a crash of the
#: whole machine, not of byteways, could lose that second.
SLOW_SYNC_S = 0.01
SLOW_SYNC_EVERY_S = 1.0

#: On resuming, a partial last line is moved to this file.
MEASUREMENTS_CUT_OFF = "measurements.cut-off"


def encode(record: Record) -> bytes:
    """Returns the line of a record. Raises ValueError for NaN and infinity, which JSON cannot represent."""
    return json_line(record.to_json())


@dataclass(frozen=True)
class JournalEntry:
    """A record with its encoded lines."""

    record: Record
    line: bytes
    samples_line: bytes = b""


def entry_of(record: Record, samples: Samples | None = None) -> JournalEntry:
    """Encodes a record with its samples. Raises ValueError for a value that is NaN or infinite."""
    return JournalEntry(record, encode(record), b"" if samples is None else encode_samples(samples))


class Journal:
    """Appends records to a run folder's journal and holds its lock while open.

    Args:
        folder: The run folder; must exist.
        clock: Seconds, for tests of the synchronisation policy.

    Raises:
        BytewaysError: Another run uses the folder, or the file cannot be opened.
    """

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.folder = folder
        self.path = folder / JOURNAL
        self.seconds = 0.0  # spent on writing and synchronising
        self._clock = clock
        self._sync_cost_s = 0.0
        self._synced_at = clock()
        self._samples: Appended | None = None  # opened with the first record that has samples
        try:
            self._file = Appended(self.path)
        except OSError as error:
            hint = "choose another --out"
            remedy = hint_for(error, writing=True)
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS) and remedy:
                hint = remedy
            elif self.path.exists():  # resuming: --out does not apply
                hint = f"resume a copy: cp -r {folder} COPY, then: byteways run --resume COPY"
            cause = f"{self.path}: {error.strerror}"
            raise BytewaysError(f"cannot write to {folder}", cause=cause, hint=hint) from error
        try:
            fcntl.flock(self._file.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            raise BytewaysError(f"another run is writing into {folder}", hint="wait until it ends") from error
        except OSError as error:
            # Some cluster file systems do not support locks; run there without.
            if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
                self._file.close()
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
        """Truncates partial last lines, keeping them in separate files; returns the remaining text."""
        text = self.read()
        with explained(self.folder):
            self._file.cut(text.finished_bytes, self.folder / MEASUREMENTS_CUT_OFF)
            if (self.folder / SAMPLES_FILE).exists():
                self._of_samples().cut_unfinished(self.folder / SAMPLES_CUT_OFF)
        return text

    def append(self, record: Record, samples: Samples | None = None) -> None:
        """Encodes and adds a record. Also raises ValueError for a value that is NaN or infinite."""
        self.add(entry_of(record, samples))

    def extend(self, records: Iterable[Record]) -> None:
        """Adds records of finite numbers that can be made again: they are on disk after close().

        Raises:
            BytewaysError: Like add(); none of them is written.
        """
        lines = encoded_lines(record.to_json() for record in records)
        with explained(self.folder):
            self._file.write(lines)

    def add(self, entry: JournalEntry) -> None:
        """Writes one record, completely or not at all, after its samples.

        Raises:
            BytewaysError: The disk is full, the file system failed, or the file was deleted; earlier records
                are safe.
        """
        began = self._clock()
        with explained(self.folder):
            slow = self._sync_cost_s > SLOW_SYNC_S
            if entry.samples_line:
                samples = self._of_samples()
                samples.write(entry.samples_line)
                if not slow:
                    samples.sync()
            self._file.write(entry.line)
            if not slow or began - self._synced_at >= SLOW_SYNC_EVERY_S:
                self._sync()
        self.seconds += self._clock() - began

    def sync(self) -> None:
        """Waits until everything written is on disk."""
        if self._file.unsynced:
            with explained(self.folder):
                self._sync()

    def close(self) -> None:
        """Synchronises pending data and releases the lock; repeated calls have no effect."""
        if self._file.descriptor < 0:
            return
        try:
            self.sync()
        finally:
            self._file.close()
            if self._samples is not None:
                self._samples.close()

    def _of_samples(self) -> Appended:
        if self._samples is None:
            self._samples = Appended(self.folder / SAMPLES_FILE)
        return self._samples

    def _sync(self) -> None:
        began = self._clock()
        if self._samples is not None:
            self._samples.sync()
        self._file.sync()
        self._synced_at = self._clock()
        self._sync_cost_s = self._synced_at - began
