"""`byteways run`: benchmark this machine, write a run folder, and print the main findings."""

from __future__ import annotations

import json
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from byteways.cli.run_options import (
    AsJson,
    DryRunOption,
    Hosts,
    LauncherCommand,
    Machine,
    NoReport,
    Only,
    Pairs,
    Ranks,
    Resume,
    Size,
    WithSelf,
    given,
    options_of,
)
from byteways.cli.terminal import echo, say
from byteways.errors import BytewaysError, ExitStatus
from byteways.plan.suite import load
from byteways.plan.suite_types import LEAST_RANKED, Suite
from byteways.results.run_folder import LOG, RunFolder, read_manifest
from byteways.results.simulated import mark_of, model_of, worded
from byteways.run.conductor import Conductor, Interrupted
from byteways.run.dry_run import DryRun, dry_plan
from byteways.run.execution import Execution, begin, check_new_folder
from byteways.run.hosts.execution import is_between_hosts
from byteways.run.interruption import Interruption
from byteways.run.options import Options
from byteways.run.simulation import Simulation, simulation_of
from byteways.run.taking_up import missing_plan, take_up
from byteways.settings import gpus_wanted
from byteways.units import format_duration

FINDINGS_SHOWN = 3
#: Statuses that make the exit status 1.
WRONG = ("failed", "corrupt", "timeout", "lost")


def run(
    suite: Annotated[
        str | None, typer.Argument(help="Name of a suite or a TOML file. [default: quick]")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="New folder. [default: byteways-<suite>-<host>-<time>]")
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget", help="Time limit of the whole run in seconds. [default: the suite's; quick: 60]"
        ),
    ] = None,
    only: Only = None,
    size: Size = None,
    rounds: Annotated[
        int | None,
        typer.Option("--rounds", help="Rounds with fresh buffers; with fewer than 3, nothing is ranked."),
    ] = None,
    precision: Annotated[
        float | None, typer.Option("--precision", help="Target half-width of the 95 % interval: 0.01 is 1 %.")
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option("--for", help="Repeat the suite for this long, as a time series: '90s', '30m', '2h'."),
    ] = None,
    dry_run: DryRunOption = False,
    resume: Resume = None,
    as_json: AsJson = False,
    no_report: NoReport = False,
    machine: Machine = None,
    ranks: Ranks = None,
    launcher: LauncherCommand = None,
    hosts: Hosts = None,
    pairs: Pairs = None,
    with_self: WithSelf = False,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            "--fault", help="Fault to inject into the simulation: 'slow:gpu0-gpu1:0.5'. Repeatable."
        ),
    ] = None,
) -> int:
    """Benchmark this machine: run a suite, write a run folder with a report, print the main findings."""
    gpus_wanted()  # report an invalid setting here, not in a worker
    options = options_of(
        only, size, budget, rounds, precision, duration, ranks, launcher, hosts, pairs, with_self
    )
    if resume is not None:
        changed = [name for name, value in (("--out", out), *given(options)) if value]
        if changed:
            named = " ".join(changed)
            raise BytewaysError(
                f"--resume takes its plan from the run folder; {named} cannot change it",
                hint=f"byteways run --resume {resume}",
            )
    chosen = load(suite or "quick") if suite is not None or resume is None else None
    simulation = simulation_of(machine, fault)
    if hosts is not None or (resume is not None and is_between_hosts(resume)):
        return _between_hosts(chosen, options, out, resume, simulation, dry_run, as_json, no_report)
    if dry_run:
        return _dry_run(chosen, options, resume, simulation, as_json)
    with Interruption() as interruption:
        try:
            execution = _ready(chosen, options, out, resume, interruption, simulation)
        except Interrupted:
            say("interrupted before the first measurement")
            return ExitStatus.INTERRUPTED

        def tell(folder: RunFolder, counts: Counter[str], written: Path | None) -> None:
            _print_outcome(folder, counts, written, as_json)

        return measured(execution, interruption, tell, report=not no_report)


