"""`byteways export`: the records of a run in a format that other programs read."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from byteways.errors import BytewaysError
from byteways.results.run_folder import JOURNAL, RunFolder


def export(
    run: Annotated[Path, typer.Argument(help="The folder that `byteways run` made.", metavar="RUN")],
    format_name: Annotated[
        str, typer.Option("--format", "-f", help="csv (a row per record) or json (everything).")
    ] = "csv",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write. [default: stdout]")] = None,
) -> int:
    """Export the figures of a run as CSV or JSON, base units in the column names."""
    from byteways.results.exporters import FORMATS

    if format_name not in FORMATS:
        known = ", ".join(FORMATS)
        raise BytewaysError(f"unknown format '{format_name}'", hint=f"formats are {known}")
    folder = RunFolder(run)
    if folder.damaged_lines:
        damaged = f"{folder.damaged_lines} damaged line(s) in {folder.path / JOURNAL} left out"
        print(f"warning: {damaged}", file=sys.stderr)  # noqa: T201 - stdout is data
    if out is None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # the bytes of --out, whatever the terminal's locale
        FORMATS[format_name](folder.manifest, folder.records, sys.stdout)
        sys.stdout.flush()
        return 0
    try:
        with out.open("w", encoding="utf-8", newline="") as file:
            FORMATS[format_name](folder.manifest, folder.records, file)
    except OSError as error:
        raise BytewaysError(
            f"cannot write {out}", cause=error.strerror, hint="name another file with --out"
        ) from error
    return 0
