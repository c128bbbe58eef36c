"""`byteways report`: write a run's report again, or a page on the differences of two runs, on any machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from byteways.base.errors import BytewaysError
from byteways.base.text import restored
from byteways.base.writing import is_standard_output
from byteways.cli.runs import opened_run
from byteways.console.terminal import echo, say
from byteways.ext.studies.verbs.beside_option import BesideRun, check_pair, opened_second_run

if TYPE_CHECKING:
    from byteways.ext.studies.published.study import Study
    from byteways.record.run_folder import RunFolder


#: How the name of a page may end.
PAGES = ("", ".html", ".htm")


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="The folder that `byteways run` made; a second one is compared with it.", metavar="RUN [RUN]"
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="File to write. [default: report.html in the folder; of two, compared.html in the second]",
        ),
    ] = None,
    mixed: Annotated[
        bool,
        typer.Option("--mixed", help="With two runs: allow comparing simulated results with measured ones."),
    ] = False,
    beside: BesideRun = None,
) -> int:
    """Write the report of a run again, or one page on two runs, and print where it is."""
    from byteways.record.simulation_mark import mark_of
    from byteways.report import write_comparison, write_report

    if len(runs) > 2:
        raise BytewaysError(
            f"a report shows one run or two, not {len(runs)}",
            hint=f"byteways compare {' '.join(map(str, runs))}",
        )
    if mixed and len(runs) == 1:
        raise BytewaysError("--mixed is for two runs", hint=f"byteways report {runs[0]}")
    if beside is not None and len(runs) == 2:
        raise BytewaysError(
            "--beside is for the report of one run of a study",
            hint=f"byteways report {runs[0]} --beside {beside}, or byteways report {runs[0]} {runs[1]}",
        )
    if out is not None and out.suffix.lower() not in PAGES:
        hint = f"--out {out.with_suffix('.html')}; browsers print it as PDF, `byteways export` writes tables"
        raise BytewaysError(f"a report is a page in HTML, not {out.suffix}", hint=hint)
    folders = [opened_run(run) for run in runs]
    for run, folder in zip(runs, folders, strict=True):
        if mark := mark_of(folder.manifest):
            say(f"warning: {run}: {mark}")
    if len(folders) == 1:
        other = None
        if beside is not None:
            study = _study_of(folders[0])
            other = opened_second_run(beside, study)
            check_pair(study, folders[0], other)
        written = write_report(folders[0], out, other)
    else:
        written = write_comparison(folders, out, names=[str(run) for run in runs], mixed=mixed)
    if not is_standard_output(written):  # which holds the page alone
        echo(str(written))
    return 0


def _study_of(run: RunFolder) -> Study:
    """Returns the study that a run repeats. Raises BytewaysError if it repeats none."""
    from byteways.ext.studies.published.reading import load

    told = run.manifest.get("study") or {}
    if "key" not in told:
        raise BytewaysError(
            f"{run.path} repeats no study",
            cause=f"it ran suite {run.manifest['suite']['name']}",
            hint="--beside draws two runs that `byteways reproduce` made",
        )
    return load(restored(str(told.get("folder") or told["key"])))
