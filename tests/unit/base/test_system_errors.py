"""Errors of the system: who can do something about them, and that what the hint says helps."""

from __future__ import annotations

import errno
import os
import re
import resource
import shlex
import subprocess
from pathlib import Path

import pytest

import byteways
from byteways.base.system_errors import _REMEDIES, cannot_write, hint_for, of_the_system
from byteways.base.writing import write
from tests.unprivileged import assert_unprivileged


def refused(path: Path, content: bytes = b"x") -> str:
    """The hint for a file that cannot be written."""
    with pytest.raises(OSError) as caught:
        write(path, content)
    error = cannot_write(path, caught.value, "NOT IN THE TABLE")
    assert error.hint is not None
    return error.hint


def done(hint: str) -> None:
    """Does what a hint says, with the command in it."""
    command = re.search(r"(mkdir -p|chmod) [^;(]*", hint)
    assert command, hint
    subprocess.run(shlex.split(command[0]), check=True)


def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "a b" / "c" / "file"
    done(refused(path))
    write(path, b"x")


@pytest.mark.parametrize("closed", ["folder above", "folder", "file"])
def test_permission_that_is_missing(closed: str, tmp_path: Path) -> None:
    """Catches advice to change another folder than the one that withholds the permission."""
    path = tmp_path / "above" / "folder" / "file"
    path.parent.mkdir(parents=True)

    def check() -> None:
        if closed == "file":
            path.write_text("old")
            path.chmod(0)
            with pytest.raises(OSError) as caught:
                path.read_text()
            hint = hint_for(caught.value)
            assert hint
            done(hint)
            assert path.read_text() == "old"
            return
        folder = path.parent if closed == "folder" else path.parent.parent
        folder.chmod(0o500 if closed == "folder" else 0o600)
        done(refused(path))
        write(path, b"x")

    assert_unprivileged(check)


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    hint = refused(tmp_path / ("x" * 256))
    most = re.search(r"at most (\d+) bytes", hint)
    assert most
    write(tmp_path / ("x" * int(most[1])), b"x")


def test_a_folder_instead_of_a_file(tmp_path: Path) -> None:
    assert refused(tmp_path) == "name a file: this is a folder"
    (tmp_path / "file").write_text("")
    assert str(tmp_path / "file") in refused(tmp_path / "file" / "in it")


def test_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert "circle" in refused(tmp_path / "a" / "file")


@pytest.mark.parametrize("limit", ["RLIMIT_NOFILE", "RLIMIT_FSIZE"])
def test_limits_that_can_be_raised(limit: str, tmp_path: Path) -> None:
    """Catches a number that `ulimit` refuses, or that is too small."""
    kind = getattr(resource, limit)

    def check() -> None:
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (3, hard))  # nothing more can be opened; bytes
        hint = refused(tmp_path / "file", b"more than three")
        wanted = re.search(r"ulimit -[nf] (\d+|unlimited)", hint)
        assert wanted, hint
        number = hard if wanted[1] == "unlimited" else int(wanted[1])
        resource.setrlimit(kind, (number, hard))
        write(tmp_path / "file", b"more than three")

    assert_unprivileged(check)


def test_no_inode_is_no_lack_of_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches advice to free space where `df` shows enough of it."""
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(tmp_path / "file"))
    assert f"df -h {tmp_path}" in (hint_for(full) or "")
    found = os.statvfs(tmp_path)
    none = os.statvfs_result((*found[:5], 1000, 0, 0, *found[8:]))
    monkeypatch.setattr(os, "statvfs", lambda path: none)
    hint = hint_for(full) or ""
    assert f"df -i {tmp_path}" in hint and "space" not in hint


@pytest.mark.parametrize("number", sorted(_REMEDIES))
def test_only_a_lack_of_space_is_one(number: int, tmp_path: Path) -> None:
    """Catches `free some space` as the hint for an error that space does not mend."""
    error = OSError(number, os.strerror(number), str(tmp_path / "file"))
    hint = cannot_write(tmp_path, error).hint or ""
    assert ("free some space" in hint) == (number in (errno.ENOSPC, errno.EDQUOT))


def test_what_byteways_says_itself_is_not_looked_up() -> None:
    """Catches `ulimit -f` as the hint for a file that is too large to be read."""
    assert hint_for(OSError(errno.EFBIG, "It has more than 4 MiB", "x.toml")) is None


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (OSError(errno.EACCES, os.strerror(errno.EACCES), "/somebody's/run.json"), False),
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), False),
        (MemoryError(), False),
        (OSError(errno.EBADF, os.strerror(errno.EBADF)), True),
        (KeyError("x"), True),
    ],
)
def test_whose_mistake_it_is(error: Exception, ours: bool) -> None:
    """Catches a bug put down to the user, and a path of the user put down to byteways."""
    found = of_the_system(error)
    assert (found is None) == ours
    assert found is None or found.hint


def test_a_damaged_installation() -> None:
    """Catches advice about the user's files where one of ours is missing."""
    own = str(Path(byteways.__file__).parent / "report" / "assets" / "report.js")
    found = of_the_system(FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), own))
    assert found is not None and found.hint == "install byteways again" and found.status == 1


def test_the_current_folder_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches `mkdir -p .` as the hint."""
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert "cd ~" in refused(Path("file"))
    with pytest.raises(OSError) as caught:
        Path.cwd()
    found = of_the_system(caught.value)
    assert found is not None and "cd ~" in (found.hint or "")
