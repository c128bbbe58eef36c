"""A run from its folder's point of view: begun or taken up again, measured, and finished, whatever happens
between.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from byteways.errors import BytewaysError
from byteways.plan.case import PlannedCase
from byteways.plan.planner import Plan, make_plan
from byteways.plan.suite import parse
from byteways.plan.suite_types import Suite
from byteways.results import manifest as manifests
from byteways.results.record import Record
from byteways.results.run_folder import JOURNAL, LOG, MANIFEST, read_journal, read_manifest
from byteways.run.conductor import Conductor, Interrupted, Observer, deadline_s
from byteways.run.journal import Journal
from byteways.run.options import Options
from byteways.run.probe import Probe, lost_probe, probe, probe_with
from byteways.run.process import WorkerLost, WorkerProcess
from byteways.run.simulation import (
    SHEET,
    Simulation,
    recorded_simulation,
    simulated_deadline_s,
    simulation_changes,
)
from byteways.topology import discover
from byteways.topology.model import Topology

#: Of the run's budget, kept for the report and for closing the runtimes: at most so much, and such a part.
RESERVE_S = 3.0
RESERVE_PART = 0.15


@dataclass
class Execution:
    """A run that is ready to be measured: folder locked, machine probed, plan made, manifest written."""

    folder: Path
    journal: Journal
    manifest: dict[str, Any]
    topology: Topology
    method_version: int
    planned: list[PlannedCase]  # all of it
    remaining: list[PlannedCase]  # without a record
    budget_s: float | None
    started: float  # monotonic seconds
    command: Sequence[str] | None = None
    worker: WorkerProcess | None = None
    spent_s: float = 0.0  # by the records that were there when the run was taken up
    state: str = field(default="running")

    def measure(self, observer: Observer, on_start: Callable[[Conductor], None] = lambda _: None) -> None:
        """Measures what remains; afterwards `state` is `complete` or `interrupted` and the manifest says so.

        Args:
            on_start: Given the conductor before it begins.

        Raises:
            BytewaysError: The journal cannot be written; everything before that is kept.
        """
        if not self.remaining and self.manifest["state"] == "complete":
            self.state = "complete"
            return
        total_s = None
        # A simulated run keeps to its plan: what it gives must not depend on how fast this machine is.
        simulated = self.manifest["simulated"]
        if self.budget_s is not None and not simulated:
            part = _seconds(self.remaining) / max(_seconds(self.planned), 1e-9)
            own_s = max(part * self.budget_s, self.budget_s - self.spent_s)
            total_s = max(1.0, own_s - reserve_s(self.budget_s) - (time.monotonic() - self.started))
        conductor = Conductor(
            self.journal,
            self.topology,
            self.method_version,
            observer,
            total_s=total_s,
            # Asked for so much time, a run uses it; a suite's own budget is a limit, and sooner is better.
            lengthen=self.manifest["options"]["budget_s"] is not None,
            command=self.command,
            deadline=simulated_deadline_s if simulated else deadline_s,
            worker=self.worker,
        )
        self.worker = None  # the conductor's from here on
        on_start(conductor)
        self.state = "interrupted"
        try:
            conductor.run(self.remaining)
            self.state = "complete"
        except Interrupted:
            pass
        self.journal.sync()
        wall_s = time.monotonic() - self.started
        self.manifest = manifests.finish(self.manifest, self.state, wall_s)
        manifests.write(self.folder, self.manifest)

    def close(self) -> None:
        """Lets go of worker and folder, if they are still held."""
        if self.worker is not None:
            self.worker.stop()
            self.worker = None
        self.journal.close()


def reserve_s(budget_s: float) -> float:
    """What of a run's budget is not for measuring."""
    return min(RESERVE_S, RESERVE_PART * budget_s)


def _seconds(plan: Sequence[PlannedCase]) -> float:
    return sum(planned.estimated_s for planned in plan if planned.reason is None)


def check_new_folder(folder: Path) -> None:
    """Makes sure that a new run may use the folder, which need not exist.

    Raises:
        BytewaysError: It holds something, is a file, or cannot be read.
    """
    try:
        occupied = folder.exists() and any(folder.iterdir())
        is_run = (folder / MANIFEST).exists()
    except OSError as error:
        raise _no_folder(folder, error) from error
    if occupied:
        hint = f"byteways run --resume {folder}, or another --out" if is_run else "choose another --out"
        raise BytewaysError(f"{folder} is not empty", hint=hint)


def _no_folder(folder: Path, error: OSError) -> BytewaysError:
    return BytewaysError(
        f"cannot use the run folder {folder}", cause=error.strerror, hint="choose another --out"
    )


