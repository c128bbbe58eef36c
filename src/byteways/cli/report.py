"""`byteways report`: write a run's report again, on any machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from byteways.cli.terminal import echo, say


def report(
    run: Annotated[Path, typer.Argument(help="The folder that `byteways run` made.", metavar="RUN")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write. [default: report.html in the folder]")
    ] = None,
) -> int:
    """Write the report of a run again and print where it is."""
    from byteways.analyse.progress import damage, opened, shortfall
    from byteways.report import write_report
    from byteways.results.simulated import mark_of

    folder = opened(run)
    for notice in (shortfall(folder), damage(folder)):
        if notice:
            say(f"warning: {run}: {notice}")
    if mark := mark_of(folder.manifest):
        say(f"warning: {run}: {mark}")
    echo(str(write_report(folder, out)))
    return 0
