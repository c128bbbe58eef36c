"""Options of the verbs that measure (`run`, `reproduce`), as the command line declares them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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

BesideRun = Annotated[
    Path | None,
    typer.Option(
        "--beside",
        help="A finished run of the same study on another machine: draw both in one picture.",
        metavar="RUN",
    ),
]
