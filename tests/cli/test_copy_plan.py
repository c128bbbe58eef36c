"""`byteways plan`: a plan of a simulated run, and what libbyteways_copy does by it on the same machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from byteways.base.errors import ExitStatus
from byteways.ext.copy import copy_plan_suite
from byteways.measuring.conduct.conductor import Interrupted
from byteways.measuring.conduct.time_limit import TimeLimit
from byteways.models import load, sheet
from tests.cli.called import byteways, measured
from tests.native import copy_program as of
from tests.native.copy_program import Program
from tests.report.run_builder import topology

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


# --- measured now


def refused(folder: Path, *words: str) -> str:
    """The message of a command that is refused, with a way out; it leaves no file behind."""
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    done = byteways(folder, "plan", *words)
    assert (done.returncode, done.stdout) == (ExitStatus.USAGE, "")
    assert "error:" in done.stderr and "hint:" in done.stderr
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
    return done.stderr


def test_a_plan_that_is_measured_now(tmp_path: Path) -> None:
    """Catches a plan of one GPU only, one that the library refuses, and the run's folder left behind."""
    cells = tuple(
        (name, interface, sizes[:1], more) for name, interface, sizes, more in copy_plan_suite._CELLS[:2]
    )
    suite_of = copy_plan_suite.copy_plan_suite
    with (
        mock.patch.object(copy_plan_suite, "_CELLS", cells),
        mock.patch.object(copy_plan_suite, "_CELLS_OF_GPUS", ()),
        mock.patch.object(copy_plan_suite, "copy_plan_suite", lambda gpus: suite_of(1)),  # no relays
    ):
        done = byteways(tmp_path, "plan", "--measure", "--machine", "h200-x4", "-o", "machine.plan")
    assert done.returncode == 0 and "SIMULATED" in done.stderr, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["machine.plan"]

    def scene(program: Program) -> Any:
        code, plan = program.open_file(str(tmp_path / "machine.plan"))
        chosen = []
        for gpu in (0, 3):
            program.gpu(gpu)
            assert program.library.bw_plan_prepare(plan) == 0
            source, target = program.pinned(64 * 4096), program.device(64 * 4096)
            stream = program.stream()
            for to, start in ((target, source), (source, target)):
                choice = program.choose([to] * 64, [start] * 64, 4096, stream, plan)
                assert not isinstance(choice, int)
                chosen.append([choice.method, choice.fallback])
        return code, program.warning(plan), chosen

    assert of.run(scene, sheet(load("h200-x4"))) == [0, "", [[of.KERNEL, of.NONE]] * 4]


def test_what_a_plan_needs_is_measured_on_each_gpu() -> None:
    """Catches a method of the library without a cell, and cells that nothing can be compared with."""
    for gpus in (1, 4):
        sweeps = {sweep.name: sweep for sweep in copy_plan_suite.copy_plan_suite(gpus).sweeps}
        for direction in ("from-host", "to-host"):
            names = {name.removesuffix(f"-{direction}") for name in sweeps if name.endswith(direction)}
            assert names == {"calls", "kernel", "bulk", "batch", *(("relays",) if gpus > 1 else ())}
            assert {sweeps[f"{name}-{direction}"].pairs for name in names} == {"near"}


@pytest.mark.parametrize(
    "words", [(), ("R", "--measure"), ("R", "--machine", "h200-x4")], ids=["nothing", "both", "a machine"]
)
def test_a_run_or_a_measurement(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Catches a run that is ignored, and a command without either that waits or measures."""
    refused(tmp_path, *words)


def test_a_place_that_cannot_be_written_is_found_first(tmp_path: Path) -> None:
    """Catches a measurement that is lost because its plan cannot be kept."""
    with mock.patch("byteways.cli.measure_now.measure_now") as measuring:
        refused(tmp_path, "--measure", "--machine", "h200-x4", "-o", "no/such/machine.plan")
    measuring.assert_not_called()


def test_no_gpu_to_measure(tmp_path: Path) -> None:
    """Catches a measurement of the host alone, and a plan without copies."""
    with (
        mock.patch("byteways.machine.discovery.discover", return_value=topology(0)),
        mock.patch("byteways.cli.measure_now.measure_now") as measuring,
    ):
        assert "doctor" in refused(tmp_path, "--measure", "-o", "machine.plan")
    measuring.assert_not_called()


def test_an_interrupted_measurement_leaves_the_previous_plan(tmp_path: Path) -> None:
    """Catches half a plan, or an empty one, in the place of one that programs use."""
    (tmp_path / "machine.plan").write_text("the previous one", encoding="utf-8")
    words = "plan", "--measure", "--machine", "h200-x4", "-o", "machine.plan"
    with mock.patch("byteways.cli.measure_now.measure_now", side_effect=Interrupted("SIGINT")):
        done = byteways(tmp_path, *words)
    assert (done.returncode, done.stdout) == (ExitStatus.INTERRUPTED, "")
    assert [path.name for path in tmp_path.iterdir()] == ["machine.plan"]
    assert (tmp_path / "machine.plan").read_text(encoding="utf-8") == "the previous one"


def test_a_machine_that_takes_too_long_to_open(tmp_path: Path) -> None:
    """Catches an interruption by nobody, without a way out."""

    def too_late(suite: Any, simulation: Any, folder: Path, limit: TimeLimit) -> None:
        limit.requested = limit.REASON
        raise Interrupted(limit.REASON)

    with mock.patch("byteways.cli.measure_now.measure_now", too_late):
        refused(tmp_path, "--measure", "--machine", "h200-x4", "-o", "machine.plan")
