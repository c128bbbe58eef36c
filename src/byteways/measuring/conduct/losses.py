"""Which cases are given up after lost workers: a broken device costs a deadline for each of its cases.

Losses show how much is broken. Three by one interface and memory kind on one path give up these alone. More
is given up only if losses differ in it: three memory kinds give up the interface, three interfaces
everything, and losses on several paths without a common one the device instead of the path.

A case that hung is not measured again in later rounds, each of which might cost its deadline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from byteways.base.text import Sentence
from byteways.cases.case import Case
from byteways.measuring.conduct.rank_faults import Culprit, blamed_for, culprits_of
from byteways.record.blame import FailureBlame

#: So many losses, memory kinds or interfaces: one may be chance, and each loss costs a deadline.
LOSSES_TO_GIVE_UP = 3

#: What a loss counts against (rank_faults.py), and the environment: variables that crash workers must not
#: cost the cases without them.
Blame = tuple[Culprit, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class _Loss:
    case: Case
    reason: str
    blame: FailureBlame | None = None

    @cached_property
    def paths(self) -> frozenset[tuple[str, str]]:  # (source, destination)
        return _paths(self.case)

    @cached_property
    def memories(self) -> str:
        return _memories(self.case)


@dataclass(frozen=True)
class GivenUp:
    """Why a case is skipped, and what the last of its losses blames."""

    reason: Sentence
    blame: FailureBlame | None = None


class Losses:
    """The workers that a run has lost."""

    def __init__(self) -> None:
        self._lost: dict[Blame, list[_Loss]] = {}
        self._hung: dict[str, str] = {}  # reason by case

    def begin(self) -> None:
        """Forgets which cases hung: of a time series, every repetition tries them again."""
        self._hung.clear()

    def add(self, case: Case, reason: str, *, hung: bool = False, blame: FailureBlame | None = None) -> None:
        """Counts the loss of a worker in this case."""
        if hung:
            self._hung[case.case_id] = reason
        against = blamed_for(case, blame), _settings(case)
        self._lost.setdefault(against, []).append(_Loss(case, reason, blame))

    def given_up(self, case: Case) -> GivenUp | None:
        """Returns why the case is skipped; None if it is not.

        Cases with variables are given up for losses without them, too.
        """
        if reason := self._hung.get(case.case_id):
            return GivenUp(f"it hung in an earlier round: {reason}")
        for culprit in culprits_of(case):
            for settings in dict.fromkeys(((), _settings(case))):
                lost = self._lost.get((culprit, settings), [])
                for scope in _SCOPES if lost else ():
                    within = scope.of(lost, case)
                    if scope.is_broken(within):
                        where = scope.told(within[-1], culprit[1], settings)
                        number, last = len(within), within[-1]
                        reason = f"{number} workers were lost {where}, the last one: {last.reason}"
                        return GivenUp(reason, last.blame)
        return None


@dataclass(frozen=True)
class _Scope:
    """Which losses count for a case: those of its interface, memory kinds and path, or of any."""

    any_path: bool
    any_interface: bool
    any_memory: bool

    def of(self, losses: Sequence[_Loss], case: Case) -> list[_Loss]:
        paths, memories = _paths(case), _memories(case)
        return [
            loss
            for loss in losses
            if (self.any_path or loss.paths <= paths)
            and (self.any_interface or loss.case.interface == case.interface)
            and (self.any_memory or loss.memories == memories)
        ]

    def is_broken(self, losses: Sequence[_Loss]) -> bool:
        """Whether the losses differ in all that the scope leaves open."""
        if len(losses) < LOSSES_TO_GIVE_UP:
            return False
        if self.any_path and frozenset.intersection(*(loss.paths for loss in losses)):
            return False
        if self.any_interface:
            return len({loss.case.interface for loss in losses}) >= LOSSES_TO_GIVE_UP
        return not self.any_memory or len({loss.memories for loss in losses}) >= LOSSES_TO_GIVE_UP

    def told(self, last: _Loss, culprit: str, settings: Sequence[tuple[str, str]]) -> str:
        """Returns `on gpu0`, `on gpu0>gpu1 by copy`, `on gpu0 by copy of pinned > device memory with A=1`."""
        words = [f"on {culprit if self.any_path else last.case.path}"]
        if not self.any_interface:
            words.append(f"by {last.case.interface}")
            words += [] if self.any_memory else [f"of {last.memories} memory"]
        if settings:
            words.append(f"with {' '.join(f'{name}={value}' for name, value in settings)}")
        return " ".join(words)


#: The widest first, so that the reason names all that is broken. Other interfaces have other memory kinds.
_SCOPES = [
    _Scope(any_path, any_interface, any_memory)
    for any_interface, any_memory, any_path in product((True, False), repeat=3)
    if any_memory or not any_interface
]


def _paths(case: Case) -> frozenset[tuple[str, str]]:
    """Returns between which devices bytes move: both ways if an executor works in another one's memory."""
    found: set[tuple[str, str]] = set()
    for flow in case.flows:
        found |= {(a.device, b.device) for a, b in flow.pairs}
        memory = flow.source.device
        if not flow.others and memory == flow.destination.device != flow.executor:
            found -= {(memory, memory)}
            found |= {(memory, flow.executor), (flow.executor, memory)}
    return frozenset(found)


def _memories(case: Case) -> str:
    """Returns `device`, or `pinned > device`."""
    pairs = dict.fromkeys((a.memory, b.memory) for flow in case.flows for a, b in flow.pairs)
    return ", ".join(" > ".join(dict.fromkeys(pair)) for pair in pairs)


def _settings(case: Case) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(case.environment.items()))
