"""`byteways plan`: a plan of a simulated run, and what libbyteways_copy does by it on the same machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from byteways.simulate import load, sheet
from tests.cli.called import byteways, measured
from tests.native import copy_program as of
from tests.native.copy_program import Program

SUITE = """
name = "toy"
title = "Toy"
rounds = 3
case_budget_s = 0.02
precision = 0.05
[[sweep]]
name = "calls"
interface = "copy-blocks"
source = "cpu0:pinned"
destination = "gpu0:device"
size = ["256KiB", "1MiB"]
options = { block_bytes = [4096], submit = ["calls", "batch"] }
[[sweep]]
name = "kernel"
interface = "kernel-blocks"
source = "cpu0:pinned"
destination = "gpu0:device"
size = ["256KiB", "1MiB"]
options = { block_bytes = [4096] }
[[sweep]]
name = "route"
interface = "route"
source = "cpu0:pinned"
destination = "gpu0:device"
size = ["64MiB"]
options = { relays = [0, 1] }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a simulated run R and its plan."""
    made = tmp_path_factory.mktemp("plan")
    measured(made, SUITE, "--machine", "h200-x4")
    done = byteways(made, "plan", "R", "--out", "machine.plan")
    assert done.returncode == 0, done.stderr
    return made


def test_the_library_follows_the_plan(folder: Path) -> None:
    """Catches a key that the library takes for another machine's, and a method that it does not use."""
    path = folder / "machine.plan"

    def scene(program: Program) -> Any:
        code, plan = program.open_file(str(path))
        assert code == 0, program.last_error()
        program.allow(plan, 1)
        stream, size = program.stream(), 64 << 20
        source, target = program.pinned(size), program.device(size)
        chosen = []
        for bytes_, count in ((4096, 64), (4096, 100), (4096, 256), (8192, 64), (64 << 20, 1)):
            choice = program.choose([target] * count, [source] * count, bytes_, stream, plan)
            assert not isinstance(choice, int)
            chosen.append([choice.method, choice.fallback])
        copied = program.library.bw_copy(target, source, size, stream, plan)
        program.synchronize(stream)
        return program.warning(plan), chosen, copied, program.statistics(plan).calls[of.RELAY]

    warning, chosen, copied, relayed = of.run(scene, sheet(load("h200-x4")))
    assert (warning, copied, relayed) == ("", 0, 1)
    kernel, relay = [of.KERNEL, of.NONE], [of.RELAY, of.NONE]
    assert chosen == [kernel] * 3 + [[of.DEFAULT, of.NOT_MEASURED], relay]


def test_a_plan_is_data_and_its_summary_is_not(folder: Path) -> None:
    """Catches a summary within the file, and a mark of the simulation that is lost."""
    printed, kept = byteways(folder, "plan", "R"), byteways(folder, "plan", "R", "--out", "other.plan")
    text = (folder / "machine.plan").read_text(encoding="utf-8")
    assert printed.stdout == text == (folder / "other.plan").read_text(encoding="utf-8")
    assert "kernel" in kept.stdout and "SIMULATED" in printed.stderr and "SIMULATED" in kept.stderr


def test_a_plan_that_cannot_be_written(folder: Path) -> None:
    """Catches a failure without a way out."""
    done = byteways(folder, "plan", "R", "--out", "no/such/folder/machine.plan")
    assert done.returncode == 2 and "hint:" in done.stderr
