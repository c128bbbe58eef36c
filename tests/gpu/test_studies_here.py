"""Studies on real GPUs: they end in their time, with figures, and without a verdict that is for models."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from byteways.cli.list import look
from byteways.ext.studies.published import names

pytestmark = pytest.mark.gpu

BUDGET_S = 60
#: Starting, closing and the report; and what a case takes beyond its share.
MARGIN_S = 60


@pytest.mark.parametrize("key", names())
def test_a_study_runs_here(tmp_path: Path, key: str) -> None:
    """Would catch a study with a case that fails on hardware, and one that has no figure there."""
    if key == "memcpy-peer" and len(look().topology.names("gpu")) < 2:
        pytest.skip("copies between two GPUs, and here is one")
    words = ["reproduce", key, "--budget", str(BUDGET_S), "--out", "R", "--json"]
    begun = time.monotonic()
    command = [sys.executable, "-m", "byteways", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - begun < BUDGET_S + MARGIN_S
    answer = json.loads(done.stdout)
    assert answer["simulated"] is False and answer["study"] == key
    assert not {"built in", "the model does not reproduce this"} & set(answer["counts"])
    assert any(row["ours"] is not None for figure in answer["figures"] for row in figure["rows"])
    assert (tmp_path / "R" / "report.html").exists()