def dry_plan(
    suite: Suite,
    options: Options,
    command: Sequence[str] | None = None,
    simulation: Simulation | None = None,
) -> Plan:
    """The plan that a run would have. Raises BytewaysError when the machine cannot be probed."""
    probed = simulation.probe(command) if simulation else probe(command)
    return _plan(
        options.applied(suite), _topology(probed, simulation), probed, options, simulation is not None
    )


def _topology(probed: Probe, simulation: Simulation | None) -> Topology:
    agents = probed.capabilities.agents
    return simulation.topology(agents) if simulation else discover(agents)


def begin(
    suite: Suite,
    options: Options,
    folder: Path,
    command_line: Sequence[str],
    tick: Callable[[], None],
    command: Sequence[str] | None = None,
    simulation: Simulation | None = None,
) -> Execution:
    """Starts a new run in a new folder.

    Args:
        tick: Called while waiting for the probe; may raise Interrupted.
        simulation: What is played in place of this machine.

    Raises:
        BytewaysError: The folder is taken, the machine cannot be probed, or there is nothing to measure.
        Interrupted: From `tick`; the folder is as it was before.
    """
    started = time.monotonic()
    existed = folder.is_dir()
    journal = _claim(folder)
    worker: WorkerProcess | None = None
    try:
        if simulation:
            command = simulation.command(simulation.write_sheet(folder), command)
        worker, probed = _probed(folder, tick, command)
        topology = _topology(probed, simulation)
        tick()
        applied = options.applied(suite)
        plan = _some(_plan(applied, topology, probed, options, simulation is not None))
        planned = list(plan.cases)
        manifest = manifests.build(
            command_line=command_line,
            suite=_suite_json(applied),
            options=options.to_json(),
            planned=len(planned),
            topology=topology,
            capabilities=probed.capabilities,
            libraries=probed.libraries,
            method_version=probed.method_version,
            machine_model=simulation.to_json() if simulation else None,
        )
        manifests.write(folder, manifest)
    except BaseException:
        if worker is not None:
            worker.kill()
        journal.close()
        _remove(folder, existed)
        raise
    return Execution(
        folder,
        journal,
        manifest,
        topology,
        probed.method_version,
        planned,
        planned,
        plan.budget_s,
        started,
        command,
        worker,
    )


