"""`byteways run`: benchmark this machine, write a run folder, and print the main findings."""

from __future__ import annotations

import platform
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from byteways.cli.measure_and_report import command_line, measure_and_report, print_outcome
from byteways.cli.run_options import (
    AllDevices,
    AsJson,
    DryRunOption,
    Hosts,
    LauncherCommand,
    MachineOption,
    NoReport,
    Only,
    PairsOption,
    Ranks,
    RanksPerHost,
    Resume,
    Size,
    WithSelf,
    check_started_once,
    given,
    options_of,
)
from byteways.cli.terminal import echo, say
from byteways.errors import BytewaysError, ExitStatus
from byteways.json_text import json_text
from byteways.plan.suite import load
from byteways.plan.suite_types import Suite
from byteways.record.run_folder import RunFolder, read_manifest
from byteways.record.simulation_mark import mark_of
from byteways.run.conduct.conductor import Interrupted
from byteways.run.conduct.dry_run import DryRun, dry_plan
from byteways.run.conduct.execution import Execution, begin, check_new_folder
from byteways.run.conduct.interruption import Interruption
from byteways.run.conduct.resume import missing_plan, take_up
from byteways.run.conduct.simulation import Simulation, simulation_of
from byteways.run.hosts.execution import is_between_hosts
from byteways.run.shared.options import RunOptions
from byteways.settings import check_settings


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
    transfers: Annotated[
        list[str] | None,
        typer.Option(
            "--transfers",
            help="Measure these at once, and each alone: 'gpu0>gpu1,gpu1>gpu0'. Repeatable.",
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
    machine: MachineOption = None,
    ranks: Ranks = None,
    launcher: LauncherCommand = None,
    hosts: Hosts = None,
    pairs: PairsOption = None,
    ranks_per_host: RanksPerHost = None,
    with_self: WithSelf = False,
    all_devices: AllDevices = False,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            "--fault", help="Fault to inject into the simulation: 'slow:gpu0-gpu1:0.5'. Repeatable."
        ),
    ] = None,
) -> int:
    """Benchmark this machine: run a suite, write a run folder with a report, print the main findings."""
    check_started_once()
    check_settings()  # reports an invalid one here, not in a worker
    options = options_of(
        *(only, size, budget, rounds, precision, duration, ranks, launcher, hosts, pairs),
        ranks_per_host=ranks_per_host,
        with_self=with_self,
        all_devices=all_devices,
    )
    if resume is not None:
        changed = [
            name for name, value in (("--out", out), ("--transfers", transfers), *given(options)) if value
        ]
        if changed:
            named = " ".join(changed)
            raise BytewaysError(
                f"--resume takes its plan from the run folder; {named} cannot change it",
                hint=f"byteways run --resume {resume}",
            )
    chosen = _chosen(suite, transfers) if suite is not None or resume is None else None
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
            print_outcome(folder, counts, written, as_json)

        return measure_and_report(execution, interruption, tell, report=not no_report)


def _chosen(suite: str | None, transfers: list[str] | None) -> Suite:
    if not transfers:
        return load(suite or "quick")
    if suite is not None:
        raise BytewaysError(f"--transfers does not add to suite {suite}", hint=f"leave {suite} out")
    from byteways.plan.transfers_suite import transfers_suite

    return transfers_suite(transfers)


def _between_hosts(
    suite: Suite | None,
    options: RunOptions,
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
    suite: Suite | None,
    options: RunOptions,
    resume: Path | None,
    simulation: Simulation | None,
    as_json: bool,
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
    options: RunOptions,
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
                "sampled": dry.plan.sample is not None,
                "case": entry.case.identity(),
            }
            for entry in planned
        ]
        echo(json_text(cases, indent=1))
        return ExitStatus.GOOD
    if mark:
        echo(mark)
    *blocks, total = plan_blocks(dry.plan)
    launch = [Lines("the ranks are started by", (dry.launch,))] if dry.launch else []
    show([block.worded(bool(mark)) for block in (*blocks, *launch, total)])
    return ExitStatus.GOOD


def default_folder(suite: Suite, simulation: Simulation | None) -> Path:
    host = platform.node().split(".")[0] or "host"
    if simulation:
        host = f"simulated-{simulation.model.name}"
    return Path(f"byteways-{suite.name}-{host}-{time.strftime('%Y%m%d-%H%M%S')}")
