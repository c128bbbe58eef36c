"""Transfers that the user lists: how they are written, and which cases they become."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways.base.errors import BytewaysError
from byteways.cases.transfer_sets import parse_transfers, written
from byteways.plan.transfers_suite import transfers_suite
from tests.cli.called import byteways
from tests.unit import planning
from tests.unit.planning import plan

SET = "gpu0>gpu1,gpu1>gpu0,cpu0>gpu2"


def test_a_set_is_read_as_it_is_written() -> None:
    """Catches transfers in another order, and blanks taken for names."""
    assert parse_transfers(" gpu0>gpu1, cpu0>gpu2") == (("gpu0", "gpu1"), ("cpu0", "gpu2"))
    assert written(parse_transfers(SET)) == SET


@pytest.mark.parametrize(
    "text", ["", "gpu0>gpu1", "gpu0>gpu1,gpu2", "gpu0>gpu1,gpu0>gpu1", "gpu*>gpu1,gpu0>gpu1"]
)
def test_what_is_no_set(text: str) -> None:
    """Catches a typing error that is measured as something else."""
    with pytest.raises(BytewaysError, match="--transfers: ") as caught:
        transfers_suite([text])
    assert caught.value.hint


def test_transfers_run_together_and_alone() -> None:
    """Catches a flow that is missing or runs alone, a CPU that executes a copy of a GPU, and other pairs."""
    cases = [entry.case for entry in plan(transfers_suite([SET]), *planning.h200x4) if entry.round == 0]
    together = [case for case in cases if case.pattern == "transfers"]
    assert {tuple(flow.path for flow in case.flows) for case in together} == {tuple(SET.split(","))}
    assert {case.interface for case in together} == {"copy", "kernel"}
    assert all(flow.executor.startswith("gpu") for case in together for flow in case.flows)
    alone = {case.path for case in cases if case.pattern == "unidirectional"}
    assert alone == {*SET.split(",")}


def test_transfers_between_cpus_need_no_gpu() -> None:
    """Catches copies of a GPU planned for a host without one."""
    cases = plan(transfers_suite(["cpu0>cpu1,cpu1>cpu0"]), *planning.two_domains)
    assert {entry.case.interface for entry in cases} == {"memcpy-mt"}
    assert all(entry.reason is None for entry in cases)


def test_a_device_that_is_not_there_is_an_error() -> None:
    """Catches a run of the transfers that are left."""
    with pytest.raises(BytewaysError, match="no device 'gpu9'"):
        plan(transfers_suite(["gpu0>gpu9,gpu9>gpu0"]), *planning.h200x4)


@pytest.mark.parametrize(
    "lines", ['pattern = "ring"\ntransfers = "gpu0>gpu1,gpu1>gpu0"', 'pattern = "transfers"']
)
def test_key_and_pattern_belong_together(lines: str) -> None:
    """Catches a key that changes nothing, and a pattern without flows."""
    ends = 'interface = "copy"\nsource = "gpu*:device"\ndestination = "gpu*:device"\nsize = "1MiB"\n'
    with pytest.raises(BytewaysError, match="belong together"):
        planning.suite(ends + lines)


def test_a_simulated_run_of_transfers(tmp_path: Path) -> None:
    """Catches a suite that cannot be stored and read again, and one beside another suite."""
    words = ("run", "--transfers", SET, "--machine", "h200-x4", "--out", "R", "--rounds", "1", "--no-report")
    done = byteways(tmp_path, *words, "--only", "interface=copy")
    assert done.returncode == 0, done.stderr
    assert "is complete" in byteways(tmp_path, "run", "--resume", "R").stderr
    assert byteways(tmp_path, "run", "quick", "--transfers", SET, "--machine", "h200-x4").returncode == 2
