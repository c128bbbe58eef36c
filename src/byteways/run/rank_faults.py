"""Finds the failed rank of a lost job from process states and the launcher's output."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def blamed(
    ranks: Sequence[Mapping[str, Any]], state_of: Callable[[int], str | None], printed: str = ""
) -> str:
    """Returns `; rank 1 (process 4711 on node7) is stopped`; '' if no rank can be identified.

    Args:
        ranks: Facts of every rank (rank_worker.facts_of): `host` and `pid`.
        state_of: Returns the state letter of a process on this host; None: it is gone.
        printed: The launcher's output since the case began.
    """
    here = os.uname().nodename
    states = [state_of(rank["pid"]) if rank["host"] == here else "" for rank in ranks]
    for number, state in enumerate(states):
        if state in ("T", "t"):
            return f"; {_named(number, ranks[number])} is stopped"
    # Open MPI prints the rank, MPICH the process id.
    told = re.search(r"process rank (\d+) .*?(exited|killed|aborted)", printed)
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


def _named(number: int, rank: Mapping[str, Any]) -> str:
    return f"rank {number} (process {rank['pid']} on {rank['host']})"


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
