"""Where processes run: the current folder may be deleted at any time after the start."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from byteways.base.settings import module_command
from byteways.cli import main
from byteways.cli.frame import VERBS
from byteways.measuring.conduct.process import WorkerProcess
from byteways.start import without_current_directory
from tests.faults.harness import FAKE
from tests.report import sample_run
from tests.report.run_builder import Builder


@pytest.fixture
def gone(tmp_path: Path) -> Iterator[Path]:
    """The current folder, deleted."""
    before, folder = Path.cwd(), tmp_path / "gone"
    folder.mkdir()
    os.chdir(folder)
    folder.rmdir()
    yield folder
    os.chdir(before)


def test_search_path_without_a_current_folder(gone: Path) -> None:
    """Catches a traceback at the start of every process, and relative entries that are kept."""
    found = without_current_directory(["", "relative", str(Path(sys.prefix)), *sys.path])
    assert str(Path(sys.prefix)) in found
    assert all(Path(entry).is_absolute() for entry in found)


def test_a_process_starts_without_a_current_folder(gone: Path) -> None:
    """Catches a run whose later workers all die when its folder is cleared away."""
    program = module_command("byteways.measuring.hosts.states")
    subprocess.run(program, check=True, capture_output=True)


def test_workers_are_in_a_folder_that_exists(gone: Path, tmp_path: Path) -> None:
    """Catches launchers of MPI, and libraries, that fail in a deleted folder."""
    worker = WorkerProcess(tmp_path / "log", command=FAKE)
    try:
        assert Path(f"/proc/{worker.pid}/cwd").resolve() == Path("/")
    finally:
        worker.kill()


def test_every_verb_without_a_current_folder(
    gone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches a traceback in a verb that needs no path, or only absolute ones."""
    build = Builder(sample_run.topology(2))
    build.measure("copy", [("gpu0:device", "gpu1:device", "gpu1")], 396.0, peak=450)
    run, other = str(build.write(tmp_path / "run")), build.write(tmp_path / "other")
    manifest = other / "run.json"
    manifest.write_text(manifest.read_text().replace("feedc0de", "another"))
    small = ["--machine", "h200-x4", "--only", "path=gpu0>gpu1", "--size", "128MiB"]
    for words in (
        ["doctor"],
        ["topo", "--from", run],
        ["list", "suites"],
        ["run", "quick", *small, "--out", str(tmp_path / "new"), "--no-report"],
        ["run", "--resume", str(tmp_path / "new"), "--no-report"],
        ["reproduce", "pearson2023", "--machine", "h200-x4", "--dry-run"],
        ["compare", run, str(other)],
        ["check", run, "--against", "peak"],
        ["show", run],
        ["report", run],
        ["export", run],
    ):
        status = main(words)
        told = capsys.readouterr().err
        assert words[0] in VERBS and status in (0, 1), (words, told)
        assert "internal error" not in told
    assert main(["run", "quick", *small]) == 2
    assert "hint: the current folder was deleted" in capsys.readouterr().err
