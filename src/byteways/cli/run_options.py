"""Options of the verbs that measure (`run`, `reproduce`), and their validation."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from byteways.base.errors import BytewaysError
from byteways.base.units import parse_duration
from byteways.measuring.shared.options import RunOptions
from byteways.plan.filters import only_filter, sizes_filter
from byteways.plan.hosts.rule import PairRule
from byteways.plan.ranks import MOST_RANKS

Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        help="Select cases: 'interface=copy,path=gpu0>gpu*', 'blocks=8'. Repeatable: cases that match any.",
    ),
]
Size = Annotated[
    str | None,
    typer.Option("--size", help="Select sizes: '64KiB..1GiB'; or measure these: '1MiB', '3MiB,10MB'."),
]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="New folder. [default: byteways-<suite>-<host>-<time>]")
]
Budget = Annotated[
    float | None,
    typer.Option(
        "--budget",
        help="Time limit of the whole run in seconds. [default: that of the suite or study; quick: 60]",
    ),
]
Transfers = Annotated[
    list[str] | None,
    typer.Option(
        "--transfers",
        help="Measure these transfers concurrently, and each alone: 'gpu0>gpu1,gpu1>gpu0'. Repeatable.",
    ),
]
FromWatched = Annotated[
    Path | None,
    typer.Option(
        "--from", help="Measure what a program moved: a folder of `byteways watch`.", metavar="FOLDER"
    ),
]
RoundsOption = Annotated[
    int | None,
    typer.Option("--rounds", help="Rounds with fresh buffers; with fewer than 3, nothing is ranked."),
]
PrecisionOption = Annotated[
    float | None, typer.Option("--precision", help="Target half-width of the 95 % interval: 0.01 is 1 %.")
]
Duration = Annotated[
    str | None,
    typer.Option("--for", help="Repeat the suite for this long, as a time series: '90s', '30m', '2h'."),
]
Faults = Annotated[
    list[str] | None,
    typer.Option("--fault", help="Fault to inject into the simulation: 'slow:gpu0-gpu1:0.5'. Repeatable."),
]
Resume = Annotated[
    Path | None, typer.Option("--resume", help="Resume this run: measure only what is missing.")
]
MachineOption = Annotated[
    str | None,
    typer.Option(
        "--machine", help="Simulate this machine instead: a name from `list machines` or a TOML file."
    ),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", help="Seed of the simulated machine's noise. [default: the model's]"),
]
Ranks = Annotated[
    int | None,
    typer.Option("--ranks", help="Processes of MPI cases. [default: one for each GPU, at least 2]"),
]
LauncherCommand = Annotated[
    str | None,
    typer.Option(
        "--launcher",
        help="Command that starts the ranks: 'srun -n {ranks}', or 'local': no MPI. [default: found]",
    ),
]
Hosts = Annotated[
    str | None,
    typer.Option(
        "--hosts",
        help="Measure between hosts: a file with one per line, or a list: 'n[01-04]'. "
        "[default: the nodes of the Slurm job, for suites between processes]",
    ),
]
PairsOption = Annotated[
    str | None,
    typer.Option(
        "--pairs",
        help="Which pairs of hosts to measure: 'all', 'sample', 'sample:16' (pairs per host). [default: all]",
    ),
]
RanksPerHost = Annotated[
    int | None,
    typer.Option("--ranks-per-host", help="With --hosts: ranks per host, with one GPU each. [default: 1]"),
]
WithSelf = Annotated[
    bool,
    typer.Option("--self", help="Also measure messages between two ranks on one GPU: adds one rank per GPU."),
]
AllDevices = Annotated[
    bool,
    typer.Option(
        "--all-devices",
        help="With more than 16 GPUs, take all of them. [default: a sample of each link class]",
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print the plan and measure nothing.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the results (or the plan) as JSON.")]
NoReport = Annotated[bool, typer.Option("--no-report", help="Do not write report.html.")]


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
