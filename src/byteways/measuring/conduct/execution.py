"""A run as seen from its folder: begin, measure and finish, whatever happens in between.

resume.py resumes an interrupted run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from byteways.cases.case import PlannedCase
from byteways.machine.model import Topology
from byteways.machine.unusable_gpus import unusable_here
from byteways.measuring.conduct import plan_file
from byteways.measuring.conduct.conductor import Conductor, Interrupted, Observer, deadline_s
from byteways.measuring.conduct.journal import Journal
from byteways.measuring.conduct.new_folder import claim_folder, restore_folder
from byteways.measuring.conduct.opening import Opened, open_machine
from byteways.measuring.conduct.probe import Probe
from byteways.measuring.conduct.process import WorkerProcess
from byteways.measuring.conduct.rank_checks import CheckedRanks, as_loaded, check_ranks, doubts_about_ranks
from byteways.measuring.conduct.settling import OpenCases, settling
from byteways.measuring.conduct.simulation import Simulation, recorded_simulation, simulated_deadline_s
from byteways.measuring.conduct.skipped_cases import Lacks, check_some
from byteways.measuring.conduct.suite_choice import SuiteChoice, SuiteOf
from byteways.measuring.shared.launchers import Job, check_launcher, job_for
from byteways.measuring.shared.options import RunOptions
from byteways.plan.planner import Plan, make_plan
from byteways.plan.suite_types import Suite
from byteways.record import manifest as manifests
from byteways.record.run_folder import (
    JOURNAL,
    LOG,
    read_journal,
    read_manifest,
)

#: Time reserved for the report and for closing the runtimes: at most seconds, and fraction of the budget.
RESERVE_S = 3.0
RESERVE_PART = 0.15


@dataclass(frozen=True)
class Repetition:
    """Repetition of a suite for a duration.

    A simulated run uses a number of rounds instead, computed from the plan's estimates: its result must not
    depend on the speed of this machine.
    """

    cases: tuple[PlannedCase, ...]  # of one round, without skipped cases
    left_s: float  # remaining part of the requested duration
    rounds: int | None  # of a simulated run; None: as many as the time allows
    next_round: int = 1  # number of the first additional round

    def until(self, started: float) -> float | None:
        """Returns the monotonic time in seconds after which nothing starts; None if rounds are counted."""
        return started + self.left_s if self.rounds is None else None

    def over(self, number: int) -> bool:
        """Whether the round with this number does not take place."""
        return not self.cases or (self.rounds is not None and number >= self.rounds)

    def round(self, number: int) -> list[PlannedCase]:
        return [replace(planned, round=number) for planned in self.cases]


def repetition_of(
    plan: Sequence[PlannedCase], options: RunOptions, simulated: bool, spent_s: float = 0.0, begun: int = 1
) -> Repetition | None:
    """Returns the repetition; None without a requested duration.

    Args:
        plan: The plan of one round.
        options: Holds the duration.
        simulated: Whether a machine model is simulated.
        spent_s: Part of the duration already used, by existing records.
        begun: Number of rounds begun so far.
    """
    if options.for_s is None:
        return None
    running = tuple(planned for planned in plan if planned.reason is None)
    rounds = round(options.for_s / max(planned_seconds(running), 1e-3)) if simulated else None
    return Repetition(running, max(0.0, options.for_s - spent_s), rounds, begun)


@dataclass
class Execution:
    """A run ready to measure: folder locked, machine probed, plan and manifest written."""

    folder: Path
    journal: Journal
    manifest: dict[str, Any]
    machine: Opened
    planned: list[PlannedCase]  # the whole plan
    remaining: list[PlannedCase]  # cases without a record
    budget_s: float | None
    started: float  # monotonic seconds
    worker: WorkerProcess | None  # until the conductor takes it over
    spent_s: float = 0.0  # measuring time before the run was resumed
    state: str = field(default="running")
    repetition: Repetition | None = None  # if the run has a duration
    substitutes: tuple[str, ...] = ()  # of the plan
    ranks: WorkerProcess | None = None  # that measure the first case; until the conductor takes them over
    _conductor: Conductor | None = None

    @cached_property
    def job(self) -> Job | None:
        """How the ranks of the plan start; None: it has none. Raises BytewaysError, see find_launcher()."""
        simulated = recorded_simulation(self.folder, self.manifest) is not None
        options = RunOptions.from_json(self.manifest["options"])
        machine = self.machine
        return job_for(
            self.planned, options, machine.topology, machine.probed.capabilities, simulated=simulated
        )

    def doubts(self) -> list[str]:
        """Returns what makes results other than asked for: memory that stands in, and ranks that share."""
        if self.job is None:
            return [*self.substitutes]
        asked = self.manifest["options"].get("ranks")
        ranks = doubts_about_ranks(self.job, self.planned, self.machine.topology, asked)
        return [*self.substitutes, *ranks]

    def measure(
        self,
        observer: Observer,
        on_start: Callable[[Conductor], None] = lambda _: None,
        on_round: Callable[[int, int], None] = lambda number, cases: None,
        open_cases: OpenCases | None = None,
        *,
        to_budget: bool = False,
    ) -> None:
        """Measures what remains; then sets `state` to `complete` or `interrupted`, also in the manifest.

        Args:
            on_start: Receives the conductor before it begins.
            on_round: Receives the number of an additional round (from 1) and its number of cases.
            open_cases: Says which cases further rounds are to measure (settling.py); None: none.
            to_budget: Whether these may use up a suite's own budget.

        Raises:
            BytewaysError: The journal cannot be written; everything recorded before is kept.
        """
        if not self.remaining and self.manifest["state"] == "complete":
            self.state = "complete"
            return
        total_s = None
        # A simulated run follows its plan exactly: its result must not depend on the speed of this machine.
        simulation = recorded_simulation(self.folder, self.manifest)
        simulated = simulation is not None
        if self.budget_s is not None and not simulated:
            part = planned_seconds(self.remaining) / max(planned_seconds(self.planned), 1e-9)
            own_s = max(part * self.budget_s, self.budget_s - self.spent_s)
            total_s = max(1.0, own_s - reserve_s(self.budget_s) - (time.monotonic() - self.started))
        conductor = Conductor(
            self.journal,
            self.machine.topology,
            self.machine.probed.method_version,
            observer,
            total_s=total_s,
            # An explicit budget is used up; a suite's own budget is only an upper limit.
            given=self.manifest["options"]["budget_s"] is not None,
            command=self.machine.command,
            deadline=simulated_deadline_s if simulated else deadline_s,
            worker=self.worker,
            ranks=self.ranks,
            model=simulation.model if simulation else None,
            job=self.job,
        )
        self.worker, self.ranks, self._conductor = None, None, conductor  # which now owns the workers
        on_start(conductor)
        self.state = "interrupted"
        try:
            if self.repetition is None:
                self._settle(conductor, open_cases, on_round, to_budget=to_budget)
            else:
                self._repeat(conductor, self.repetition, on_round)
            self.state = "complete"
        except Interrupted:
            pass
        self.journal.sync()
        wall_s = time.monotonic() - self.started
        self.manifest = manifests.finish(self.manifest, self.state, wall_s, conductor.memory_trials)
        manifests.write(self.folder, self.manifest)

    def _settle(
        self,
        conductor: Conductor,
        open_cases: OpenCases | None,
        on_round: Callable[[int, int], None],
        *,
        to_budget: bool,
    ) -> None:
        """Measures what remains, then the rounds that open comparisons need."""
        if open_cases is None:
            conductor.run(self.remaining)
            return
        conductor.run(self.remaining, keep_worker=True)
        options = RunOptions.from_json(self.manifest["options"])
        spent_s, slowness = 0.0, 1.0
        if recorded_simulation(self.folder, self.manifest) is None:
            spent_s = self.spent_s + time.monotonic() - self.started + reserve_s(self.budget_s or 0.0)
            slowness = conductor.slowness
        further = settling(
            self.folder, self.planned, options, self.budget_s, spent_s, slowness, to_budget=to_budget
        )
        for cases in further.rounds(open_cases) if further else ():
            self._add_round(cases, on_round)
            conductor.run(cases, keep_worker=True)
        conductor.run([])

    def _add_round(self, cases: Sequence[PlannedCase], on_round: Callable[[int, int], None]) -> None:
        """Adds a round to the plan of the run before it is measured."""
        plan_file.append(self.folder, cases)
        self.planned += cases
        self.manifest = {**self.manifest, "planned": self.manifest["planned"] + len(cases)}
        manifests.write(self.folder, self.manifest)
        on_round(cases[0].round, len(cases))

    def _repeat(
        self, conductor: Conductor, repetition: Repetition, on_round: Callable[[int, int], None]
    ) -> None:
        """Runs additional rounds until the time is over, and withdraws cases that did not start."""
        until = repetition.until(self.started)
        cases, number = self.remaining, repetition.next_round
        while True:
            conductor.run(cases, until=until, keep_worker=True)
            if repetition.over(number) or (until is not None and time.monotonic() >= until):
                break
            cases = repetition.round(number)
            self._add_round(cases, on_round)
            number += 1
        conductor.run([])
        # An interrupted run keeps its unmeasured cases in the plan, and --resume measures them.
        recorded = {(record.case_id, record.round) for record in read_journal(self.folder / JOURNAL).records}
        if not_begun := [planned.key for planned in self.planned if planned.key not in recorded]:
            plan_file.withdraw(self.folder, not_begun)
        self.manifest = {**self.manifest, "planned": len(self.planned) - len(not_begun)}

    def close(self) -> None:
        """Releases workers and folder if still held; waits until the workers have exited."""
        for worker in (self.worker, self.ranks):
            if worker is not None:
                worker.stop()
        self.worker = self.ranks = None
        if self._conductor is not None:
            self._conductor.close()
        self.journal.close()


def reserve_s(budget_s: float) -> float:
    """Returns the seconds of a run's budget that are reserved for other work than measuring."""
    return min(RESERVE_S, RESERVE_PART * budget_s)


