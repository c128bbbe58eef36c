"""Where processes run and temporary folders lie: neither the current folder nor /tmp is taken for granted.

A job's current folder may be deleted while it runs, and containers have a read-only /tmp.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from byteways.errors import BytewaysError

#: Variables that name a folder for temporary files (environ(7) and Python's tempfile), then usual folders.
_VARIABLES = ("TMPDIR", "TEMP", "TMP")
_USUAL = ("/tmp", "/var/tmp")


def has_current_folder() -> bool:
    """Whether the current folder exists and its path is known."""
    try:
        os.getcwd()  # noqa: PTH109 - the same, without an object
    except OSError:
        return False
    return True


def folder_of_children() -> str | None:
    """Returns the folder in which child processes start: None, the current one, or / if that was deleted.

    Launchers of MPI and Python's own modules fail in a folder that does not exist.
    """
    return None if has_current_folder() else "/"


def temporary_folders() -> list[str]:
    """Returns the absolute folders for temporary files that this process can write, the preferred first."""
    named = [os.environ.get(name) for name in _VARIABLES]
    known = dict.fromkeys(base for base in (*named, *_USUAL) if base and base.startswith("/"))
    return [base for base in known if os.access(base, os.W_OK | os.X_OK)]


def temporary_base() -> Path:
    """Returns the folder in which temporary folders are created.

    Raises:
        BytewaysError: There is none.
    """
    if not (found := temporary_folders()):
        raise BytewaysError(
            "no folder for temporary files can be written",
            cause=f"tried {', '.join((*_VARIABLES, *_USUAL))}",
            hint=NO_TEMPORARY,
        )
    return Path(found[0])


#: What to do without a folder for temporary files.
NO_TEMPORARY = "set TMPDIR to a folder that you can write: export TMPDIR=FOLDER"


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Provides a temporary folder for the duration of the context. Raises BytewaysError if there is none."""
    with tempfile.TemporaryDirectory(prefix="byteways-", dir=temporary_base()) as folder:
        yield Path(folder)
