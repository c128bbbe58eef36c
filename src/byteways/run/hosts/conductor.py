"""Executes a plan between hosts: in each round of the tournament, all pairs measure one case after another,
each case at the same time.

Every pair, case and round gets one record. Ranks that are lost cost the pairs that are to blame; the others
measure again with new ranks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Protocol

from byteways.plan.case import PlannedCase
from byteways.plan.hosts.plan import HostsPlan
from byteways.plan.hosts.rule import Meetings
from byteways.results.record import Record
from byteways.run.conductor import deadline_s, key_of
from byteways.run.device_messages import TRIAL_LIMIT_S, DeviceMessages, trial
from byteways.run.hosts.job import HostsJob
from byteways.run.hosts.recording import measured_between_hosts
from byteways.run.journal import Entry, Journal, entry_of
from byteways.run.process import WorkerLost
from byteways.run.rank_faults import host_blamed
from byteways.run.recording import unmeasured

#: Seconds between the ranks' patience with a pair and the conductor's with the ranks.
MARGIN_S = 10.0
#: A case that loses the ranks this often without a host to blame costs all pairs that measure it.
BLAMELESS_LOSSES = 2

Pair = tuple[int, int]


class HostsObserver(Protocol):
    """Callbacks of a run, for the progress display or a test."""

    def meets(self, met: Meetings) -> None: ...
    def ended(self, record: Record) -> None: ...
    def tick(self) -> None: ...


@dataclass
class _Case:
    """One case of a round of the tournament, for the pairs that have no record of it yet."""

    met: Meetings
    template: PlannedCase
    pairs: dict[Pair, PlannedCase]
    lost: int = 0  # times that ranks were lost without a host to blame


class HostsConductor:
    """Measures pairs of hosts and journals each record.

    Args:
        journal: Open journal of the run folder.
        plan: What pairs measure, and when.
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
        self._device_messages = DeviceMessages()

    def run(self) -> None:
        """Measures all rounds.

        Raises:
            Interrupted: By the observer.
            BytewaysError: The journal cannot be written, or too few hosts are left.
        """
        for met in self._plan.meetings():
            told = False
            for template in self._plan.order(met):
                pairs = {pair: self._plan.planned(template, pair, met.round) for pair in met.pairs}
                pairs = {pair: one for pair, one in pairs.items() if one.key not in self._done}
                if not pairs:
                    continue
                if not told:
                    self._observer.meets(met)
                    told = True
                self._measure(_Case(met, template, pairs))
        self._job.stop()

    def _measure(self, case: _Case) -> None:
        """Measures a case until each pair has a record."""
        while case.pairs:
            self._job.require_two()
            self._skip_left_out(case)
            if not case.pairs:
                return
            self._job.start(case.template.case.environment)
            self._skip_left_out(case)
            if not case.pairs:
                return
            if reason := self._trial(case):
                for pair, planned in list(case.pairs.items()):
                    self._add(case, pair, entry_of(self._unmeasured(planned, "skipped", reason)))
                return
            self._ask(case)

    def _ask(self, case: _Case) -> None:
        pairs = list(case.pairs)
        limit_s = self._limit_s(case)
        started_at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        began = time.monotonic()
        try:
            answer = self._job.ask(self._request(case, pairs, limit_s), limit_s + MARGIN_S)
            outcomes = answer["outcomes"]
            if len(outcomes) != len(pairs):
                raise WorkerLost(f"the ranks sent {len(outcomes)} outcomes of {len(pairs)} pairs")
        except WorkerLost as loss:
            self._lose(case, loss)
            return
        except (KeyError, TypeError) as error:
            self._lose(case, WorkerLost(f"the ranks sent an invalid answer: {error!r}"))
            return
        happened = {
            "started_at": started_at,
            "wall_s": round(time.monotonic() - began, 6),
            "pairs_at_once": len(pairs),
        }
        missing = [pair for pair, outcome in zip(pairs, outcomes, strict=True) if outcome is None]
        for pair, outcome in zip(pairs, outcomes, strict=True):
            if outcome is not None:
                self._add(case, pair, self._entry(case, pair, outcome, happened))
        if missing:
            reason = f"no answer within {limit_s:.0f} s"
            self._job.kill()
            for pair in missing:
                self._cost(case, pair, "timeout", reason)

    def _limit_s(self, case: _Case) -> float:
        """Returns the seconds for a case: ranks that share cores take as many times longer."""
        some = next(iter(case.pairs.values()))
        return self._deadline(some, self._job.fresh) * self._job.crowding

    def _request(self, case: _Case, pairs: Sequence[Pair], limit_s: float) -> dict[str, Any]:
        planned = case.pairs[pairs[0]]
        names = [[self._plan.hosts[number].name for number in pair] for pair in pairs]
        return {
            "do": "measure",
            "case": case.template.case.identity(),
            "pairs": [[self._job.rank_of(name) for name in pair] for pair in names],
            "hosts": self._job.places,
            "patience_s": limit_s,
            "budget_s": planned.budget_s,
            "precision": planned.precision,
            "rounds": planned.rounds,
            "key": key_of(planned),
            "fresh": False,
        }

    def _trial(self, case: _Case) -> str | None:
        """Returns why MPI does not move the memory of a case, which its first pair tries; None: it does."""
        template = case.template.case
        if self._device_messages.untried(template):
            request = trial(self._request(case, list(case.pairs)[:1], TRIAL_LIMIT_S))
            reason: str | None
            try:
                outcome = self._job.ask(request, TRIAL_LIMIT_S + MARGIN_S)["outcomes"][0]
                if outcome is None:
                    raise WorkerLost("the ranks of a trial did not answer")
                if outcome["status"] == "failed":
                    return None
                reason = outcome["reason"]
            except WorkerLost as loss:
                self._job.kill()
                reason = f"MPI does not move this memory: {loss.reason}"
                self._device_messages.tried(template, reason)
                return reason
            self._device_messages.tried(template, reason)
        return self._device_messages.refusal(template)

    def _entry(self, case: _Case, pair: Pair, outcome: Mapping[str, Any], told: Mapping[str, Any]) -> Entry:
        planned = case.pairs[pair]
        met = {
            "round": case.met.number,
            "rounds": self._plan.tournament.rounds,
            "pairs_at_once": told["pairs_at_once"],
            "link_class": self._plan.tournament.link_class(*pair),
        }
        happened = {name: value for name, value in told.items() if name != "pairs_at_once"}
        try:
            return entry_of(*measured_between_hosts(planned, outcome, self._method_version, met, **happened))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"the ranks sent an invalid outcome: {error}"
            return entry_of(self._unmeasured(planned, "lost", reason))

    def _skip_left_out(self, case: _Case) -> None:
        for pair, planned in list(case.pairs.items()):
            for number in pair:
                name = self._plan.hosts[number].name
                if reason := self._job.left_out.get(name):
                    text = f"host {name} was left out: {reason}"
                    self._add(case, pair, entry_of(self._unmeasured(planned, "skipped", text)))
                    break

    def _lose(self, case: _Case, loss: WorkerLost) -> None:
        """Finds the pairs to blame for lost ranks; the others measure again."""
        host = host_blamed(loss.reason, self._job.live)
        # The rank that speaks for all gives the others up in time: only its own pair can hold it.
        held = self._job.speaker if host is None and loss.status == "timeout" else host
        self._job.kill()
        named = [pair for pair in case.pairs if held in {self._plan.hosts[number].name for number in pair}]
        if host is not None and not named:  # it pauses in this round
            self._job.blame([host], loss.reason)
            return
        if not named:
            case.lost += 1
            if case.lost < BLAMELESS_LOSSES and len(case.pairs) > 1:
                return
            named = list(case.pairs)
        for pair in named:
            self._cost(case, pair, loss.status, loss.reason, [host] if host else None)

    def _cost(
        self, case: _Case, pair: Pair, status: str, reason: str, hosts: Sequence[str] | None = None
    ) -> None:
        """Records a lost pair and blames its hosts."""
        planned = case.pairs[pair]
        both = [self._plan.hosts[number].name for number in pair]
        self._add(case, pair, entry_of(self._unmeasured(planned, status, reason)))
        self._job.blame(hosts or both, reason)

    def _unmeasured(self, planned: PlannedCase, status: str, reason: str) -> Record:
        return unmeasured(planned, self._method_version, status, reason)

    def _add(self, case: _Case, pair: Pair, entry: Entry) -> None:
        self._journal.add(entry)
        del case.pairs[pair]
        self._observer.ended(entry.record)
