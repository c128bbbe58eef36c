"""Private folders: nobody else's, and none is left for good."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from byteways.base.private_folder import PREFIX, PrivateFolder, private_folder


def folders(base: Path) -> list[str]:
    return sorted(path.name for path in base.iterdir() if path.name.startswith(PREFIX))


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    """Would catch /tmp filling up with folders of killed runs, and one removed that is still in use."""
    program = (
        "import os, sys; from pathlib import Path;"
        "from byteways.base.private_folder import PrivateFolder;"
        "folder = PrivateFolder(Path(sys.argv[1])); (folder.path / 'socket').write_text('');"
        "os.kill(os.getpid(), 9)"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(tmp_path)])
    assert killed.returncode == -9 and len(folders(tmp_path)) == 1
    mine = PrivateFolder(tmp_path)
    assert folders(tmp_path) == [mine.path.name]
    other = PrivateFolder(tmp_path)
    assert len(folders(tmp_path)) == 2
    assert mine.path.stat().st_mode & 0o777 == 0o700
    mine.remove()
    other.remove()
    other.remove()
    assert folders(tmp_path) == []


def test_others_folders_stay(tmp_path: Path) -> None:
    """Would catch a sweep that takes what it did not make: another user's, a link, a file of this name."""
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.tex").write_text("")
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "precious")
    (tmp_path / f"{PREFIX}file").write_text("")
    if os.geteuid() == 0:
        (tmp_path / f"{PREFIX}other").mkdir()
        os.chown(tmp_path / f"{PREFIX}other", 12345, -1)
    before = sorted(tmp_path.rglob("*"))
    PrivateFolder(tmp_path).remove()
    assert sorted(tmp_path.rglob("*")) == before


def test_removed_by_another_process_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a run that fails because another one starts at the same moment and clears up."""
    made = tempfile.mkdtemp
    swept: list[str] = []

    def make(**where: str) -> str:
        path = made(**where)
        if not swept:
            swept.append(path)
            Path(path).rmdir()
        return path

    monkeypatch.setattr(tempfile, "mkdtemp", make)
    folder = PrivateFolder(tmp_path)
    assert len(swept) == 1 and folders(tmp_path) == [folder.path.name]
    folder.remove()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_remove_the_folder(tmp_path: Path, number: int) -> None:
    """Would catch a folder that a batch system's SIGTERM leaves, or a process that survives its signal."""
    program = (
        "import os, sys; from byteways.base.private_folder import private_folder\n"
        f"with private_folder() as folder: (folder / 'sys').mkdir(); os.kill(os.getpid(), {int(number)})"
    )
    ended = subprocess.run([sys.executable, "-c", program], env={**os.environ, "TMPDIR": str(tmp_path)})
    assert ended.returncode == -number and folders(tmp_path) == []


def test_handlers_of_the_caller_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Would catch a run's own handling of SIGTERM being replaced, or a default that is not restored."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with private_folder():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with private_folder():
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
