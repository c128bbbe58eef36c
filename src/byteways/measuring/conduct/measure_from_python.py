"""Measures a suite from another program: begin, measure, close, and the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from byteways.cases.case import PlannedCase
from byteways.measuring.conduct.conductor import Conductor, Interrupted, Observer
from byteways.measuring.conduct.execution import begin
from byteways.measuring.conduct.interruption import Interruption
from byteways.measuring.conduct.settling import OpenCases
from byteways.measuring.conduct.simulation import Simulation
from byteways.measuring.conduct.suite_choice import SuiteOf
from byteways.measuring.shared.options import RunOptions
from byteways.plan.suite_types import Suite
from byteways.record.record import Record
from byteways.record.run_folder import RunFolder


class Display(Observer, Protocol):
    """An observer that may also be told of further rounds of a repeated suite."""

    def begins_round(self, number: int, cases: int) -> None: ...


class Quiet:
    """A display that shows nothing and ends the run where that is requested."""

    def __init__(self, interruption: Interruption) -> None:
        self._interruption = interruption

    def __enter__(self) -> Quiet:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def began(self, planned: PlannedCase, position: int, time_left_s: float) -> None:
        self._interruption.check()

    def ended(self, record: Record) -> None:
        return None

    def tick(self) -> None:
        self._interruption.check()

    def begins_round(self, number: int, cases: int) -> None:
        return None


#: Makes the display of a run with so many cases, active within its context.
Displays = Callable[[int, Interruption], AbstractContextManager[Display]]


def measure_from_python(
    suite: Suite | SuiteOf,
    options: RunOptions,
    folder: Path,
    command_line: Sequence[str],
    displays: Displays,
    interruption: Interruption,
    simulation: Simulation | None = None,
    open_cases: OpenCases | None = None,
    tick: Callable[[], None] | None = None,
    *,
    to_budget: bool = False,
) -> RunFolder:
    """Measures a suite into a new folder and returns the run.

    Args:
        suite: What to measure, or what returns it for this machine.
        options: Filters, time and rounds.
        folder: The new run folder.
        command_line: For the manifest.
        displays: Shows progress.
        interruption: Ends the run where requested; the caller activates it.
        simulation: The simulated machine; None: this machine.
        open_cases: Says which cases further rounds are to measure; None: none.
        tick: Called while the machine is opened; None: the interruption's check.
        to_budget: Whether further rounds may use up a suite's own budget.

    Raises:
        BytewaysError: As begin(), or the journal cannot be written.
        Interrupted: The run was ended; what was measured is in the folder.
    """
    execution = begin(
        suite,
        options,
        folder,
        command_line,
        tick or interruption.check,
        simulation=simulation,
    )
    try:

        def on_start(conductor: Conductor) -> None:
            interruption.at_once = conductor.kill_at_once

        with displays(len(execution.remaining), interruption) as display:
            execution.measure(display, on_start, display.begins_round, open_cases, to_budget=to_budget)
    finally:
        if interruption.hurried:
            interruption.at_once()
        execution.close()
    if execution.state == "interrupted":
        raise Interrupted(interruption.requested or "SIGINT")
    return RunFolder(folder)
