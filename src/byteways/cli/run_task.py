"""A suite to run or to resume, for `run` and `reproduce`: prints its plan, or measures it."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from byteways.base.errors import BytewaysError, ExitStatus
from byteways.base.json_text import json_text
from byteways.cli import called_at
from byteways.cli.measure_and_report import Tell, command_line, measure_and_report
from byteways.cli.preloading import importing
from byteways.console.terminal import echo, say
from byteways.measuring.conduct.conductor import Interrupted
from byteways.measuring.conduct.dry_run import DryRun, dry_plan
from byteways.measuring.conduct.execution import Execution, begin
from byteways.measuring.conduct.interruption import Interruption
from byteways.measuring.conduct.new_folder import check_new_folder
from byteways.measuring.conduct.resume import missing_plan, take_up
from byteways.measuring.conduct.simulation import Simulation
from byteways.measuring.shared.allocation import Allocation
from byteways.measuring.shared.options import RunOptions
from byteways.plan.suite_types import Suite
from byteways.record.run_folder import RunFolder, read_manifest
from byteways.record.simulation_mark import mark_of, voice

#: What a run needs after measuring.
_TO_REPORT = (
    "byteways.answers.best.open_comparisons",
    "byteways.questions.findings",
    "byteways.console.overview",
)


@dataclass(frozen=True)
class RunTask:
    """What a command line asks for. A new run has a suite; one that is resumed may repeat its own."""

    suite: Suite | None
    options: RunOptions
    out: Path | None
    resume: Path | None
    simulation: Simulation | None
    study: Mapping[str, str] | None = None  # for the manifest
    beside: RunFolder | None = None  # drawn in the report

    @property
    def folder(self) -> Path:
        """The folder of a new run."""
        if self.out is not None:
            return self.out
        return default_folder(self.suite, self.simulation) if self.suite is not None else Path()

    def print_plan(self, as_json: bool) -> int:
        """Prints what a run would measure, or what an interrupted run lacks."""
        if self.resume is not None:
            mark = mark_of(read_manifest(self.resume))
            missing = missing_plan(
                self.resume, self.suite, asked=self.simulation, launcher=self.options.launcher
            )
            return print_plan(missing, as_json, mark)
        assert self.suite is not None
        planning = _planning(self.suite)
        dry = dry_plan(self.suite, self.options, simulation=self.simulation, on_sweep=planning)
        return print_plan(dry, as_json, self.simulation.mark if self.simulation else "")

    def measure(
        self,
        intention: str,
        tell: Tell,
        *,
        report: bool,
        on_begin: Callable[[Execution], None] = lambda execution: None,
    ) -> int:
        """Measures, and returns the exit status.

        Args:
            intention: What is printed before a new run, up to its folder.
            tell: See measure_and_report().
            report: Whether to write the report.
            on_begin: Receives the run when it is planned.
        """
        modules = [*_TO_REPORT, *(["byteways.report"] if report else [])]
        with Interruption() as interruption:
            try:
                execution = self._begun(intention, importing(interruption.check, *modules))
            except Interrupted:
                say("interrupted before the first measurement")
                return ExitStatus.INTERRUPTED
            on_begin(execution)
            return measure_and_report(execution, interruption, tell, report=report, beside=self.beside)

    def _begun(self, intention: str, tick: Callable[[], None]) -> Execution:
        if self.resume is not None:
            return take_up(
                self.resume, tick, self.suite, asked=self.simulation, launcher=self.options.launcher
            )
        assert self.suite is not None
        folder = self.folder  # its default has the time
        check_new_folder(folder)
        say(f"{intention} into {folder}")
        return begin(
            self.suite,
            self.options,
            folder,
            command_line(),
            tick,
            simulation=self.simulation,
            study=self.study,
            on_sweep=_planning(self.suite),
            started=called_at[0],
        )


def name_writers(*paths: Path | None) -> None:
    """Names files and folders of the command line that decide what runs and that others may write."""
    from byteways.base.safe_folders import who_else_may_write

    for path in paths:
        if path is not None and (who := who_else_may_write(path)):
            say(f"warning: {path} {who}: whoever that is may choose what runs here")


def refuse(options: Sequence[tuple[str, Any]], what: str, instead: str) -> None:
    """Raises BytewaysError if one of the options is given, with the command to write instead."""
    if changed := [name for name, value in options if value]:
        raise BytewaysError(what.format(" ".join(changed)), hint=f"byteways {instead}")


def refuse_with_resume(options: Sequence[tuple[str, Any]], instead: str) -> None:
    """Raises BytewaysError if an option would change the plan of a run that is resumed.

    The launcher has to be given again: it is compared when the run is read.
    """
    changing = [(name, value) for name, value in options if name != "--launcher"]
    refuse(changing, "--resume takes its plan from the run folder; {} cannot change it", instead)


def _planning(suite: Suite) -> Callable[[int, int], None]:
    from byteways.cli.progress import Planning

    return Planning(len(suite.sweeps))


def print_plan(dry: DryRun, as_json: bool, mark: str) -> int:
    """Prints a plan: a table per sweep, how ranks start, then totals; `mark` above them if simulated."""
    from byteways.cli.plan_text import plan_blocks
    from byteways.console.layout import Lines, show

    planned = dry.plan.cases
    for doubt in dry.doubts:
        say(doubt)
    if as_json:
        cases = [
            {
                "case_id": entry.case.case_id,
                "round": entry.round,
                "sweep": entry.sweep,
                "budget_s": entry.budget_s,
                "precision": entry.precision,
                "skipped": None if entry.spare else entry.reason,
                "left_out": entry.reason if entry.spare else None,
                "simulated": bool(mark),
                "sampled": dry.plan.sample is not None,
                "case": entry.case.identity(),
            }
            for entry in planned
        ]
        echo(json_text(cases, indent=1))
        return ExitStatus.GOOD
    if mark:
        echo(mark)
    *blocks, total = plan_blocks(dry.plan, voice(bool(mark)))
    launch = [Lines("the ranks are started by", (dry.launch,))] if dry.launch else []
    show([*blocks, *launch, total])
    return ExitStatus.GOOD


def default_folder(suite: Suite, simulation: Simulation | None) -> Path:
    """Returns `byteways-mpi-n1-20261127-063615`; in a Slurm job with its number, and in an array with that of
    its element: elements that start in one second on one host have a folder each.
    """
    host = platform.node().split(".")[0] or "host"
    if simulation:
        host = f"simulated-{simulation.model.name}"
    allocation = Allocation.of()
    job = f"-job{allocation.job}" if allocation else ""
    return Path(f"byteways-{suite.name}-{host}-{time.strftime('%Y%m%d-%H%M%S')}{job}")
