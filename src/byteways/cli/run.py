"""`byteways run`: benchmark this machine, write a run folder, and print the main findings."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from byteways.base.errors import BytewaysError
from byteways.base.settings import check_settings
from byteways.cli.allocated_hosts import allocated_hosts, check_started_on_one_host, doubt_about_this_host
from byteways.cli.measure_and_report import print_outcome
from byteways.cli.run_options import (
    AllDevices,
    AsJson,
    Budget,
    DryRunOption,
    Duration,
    Faults,
    FromWatched,
    Hosts,
    LauncherCommand,
    MachineOption,
    NoReport,
    Only,
    Out,
    PairsOption,
    PrecisionOption,
    Ranks,
    RanksPerHost,
    Resume,
    RoundsOption,
    Seed,
    Size,
    Transfers,
    WithSelf,
    check_started_once,
    given,
    options_of,
)
from byteways.cli.run_task import RunTask, name_writers, refuse_with_resume
from byteways.console.terminal import say
from byteways.measuring.conduct.simulation import Simulation, simulation_of
from byteways.measuring.hosts.execution import is_between_hosts
from byteways.plan.suite import load
from byteways.plan.suite_types import Suite
from byteways.record.run_folder import RunFolder


def run(
    suite: Annotated[
        str | None, typer.Argument(help="Name of a suite or a TOML file. [default: quick]")
    ] = None,
    out: Out = None,
    budget: Budget = None,
    transfers: Transfers = None,
    watched: FromWatched = None,
    only: Only = None,
    size: Size = None,
    rounds: RoundsOption = None,
    precision: PrecisionOption = None,
    duration: Duration = None,
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
    fault: Faults = None,
    seed: Seed = None,
) -> int:
    """Benchmark this machine: run a suite, write a run folder with a report, print the main findings."""
    check_started_once()
    check_settings()  # reports an invalid one here, not in a worker
    name_writers(Path(suite) if suite and Path(suite).suffix else None, resume, watched)
    simulation = simulation_of(machine, fault, seed)
    chosen = _chosen(suite, transfers, watched, simulation) if suite is not None or resume is None else None
    if chosen is not None and resume is None and simulation is None and hosts is None:
        within = bool(ranks or budget or duration or with_self or transfers)
        hosts = allocated_hosts(chosen, launcher, within)
    options = options_of(
        *(only, size, budget, rounds, precision, duration, ranks, launcher, hosts, pairs),
        ranks_per_host=ranks_per_host,
        with_self=with_self,
        all_devices=all_devices,
    )
    if resume is not None:
        changing = (("--out", out), ("--transfers", transfers), ("--from", watched), *given(options))
        refuse_with_resume(changing, f"run --resume {resume}")
    task = RunTask(chosen, options, out, resume, simulation)
    if hosts is not None or (resume is not None and is_between_hosts(resume)):
        return _between_hosts(task, dry_run, as_json, no_report)
    if simulation is None and (doubt := doubt_about_this_host()):
        say(doubt)
    if dry_run:
        return task.print_plan(as_json)

    def tell(folder: RunFolder, counts: Counter[str], written: Path | None) -> None:
        print_outcome(folder, counts, written, as_json)

    looking = f"simulating {simulation.model.name}" if simulation else "probing this machine"
    intention = f"{looking}, then running suite {chosen.name if chosen else ''}"
    return task.measure(intention, tell, report=not no_report)


def _chosen(
    suite: str | None, transfers: list[str] | None, watched: Path | None, simulation: Simulation | None
) -> Suite:
    if watched is not None:
        for name, value in (("a suite", suite), ("--transfers", transfers)):
            if value:
                raise BytewaysError(f"--from does not add to {name}", hint=f"leave out {name}")
        from byteways.ext.watch.verbs.watched_suite import suite_of_folder

        return suite_of_folder(watched, simulation)
    if not transfers:
        return load(suite or "quick")
    if suite is not None:
        raise BytewaysError(f"--transfers does not add to suite {suite}", hint=f"leave {suite} out")
    from byteways.plan.transfers_suite import transfers_suite

    return transfers_suite(transfers)


def _between_hosts(task: RunTask, dry_run: bool, as_json: bool, no_report: bool) -> int:
    """Measures between hosts, or prints what would be measured."""
    from byteways.cli import hosts

    hosts.check_options(task.options, task.simulation is not None)
    check_started_on_one_host()
    if dry_run and task.resume is not None:
        raise BytewaysError(
            "--dry-run does not read runs between hosts",
            cause=f"{task.resume} is one",
            hint=f"byteways run --resume {task.resume} measures what is missing",
        )
    if dry_run and task.suite is not None:
        return hosts.dry_run(task.suite, task.options, as_json)
    return hosts.run(task.suite, task.options, task.folder, task.resume, as_json, not no_report)
