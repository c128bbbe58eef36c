"""Where processes run and temporary folders lie, and who else may change a file.

Neither the current folder nor /tmp is taken for granted: a job's current folder may be deleted while it runs,
and containers have a read-only /tmp.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path

from byteways.base.errors import BytewaysError

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


def who_else_may_write(path: Path) -> str | None:
    """Returns who besides this user and root may change a file or folder that decides what runs, in words.

    As of OpenSSH's StrictModes, the folder that it lies in counts: whoever may rename its entries may replace
    it, unless the folder has the sticky bit. The group that has its owner alone is nobody else.

    Args:
        path: A file or folder; links are followed.

    Returns:
        Completes "PATH …"; None: nobody else, or it cannot be seen.
    """
    try:
        found, folder = path.stat(), path.resolve().parent
        around = folder.stat()
    except (OSError, RuntimeError):
        return None
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        return None  # nothing that is read
    if found.st_uid not in (0, os.geteuid()):
        return f"belongs to {_user(found.st_uid)}"
    if who := _writers(found):
        return f"may be written by {who}"
    who = "" if around.st_mode & stat.S_ISVTX else _writers(around)
    return f"lies in a folder that may be written by {who}: {folder}" if who else None


def _writers(found: os.stat_result) -> str:
    if found.st_mode & stat.S_IWOTH:
        return "everybody"
    if found.st_mode & stat.S_IWGRP and not _is_private(found.st_gid, found.st_uid):
        return f"the group {_group(found.st_gid)}"
    return ""


def _is_private(group: int, owner: int) -> bool:
    """Whether a group is the owner's own, as Debian and Fedora make one for each user."""
    try:
        user, entry = pwd.getpwuid(owner), grp.getgrgid(group)
    except KeyError:
        return False
    return user.pw_gid == group and {*entry.gr_mem} <= {user.pw_name} and entry.gr_name == user.pw_name


def _user(number: int) -> str:
    try:
        return f"user {pwd.getpwuid(number).pw_name}"
    except KeyError:
        return f"user id {number}"


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
