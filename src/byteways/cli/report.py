"""`byteways report`: write a run's report again, on any machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from byteways.cli.beside import BesideRun, check_pair, opened_beside
from byteways.cli.terminal import echo, say
from byteways.errors import BytewaysError

if TYPE_CHECKING:
    from byteways.results.run_folder import RunFolder
    from byteways.studies.study import Study


def report(
    run: Annotated[Path, typer.Argument(help="The folder that `byteways run` made.", metavar="RUN")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write. [default: report.html in the folder]")
    ] = None,
    beside: BesideRun = None,
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
    other = None
    if beside is not None:
        study = _study_of(folder)
        other = opened_beside(beside, study)
        check_pair(study, folder, other)
    echo(str(write_report(folder, out, other)))
    return 0


def _study_of(run: RunFolder) -> Study:
    """Returns the study that a run repeats. Raises BytewaysError if it repeats none."""
    from byteways.studies.reading import load

    told = run.manifest.get("study") or {}
    if "key" not in told:
        raise BytewaysError(
            f"{run.path} repeats no study",
            cause=f"it ran suite {run.manifest['suite']['name']}",
            hint="--beside draws two runs that `byteways reproduce` made",
        )
    return load(str(told.get("folder") or told["key"]))
