"""Folders for sockets and other things of a moment: nobody else can read them, and none stays for good.

A process that is killed cannot clean up. Who makes a folder holds a lock on it as long as it is in use; the
next process of the same user that needs one removes those whose lock nobody holds.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "byteways-private-"


class PrivateFolder:
    """A new folder, locked until remove().

    Args:
        base: Where to make it.

    Raises:
        OSError: It cannot be made there.
    """

    def __init__(self, base: Path) -> None:
        _remove_abandoned(base)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
            self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            with contextlib.suppress(OSError):  # a file system without locks: nobody else can take one either
                fcntl.flock(self._lock, fcntl.LOCK_EX)
            if os.fstat(self._lock).st_nlink:
                return
            os.close(self._lock)  # another process took it for an abandoned one before it was locked

    def remove(self) -> None:
        """With all that is in it. Calling it twice is fine."""
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


@contextmanager
def private_folder() -> Iterator[Path]:
    """A folder for as long as this context, where temporary files go."""
    folder = PrivateFolder(Path(tempfile.gettempdir()))
    try:
        yield folder.path
    finally:
        folder.remove()


def _remove_abandoned(base: Path) -> None:
    """Removes what processes of this user that are gone have left there."""
    for path in base.glob(f"{PREFIX}*"):
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            if os.fstat(lock).st_uid == os.geteuid():
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
        except OSError:  # in use, or locks are not to be had
            pass
        finally:
            os.close(lock)
