"""Measures a suite that a command has made for itself, within a time limit: `best`, `plan --measure`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from byteways.cases.case import PlannedCase
from byteways.cli.measure_and_report import command_line
from byteways.cli.progress import Progress, stderr_screen
from byteways.measuring.conduct import plan_file
from byteways.measuring.conduct.conductor import Interrupted
from byteways.measuring.conduct.interruption import Interruption
from byteways.measuring.conduct.measure_from_python import measure_from_python
from byteways.measuring.conduct.settling import OpenCases
from byteways.measuring.conduct.simulation import Simulation
from byteways.measuring.conduct.suite_choice import SuiteOf
from byteways.measuring.conduct.time_limit import TimeLimit
from byteways.measuring.shared.options import RunOptions
from byteways.plan.suite import parse
from byteways.plan.suite_types import Suite
from byteways.record.run_folder import MANIFEST, RunFolder


def measure_now(
    suite: Suite | SuiteOf,
    simulation: Simulation | None,
    folder: Path,
    limit: TimeLimit,
    tick: Callable[[], None] | None = None,
    options: RunOptions | None = None,
    open_cases: OpenCases | None = None,
) -> tuple[RunFolder, Sequence[PlannedCase]]:
    """Measures until all is measured or the time is over; returns the run and the suite's rounds of its plan.

    Args:
        suite: What to measure, or what returns it for this machine.
        simulation: The simulated machine; None: this machine.
        folder: The new run folder.
        limit: Within its context.
        tick: Called while the machine is opened; None: the limit's check.
        options: Ranks and their launcher; None: the usual ones.
        open_cases: Says which cases further rounds are to measure, until the time is over; None: none.

    Raises:
        Interrupted: By a signal, or the time was over before anything was planned.
    """

    def display(cases: int, interruption: Interruption) -> Progress:
        return Progress(cases, interruption, stderr_screen())

    try:
        run = measure_from_python(
            suite,
            options or RunOptions(),
            folder,
            command_line(),
            display,
            limit,
            simulation,
            open_cases,
            tick,
            to_budget=True,
        )
    except Interrupted:
        if not limit.over or not (folder / MANIFEST).exists():
            raise
        run = RunFolder(folder)
    planned = parse(run.manifest["suite"]["text"], file="of this command")
    cases = plan_file.read(folder, planned).cases
    return run, [one for one in cases if one.round < planned.rounds]
