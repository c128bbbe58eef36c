"""Resumes an interrupted run: finds missing cases; checks that machine, code and suite are unchanged."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from byteways.base.errors import BytewaysError
from byteways.cases.case import PlannedCase
from byteways.machine.model import Topology
from byteways.measuring.conduct import plan_file
from byteways.measuring.conduct.dry_run import DryRun
from byteways.measuring.conduct.execution import Execution, planned_seconds, repetition_of
from byteways.measuring.conduct.journal import Journal
from byteways.measuring.conduct.opening import Opened, open_machine, topology_of
from byteways.measuring.conduct.probe import Probe, probe
from byteways.measuring.conduct.rank_checks import CheckedRanks, check_ranks
from byteways.measuring.conduct.simulation import Simulation, recorded_simulation, simulation_changes
from byteways.measuring.shared.launchers import job_for
from byteways.measuring.shared.options import RunOptions
from byteways.plan.planner import Plan
from byteways.plan.suite import parse
from byteways.plan.suite_types import Suite
from byteways.record import manifest as manifests
from byteways.record.libraries import version_of
from byteways.record.record import SCHEMA_VERSION, Record
from byteways.record.run_folder import JOURNAL, LOG, MANIFEST, damaged_manifest, read_journal, read_manifest


def take_up(
    folder: Path,
    tick: Callable[[], None],
    suite: Suite | None = None,
    command: Sequence[str] | None = None,
    asked: Simulation | None = None,
    launcher: str | None = None,
) -> Execution:
    """Resumes an interrupted run; only cases without a record remain.

    Args:
        suite: The suite given with --resume, if any; must be the run's.
        asked: The machine model and faults given with --resume, if any; must be the run's.
        launcher: The one given with --resume; must be the run's.

    Raises:
        BytewaysError: The folder is not a run, another process uses it, machine, code or suite have
            changed, or its launcher is not repeated.
    """
    started = time.monotonic()
    manifest = read_manifest(folder)
    options = _recorded_options(folder, manifest, suite, launcher)
    simulation = _recorded(folder, manifest, asked)
    journal = Journal(folder)
    machine: Opened | None = None
    ranks = CheckedRanks()
    try:
        recorded = journal.repair()
        spent_s = sum(record.wall_s or 0.0 for record in recorded.records)
        machine = open_machine(folder, tick, command, simulation, options.launcher)
        if changes := _changes(manifest, machine.topology, machine.probed):
            raise _changed(folder, changes)
        plan, remaining = _missing(folder, manifest, options, recorded.records)
        if simulation is None and any(one.case.ranks and one.reason is None for one in remaining):
            ranks = _checked_ranks(folder, manifest, options, plan, machine, tick)
        if remaining:
            manifest = {**manifest, "state": "running", "planned": len(plan.cases)}
            manifests.write(folder, manifest)
    except BaseException:
        if machine is not None and machine.worker is not None:
            machine.worker.kill()
        ranks.kill()
        journal.close()
        raise
    return Execution(
        folder,
        journal,
        manifest,
        machine,
        list(plan.cases),
        remaining,
        plan.budget_s if options.for_s is None else None,
        started,
        machine.worker,
        spent_s=spent_s,
        repetition=repetition_of(
            [planned for planned in plan.cases if planned.round == 0],
            options,
            simulation is not None,
            spent_s,
            1 + max(planned.round for planned in plan.cases),
        ),
        ranks=ranks.kept_for(remaining),
    )


def missing_plan(
    folder: Path,
    suite: Suite | None = None,
    command: Sequence[str] | None = None,
    asked: Simulation | None = None,
    launcher: str | None = None,
) -> DryRun:
    """Returns the plan that take_up() would measure, without changing the run.

    Raises:
        BytewaysError: As for take_up(), but another process may use the run.
    """
    manifest = read_manifest(folder)
    options = _recorded_options(folder, manifest, suite, launcher)
    simulation = _recorded(folder, manifest, asked)
    recorded = read_journal(folder / JOURNAL).records
    probed = simulation.probe(command) if simulation else probe(command, launcher=options.launcher)
    topology = topology_of(probed, simulation)
    if changes := _changes(manifest, topology, probed):
        raise _changed(folder, changes)
    plan, remaining = _missing(folder, manifest, options, recorded)
    left = replace(plan, cases=tuple(remaining), estimated_s=planned_seconds(remaining))
    simulated = simulation is not None
    return DryRun.of(left, options, topology, probed.capabilities, simulated=simulated)


def _checked_ranks(
    folder: Path,
    manifest: Mapping[str, Any],
    options: RunOptions,
    plan: Plan,
    machine: Opened,
    tick: Callable[[], None],
) -> CheckedRanks:
    """Starts the ranks. Raises BytewaysError if they do not start, or use another MPI than before."""
    job = job_for(plan.cases, options, machine.topology, machine.probed.capabilities)
    if job is None:
        return CheckedRanks()
    ranks = check_ranks(job, plan.cases, machine.topology, folder / LOG, tick)
    now = version_of("mpi", ranks.libraries)
    if (before := version_of("mpi", manifest.get("libraries") or ())) != now:
        ranks.kill()
        raise _changed(folder, [f"MPI: {before or 'none'} became {now or 'none'}"])
    return ranks


def _missing(
    folder: Path,
    manifest: Mapping[str, Any],
    options: RunOptions,
    recorded: Sequence[Record],
) -> tuple[Plan, list[PlannedCase]]:
    """Returns the run's plan, and its cases without a record.

    Raises:
        BytewaysError: The plan is damaged or does not match the records.
    """
    own = options.applied(parse(manifest["suite"]["text"], file=f"{folder / MANIFEST} (suite)"))
    plan = plan_file.read(folder, own)
    done = {(record.case_id, record.round) for record in recorded}
    unknown = done - {case.key for case in plan.cases}
    # A repeated suite adds a round first to the plan, then to the manifest.
    grown = options.for_s is not None and len(plan.cases) >= manifest["planned"]
    if unknown or not (grown or len(plan.cases) == manifest["planned"]):
        counts = f"{manifest['planned']} cases became {len(plan.cases)}"
        raise _changed(folder, [f"plan: {counts}, {len(unknown)} records match no case"])
    return plan, [case for case in plan.cases if case.key not in done]


def _recorded_options(
    folder: Path, manifest: Mapping[str, Any], suite: Suite | None, launcher: str | None
) -> RunOptions:
    """Returns the options of a run to resume.

    Raises:
        BytewaysError: They are invalid, `suite` or `launcher` is not the run's, or an earlier version wrote
            the run.
    """
    if manifest["schema_version"] != SCHEMA_VERSION:
        raise BytewaysError(
            f"{folder} was written by an earlier version: it can be read, but not resumed",
            cause=f"its records have schema version {manifest['schema_version']}; this version writes "
            f"{SCHEMA_VERSION}, and a run cannot mix them",
            hint="start a new run: byteways run",
        )
    if suite is not None and suite.text != manifest["suite"]["text"]:
        raise _changed(folder, [f"suite: '{suite.name}' changed since the run was started"])
    try:
        options = RunOptions.from_json(manifest["options"])
    except ValueError as error:
        raise damaged_manifest(folder / MANIFEST, f"options: {error}") from error
    options.check_launcher(folder, launcher)
    return options


def _recorded(folder: Path, manifest: Mapping[str, Any], asked: Simulation | None) -> Simulation | None:
    """Returns the run's simulation. Raises BytewaysError if a different one is requested."""
    simulation = recorded_simulation(folder, manifest)
    if changes := simulation_changes(simulation, asked):
        raise _changed(folder, changes)
    return simulation


def _changes(manifest: Mapping[str, Any], topology: Topology, probed: Probe) -> list[str]:
    """Lists what changed since the run began, each as 'what: old became new'."""
    before = manifest["fingerprint"]
    simulated = manifest.get("machine_model") is not None
    after = manifests.fingerprint(topology, probed.capabilities, probed.method_version, simulated)
    changes = [
        f"{name}: {before[name]} became {after[name]}"
        for name in ("driver", "code", "method_version", "host_loops")
        if name in before and before[name] != after[name]
    ]
    if before["topology"] != after["topology"]:
        parts = manifests.topology_changes(manifest["topology"], topology.to_json())
        changes.append(f"topology: {'; '.join(parts)}")
    return changes


def _changed(folder: Path, changes: Sequence[str]) -> BytewaysError:
    return BytewaysError(
        f"{folder} cannot be resumed: results before and after would not be comparable",
        cause="; ".join(changes),
        hint="start a new run: byteways run",
    )