def _claim(folder: Path) -> Journal:
    """Makes the folder if need be, and locks it for this run."""
    check_new_folder(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _no_folder(folder, error) from error
    journal = Journal(folder)
    used = journal.read().finished_bytes > 0 or (folder / MANIFEST).exists()
    if used:  # another run began and ended since the look above
        journal.close()
        raise BytewaysError(f"another run has just used {folder}", hint="choose another --out")
    return journal


def take_up(
    folder: Path,
    tick: Callable[[], None],
    suite: Suite | None = None,
    command: Sequence[str] | None = None,
    asked: Simulation | None = None,
) -> Execution:
    """Takes up a run that was cut short: only cases without a record remain.

    Args:
        suite: The suite the user named beside --resume, if any; must be the run's.
        asked: The machine model and faults beside --resume, if any; must be the run's.

    Raises:
        BytewaysError: It is no run, another process has it, or machine, code or suite are not what they were.
    """
    started = time.monotonic()
    manifest = read_manifest(folder)
    options = _asked(folder, manifest, suite)
    simulation = _recorded(folder, manifest, asked)
    journal = Journal(folder)
    worker: WorkerProcess | None = None
    try:
        recorded = journal.repair()
        if simulation:
            command = simulation.command(simulation.write_sheet(folder), command)
        worker, probed = _probed(folder, tick, command)
        topology = _topology(probed, simulation)
        plan, remaining = _missing(folder, manifest, options, recorded.records, topology, probed)
        if remaining:
            manifest = {**manifest, "state": "running"}
            manifests.write(folder, manifest)
    except BaseException:
        if worker is not None:
            worker.kill()
        journal.close()
        raise
    return Execution(
        folder,
        journal,
        manifest,
        topology,
        probed.method_version,
        list(plan.cases),
        remaining,
        plan.budget_s,
        started,
        command,
        worker,
        spent_s=sum(record.wall_s or 0.0 for record in recorded.records),
    )


def missing_plan(
    folder: Path,
    suite: Suite | None = None,
    command: Sequence[str] | None = None,
    asked: Simulation | None = None,
) -> Plan:
    """What take_up() would measure, without touching the run.

    Raises:
        BytewaysError: As take_up(), but another process may have the run.
    """
    manifest = read_manifest(folder)
    options = _asked(folder, manifest, suite)
    simulation = _recorded(folder, manifest, asked)
    recorded = read_journal(folder / JOURNAL).records
    probed = simulation.probe(command) if simulation else probe(command)
    topology = _topology(probed, simulation)
    plan, remaining = _missing(folder, manifest, options, recorded, topology, probed)
    return replace(plan, cases=tuple(remaining), estimated_s=_seconds(remaining))


def _missing(
    folder: Path,
    manifest: Mapping[str, Any],
    options: Options,
    recorded: Sequence[Record],
    topology: Topology,
    probed: Probe,
) -> tuple[Plan, list[PlannedCase]]:
    """The run's plan made again, and its cases without a record.

    Raises:
        BytewaysError: Machine, code or plan are not what they were.
    """
    if changes := _changes(manifest, topology, probed):
        raise _changed(folder, changes)
    own = options.applied(parse(manifest["suite"]["text"], file=f"{folder / MANIFEST} (suite)"))
    plan = _plan(own, topology, probed, options, manifest["simulated"])
    done = {(record.case_id, record.replicate) for record in recorded}
    unknown = done - {case.key for case in plan.cases}
    if len(plan.cases) != manifest["planned"] or unknown:
        counts = f"{manifest['planned']} cases became {len(plan.cases)}"
        raise _changed(folder, [f"plan: {counts}, {len(unknown)} records belong to none"])
    return plan, [case for case in plan.cases if case.key not in done]


def _asked(folder: Path, manifest: Mapping[str, Any], suite: Suite | None) -> Options:
    """The options of the run. Raises BytewaysError when they are none, or when `suite` is not the run's."""
    if suite is not None and suite.text != manifest["suite"]["text"]:
        raise _changed(folder, [f"suite: '{suite.name}' is not the text the run was started with"])
    try:
        return Options.from_json(manifest["options"])
    except TypeError as error:
        raise BytewaysError(f"{folder / MANIFEST} is damaged", cause=f"options: {error}") from error


def _recorded(folder: Path, manifest: Mapping[str, Any], asked: Simulation | None) -> Simulation | None:
    """The run's own simulation. Raises BytewaysError when another one is asked for."""
    simulation = recorded_simulation(folder, manifest)
    if changes := simulation_changes(simulation, asked):
        raise _changed(folder, changes)
    return simulation


def _plan(suite: Suite, topology: Topology, probed: Probe, options: Options, simulated: bool) -> Plan:
    """Virtual time costs little: on a simulated machine a suite's own budget leaves nothing out."""
    return make_plan(
        replace(suite, budget_s=None) if simulated else suite,
        topology,
        probed.capabilities,
        only=options.only,
        sizes=options.sizes,
        budget_s=options.budget_s,
    )


def _some(plan: Plan) -> Plan:
    """The plan. Raises BytewaysError when there are none."""
    if not plan.cases:
        raise BytewaysError(
            "nothing to measure: no case matches", hint="byteways run --dry-run shows the plan"
        )
    return plan


def _probed(
    folder: Path, tick: Callable[[], None], command: Sequence[str] | None
) -> tuple[WorkerProcess, Probe]:
    """A worker that has probed the machine and goes on to measure."""
    worker: WorkerProcess | None = None
    try:
        worker = WorkerProcess(folder / LOG, command=command, tick=tick)
        return worker, probe_with(worker)
    except WorkerLost as loss:
        if worker is not None:
            worker.kill()
        raise lost_probe(loss) from loss
    except BaseException:
        if worker is not None:
            worker.kill()
        raise


def _suite_json(suite: Suite) -> dict[str, Any]:
    return {"name": suite.name, "title": suite.title, "text": suite.text, "replicates": suite.replicates}


def _changes(manifest: Mapping[str, Any], topology: Topology, probed: Probe) -> list[str]:
    """What is not as it was when the run began, each as 'what: old became new'."""
    before = manifest["fingerprint"]
    after = manifests.fingerprint(topology, probed.capabilities, probed.method_version)
    changes = [
        f"{name}: {before[name]} became {after[name]}"
        for name in ("driver", "code", "method_version")
        if before[name] != after[name]
    ]
    if before["topology"] != after["topology"]:
        parts = manifests.topology_changes(manifest["topology"], topology.to_json())
        changes.append(f"topology: {'; '.join(parts)}")
    return changes


def _changed(folder: Path, changes: Sequence[str]) -> BytewaysError:
    return BytewaysError(
        f"{folder} cannot be taken up: its figures would not belong together",
        cause="; ".join(changes),
        hint="start a new run: byteways run",
    )


def _remove(folder: Path, existed: bool) -> None:
    """Takes away what a run left that never began."""
    for name in (JOURNAL, LOG, SHEET):
        (folder / name).unlink(missing_ok=True)
    if not existed:
        folder.rmdir()
