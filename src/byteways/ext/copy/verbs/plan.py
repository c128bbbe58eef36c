"""`byteways plan`: the plan by which libbyteways_copy copies, from the results of a run or measured now."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from byteways.base.errors import BytewaysError, ExitStatus
from byteways.base.system_errors import cannot_write
from byteways.base.writing import named
from byteways.cli.run_options import MachineOption
from byteways.cli.runs import opened_run
from byteways.console.terminal import echo, say

if TYPE_CHECKING:
    from byteways.answers.best.copy_plan import CopyPlan, PlanCell
    from byteways.record.run_folder import RunFolder

#: What measures more, without a limit.
_LONGER = "byteways run blocks --out RUN, then byteways plan RUN"


def plan(
    run: Annotated[
        Path | None,
        typer.Argument(help="The folder that `byteways run` made.", metavar="RUN", show_default=False),
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="Without RUN: measure now, about 8 s for each GPU.")
    ] = False,
    machine: MachineOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write. [default: stdout]", metavar="FILE")
    ] = None,
) -> int:
    """Write the plan by which programs with libbyteways_copy use the fastest measured methods."""
    from byteways.measuring.conduct.conductor import Interrupted

    _check(run, measure, machine)
    try:
        with ExitStack() as files:
            # Begun before the measurement, which is not lost then for lack of a place.
            file = None if out is None else _begun(out, files)
            made = _plan_of(opened_run(run), str(run)) if run is not None else _measured(machine)
            if out is None or file is None:
                sys.stdout.write(made.text)
                return ExitStatus.GOOD
            try:
                file.write(made.text.encode())
                file.flush()
            except OSError as error:
                raise _not_written(out, error) from error
    except Interrupted as stopped:
        say(f"interrupted by {stopped}; no plan is written")
        return ExitStatus.INTERRUPTED
    for line in _summary(made):
        echo(line)
    return ExitStatus.GOOD


def _check(run: Path | None, measure: bool, machine: str | None) -> None:
    """Raises BytewaysError unless there is a run or a measurement to make the plan of."""
    if run is None and not measure:
        raise BytewaysError(
            "missing argument 'RUN'",
            hint="name the folder that `byteways run` made, or measure now: byteways plan --measure",
        )
    for name, given in (("--measure", measure), ("--machine", machine is not None)):
        if run is not None and given:
            raise BytewaysError(
                f"{name} is for a measurement; {run} has its results already", hint=f"byteways plan {run}"
            )


def _begun(out: Path, files: ExitStack) -> BinaryIO:
    """Returns the file, which nobody sees before it is complete."""
    try:
        return files.enter_context(named(out))
    except OSError as error:
        raise _not_written(out, error) from error


def _not_written(out: Path, error: OSError) -> BytewaysError:
    return cannot_write(out, error, "name another file with --out")


def _plan_of(folder: RunFolder, name: str) -> CopyPlan:
    from byteways.answers.best.copy_plan import copy_plan
    from byteways.answers.results.index import Index
    from byteways.record.simulation_mark import mark_of

    if mark := mark_of(folder.manifest):
        say(f"warning: {name}: {mark}")
    return copy_plan(Index.of(folder))


def _measured(machine: str | None) -> CopyPlan:
    """Measures what a plan needs, on a real machine within a limit.

    Raises:
        BytewaysError: There is no GPU, or nothing was measured within the limit.
        Interrupted: By a signal.
    """
    from byteways.base.private_folder import private_folder
    from byteways.cli.measure_and_report import refuse_gpus
    from byteways.cli.measure_now import measure_now
    from byteways.ext.copy.copy_plan_suite import copy_plan_suite, limit_s
    from byteways.machine.discovery import discover
    from byteways.machine.nvml import read_if_wanted
    from byteways.measuring.conduct.conductor import Interrupted
    from byteways.measuring.conduct.simulation import simulation_of
    from byteways.measuring.conduct.time_limit import TimeLimit

    began = time.monotonic()
    simulation = simulation_of(machine, None)
    topology = simulation.topology() if simulation is not None else discover(management=read_if_wanted())
    gpus = len(topology.names("gpu"))
    if gpus == 0:
        raise BytewaysError(
            "there is no GPU to make a plan for",
            hint="byteways doctor says what was found; --machine h200-x4 simulates a machine with GPUs",
        )
    # A simulated plan must not depend on the speed of this machine.
    limit = TimeLimit(None if simulation is not None else limit_s(gpus), began)
    with private_folder() as own, limit:
        try:
            folder, _ = measure_now(copy_plan_suite(gpus), simulation, own / "plan", limit)
        except Interrupted as stopped:
            if not limit.over:
                raise
            raise BytewaysError(
                f"no plan within {limit_s(gpus):g} s",
                cause="the devices of this machine were still being opened",
                hint=_LONGER,
            ) from stopped
        say(f"measured in {time.monotonic() - began:.1f} s")
        refuse_gpus(folder.manifest)
        return _plan_of(folder, "--measure")


def _summary(made: CopyPlan) -> list[str]:
    """Returns a line for each method that leads, or one that none does."""
    lines = [
        f"{path} in streams of {path.by}: {method.text} for {_span(method.leading)}"
        for path in made.paths
        for method in path.methods
        if method.leading
    ]
    return lines or ["no method has a measured lead: programs with this plan copy by the driver's calls"]


def _span(cells: Sequence[PlanCell]) -> str:
    """Returns from which to which size and count cells lead: '4 KiB to 32 KiB × 16 to 4096'."""
    from byteways.base.units import format_size

    sizes, counts = ({getattr(cell, name) for cell in cells} for name in ("block_bytes", "count"))
    size = " to ".join(dict.fromkeys(map(format_size, (min(sizes), max(sizes)))))
    count = " to ".join(dict.fromkeys(map(str, (min(counts), max(counts)))))
    return size if count == "1" else f"{count} blocks of {size}"
