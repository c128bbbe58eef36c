"""A byte that is not UTF-8, wherever it enters a run: nothing that was measured is lost."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from byteways.base.errors import BytewaysError
from byteways.measuring.conduct import execution
from byteways.record.run_folder import RunFolder
from tests.cli.called import byteways
from tests.faults.harness import Command, assert_complete, lines

BYTE = os.fsdecode(b"\x80")


@pytest.mark.parametrize("where", ["folder", "suite", "variables", "launcher", "reason"])
def test_the_run_is_read_and_resumed(where: str, command: Command) -> None:
    """Catches a manifest, plan or record that no reader accepts."""
    suite, folder, words, variables = command.suite, command.folder, [], {}
    if where == "folder":
        folder = folder.with_name(f"R{BYTE}")
    elif where == "suite":
        suite = Path(shutil.copy(suite, suite.with_name(f"own{BYTE}.toml")))
    elif where == "variables":
        variables = dict.fromkeys(("LD_LIBRARY_PATH", "NCCL_DEBUG_SUBSYS", "UCX_TLS"), f"/opt/{BYTE}")
    elif where == "launcher":
        launcher = folder.with_name(BYTE) / "mpiexec"
        launcher.parent.mkdir()
        launcher.write_text("#!/bin/sh\necho HYDRA build details: 4.1\n")
        launcher.chmod(0o755)
        words = ["--launcher", str(launcher)]
    else:
        variables = {"BYTEWAYS_FAKE_FAULTS": "8192=not-utf-8"}
    failed = 1 if where == "reason" else 0
    done = command.run(str(suite), "--no-report", "--out", str(folder), *words, **variables)
    assert done.returncode == failed, done.stderr
    assert_complete(folder)
    run = RunFolder(folder)
    assert "\\x80" in str(run.manifest) + str(run.records)
    for verb in ("show", "report", "export"):
        assert byteways(folder.parent, verb, str(folder)).returncode == 0
    journal = folder / "measurements.jsonl"
    journal.write_bytes(b"".join(lines(folder)[:2]))
    done = command.run("--resume", str(folder), "--no-report", *words, **variables)
    assert done.returncode == failed, done.stderr
    assert_complete(folder)


def test_what_is_written_is_read_back_before_measuring(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches hours of measuring into a run that nobody can read."""

    def unreadable(folder: Path) -> None:
        raise BytewaysError(f"{folder} is damaged")

    monkeypatch.setattr(execution, "read_manifest", unreadable)
    done = command.new()
    assert done.returncode == 2 and "is damaged" in done.stderr
    assert not command.folder.exists()
