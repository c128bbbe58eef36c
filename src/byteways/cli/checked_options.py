"""Options of the verbs that measure, as their users wrote them: checked, and as RunOptions."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from byteways.base.errors import BytewaysError
from byteways.base.units import parse_duration
from byteways.measuring.shared.options import RunOptions
from byteways.plan.filters import only_filter, sizes_filter
from byteways.plan.hosts.rule import PairRule
from byteways.plan.ranks import MOST_RANKS


def options_of(
    only: Sequence[str] | None,
    size: str | None,
    budget: float | None,
    rounds: int | None = None,
    precision: float | None = None,
    duration: str | None = None,
    ranks: int | None = None,
    launcher: str | None = None,
    hosts: str | None = None,
    pairs: str | None = None,
    ranks_per_host: int | None = None,
    with_self: bool = False,
    all_devices: bool = False,
) -> RunOptions:
    """Returns the options. Raises BytewaysError if a number is out of range or a filter is malformed."""
    if budget is not None and not 0 < budget < float("inf"):
        raise BytewaysError(
            f"a budget of {budget:g} s is out of range", hint="--budget takes seconds: --budget 60"
        )
    if rounds is not None and not 1 <= rounds <= 100:
        raise BytewaysError(f"{rounds} rounds is out of range", hint="--rounds takes 1 to 100")
    if precision is not None and not 0.0001 <= precision <= 0.5:
        raise BytewaysError(f"a precision of {precision:g} is out of range", hint="--precision 0.01 is 1 %")
    only_filter(only or ())
    sizes_filter(size)
    try:
        for_s = parse_duration(duration) if duration is not None else None
    except ValueError as error:
        raise BytewaysError(str(error), hint="byteways run --for 30m") from error
    if for_s is not None and rounds is not None:
        raise BytewaysError("--for and --rounds exclude each other", hint="leave one of them out")
    if ranks is not None and not 2 <= ranks <= MOST_RANKS:
        raise BytewaysError(f"{ranks} ranks is out of range", hint=f"--ranks takes 2 to {MOST_RANKS}")
    if pairs is not None:
        PairRule.parse(pairs)
        if hosts is None:
            raise BytewaysError("--pairs only applies with --hosts", hint="add --hosts FILE")
    if ranks_per_host is not None:
        if hosts is None:
            raise BytewaysError(
                "--ranks-per-host only applies with --hosts", hint="add --hosts FILE, or use --ranks"
            )
        if not 1 <= ranks_per_host <= MOST_RANKS:
            raise BytewaysError(
                f"{ranks_per_host} ranks on each host is out of range",
                hint=f"--ranks-per-host takes 1 to {MOST_RANKS}",
            )
    return RunOptions(
        tuple(only or ()),
        size,
        budget,
        rounds,
        precision,
        for_s,
        ranks,
        launcher,
        hosts=hosts,
        pairs=(pairs or "all") if hosts is not None else None,
        ranks_per_host=ranks_per_host,
        with_self=with_self,
        all_devices=all_devices,
    )


def given(options: RunOptions) -> list[tuple[str, Any]]:
    """Returns options by command-line name; the value of absent ones is falsy."""
    names = {"only": "--only", "sizes": "--size", "budget_s": "--budget", "for_s": "--for"}
    names |= {"with_self": "--self", "ranks_per_host": "--ranks-per-host"}
    names |= {"all_devices": "--all-devices"}
    return [(names.get(name, f"--{name}"), value) for name, value in options.to_json().items()]


#: Variables in which Open MPI, MPICH and Slurm say how many processes they started on this host.
_STARTED_HERE = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE")


def check_started_once(environment: Mapping[str, str] = os.environ) -> None:
    """Raises BytewaysError if a launcher started several processes here: they would disturb each other."""
    for name in _STARTED_HERE:
        count = re.match("[0-9]+", environment.get(name, ""))
        if count and int(count[0]) > 1:
            raise BytewaysError(
                f"a launcher has started byteways {count[0]} times on this host",
                cause=f"{name} is {environment[name]}",
                hint=f"start it once; it starts ranks itself: byteways run mpi --ranks {count[0]}",
            )
