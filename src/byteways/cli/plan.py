"""`byteways plan`: the plan by which libbyteways_copy copies, from the results of a run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from byteways.cli.runs import opened_run
from byteways.cli.terminal import echo, say
from byteways.errors import ExitStatus
from byteways.system_errors import cannot_write
from byteways.writing import named

if TYPE_CHECKING:
    from byteways.explain.best.copy_plan import CopyPlan, PlanCell


def plan(
    run: Annotated[Path, typer.Argument(help="The folder that `byteways run` made.", metavar="RUN")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write. [default: stdout]", metavar="FILE")
    ] = None,
) -> int:
    """Write the plan by which programs with libbyteways_copy use the fastest measured methods."""
    from byteways.explain.best.copy_plan import copy_plan
    from byteways.explain.results.index import Index
    from byteways.record.simulation_mark import mark_of

    folder = opened_run(run)
    if mark := mark_of(folder.manifest):
        say(f"warning: {run}: {mark}")
    made = copy_plan(Index.of(folder))
    if out is None:
        sys.stdout.write(made.text)
        return ExitStatus.GOOD
    try:
        with named(out) as file:
            file.write(made.text.encode())
    except OSError as error:
        raise cannot_write(out, error, "name another file with --out") from error
    for line in _summary(made):
        echo(line)
    return ExitStatus.GOOD


def _summary(made: CopyPlan) -> list[str]:
    """Returns a line for each method that leads, or one that none does."""
    lines = [
        f"{path} in streams of {path.by}: {method.name}{method.options} for {_span(method.leading)}"
        for path in made.paths
        for method in path.methods
        if method.leading
    ]
    return lines or ["no method has a measured lead: programs with this plan copy by the driver's calls"]


def _span(cells: Sequence[PlanCell]) -> str:
    """Returns from which to which size and count cells lead: '4 KiB to 32 KiB × 16 to 4096'."""
    from byteways.units import format_size

    sizes, counts = ({getattr(cell, name) for cell in cells} for name in ("block_bytes", "count"))
    size = " to ".join(dict.fromkeys(map(format_size, (min(sizes), max(sizes)))))
    count = " to ".join(dict.fromkeys(map(str, (min(counts), max(counts)))))
    return size if count == "1" else f"{count} blocks of {size}"