def planned_seconds(plan: Sequence[PlannedCase]) -> float:
    """Returns the estimated seconds of all cases that are not skipped."""
    return sum(planned.estimated_s for planned in plan if planned.reason is None)


def begin(
    suite: Suite | SuiteOf,
    options: RunOptions,
    folder: Path,
    command_line: Sequence[str],
    tick: Callable[[], None],
    command: Sequence[str] | None = None,
    simulation: Simulation | None = None,
    study: Mapping[str, Any] | None = None,
    on_sweep: Callable[[int, int], None] = lambda done, cases: None,
    started: float | None = None,
) -> Execution:
    """Starts a new run in a new folder.

    Args:
        suite: What to measure, or what returns it for this machine.
        tick: Called while waiting for the probe; may raise Interrupted.
        simulation: The simulated machine; None: this machine.
        study: `key` and `title` of the publication that the run reproduces, for the manifest.
        on_sweep: Progress of planning: receives the numbers of sweeps done and of cases so far.
        started: Monotonic seconds from which the budget counts; None: now.

    Raises:
        BytewaysError: The folder is taken, the user's launcher does not exist, the machine cannot be probed,
            or there is nothing to measure.
        Interrupted: From `tick`; the folder is restored.
    """
    started = time.monotonic() if started is None else started
    check_launcher(options, simulated=simulation is not None)
    existed = folder.is_dir()
    journal = claim_folder(folder)
    machine: Opened | None = None
    ranks = CheckedRanks()
    try:
        chosen = SuiteChoice(suite, options, simulation is not None)
        machine = open_machine(folder, tick, command, simulation, options.launcher, chosen.scope())
        applied = chosen.applied
        topology, probed = machine.topology, machine.probed
        tick()

        def planning(done: int, cases: int) -> None:
            tick()
            on_sweep(done, cases)

        plan = plan_of(applied, topology, probed, options, simulation is not None, planning)
        planned = list(plan.cases)
        check_some(planned, Lacks(probed.capabilities, probed.libraries, simulation is not None))
        libraries = [*probed.libraries]
        simulated = simulation is not None
        job = job_for(planned, options, topology, probed.capabilities, simulated=simulated)
        if simulation is not None:
            simulation.check_ranks(job.ranks if job else 0)
        elif job is not None:
            ranks = check_ranks(job, planned, topology, folder / LOG, tick)
            libraries = as_loaded([*libraries, *ranks.libraries])
        plan_file.write(folder, plan)
        manifest = manifests.build(
            command_line=command_line,
            suite=suite_json(applied),
            options=options.to_json(),
            planned=len(planned),
            topology=topology,
            capabilities=probed.capabilities,
            libraries=libraries,
            method_version=probed.method_version,
            unusable_gpus=[] if simulation else unusable_here(probed.capabilities.devices, libraries),
            machine_model=simulation.to_json() if simulation else None,
            study=study,
            sample=plan.sample.to_json() if plan.sample else None,
        )
        manifests.write(folder, manifest)
        _read_back(folder, applied)
    except BaseException:
        if machine is not None and machine.worker is not None:
            machine.worker.kill()
        ranks.kill()
        journal.close()
        restore_folder(folder, existed)
        raise
    return Execution(
        folder,
        journal,
        manifest,
        machine,
        planned,
        [*planned],
        plan.budget_s if options.for_s is None else None,
        started,
        machine.worker,
        repetition=repetition_of(plan.cases, options, simulation is not None),
        substitutes=plan.substitutes,
        ranks=ranks.kept_for(planned),
    )


def _read_back(folder: Path, suite: Suite) -> None:
    """Reads what was written as --resume will, before hours of measuring depend on it.

    Raises:
        BytewaysError: It cannot be read.
    """
    manifest = read_manifest(folder)
    recorded_simulation(folder, manifest)
    RunOptions.from_json(manifest["options"])
    plan_file.read(folder, suite)


def plan_of(
    suite: Suite,
    topology: Topology,
    probed: Probe,
    options: RunOptions,
    simulated: bool,
    on_sweep: Callable[[int, int], None],
) -> Plan:
    """Returns the plan. On a simulated machine a suite's own budget is ignored: virtual time costs little."""
    return make_plan(
        replace(suite, budget_s=None) if simulated else suite,
        topology,
        probed.capabilities,
        only=options.only,
        sizes=options.sizes,
        budget_s=options.budget_s,
        ranks=options.ranks,
        with_self=options.with_self,
        all_devices=options.all_devices,
        on_sweep=on_sweep,
    )


def suite_json(suite: Suite) -> dict[str, Any]:
    return {"name": suite.name, "title": suite.title, "text": suite.text, "rounds": suite.rounds}