def _between_hosts(
    suite: Suite | None,
    options: Options,
    out: Path | None,
    resume: Path | None,
    simulation: Simulation | None,
    dry_run: bool,
    as_json: bool,
    no_report: bool,
) -> int:
    """Measures between hosts, or prints what would be measured."""
    from byteways.cli import hosts

    hosts.check_options(options, simulation is not None)
    if dry_run and suite is not None and resume is None:
        return hosts.dry_run(suite, options, as_json)
    if dry_run:
        raise BytewaysError(
            "--dry-run does not read runs between hosts",
            cause=f"{resume} is one",
            hint=f"byteways run --resume {resume} measures what is missing",
        )
    folder = out or (default_folder(suite, None) if suite else Path())
    return hosts.run(suite, options, folder, resume, as_json, not no_report)


def _dry_run(
    suite: Suite | None, options: Options, resume: Path | None, simulation: Simulation | None, as_json: bool
) -> int:
    """Prints what a run would measure, or what an interrupted run lacks."""
    if resume is not None:
        mark = mark_of(read_manifest(resume))
        return print_plan(missing_plan(resume, suite, asked=simulation), as_json, mark)
    assert suite is not None
    mark = simulation.mark if simulation else ""
    return print_plan(
        dry_plan(suite, options, simulation=simulation, on_sweep=_planning(suite)), as_json, mark
    )


def _ready(
    suite: Suite | None,
    options: Options,
    out: Path | None,
    resume: Path | None,
    interruption: Interruption,
    simulation: Simulation | None,
) -> Execution:
    if resume is not None:
        return take_up(resume, interruption.check, suite, asked=simulation)
    assert suite is not None
    folder = out or default_folder(suite, simulation)
    check_new_folder(folder)
    looking = f"simulating {simulation.model.name}" if simulation else "probing this machine"
    say(f"{looking}, then running suite {suite.name} into {folder}")
    return begin(
        suite,
        options,
        folder,
        command_line(),
        interruption.check,
        simulation=simulation,
        on_sweep=_planning(suite),
    )


def _planning(suite: Suite) -> Callable[[int, int], None]:
    from byteways.cli.progress import Planning

    return Planning(len(suite.sweeps))


def measured(
    execution: Execution,
    interruption: Interruption,
    tell: Callable[[RunFolder, Counter[str], Path | None], None],
    *,
    report: bool,
) -> int:
    """Measures, writes the report, calls `tell`, and returns the exit status.

    Args:
        tell: Receives the run, its number of records by status, and the path of the report.
    """
    from byteways.cli.progress import Progress, counts_text

    try:
        spare = sum(1 for case in execution.remaining if case.spare)
        skipped = sum(1 for case in execution.remaining if case.reason is not None) - spare
        mark = mark_of(execution.manifest)
        if mark:
            say(mark)
        # A simulated run does not add cases in spare time.
        after_all = "" if mark else "  (measured if time remains)"
        left_out = f", {spare} left out for lack of time{after_all}" if spare else ""
        recorded = len(execution.planned) - len(execution.remaining)
        already = f", {recorded} already recorded" if recorded else ""
        cases = _cases(len(execution.remaining) - skipped - spare)
        again = f", repeated for {format_duration(for_s)}" if (for_s := _for_s(execution)) else ""
        say(worded(f"{cases} to measure{left_out}, {skipped} skipped{already}{again}", bool(mark)))

        if few := _too_few_rounds(execution):
            say(few)
        for doubt in execution.doubts():
            say(doubt)

        def on_start(conductor: Conductor) -> None:
            interruption.at_once = conductor.kill_at_once

        with Progress(len(execution.remaining), interruption, live=sys.stderr.isatty()) as progress:
            execution.measure(progress, on_start, progress.begins_round)
        folder = RunFolder(execution.folder)
        counts = Counter(record.status for record in folder.records)
        told = counts_text(Counter(record.told_status for record in folder.records))
        say(f"{worded(told, bool(mark))} in {folder.manifest['wall_s']:.1f} s")
        if left := _left_out(execution, folder):
            say(left)
        if beyond := _beyond_limit(folder):
            say(worded(beyond, bool(mark)))
        written = None
        if report:
            from byteways.report import write_report

            written = write_report(execution.folder)
        tell(folder, counts, written)
    finally:
        execution.close()
    if execution.state == "interrupted":
        say(
            f"interrupted by {interruption.requested}; continue with: byteways run --resume "
            f"{execution.folder}"
        )
        return ExitStatus.INTERRUPTED
    if any(counts[status] for status in WRONG):
        wrong = worded("some measurements failed", bool(mark))
        say(f"{wrong}: byteways show {execution.folder}, and {execution.folder / LOG}")
        return ExitStatus.FAILED
    return ExitStatus.GOOD


