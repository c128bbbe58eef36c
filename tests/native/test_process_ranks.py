"""Ranks that are processes without MPI: what they exchange, their parts, and what starts and ends them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from byteways import _core
from byteways.measuring.conduct.process import process_state
from byteways.measuring.work.local_ranks import run
from tests.native.process_program import SIZE

ROOT = Path(__file__).parents[2]


def start(tmp_path: Path, what: str) -> tuple[int, dict[int, Any], str]:
    """Exit status, what each rank wrote, and what the starter printed."""
    program = [sys.executable, "-m", "tests.native.process_program", str(tmp_path), what]
    words = [
        sys.executable,
        "-m",
        "byteways.measuring.work.local_ranks",
        "--ranks",
        str(SIZE),
        "--",
        *program,
    ]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120)
    found = {int(file.stem): json.loads(file.read_text()) for file in tmp_path.glob("*.json")}
    return done.returncode, found, done.stderr


def test_words_get_through(tmp_path: Path) -> None:
    """Catches the words of another rank or root, long ones cut, and parts that meet each other."""
    status, found, said = start(tmp_path, "words")
    assert status == 0, said
    for rank in range(SIZE):
        told, (backwards, part) = found[rank]
        assert told == [[True, [1, 300_001, 600_001]]] * SIZE
        assert backwards == [SIZE - 1 - rank, SIZE, [2, 1, 0]]
        assert part == (None if rank == 1 else [rank // 2, 2, [0, 2]])


def test_a_team_agrees(tmp_path: Path) -> None:
    """Catches a vote that is lost between processes."""
    status, found, said = start(tmp_path, "team")
    assert status == 0, said
    assert found[0][0][1:7] == [2.0, True, False, True, False, "rank 1"]
    assert found[0][0][0] == SIZE and found[0][0][7] == [0.0, 1.0, 2.0]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("how", "status", "told"),
    [
        ("fails", 3, "process rank 1 with PID {pid} exited with status 3"),
        ("killed", 137, "process rank 1 with PID {pid} exited on signal 9"),
        ("exits", 0, ""),
    ],
)
def test_a_rank_that_ends_ends_all(tmp_path: Path, how: str, status: int, told: str) -> None:
    """Catches ranks that wait for one that is gone, and an end that nobody names."""
    ended, found, said = start(tmp_path, how)
    assert ended == status, said
    before, _, after = told.partition("{pid}")
    assert before in said and after in said
    for lines in found.values():
        assert lines == [] or any("closed its connection" in line for line in lines)


def test_ranks_that_do_not_come(tmp_path: Path) -> None:
    """Catches a rank that waits for ever for one that was not started."""
    with pytest.raises(_core.Error, match="not all ranks came in time"):
        _core.ProcessRanks.join(str(tmp_path), 0, 2, 0.05)
    with pytest.raises(_core.Error, match="rank 0 did not come"):
        _core.ProcessRanks.join(str(tmp_path / "other"), 1, 2, 0.05)
    with pytest.raises(_core.Error, match="too long for a socket"):
        _core.ProcessRanks.join(str(tmp_path / ("x" * 120)), 0, 2, 0.05)
    with pytest.raises(_core.Error, match="there is no such rank"):
        _core.ProcessRanks.join(str(tmp_path), 2, 2, 0.05)


def test_an_interrupted_start_leaves_no_rank(tmp_path: Path) -> None:
    """Catches ranks that outlive their starter."""
    program = [sys.executable, "-c", "import os, time; os.write(1, b'%d\\n' % os.getpid()); time.sleep(600)"]
    words = [sys.executable, "-m", "byteways.measuring.work.local_ranks", "--ranks", "2", "--", *program]
    starter = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    ranks = [int(starter.stdout.readline()) for _ in range(2)]
    starter.terminate()
    assert starter.wait(60) == 128 + 15
    limit = time.monotonic() + 60
    while any(process_state(rank) not in (None, "Z") for rank in ranks):
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_the_first_that_fails_gives_the_status(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Catches the status of a rank that was ended with the others."""
    code = "import sys, time; sys.exit(5) if sys.argv[2] == '1' else time.sleep(600)"
    assert run([sys.executable, "-c", code], 2, tmp_path) == 5
    assert "process rank 1 with PID" in capfd.readouterr().err
