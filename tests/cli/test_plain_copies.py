"""Copies of memory that the runtime neither allocated nor registered, by what each runtime answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.called import measured

SUITE = """
name = "mine"
title = "Mine"
[[sweep]]
name = "copies"
interface = "copy"
source = ["cpu0:pageable", "cpu0:registered", "gpu0:device"]
destination = ["cpu0:hugepage", "gpu1:device"]
executor = "gpu1"
size = "1MiB"
"""


@pytest.mark.parametrize(("machine", "staged"), [("elcap-mi300a", False), ("h200-x4", True)])
def test_each_runtime_answers_as_it_does(machine: str, staged: bool, tmp_path: Path) -> None:
    """Catches a figure of a copy that HIP refuses on MI300A (schieffer2025, Section 4.1.2), one refused where
    runtimes stage it, and a refusal that ends the run or counts as its failure.
    """
    records = measured(tmp_path, SUITE, "--machine", machine, "--rounds", "1")
    plain = [
        record
        for record in records
        if record["source"] == "cpu0:pageable" or record["destination"] == "cpu0:hugepage"
    ]
    assert len(plain) == 4 and len(records) == 6
    assert {record["status"] for record in records if record not in plain} == {"measured"}
    assert {record["status"] for record in plain} == {"measured" if staged else "skipped"}
    for record in plain if not staged else ():
        assert "which the runtime neither allocated nor registered, are refused: HIP 6" in record["reason"]
        assert "hipMemcpyAsync: hipErrorInvalidValue (invalid argument)" in record["reason"]
