"""The recorded runs that are kept in archives."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from scripts.unpack_examples import EXAMPLES, recorded, unpack


def archive(examples: Path, **files: str) -> Path:
    """An archive `one` with these files, dots in their names written as two underscores."""
    path = examples / "recorded" / "one.tar.xz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:xz") as members:
        for name, text in files.items():
            content = text.encode()
            member = tarfile.TarInfo(name.replace("__", "."))
            member.size = len(content)
            members.addfile(member, io.BytesIO(content))
    return path


def test_a_changed_archive_is_unpacked_again(tmp_path: Path) -> None:
    """Catches tests that read yesterday's runs, and an archive that is unpacked before each of them."""
    first = archive(tmp_path, run__json="1")
    assert unpack(tmp_path) == [first]
    assert unpack(tmp_path) == []
    archive(tmp_path, run__json="2")
    os.utime(first, ns=(0, 0))
    assert unpack(tmp_path) == [first]
    assert (tmp_path / "run.json").read_text() == "2"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["recorded", "run.json"]


def test_an_archive_writes_nothing_elsewhere(tmp_path: Path) -> None:
    """Catches an archive that overwrites files of the user."""
    archive(tmp_path / "examples", **{"../outside": "1"})
    with pytest.raises(ValueError, match="leads out of"):
        unpack(tmp_path / "examples")
    assert not (tmp_path / "outside").exists()


def test_every_recorded_run_can_be_read() -> None:
    """Catches a run that an archive lacks, or that lies where nobody finds it."""
    assert recorded("h200x4-rounds/quick") == EXAMPLES / "h200x4-rounds" / "quick"
    unpacked = {path.parent.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.rglob("run.json")}
    assert {"h200x4", "h200x4-rounds/full", "h200x2/energy", "h200x2/pearson2023"} <= unpacked
    with pytest.raises(FileNotFoundError):
        recorded("h200x4-rounds/no-such-run")
