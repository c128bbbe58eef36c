"""Flows together on real GPUs: every pattern measures and verifies, and none moves more than is possible."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from byteways.answers.results.index import Index
from byteways.questions.bottlenecks.prediction import predictions
from byteways.record.run_folder import RunFolder

pytestmark = pytest.mark.gpu

#: A sum may exceed what its flows get alone by what windows and intervals leave open.
MOST = 1.05


def byteways(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "byteways", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("concurrency")
    # Three rounds: predictions rest on results that may be ranked.
    byteways(folder, "run", "concurrency", "--rounds", "3", "--budget", "120", "--out", "R", "--no-report")
    return RunFolder(folder / "R")


def test_every_pattern_that_fits_is_measured(run: RunFolder) -> None:
    """Catches a pattern that fails on hardware, and data that do not arrive where flows cross."""
    assert {record.status for record in run.records} <= {"measured", "skipped"}
    reasons = [record.reason or "" for record in run.records if record.status == "skipped"]
    assert all("peer access" in reason or "budget" in reason for reason in reasons), reasons
    assert all(record.verified for record in run.records if record.status == "measured")
    gpus = len(run.topology.names("gpu"))
    measured = {record.pattern for record in run.records if record.status == "measured"}
    wanted = {"bidirectional"} | ({"fan-out", "fan-in", "fan-bidirectional"} if gpus > 1 else set())
    wanted |= {"two-pairs", "ring", "host-and-ring", "bisection", "all-pairs"} if gpus > 3 else set()
    assert wanted <= measured


def test_no_sum_exceeds_its_prediction(run: RunFolder) -> None:
    """Catches windows that count flows of different times, and links taken for narrower than they are."""
    found = predictions(Index(run))
    assert found.cases
    above = [
        (case.cell.record.path, case.cell.value / case.most)
        for case in found.cases
        if case.cell.value > MOST * case.most and not case.cell.doubts
    ]
    assert not above


def test_the_answer_names_what_holds_flows_back(run: RunFolder) -> None:
    """Catches a run whose tables say nothing of flows together."""
    shown: dict[str, Any] = json.loads(byteways(run.path.parent, "show", "R", "--json"))
    (topic,) = [topic for topic in shown["topics"] if topic["anchor"] == "together"]
    rows = topic["tables"][-1]["rows"]
    assert rows
