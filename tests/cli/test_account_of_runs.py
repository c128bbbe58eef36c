"""What `show` says of runs, recorded and simulated, against their records (validation/contradictions.py)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import contradictions
from scripts.unpack_examples import recorded
from tests.cli.called import byteways

PROGRAM = [sys.executable, "-m", "byteways"]


def account(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Exit status and text of the check of a run by the program that is under test."""
    program = tmp_path / "byteways"
    program.write_text(f'#!/bin/sh\nexec {" ".join(PROGRAM)} "$@"\n')
    program.chmod(0o755)
    status = contradictions.main([str(folder), *words, "--byteways", str(program)])
    return status, capsys.readouterr().out


@pytest.mark.parametrize(("name", "words"), [("h200x2/energy", ("--plant",)), ("h200x2/routes", ())])
def test_a_recorded_run(
    name: str, words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches a figure or sentence that the records of an old run contradict. False ones that are planted
    must be found, or a check that finds nothing would pass.
    """
    status, text = account(recorded(name), tmp_path, capsys, *words)
    assert status == 0, text


@pytest.mark.slow
def test_a_simulated_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a figure or sentence that a run contradicts, with link classes and settings that differ."""
    folder = tmp_path / "run"
    options = ("--machine", "frontier-mi250x", "--out", str(folder))
    done = byteways(tmp_path, "run", "quick", *options)
    assert done.returncode == 0, done.stderr
    status, text = account(folder, tmp_path, capsys)
    assert status == 0, text