def _left_out(execution: Execution, folder: RunFolder) -> str:
    """Lists by sweep what was left out for lack of time; '' if nothing was."""
    left = Counter(
        record.sweep for record in folder.records if record.told_status == "left out" and record.round == 0
    )
    if not left:
        return ""
    able = (planned for planned in execution.planned if planned.reason is None or planned.spare)
    asked = Counter(planned.sweep for planned in able if planned.round == 0)
    parts = (f"{count} of {asked[sweep]} of {sweep}" for sweep, count in left.items())
    return f"left out for lack of time: {', '.join(parts)}"


def _too_few_rounds(execution: Execution) -> str:
    """Returns a note if there are too few rounds to rank results; otherwise ''."""
    rounds = execution.manifest["suite"]["rounds"]
    if rounds >= LEAST_RANKED or _for_s(execution) is not None:
        return ""
    told = "one round is" if rounds == 1 else f"{rounds} rounds are"
    return f"{told} not enough to rank results: differences between rounds are unknown"


def _beyond_limit(folder: RunFolder) -> str:
    """Returns the number of results beyond a physical limit as text; '' if there are none."""
    count = sum(record.beyond_limit for record in folder.records)
    if not count:
        return ""
    figures = "1 result is" if count == 1 else f"{count} results are"
    return f"{figures} beyond a physical limit and void: byteways show {folder.path}"


def _for_s(execution: Execution) -> float | None:
    """Returns the duration in seconds for which the suite is repeated; None without one."""
    for_s: float | None = execution.manifest["options"].get("for_s")
    return for_s


def _print_outcome(folder: RunFolder, counts: Counter[str], report: Path | None, as_json: bool) -> None:
    from byteways.analyse.findings import findings
    from byteways.analyse.headline import best_first, headline, rows_of_text
    from byteways.cli.layout import Table, show

    found = sorted(findings(folder), key=lambda finding: -finding.importance)[:FINDINGS_SHOWN]
    first = headline(folder)
    if as_json:
        outcome = {
            "folder": str(folder.path),
            "state": folder.manifest["state"],
            "simulated": bool(folder.manifest["simulated"]),
            "machine_model": model_of(folder.manifest) or None,
            "counts": dict(counts),
            "wall_s": folder.manifest["wall_s"],
            "report": str(report) if report else None,
            "best": best_first(first),
            "findings": [
                {"title": finding.title, "detail": finding.detail, "importance": finding.importance}
                for finding in found
            ],
        }
        echo(json.dumps(outcome, indent=1))
        return
    mark = mark_of(folder.manifest)
    if mark:
        echo(mark)
    if first:
        rows = tuple(tuple(worded(text, bool(mark)) for text in row) for row in rows_of_text(first))
        show([Table("recommended interface by path", ("between", *first.size_names), rows)])
        echo()
    for number, finding in enumerate(found, start=1):
        echo(f"{number}. {finding.title}\n   {finding.detail}")
    echo(f"report: {report}" if report else f"run: {folder.path}")


def print_plan(dry: DryRun, as_json: bool, mark: str) -> int:
    """Prints a plan: a table per sweep, how ranks start, then totals; `mark` above them if simulated."""
    from byteways.cli.layout import Lines, show
    from byteways.cli.plan_text import plan_blocks

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
                "case": entry.case.identity(),
            }
            for entry in planned
        ]
        echo(json.dumps(cases, indent=1))
        return ExitStatus.GOOD
    if mark:
        echo(mark)
    *blocks, total = plan_blocks(dry.plan)
    launch = [Lines("the ranks are started by", (dry.launch,))] if dry.launch else []
    show([block.worded(bool(mark)) for block in (*blocks, *launch, total)])
    return ExitStatus.GOOD


def _cases(count: int) -> str:
    return "1 case" if count == 1 else f"{count} cases"


def default_folder(suite: Suite, simulation: Simulation | None) -> Path:
    host = platform.node().split(".")[0] or "host"
    if simulation:
        host = f"simulated-{simulation.model.name}"
    return Path(f"byteways-{suite.name}-{host}-{time.strftime('%Y%m%d-%H%M%S')}")


def command_line() -> list[str]:
    return ["byteways", *sys.argv[1:]]
