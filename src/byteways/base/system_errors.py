"""Turns errors of the operating system into errors that the user can act on: a table from errno to a hint.

The table has precedence over the hint of a verb: it has an entry only where the cause leaves one remedy.
Texts that byteways itself gives to an OSError (`It is not a regular file`) are not looked up.
"""

from __future__ import annotations

import errno
import os
import resource
import stat
from collections.abc import Callable
from pathlib import Path
from shlex import quote

from byteways.base.errors import BytewaysError, ExitStatus
from byteways.base.safe_folders import has_current_folder

#: Longest name of a file on Linux file systems, in bytes.
MOST_NAME_BYTES = 255


def unusable(what: str, error: OSError, hint: str | None = None) -> BytewaysError:
    """Returns the user's error for an error of the system.

    Args:
        what: What went wrong, one line.
        error: Its `filename` is the path concerned; None: unknown.
        hint: Remedy where the table has none.
    """
    return BytewaysError(what, cause=error.strerror or str(error), hint=hint_for(error) or hint)


def cannot_write(path: Path | str, error: OSError, hint: str | None = None) -> BytewaysError:
    """Returns the user's error for a file that cannot be written. Args: like unusable()."""
    remedy = hint_for(error, writing=True) or hint
    return BytewaysError(f"cannot write {path}", cause=error.strerror or str(error), hint=remedy)


def not_read(what: str, error: OSError | ValueError, hint: str | None = None) -> BytewaysError:
    """Returns the user's error for a file of text that cannot be read. Args: like unusable()."""
    if isinstance(error, OSError):
        return unusable(what, error, hint)
    return BytewaysError(what, cause=f"not UTF-8 text: {error}", hint=hint)


def of_the_system(error: Exception) -> BytewaysError | None:
    """Returns the user's error for any error that the system raised; None for a mistake in byteways.

    An OSError with a path is about a file of the user: whatever else opens files by name has its own handler.
    Files of byteways itself are missing only from a damaged installation.
    """
    if isinstance(error, MemoryError):
        return BytewaysError("the system is out of a resource", cause="Out of memory", hint=_MEMORY)
    if not isinstance(error, OSError) or error.errno is None:
        return None
    if isinstance(error, FileNotFoundError) and error.filename is None and not has_current_folder():
        return unusable("the current folder does not exist", error)
    if error.filename is None and error.errno not in _SCARCE:
        return None
    if error.errno in _SCARCE:
        return unusable("the system is out of a resource", error, _MEMORY)
    name = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else str(error.filename)
    if Path(name).is_relative_to(Path(__file__).parent):
        return BytewaysError(
            f"byteways lacks one of its own files: {name}",
            cause=error.strerror,
            hint="install byteways again",
            status=ExitStatus.FAILED,
        )
    return unusable(f"cannot use {name}", error, "check the path, or name another one")


def hint_for(error: OSError, *, writing: bool = False) -> str | None:
    """Returns what to do about an error of the system; None if its number leaves several causes.

    Args:
        error: Its `filename` is the path concerned; None: unknown.
        writing: Whether the path was to be written, not read.
    """
    if error.errno is None or error.strerror != os.strerror(error.errno):
        return None
    path = Path(os.fsdecode(error.filename)) if isinstance(error.filename, (str, bytes)) else None
    remedy = _REMEDIES.get(error.errno)
    return remedy(path, writing) if callable(remedy) else remedy


def _no_space(path: Path | None, writing: bool) -> str:
    if path is not None:
        folder = _nearest_folder(path)
        try:
            found = os.statvfs(folder)
        except OSError:
            return "free some space"
        if found.f_files and not found.f_favail:
            return f"delete files that nobody needs: no inode is free (df -i {quote(str(folder))})"
        return f"free some space (df -h {quote(str(folder))})"
    return "free some space"


def _descriptors(path: Path | None, writing: bool) -> str:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or soft < hard:
        wanted = 4096 if hard == resource.RLIM_INFINITY else min(max(4096, 2 * soft), hard)
        return f"raise the limit of open files: ulimit -n {wanted}"
    return f"have the hard limit of open files raised, which is {hard} (ulimit -Hn)"


def _denied(path: Path | None, writing: bool) -> str | None:
    """Names what withholds the permission: the first folder that cannot be searched, or the file."""
    if path is None:
        return None
    for folder in reversed(path.parents):
        if _is(folder, stat.S_ISDIR) and not os.access(folder, os.X_OK):
            return f"allow access to its folder: chmod u+x {quote(str(folder))}{_owner(folder)}"
    if path.exists():
        needed, letter = (os.W_OK, "w") if writing else (os.R_OK, "r")
        if path.is_dir():
            needed, letter = needed | os.X_OK, f"{letter}x"
        if not os.access(path, needed):
            return f"allow access: chmod u+{letter} {quote(str(path))}{_owner(path)}"
        path = path.parent
    folder = _nearest_folder(path)
    if writing and not os.access(folder, os.W_OK):
        return f"allow writing: chmod u+w {quote(str(folder))}{_owner(folder)}; or name another place"
    return None


def _owner(path: Path) -> str:
    """Returns who can change the mode, unless that is this user."""
    owner = path.stat().st_uid
    return "" if owner == os.geteuid() else f" (by its owner, user id {owner})"


def _missing(path: Path | None, writing: bool) -> str | None:
    if not has_current_folder() and (path is None or not path.is_absolute()):
        return "the current folder was deleted: change to one that exists, such as cd ~"
    if not writing or path is None or path.parent.exists():
        return None
    return f"make its folder: mkdir -p {quote(str(path.parent))}"


def _no_folder(path: Path | None, writing: bool) -> str | None:
    file = next((part for part in reversed(path.parents) if _is(part, stat.S_ISREG)), None) if path else None
    return f"name another path: {file} is a file, not a folder" if file else None


def _is(path: Path, kind: Callable[[int], bool]) -> bool:
    try:
        return kind(path.stat().st_mode)
    except OSError:
        return False


def _nearest_folder(path: Path) -> Path:
    """Returns the path if it is a folder, else the first one above it that exists."""
    return next((folder for folder in (path, *path.parents) if _is(folder, stat.S_ISDIR)), Path())


_MEMORY = "see ulimit -a and the cgroup's limits"

#: Errors of tight limits, whatever file is concerned.
_SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)

#: What to do, by errno. A function returns None if it finds nothing that would help.
_REMEDIES: dict[int, str | Callable[[Path | None, bool], str | None]] = {
    errno.ENOSPC: _no_space,
    errno.EDQUOT: "free some space: the quota is used up (quota -s)",
    errno.EFBIG: "raise the limit of the size of a file: ulimit -f unlimited",
    errno.EMFILE: _descriptors,
    errno.ENFILE: "end programs: the system has too many open files (sysctl fs.file-max)",
    errno.ENOMEM: _MEMORY,
    errno.EAGAIN: _MEMORY,
    errno.ENAMETOOLONG: f"name a shorter path: a name has at most {MOST_NAME_BYTES} bytes",
    errno.EACCES: _denied,
    errno.EPERM: "name another place: the file system forbids it (lsattr shows immutable files)",
    errno.EROFS: "name another place: this file system is read-only",
    errno.ENOENT: _missing,
    errno.ENOTDIR: _no_folder,
    errno.EISDIR: "name a file: this is a folder",
    errno.ELOOP: "name another path: its links lead in a circle",
    errno.ENXIO: "start what reads from it first, or name a regular file",
    errno.EPIPE: "keep what reads from it running to the end, or name a regular file",
    errno.EIO: "check the disk (dmesg), or name another place",
}
