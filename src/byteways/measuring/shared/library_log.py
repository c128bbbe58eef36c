"""The log of NCCL or RCCL in this process: what it said since the last look."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from byteways.base.private_folder import private_folder
from byteways.cases.case import Case
from byteways.cases.interfaces import COLLECTIVES, INTERFACES
from byteways.record.library_choice import LOG_SETTINGS, LOG_VARIABLE

#: What the log is called in records.
LOG_SOURCE = "the library's log (NCCL_DEBUG_SUBSYS=TUNING)"
#: What is read at most: a batch writes a line for each operation.
MOST_LOG_BYTES = 1 << 20


class LibraryLog:
    """Reads the file that the library writes.

    Args:
        path: The file; the library creates it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0

    @staticmethod
    def variables(path: Path) -> dict[str, str]:
        """Returns the variables with which the library writes into this file."""
        return {**LOG_SETTINGS, LOG_VARIABLE: str(path)}

    @classmethod
    def of_process(cls) -> LibraryLog:
        """Returns the log that this process's variables name. Raises KeyError if they name none."""
        return cls(Path(os.environ[LOG_VARIABLE]))

    @classmethod
    @contextmanager
    def of_simulation(cls) -> Iterator[LibraryLog]:
        """Provides a log that the simulated library of this process writes meanwhile."""
        before = dict(os.environ)
        with private_folder() as folder:
            path = folder / "library.log"
            os.environ.update(cls.variables(path))
            try:
                yield cls(path)
            finally:
                for name in cls.variables(path):
                    del os.environ[name]
                    if name in before:
                        os.environ[name] = before[name]

    def news(self) -> str:
        """Returns what was written since the last call, the end of it if it is long."""
        try:
            with self._path.open("rb") as log:
                end = log.seek(0, os.SEEK_END)
                log.seek(max(self._read, end - MOST_LOG_BYTES))
                self._read = end
                return log.read().decode(errors="replace")
        except OSError:
            return ""


def has_choice(case: Case) -> bool:
    """Whether NCCL or RCCL chooses an algorithm for the case."""
    return INTERFACES[case.interface].library == "xccl" and case.pattern in COLLECTIVES
