"""A study on machine models that lack MPI or part of it: rows have the reason, and claims no verdict."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from byteways.ext.studies.comparison.verdicts import UNTESTED
from byteways.models import load
from tests.cli.called import byteways

TEXT = load("elcap-mi300a").text
#: Claims on MPI alone.
OF_MPI = ("staging-latency", "latency-128", "latency-jump")


def without_numbers() -> str:
    return re.sub(r"(?ms)^\[mpi\]\n.*?(?=^\[)", "", TEXT)


def without_device_memory() -> str:
    return re.sub(r"(?m)^gpu_aware = \[true", "gpu_aware = [false", TEXT)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (without_numbers(), "the machine model has no numbers of MPI ([mpi])"),
        (without_device_memory(), "the simulated MPI reports no support for memory of AMD GPUs"),
    ],
    ids=["no-numbers", "no-device-memory"],
)
def test_what_a_model_lacks_is_the_reason_and_no_verdict(tmp_path: Path, model: str, reason: str) -> None:
    """Catches messages that cost nothing, a claim on MPI that RCCL decides, and a run that stops."""
    (tmp_path / "lacking.toml").write_text(model, encoding="utf-8")
    only = "sweep=mpi-latency*|rccl-latency,size=8B"
    words = ("reproduce", "schieffer2025", "--machine", "./lacking.toml", "--only", only)
    done = byteways(tmp_path, *words, "--no-report", "--json", "--out", "R")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    claims: dict[str, dict[str, Any]] = {claim["id"]: claim for claim in answer["claims"]}
    for name in OF_MPI:
        assert (claims[name]["verdict"], reason in claims[name]["detail"]) == (UNTESTED, True), claims[name]
    rows = [row for figure in answer["figures"] if figure["id"] == "fig8" for row in figure["rows"]]
    assert {row["reason"] for row in rows if row["line"].startswith("MPI")} == {reason}
    assert all(row["ours"] is None for row in rows if row["line"].startswith("MPI"))
    assert any(row["ours"] for row in rows if row["line"].startswith("RCCL"))
