"""Private temporary folders that no other user can read and that do not remain forever.

SIGTERM and SIGHUP remove a folder before they end the process. A killed process cannot clean up: the creator
of a folder holds a lock on it while in use; the next process of the same user that needs one removes the
unlocked ones.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from byteways.base.safe_folders import temporary_base

PREFIX = "byteways-private-"


class PrivateFolder:
    """A new folder, locked until remove().

    Args:
        base: Parent folder.

    Raises:
        OSError: The folder cannot be created.
    """

    def __init__(self, base: Path) -> None:
        _remove_abandoned(base)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
            try:
                self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except FileNotFoundError:  # removed as abandoned by another process before it was opened
                continue
            with contextlib.suppress(OSError):  # a file system without locks: nobody can lock it
                fcntl.flock(self._lock, fcntl.LOCK_EX)
            if os.fstat(self._lock).st_nlink:
                return
            os.close(self._lock)  # removed likewise before it was locked

    def remove(self) -> None:
        """Removes the folder with its content; repeated calls have no effect."""
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


@contextmanager
def private_folder() -> Iterator[Path]:
    """Provides a temporary folder for the duration of the context. Raises BytewaysError if there is none."""
    folder = PrivateFolder(temporary_base())
    ending = _removing_at_end(folder.path)
    try:
        yield folder.path
    finally:
        for number in ending:
            signal.signal(number, signal.SIG_DFL)
        folder.remove()


def _removing_at_end(folder: Path) -> list[signal.Signals]:
    """Lets signals that would end this process at once remove the folder first. Returns these signals."""
    if threading.current_thread() is not threading.main_thread():
        return []
    own = os.getpid()

    def end(number: int, frame: object) -> None:
        if os.getpid() == own:  # not in a forked child
            shutil.rmtree(folder, ignore_errors=True)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    ending = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) is signal.SIG_DFL]
    for number in ending:
        signal.signal(number, end)
    return ending


def _remove_abandoned(base: Path) -> None:
    """Removes folders of this user whose processes are gone."""
    for path in base.glob(f"{PREFIX}*"):
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            if os.fstat(lock).st_uid == os.geteuid():
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
        except OSError:  # in use, or locks are not supported
            pass
        finally:
            os.close(lock)
