"""Finds the failed rank of a job from process states and the launcher's output, also while it still waits."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from byteways.plan.case import Case

#: Seconds that a rank may be stopped, or gone while the others go on, before the job counts as lost. Nobody
#: continues a rank within a shorter time by chance; a case's whole limit is minutes.
STOPPED_S = 10.0
#: Seconds between two looks at the ranks: /proc has a file for each of them.
LOOK_S = 1.0
#: The device of the rank that a reason names (_named()), or one that a driver or the simulator calls lost.
_DEVICE_TOLD = re.compile(r"\brank \d+ \(([a-z]+\d+), process |\b(gpu\d+) does not answer")
#: What a loss of a worker counts against: an executor, or a device in any role; with its name.
Culprit = tuple[str, str]
EXECUTOR_FIELD, DEVICE_FIELD = "executor", "device"
#: srun's line on a task that ends; those that it then ends itself are `Terminated`.
_OF_SLURM = re.compile(r"srun: error: \S+: task (\d+): (?!Terminated)")
#: What the letters of a process's state say (proc_pid_stat(5)); None: there is no such process.
_OUT_OF_ACTION = {"T": "stopped", "t": "stopped", "Z": "gone", "X": "gone", None: "gone"}


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

    def verdict(self) -> str:
        """Returns `rank 1 (gpu1, process 4711 on node7) is stopped` after STOPPED_S of that; otherwise ''."""
        now = self._clock()
        if now < self._next_look:
            return ""
        self._next_look = now + min(LOOK_S, STOPPED_S / 2)
        for number, rank in self._local.items():
            word = _OUT_OF_ACTION.get(self._state_of(rank["pid"]), "")
            if not word:
                self._since.pop(number, None)
            elif now - self._since.setdefault(number, now) >= STOPPED_S:
                who = _named(number, rank) if self._named else f"the worker (process {rank['pid']})"
                return f"{who} is {word}"
        return ""


def blamed(
    ranks: Sequence[Mapping[str, Any]], state_of: Callable[[int], str | None], printed: str = ""
) -> str:
    """Returns `; rank 1 (gpu1, process 4711 on node7) is stopped`; '' if no rank can be identified.

    Args:
        ranks: Facts of every rank (rank_worker.facts_of): `host` and `pid`, and of the current case `device`.
        state_of: Returns the state letter of a process on this host; None: it is gone.
        printed: The launcher's output since the case began.
    """
    here = os.uname().nodename
    states = [state_of(rank["pid"]) if rank["host"] == here else "" for rank in ranks]
    for number, state in enumerate(states):
        if state in ("T", "t"):
            return f"; {_named(number, ranks[number])} is stopped"
    # Open MPI and Slurm print the rank, MPICH the process id.
    told = re.search(r"process rank (\d+) .*?(exited|killed|aborted)", printed) or _OF_SLURM.search(printed)
    if told:
        number = int(told[1])
        which = _named(number, ranks[number]) if number < len(ranks) else f"rank {number}"
        return f"; {which} ended first"
    if told := re.search(r"\bPID (\d+) RUNNING AT (\S+)", printed):
        for number, rank in enumerate(ranks):
            if rank["pid"] == int(told[1]):
                return f"; {_named(number, rank)} ended first"
        return f"; process {told[1]} on {told[2]} ended first"  # before it said which rank it is
    gone = [_named(number, ranks[number]) for number, state in enumerate(states) if state in (None, "Z")]
    return f"; {gone[0]} is gone" if len(gone) == 1 else ""


def stopped_among(ranks: Sequence[Mapping[str, Any]], is_stopped: Callable[[str, int], bool]) -> str:
    """Returns `; rank 1 (gpu1, process 4711 on node7) is stopped`; '' if no rank is.

    Args:
        ranks: Facts of every rank.
        is_stopped: Tells it of a process by its host and process id.
    """
    for number, rank in enumerate(ranks):
        if is_stopped(rank["host"], rank["pid"]):
            return f"; {_named(number, rank)} is stopped"
    return ""


def of_rank(rank: int, reason: str) -> str:
    """Returns why this rank failed, with its number: what other ranks learn of it names it already."""
    return reason if re.search(r"\brank \d", reason) else f"rank {rank}: {reason}"


def with_place(reason: str, ranks: Sequence[Mapping[str, Any]]) -> str:
    """Returns the reason of a failed case with device, process and host of the rank that it begins with."""

    def placed(told: re.Match[str]) -> str:
        number = int(told[1])
        return _named(number, ranks[number]) if number < len(ranks) else told[0]

    return re.sub(r"^rank (\d+)(?= failed in |: )", placed, reason)


def blamed_for(case: Case, reason: str, device: str | None = None) -> Culprit:
    """Returns what a loss counts against.

    Within a process that is the executor, all of them together where several ran concurrently, or another
    device of the case that the driver's error names; between ranks the device that the reason names, or all
    of them together.
    """
    if case.ranks:
        told = _DEVICE_TOLD.search(reason)
        return (DEVICE_FIELD, told[1] or told[2]) if told else (DEVICE_FIELD, _together(case.devices))
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


def host_blamed(reason: str, hosts: Sequence[str]) -> str | None:
    """Returns which of several hosts a loss is the fault of; None if the reason names none of them.

    Args:
        reason: Of the loss, with the rank that blamed() found or the launcher's last words.
        hosts: Names of hosts; kernels may know them with a domain.
    """
    told = [
        *re.findall(r"process \d+ on ([\w.-]+)\)", reason),
        *re.findall(r"process \d+ on ([\w.-]+) ended first", reason),
        *re.findall(r"\bRUNNING AT ([\w.-]+)", reason),
        *re.findall(r"on (?:node|host) ([\w.-]+)", reason),
        *re.findall(r"srun: error: ([\w.-]+): task", reason),
    ]
    short = {name.partition(".")[0]: name for name in hosts}
    return next((short[name.partition(".")[0]] for name in told if name.partition(".")[0] in short), None)
