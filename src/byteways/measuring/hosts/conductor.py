"""Executes a plan between hosts: in each round of the tournament, all pairs measure one case after another,
each case at the same time; then all hosts together measure theirs.

Every group of hosts, case and round gets one record. Ranks that are lost cost the pairs that are to blame;
the others measure again with new ranks. Where a host was left out, the other hosts together measure a case of
their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any, Protocol

from byteways.cases.case import PlannedCase
from byteways.cases.reasons import GIVEN_UP, HOST_LEFT_OUT, LIBRARY_MEMORY
from byteways.measuring.conduct.conductor import deadline_s
from byteways.measuring.conduct.journal import Journal, JournalEntry, entry_of
from byteways.measuring.conduct.library_memory_support import TRIAL_LIMIT_S, TRIAL_S, LibraryMemorySupport
from byteways.measuring.conduct.process import WorkerLost
from byteways.measuring.conduct.rank_faults import host_among
from byteways.measuring.conduct.recording import record_without_values
from byteways.measuring.hosts.job import HostsJob
from byteways.measuring.hosts.recording import measured_between_hosts
from byteways.measuring.shared.request import CaseRequest
from byteways.plan.hosts.places import seats_of
from byteways.plan.hosts.plan import HostsPlan
from byteways.plan.hosts.rule import HostGroup, Meetings
from byteways.record.blame import FailureBlame
from byteways.record.record import Record

#: Seconds between the ranks' patience with a pair and the conductor's with the ranks.
MARGIN_S = 10.0
#: Times the estimate that ranks may take beside their measurement.
PATIENCE = 5.0
#: A case that loses the ranks this often without a host to blame costs all pairs that measure it.
BLAMELESS_LOSSES = 2
#: All hosts together measure no more once their ranks were lost this often without a host to blame.
LOSSES_TOGETHER = 3


class HostsObserver(Protocol):
    """Callbacks of a run, for the progress display or a test."""

    def meets(self, met: Meetings) -> None: ...
    def ended(self, record: Record) -> None: ...
    def tick(self) -> None: ...


@dataclass
class _Case:
    """One case of a meeting, for the groups of hosts that have no record of it yet."""

    met: Meetings
    template: PlannedCase
    groups: dict[HostGroup, PlannedCase]
    lost: int = 0  # times that ranks were lost without a host to blame


class HostsConductor:
    """Measures pairs of hosts and all hosts together, and journals each record.

    Args:
        journal: Open journal of the run folder.
        plan: What hosts measure, and when.
        job: The ranks.
        method_version: Of the native core, as probed.
        observer: Receives every round and record.
        done: Case id and round of records that exist.
        deadline: Returns the seconds for a case, see conductor.deadline_s.
    """

    def __init__(
        self,
        journal: Journal,
        plan: HostsPlan,
        job: HostsJob,
        method_version: int,
        observer: HostsObserver,
        done: Collection[tuple[str, int]] = (),
        deadline: Callable[[PlannedCase, bool], float] = deadline_s,
    ) -> None:
        self._journal = journal
        self._plan = plan
        self._job = job
        self._method_version = method_version
        self._observer = observer
        self._done = done
        self._deadline = deadline
        self._device_messages = LibraryMemorySupport()
        self._lost_together: list[str] = []  # reasons that blame no host

    def run(self) -> None:
        """Measures all rounds.

        Raises:
            Interrupted: By the observer.
            BytewaysError: The journal cannot be written, or too few hosts are left.
        """
        for met in self._plan.meetings():
            told = False
            for template in self._plan.order(met):
                groups = {group: self._plan.planned(template, group, met.round) for group in met.groups}
                groups = {group: one for group, one in groups.items() if one.key not in self._done}
                if not groups:
                    continue
                if not told:
                    self._observer.meets(met)
                    told = True
                self._measure(_Case(met, template, groups))
        self._job.stop()

    def _measure(self, case: _Case) -> None:
        """Measures a case until each group has a record."""
        while case.groups:
            self._job.require_two()
            self._skip_left_out(case)
            if not case.groups:
                return
            self._job.start(case.template.case.environment)
            self._skip_left_out(case)
            if not case.groups:
                return
            given_up = self._given_up(case)
            if reason := given_up or self._trial(case):
                code = GIVEN_UP if given_up else LIBRARY_MEMORY
                for group, planned in list(case.groups.items()):
                    self._add(case, group, entry_of(self._unmeasured(planned, "skipped", reason, code)))
                return
            self._ask(case)

    def _ask(self, case: _Case) -> None:
        groups = list(case.groups)
        limit_s = self._limit_s(case)
        started_at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        began = time.monotonic()
        request, devices = self._request(case, groups, limit_s), self._devices(case, groups)
        try:
            answer = self._job.ask_by_clock(request, limit_s + MARGIN_S, devices)
            outcomes = answer["outcomes"]
            if len(outcomes) != len(groups):
                raise WorkerLost(f"the ranks sent {len(outcomes)} outcomes of {len(groups)} groups")
        except WorkerLost as loss:
            self._lose(case, loss)
            return
        except (KeyError, TypeError) as error:
            self._lose(case, WorkerLost(f"the ranks sent an invalid answer: {error!r}"))
            return
        happened = {
            "started_at": started_at,
            "wall_s": round(time.monotonic() - began, 6),
            "pairs_at_once": len(groups),
        }
        missing = [group for group, outcome in zip(groups, outcomes, strict=True) if outcome is None]
        for group, outcome in zip(groups, outcomes, strict=True):
            if outcome is not None:
                self._add(case, group, self._entry(case, group, outcome, happened))
        if missing:
            self._lose_missing(case, missing, f"no answer within {limit_s:.0f} s")

    def _limit_s(self, case: _Case) -> float:
        """Returns the seconds for a case: ranks that share cores take as many times longer, and thousands of
        ranks take theirs to estimate their clocks.
        """
        some = next(iter(case.groups.values()))
        exchange_s = PATIENCE * self._plan.exchange_s(case.template)
        return (self._deadline(some, self._job.fresh) + exchange_s) * self._job.oversubscription

    def _request(
        self, case: _Case, groups: Sequence[HostGroup], limit_s: float, budget_s: float | None = None
    ) -> dict[str, Any]:
        """Returns the message for some groups; `budget_s`: of a trial."""
        planned = case.groups[groups[0]]
        request = replace(CaseRequest.of(planned, planned.budget_s), case=case.template.case)
        if budget_s is not None:
            request = request.trial(budget_s)
        more = {"hosts": self._job.places, "patience_s": limit_s}
        return {**request.to_json(), **more, "groups": [list(self._ranks(case, group)) for group in groups]}

    def _ranks(self, case: _Case, group: HostGroup) -> dict[int, str]:
        """Returns the ranks of a group that take part, in the order of the case, each with its device."""
        names = self._names(group)
        seats = seats_of(case.template.case, self._plan.ranks_of_host)
        if self._plan.is_together(case.met):
            return {self._job.rank_of(name, number): device for name in names for number, device in seats}
        of_pair = zip(names, seats, strict=True)
        return {self._job.rank_of(name, number): device for name, (number, device) in of_pair}

    def _devices(self, case: _Case, groups: Sequence[HostGroup]) -> dict[int, str]:
        return {rank: device for group in groups for rank, device in self._ranks(case, group).items()}

    def _trial(self, case: _Case) -> str | None:
        """Returns why MPI does not move the memory of a case, which its first group tries; None: it does."""
        template, first = case.template.case, list(case.groups)[:1]

        def ask() -> dict[str, Any]:
            request = self._request(case, first, TRIAL_LIMIT_S, TRIAL_S)
            answer = self._job.ask(request, TRIAL_LIMIT_S + MARGIN_S, self._devices(case, first))
            if answer["outcomes"][0] is None:
                raise WorkerLost("the ranks of a trial did not answer")
            return {"outcome": answer["outcomes"][0]}

        if self._device_messages.untried(template) and self._device_messages.try_out(template, ask, "MPI"):
            self._job.kill()
        return self._device_messages.refusal(template)

    def _entry(
        self, case: _Case, group: HostGroup, outcome: Mapping[str, Any], told: Mapping[str, Any]
    ) -> JournalEntry:
        planned = case.groups[group]
        met = None
        if not self._plan.is_together(case.met):
            met = {
                "round": case.met.number,
                "rounds": self._plan.tournament.rounds,
                "pairs_at_once": told["pairs_at_once"],
                "link_class": self._plan.tournament.link_class(*group),
            }
        happened = {name: value for name, value in told.items() if name != "pairs_at_once"}
        try:
            return entry_of(*measured_between_hosts(planned, outcome, self._method_version, met, **happened))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"the ranks sent an invalid outcome: {error}"
            return entry_of(self._unmeasured(planned, "lost", reason))

    def _skip_left_out(self, case: _Case) -> None:
        """Records groups of a host that was left out; the others of all hosts take its case on."""
        for group, planned in list(case.groups.items()):
            lost = [name for name in self._names(group) if name in self._job.left_out]
            if not lost:
                continue
            text = f"host {lost[0]} was excluded: {self._job.left_out[lost[0]]}"
            self._add(case, group, entry_of(self._unmeasured(planned, "skipped", text, HOST_LEFT_OUT)))
            rest = tuple(number for number in group if self._plan.hosts[number].name not in lost)
            if self._plan.is_together(case.met) and len(rest) > 1:
                again = self._plan.planned(case.template, rest, case.met.round)
                if again.key not in self._done:
                    case.groups[rest] = again

    def _lose(self, case: _Case, loss: WorkerLost) -> None:
        """Finds the pairs to blame for lost ranks; the others measure again."""
        host = host_among(self._job.live, loss.blame, loss.printed)
        # The rank that speaks for all gives the others up in time: only its own pair can hold it.
        held = self._job.speaker if host is None and loss.status == "timeout" else host
        self._job.kill()
        named = [group for group in case.groups if held in self._names(group)]
        if host is not None and not named:  # it pauses in this round
            self._job.blame([host], loss.reason)
            return
        if not named:
            case.lost += 1
            if case.lost < BLAMELESS_LOSSES and len(case.groups) > 1:
                return
            named = list(case.groups)
        for group in named:
            self._cost(case, group, loss.status, loss.reason, host, loss.blame)

    def _lose_missing(self, case: _Case, missing: Sequence[HostGroup], reason: str) -> None:
        """Records groups that did not answer, and blames a host whose rank is stopped for its own."""
        stopped = self._job.stopped()  # while the ranks exist
        host = host_among(self._job.live, stopped.blame)
        self._job.kill()
        for group in missing:
            if host in self._names(group):
                self._cost(case, group, "lost", f"{reason}{stopped}", host, stopped.blame)
            else:
                self._cost(case, group, "timeout", reason)

    def _cost(
        self,
        case: _Case,
        group: HostGroup,
        status: str,
        reason: str,
        host: str | None = None,
        found: FailureBlame | None = None,
    ) -> None:
        """Records a lost group and blames its hosts: both of a pair, but not all hosts for one of them.

        Args:
            host: That the loss is the fault of.
            found: The rank of that host among all ranks, if known.
        """
        planned, ranks = case.groups[group], list(self._ranks(case, group))
        rank = ranks.index(found.rank) if host and found and found.rank in ranks else None
        blame = FailureBlame(rank=rank, host=host) if host else None
        self._add(case, group, entry_of(self._unmeasured(planned, status, reason, blame=blame)))
        if host is None and self._plan.is_together(case.met):
            self._lost_together.append(reason)
        else:
            self._job.blame([host] if host else self._names(group), reason)

    def _given_up(self, case: _Case) -> str | None:
        """Returns why all hosts together measure no more; None if they do."""
        lost = self._lost_together
        if not self._plan.is_together(case.met) or len(lost) < LOSSES_TOGETHER:
            return None
        return f"the ranks of all hosts together were lost {len(lost)} times, the last time: {lost[-1]}"

    def _names(self, group: HostGroup) -> list[str]:
        return [self._plan.hosts[number].name for number in group]

    def _unmeasured(
        self,
        planned: PlannedCase,
        status: str,
        reason: str,
        code: str | None = None,
        blame: FailureBlame | None = None,
    ) -> Record:
        return record_without_values(planned, self._method_version, status, reason, code=code, blame=blame)

    def _add(self, case: _Case, group: HostGroup, entry: JournalEntry) -> None:
        self._journal.add(entry)
        del case.groups[group]
        self._observer.ended(entry.record)
