"""`byteways export`: the records of a run in a format that other programs read."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from byteways.base.errors import BytewaysError
from byteways.base.system_errors import cannot_write
from byteways.base.text import ESCAPED
from byteways.base.writing import named
from byteways.cli.runs import opened_run
from byteways.console.terminal import say


def export(
    run: Annotated[Path, typer.Argument(help="The folder that `byteways run` made.", metavar="RUN")],
    format_name: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            help="csv or parquet (one row per record), or json (all fields and the manifest). "
            "[default: as FILE ends, else csv]",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write. [default: stdout]")] = None,
    with_samples: Annotated[
        bool, typer.Option("--samples", help="Include every sample of each record (json and parquet).")
    ] = False,
) -> int:
    """Export the results of a run as CSV, Parquet or JSON; column names carry the base units."""
    from byteways.answers.results.summary import shown
    from byteways.record.exporters import FORMATS
    from byteways.record.simulation_mark import mark_of

    if format_name is None:
        ending = out.suffix[1:].lower() if out else ""
        format_name = ending if ending in FORMATS else "csv"
    if format_name not in FORMATS:
        known = ", ".join(FORMATS)
        raise BytewaysError(f"unknown format '{format_name}'", hint=f"valid: {known}")
    chosen = FORMATS[format_name]
    if with_samples and not chosen.takes_samples:
        hint = f"byteways export {run} --samples --format parquet --out FILE"
        raise BytewaysError(f"{format_name} has one row per record, so it cannot hold samples", hint=hint)
    folder = opened_run(run)
    samples_of = folder.samples if with_samples else None
    if mark := mark_of(folder.manifest):
        say(f"warning: {run}: {mark}")
    records = [shown(record) for record in folder.records]
    if out is None:
        if chosen.binary and sys.stdout.isatty():
            raise BytewaysError(
                f"{format_name} is binary and cannot be printed on a terminal",
                hint=f"byteways export {run} --format {format_name} --out FILE",
            )
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # same bytes as with --out, whatever the locale
        stream = sys.stdout.buffer if chosen.binary else sys.stdout
        chosen.write(folder.manifest, records, stream, samples_of)
        sys.stdout.flush()
        return 0
    try:
        with named(out) as file:
            if chosen.binary:
                content = io.BytesIO()  # the library that writes it does not pass on what the system says
                chosen.write(folder.manifest, records, content, samples_of)
                file.write(content.getbuffer())
            else:
                text = io.TextIOWrapper(file, encoding="utf-8", errors=ESCAPED, newline="")
                chosen.write(folder.manifest, records, text, samples_of)
                text.detach()  # flushes; the file is closed by named()
    except OSError as error:
        raise cannot_write(out, error, "name another file with --out") from error
    return 0
