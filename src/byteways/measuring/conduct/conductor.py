"""Executes a plan: one worker per process environment, one record per case, whatever happens to the workers.

The conductor never opens a GPU and never loads the native core, so no driver can crash it. A worker that
dies, hangs or breaks the protocol costs the current case; a new worker continues.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from byteways.base.private_folder import private_folder
from byteways.base.settings import worker_command
from byteways.cases.case import Case, PlannedCase
from byteways.cases.interfaces import INTERFACES
from byteways.cases.options import RANK_ORDER
from byteways.cases.reasons import GIVEN_UP, LIBRARY_MEMORY, OUT_OF_TIME
from byteways.machine.model import Topology
from byteways.measuring.conduct.clock_watch import ClockWatch, without_clock
from byteways.measuring.conduct.journal import Journal, JournalEntry, entry_of
from byteways.measuring.conduct.library_choices import LibraryChoices, ProbeFailed
from byteways.measuring.conduct.library_memory_support import (
    TRIAL_LIMIT_S,
    TRIAL_S,
    LibraryMemorySupport,
)
from byteways.measuring.conduct.losses import GivenUp, Losses
from byteways.measuring.conduct.message_path import warned
from byteways.measuring.conduct.oversubscription import Oversubscription
from byteways.measuring.conduct.pace import Pace
from byteways.measuring.conduct.process import WorkerLost, WorkerProcess
from byteways.measuring.conduct.recording import measured_record, record_without_values
from byteways.measuring.shared.launchers import Job
from byteways.measuring.shared.library_log import LibraryLog
from byteways.measuring.shared.request import CaseRequest
from byteways.models.model import MachineModel
from byteways.plan.ranks import BY_DEVICE
from byteways.record.blame import FailureBlame
from byteways.record.record import Record
from byteways.record.run_folder import LOG


class Interrupted(Exception):  # noqa: N818 - a state, not a mistake
    """The run was asked to end early (Ctrl-C, SIGTERM); all finished cases are on disk."""


class Observer(Protocol):
    """Callbacks of a run, for the progress display or a test."""

    def began(self, planned: PlannedCase, position: int, time_left_s: float) -> None: ...
    def ended(self, record: Record) -> None: ...
    def tick(self) -> None:
        """Called about four times a second during a case. May raise Interrupted to end the run."""


#: Extra seconds for an energy measurement: idle power and sustained load (measuring/work/energy.py).
EXTRA_ENERGY_S = 30.0


def deadline_s(planned: PlannedCase, first: bool) -> float:
    """Returns the seconds after which a worker counts as hanging.

    Generous, because a false alarm loses a valid measurement. Assumes 100 MB/s for allocation, filling and
    verification, slower than any healthy machine; the first case also opens runtimes and compiles kernels.
    """
    moved = 2 * sum(planned.case.size_bytes for _ in planned.case.flows)
    sustained = EXTRA_ENERGY_S if planned.case.options.get("energy") else 0.0
    return 20.0 + 10.0 * planned.budget_s + moved / 100e6 + sustained + (60.0 if first else 0.0)


def _decided(planned: PlannedCase, pace: Pace, elapsed_s: float) -> PlannedCase:
    """Returns the case with why it is not measured; None: it is, maybe as one put back."""
    if planned.spare and pace.puts_back(planned, elapsed_s):
        planned = replace(planned, reason=None, reason_code=None)
    if planned.reason is not None or (over := pace.over(planned, elapsed_s)) is None:
        return planned
    return replace(planned, reason=over, reason_code=OUT_OF_TIME)


class _Attempt:
    """A case while it is measured: what its record says of when and by whom."""

    def __init__(self, planned: PlannedCase) -> None:
        self.planned = planned
        self._started_at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        self._began = time.monotonic()
        self._pid: int | None = None

    def by(self, worker: WorkerProcess) -> WorkerProcess:
        """Returns the worker, which measures from here on."""
        self._pid = worker.pid
        return worker

    def happened(self) -> dict[str, Any]:
        """Returns the fields of the record, with the time until now."""
        wall_s = round(time.monotonic() - self._began, 6)
        return {"started_at": self._started_at, "wall_s": wall_s, "worker": self._pid}


class Conductor:
    """Measures planned cases in order and journals each.

    Args:
        journal: Open journal of the run folder.
        topology: Source of peaks.
        method_version: Of the native core, as probed.
        observer: Receives every case; its tick() may raise Interrupted.
        total_s: Wall-time budget of all plans from the first on; None: unlimited.
        given: Whether the user gave that budget, see Pace.
        command: Worker program, see WorkerProcess.
        deadline: Returns the deadline of a case in seconds, see deadline_s.
        worker: A running worker without extra environment variables, used first.
        ranks: Ranks of `job` that run already, used by the first case between them.
        model: Machine model that the workers simulate; None: they measure this machine.
        job: How to start ranks; None: no case uses ranks.
    """

    def __init__(
        self,
        journal: Journal,
        topology: Topology,
        method_version: int,
        observer: Observer,
        *,
        total_s: float | None = None,
        given: bool = True,
        command: Sequence[str] | None = None,
        deadline: Callable[[PlannedCase, bool], float] = deadline_s,
        worker: WorkerProcess | None = None,
        ranks: WorkerProcess | None = None,
        model: MachineModel | None = None,
        job: Job | None = None,
    ) -> None:
        self._job = job
        self._journal = journal
        self._topology = topology
        self._method_version = method_version
        self._observer = observer
        self._total_s = total_s
        self._given = given
        self._command = command
        self._deadline = deadline
        self._log: Path = journal.folder / LOG
        self._worker = worker
        self._ranks = ranks
        self._leaving: WorkerProcess | None = None  # asked to exit, not yet reaped
        self._model = model
        self._process: tuple[str, dict[str, str]] = ("native", {})  # the worker's kind and environment
        self._round: int | None = None  # round of the worker's last case; None: no case yet
        self._began: float | None = None  # monotonic seconds; None: no plan yet
        self.slowness = 1.0  # of the last plan: its time over its estimate
        self._clock: ClockWatch | None = None  # of the worker
        self._losses = Losses()
        self._device_messages = LibraryMemorySupport(simulated=model is not None)
        self._choices = LibraryChoices()
        self._oversubscription = Oversubscription(job, len(os.sched_getaffinity(0)))

    def kill_at_once(self) -> None:
        """Kills the worker without waiting, for a process that exits immediately."""
        for worker in (self._worker, self._ranks, self._leaving):
            if worker is not None:
                worker.kill_at_once()

    @property
    def memory_trials(self) -> list[dict[str, Any]]:
        """Returns what memory libraries between ranks were tried with, as manifests have it."""
        return self._device_messages.trials

    def run(
        self, plan: Sequence[PlannedCase], *, until: float | None = None, keep_worker: bool = False
    ) -> None:
        """Measures the plan in order; spare cases come last and run only if time remains.

        Args:
            plan: The cases to measure.
            until: Monotonic time in seconds after which no case starts; None: all cases run.
            keep_worker: Whether to keep the worker for another call.

        Raises:
            Interrupted: By the observer; the current case has no record.
            BytewaysError: The journal cannot be written.
        """
        if self._began is None:
            self._began = time.monotonic()
        self._losses.begin()
        self._choices.plan(planned.case for planned in plan if planned.reason is None or planned.spare)
        pace = Pace(plan, self._total_s, given=self._given)
        kept = False
        try:
            for position, planned in enumerate(plan):
                if until is not None and time.monotonic() >= until:
                    break
                self._observer.began(planned, position, pace.time_left_s)
                started = time.monotonic()
                budget_s = pace.budget_s(planned, started - self._began)
                asked = _decided(planned, pace, started - self._began)
                entry = self._one(asked, budget_s)
                record = entry.record
                self._journal.add(entry)
                wall_s = time.monotonic() - started
                if asked.reason is not None:
                    if planned.spare or planned.reason is None:
                        pace.left_out(planned)
                elif record.status in ("lost", "timeout"):
                    pace.lost(planned, wall_s)
                else:
                    pace.done(planned, budget_s, wall_s)
                self._observer.ended(record)
            self.slowness = pace.slowness
            kept = keep_worker
            if not kept:
                self._dismiss()
        finally:
            if self._worker is not None and not kept:
                self._worker.kill()
                self._worker = None

    def close(self) -> None:
        """Waits until the workers that were asked to exit have exited; run() only asks, to return early."""
        self._reap()
        if self._ranks is not None:
            self._ranks.stop()
            self._ranks = None

    def _dismiss(self) -> None:
        """Lets the worker exit while its successor starts, which opens runtimes when asked."""
        if self._worker is not None:
            self._reap()
            self._worker.dismiss()
            self._leaving, self._worker = self._worker, None

    def _reap(self) -> None:
        if self._leaving is not None:
            self._leaving.stop()
            self._leaving = None

    def _one(self, planned: PlannedCase, budget_s: float) -> JournalEntry:
        """Measures one case, or records why it was not measured."""
        if (skipped := self._not_tried(planned)) is not None:
            return skipped
        attempt = _Attempt(planned)
        try:
            if self._model is None and self._choices.untried(planned.case):
                self._let_go()  # it may hold memory that the probe needs
                self._choices.learn(planned.case, self._probe_choices)
            worker = attempt.by(self._worker_for(planned))
            first = self._round is None
            request = self._request(planned, budget_s, fresh=not first and self._round != planned.round)
            self._round = planned.round
            if self._device_messages.untried(planned.case):
                self._try(worker, planned.case, request)
                if reason := self._device_messages.refusal(planned.case):
                    return self._skipped(planned, reason, LIBRARY_MEMORY)
                worker = attempt.by(self._worker_for(planned))
            limit_s = self._deadline(planned, first) * self._oversubscription.factor(planned.case)
            clock = self._clock_of(worker)
            clock.begin()
            answer = worker.ask(request.to_json(), limit_s, planned.case.devices_of_ranks)
            entry = self._measured(attempt, self._with_clock(clock, answer))
        except WorkerLost as loss:
            return self._lost(attempt, loss)
        if answer.get("leaving"):
            self._lose(planned, entry.record.reason or "the worker exited", blame=entry.record.blame)
        return entry

    def _clock_of(self, worker: WorkerProcess) -> ClockWatch:
        if self._clock is None or self._clock.worker is not worker:
            self._clock = ClockWatch(worker)
        return self._clock

    def _with_clock(self, clock: ClockWatch, answer: dict[str, Any]) -> dict[str, Any]:
        """Returns the answer, or one without figures if the worker's clock disagrees with this process's."""
        if answer.get("leaving") or answer.get("outcome", {}).get("status") != "measured":
            return answer
        try:
            doubt = clock.doubt()
        except WorkerLost:  # it has measured the case, and the next one needs another worker
            self._worker = None
            return answer
        return answer if doubt is None else {**answer, "outcome": without_clock(answer["outcome"], doubt)}

    def _not_tried(self, planned: PlannedCase) -> JournalEntry | None:
        """Returns the record of a case that is known not to run; None: it is measured."""
        if planned.reason is not None:
            return self._skipped(planned, planned.reason, planned.reason_code)
        if given_up := self._given_up(planned):
            return self._skipped(planned, given_up.reason, GIVEN_UP, given_up.blame)
        if reason := self._device_messages.refusal(planned.case):
            return self._skipped(planned, reason, LIBRARY_MEMORY)
        return None

    def _measured(self, attempt: _Attempt, answer: Mapping[str, Any]) -> JournalEntry:
        """Returns the record of a worker's answer. Raises WorkerLost if the answer is invalid."""
        planned, happened = attempt.planned, attempt.happened()
        try:
            outcome = answer["outcome"]
            if outcome.get("status") == "measured":
                if choice := self._choices.of(planned.case):
                    outcome = {**outcome, "library_choice": choice}
                if added := warned(self._device_messages.path(planned.case), outcome):
                    outcome = {**outcome, "warnings": [*outcome.get("warnings", []), *added]}
            record, samples = measured_record(
                planned, outcome, self._method_version, self._topology, self._model, **happened
            )
            return entry_of(record, samples)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise WorkerLost(f"worker sent an invalid outcome: {error}") from error

    def _lost(self, attempt: _Attempt, loss: WorkerLost) -> JournalEntry:
        """Gives the worker up and returns the record of the case that it lost."""
        planned = attempt.planned
        self._lose(planned, loss.reason, loss.status, brief=loss.brief, blame=loss.blame)
        version, happened = self._method_version, attempt.happened()
        lost = record_without_values(
            planned, version, loss.status, loss.reason, self._model, blame=loss.blame, **happened
        )
        return entry_of(lost)

    def _request(self, planned: PlannedCase, budget_s: float, fresh: bool) -> CaseRequest:
        request = CaseRequest.of(planned, budget_s, fresh=fresh)
        case, topology = planned.case, self._topology
        if case.ranks and self._job is not None:
            order = str(case.options.get(RANK_ORDER.name, BY_DEVICE))
            cores = tuple(rank.cores for rank in self._job.layout(topology, order))
            kinds = {kind: len(topology.names(kind)) for kind in ("cpu", "gpu")} if topology.hosts else {}
            request = replace(request, cores=cores, devices_of_host=kinds)
        if case.worker in ("torch", "ranks"):
            uuids = {device.name: device.uuid for device in topology.devices if device.uuid is not None}
            request = replace(request, uuids=uuids)
        return request

    def _skipped(
        self, planned: PlannedCase, reason: str, code: str | None, blame: FailureBlame | None = None
    ) -> JournalEntry:
        version, model = self._method_version, self._model
        return entry_of(
            record_without_values(planned, version, "skipped", reason, model, code=code, blame=blame)
        )

    def _try(self, worker: WorkerProcess, case: Case, request: CaseRequest) -> None:
        """Finds out whether the library moves the memory of a case."""
        message = request.trial(TRIAL_S).to_json()
        library = "UCX" if case.by_ucx else "the library"
        if INTERFACES[case.interface].between == "mpi":
            library = worker.hello.get("mpi", {}).get("version", "MPI")
        ask = partial(worker.ask, message, TRIAL_LIMIT_S, case.devices_of_ranks)

        def measure(probe: Case) -> Mapping[str, Any]:
            asked = replace(request, case=probe).trial(TRIAL_S).to_json()
            return worker.ask(asked, TRIAL_LIMIT_S, probe.devices_of_ranks)

        found = self._device_messages
        if found.try_out(case, ask, library) or found.find_path(case, self._topology, measure):
            worker.kill()
            self._worker = None

    def _probe_choices(
        self, environment: Mapping[str, str], cases: list[dict[str, Any]], limit_s: float
    ) -> list[dict[str, Any]]:
        """Carries out collectives in a process whose library writes its log. Raises ProbeFailed."""
        request = {"do": "choices", "cases": cases, "cores": [[]], "key": 1}
        request |= {"budget_s": 0.0, "precision": 1.0, "rounds": 1}
        try:
            with private_folder() as folder:
                variables = {**environment, **LibraryLog.variables(folder / "library.log")}
                command = [*(self._command or worker_command()), "--kind", "threads"]
                probe = WorkerProcess(self._log, variables, command, self._observer.tick)
                try:
                    return list(probe.ask(request, limit_s)["choices"])
                finally:
                    probe.kill()
        except (WorkerLost, KeyError, TypeError) as failure:
            raise ProbeFailed(str(failure)) from failure

    def _worker_for(self, planned: PlannedCase) -> WorkerProcess:
        """Returns the running worker if its kind and environment fit the case, otherwise another one."""
        process = planned.case.worker, dict(planned.case.environment)
        if self._worker is not None and self._process != process:
            self._dismiss()
        if self._worker is None:
            self._worker = self._started(planned.case)
            self._process = process
            self._round = None
            self._reap()
        return self._worker

    def _started(self, case: Case) -> WorkerProcess:
        """Returns a worker for the case: the ranks that run already, or a new one."""
        kind, environment, command = case.worker, dict(case.environment), self._command
        if kind == "ranks" and not environment and self._ranks is not None:
            ranks, self._ranks = self._ranks, None
            return ranks
        if case.ranks and self._model is not None:
            pass  # simulated ranks are threads of a simulating worker
        elif kind == "ranks" and self._job is not None:
            command, environment = self._job.command(), {**self._job.environment, **environment}
        elif kind != "native":
            command = [*(command or worker_command()), "--kind", kind]
        return WorkerProcess(self._log, environment, command, self._observer.tick)

    def _let_go(self) -> None:
        """Ends the worker. One that has measured nothing holds no memory, and is not waited for."""
        if self._worker is not None and self._round is None:
            self._dismiss()
        elif self._worker is not None:
            self._worker.stop()
            self._worker = None

    def _lose(
        self,
        planned: PlannedCase,
        reason: str,
        status: str = "lost",
        *,
        blame: FailureBlame | None = None,
        brief: str = "",
    ) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker = None
        if not self._oversubscription.is_late(planned.case, status, brief or reason):
            self._losses.add(planned.case, reason, hung=status == "timeout", blame=blame)

    def _given_up(self, planned: PlannedCase) -> GivenUp | None:
        """Returns why the case is skipped: too many workers were lost in cases like it, or ranks that share
        cores took too long.
        """
        if reason := self._oversubscription.reason(planned.case):
            return GivenUp(reason)
        return self._losses.given_up(planned.case)
