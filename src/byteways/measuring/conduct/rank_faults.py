"""Finds the failed rank of a job from process states and the launcher's output, also while it still waits."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from byteways.base.text import Sentence
from byteways.cases.case import Case
from byteways.record.blame import FailureBlame

#: Seconds that a rank may be stopped, or gone while the others go on, before the job counts as lost. Nobody
#: continues a rank within a shorter time by chance; a case's whole limit is minutes.
STOPPED_S = 10.0
#: Seconds between two looks at the ranks: /proc has a file for each of them.
LOOK_S = 1.0
#: What a loss of a worker counts against: an executor, or a device in any role; with its name.
Culprit = tuple[str, str]
EXECUTOR_FIELD, DEVICE_FIELD = "executor", "device"
#: What launchers print of hosts: MPICH, Open MPI, Slurm.
_HOSTS_PRINTED = (
    re.compile(r"\bRUNNING AT ([\w.-]+)"),
    re.compile(r"on (?:node|host) ([\w.-]+)"),
    re.compile(r"srun: error: ([\w.-]+): task"),
)
#: srun's line on a task that ends; those that it then ends itself are `Terminated`.
_OF_SLURM = re.compile(r"srun: error: \S+: task (\d+): (?!Terminated)")
#: What the letters of a process's state say (proc_pid_stat(5)); None: there is no such process.
_OUT_OF_ACTION = {"T": "stopped", "t": "stopped", "Z": "gone", "X": "gone", None: "gone"}


@dataclass(frozen=True)
class ProcessFault:
    """A process that is stopped or gone, in words and as fields; false if there is none."""

    words: Sentence = ""  # `rank 1 (gpu1, process 4711 on node7) is stopped`
    blame: FailureBlame | None = None

    def __bool__(self) -> bool:
        return bool(self.words)

    def __str__(self) -> str:
        return f"; {self.words}" if self.words else ""


class ProcessWatch:
    """Notices a process of this host that is stopped or gone while others wait for it.

    Args:
        ranks: Facts of every rank: `host`, `pid` and, if known, `device`; of a single worker: its own.
        state_of: Returns the state letter of a process on this host; None: it is gone.
        clock: Returns seconds.
    """

    def __init__(
        self,
        ranks: Sequence[Mapping[str, Any]],
        state_of: Callable[[int], str | None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        here = os.uname().nodename
        self._local = {number: rank for number, rank in enumerate(ranks) if rank["host"] == here}
        self._named = len(ranks) > 1
        self._state_of = state_of
        self._clock = clock
        self._next_look = clock()
        self._since: dict[int, float] = {}  # by rank: when it was first seen out of action

    def verdict(self) -> ProcessFault:
        """Returns the process that is out of action for STOPPED_S."""
        now = self._clock()
        if now < self._next_look:
            return ProcessFault()
        self._next_look = now + min(LOOK_S, STOPPED_S / 2)
        for number, rank in self._local.items():
            word = _OUT_OF_ACTION.get(self._state_of(rank["pid"]), "")
            if not word:
                self._since.pop(number, None)
            elif now - self._since.setdefault(number, now) >= STOPPED_S:
                if self._named:
                    return _fault(number, rank, f"is {word}")
                return ProcessFault(f"the worker (process {rank['pid']}) is {word}")
        return ProcessFault()


def blamed(
    ranks: Sequence[Mapping[str, Any]], state_of: Callable[[int], str | None], printed: str = ""
) -> ProcessFault:
    """Returns the rank of a job that failed.

    Args:
        ranks: Facts of every rank (rank_worker.facts_of): `host` and `pid`, and of the current case `device`.
        state_of: Returns the state letter of a process on this host; None: it is gone.
        printed: The launcher's output since the case began.
    """
    here = os.uname().nodename
    states = [state_of(rank["pid"]) if rank["host"] == here else "" for rank in ranks]
    for number, state in enumerate(states):
        if state in ("T", "t"):
            return _fault(number, ranks[number], "is stopped")
    # Open MPI and Slurm print the rank, MPICH the process id.
    told = re.search(r"process rank (\d+) .*?(exited|killed|aborted)", printed) or _OF_SLURM.search(printed)
    if told:
        number = int(told[1])
        if number < len(ranks):
            return _fault(number, ranks[number], "ended first")
        return ProcessFault(f"rank {number} ended first", FailureBlame(rank=number))
    if told := re.search(r"\bPID (\d+) RUNNING AT (\S+)", printed):
        for number, rank in enumerate(ranks):
            if rank["pid"] == int(told[1]):
                return _fault(number, rank, "ended first")
        # before it said which rank it is
        return ProcessFault(f"process {told[1]} on {told[2]} ended first", FailureBlame(host=told[2]))
    gone = [number for number, state in enumerate(states) if state in (None, "Z")]
    return _fault(gone[0], ranks[gone[0]], "is gone") if len(gone) == 1 else ProcessFault()


def stopped_among(ranks: Sequence[Mapping[str, Any]], is_stopped: Callable[[str, int], bool]) -> ProcessFault:
    """Returns the first rank that is stopped.

    Args:
        ranks: Facts of every rank.
        is_stopped: Tells it of a process by its host and process id.
    """
    for number, rank in enumerate(ranks):
        if is_stopped(rank["host"], rank["pid"]):
            return _fault(number, rank, "is stopped")
    return ProcessFault()


def with_place(outcome: dict[str, Any], ranks: Sequence[Mapping[str, Any]]) -> None:
    """Adds device, process and host of the rank that a failed case blames to its reason."""
    number = (outcome.get("blame") or {}).get("rank")
    if isinstance(number, int) and 0 <= number < len(ranks) and isinstance(outcome.get("reason"), str):
        outcome["reason"] += f"; it was {_named(number, ranks[number])}"


def blamed_for(case: Case, blame: FailureBlame | None) -> Culprit:
    """Returns what a loss counts against.

    Within a process that is the executor, all of them together where several ran concurrently, or another
    device of the case on which a driver's call failed; between ranks such a device, or that of the rank at
    fault, or all of them together.
    """
    device = blame.device if blame else None
    if case.ranks:
        own = case.devices_of_ranks.get(blame.rank) if blame and blame.rank is not None else None
        return DEVICE_FIELD, next(
            (one for one in (device, own) if one in case.devices), _together(case.devices)
        )
    if device in case.executors:
        return EXECUTOR_FIELD, device
    if device in case.devices:
        return DEVICE_FIELD, device
    return EXECUTOR_FIELD, _together(case.executors)


def culprits_of(case: Case) -> Iterator[Culprit]:
    """Yields all that a loss may count against for which the case is given up as well."""
    if not case.ranks:
        yield from ((EXECUTOR_FIELD, name) for name in case.executors)
        if len(case.executors) > 1:
            yield EXECUTOR_FIELD, _together(case.executors)
    yield from ((DEVICE_FIELD, name) for name in case.devices)
    if case.ranks:
        yield DEVICE_FIELD, _together(case.devices)


def _together(devices: Sequence[str]) -> str:
    """Returns several devices as one name: any of them may be at fault."""
    return " and ".join(devices)


def _named(number: int, rank: Mapping[str, Any]) -> str:
    device = f"{rank['device']}, " if rank.get("device") else ""
    return f"rank {number} ({device}process {rank['pid']} on {rank['host']})"


def _fault(number: int, rank: Mapping[str, Any], what: str) -> ProcessFault:
    return ProcessFault(f"{_named(number, rank)} {what}", FailureBlame(rank=number, host=rank["host"]))


def host_among(hosts: Sequence[str], blame: FailureBlame | None, printed: str = "") -> str | None:
    """Returns which of several hosts a loss is the fault of; None if it is of none of them.

    Args:
        hosts: Their names; kernels and launchers may know them with a domain.
        blame: What the loss blames.
        printed: The launcher's output.
    """
    told = [blame.host] if blame and blame.host else []
    told += [name for pattern in _HOSTS_PRINTED for name in pattern.findall(printed)]
    short = {name.partition(".")[0]: name for name in hosts}
    return next((short[name.partition(".")[0]] for name in told if name.partition(".")[0] in short), None)
