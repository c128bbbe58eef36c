"""The report: one self-contained page. `page` says what is on it, `compared` what is on that of two runs;
`render` and the templates how they look.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from byteways.record.run_folder import RunFolder

#: The file of a comparison in the folder of the second run.
COMPARED = "compared.html"


def write_report(run: Path | RunFolder, out: Path | None = None, beside: RunFolder | None = None) -> Path:
    """Writes the report of a run and returns its path.

    Args:
        run: The folder that `byteways run` made, or the opened run.
        out: The file to write; default: `report.html` in the folder.
        beside: A run of the same study on another machine, drawn in the study's figures.

    Raises:
        BytewaysError: The folder is not a run, its records are missing, or the file cannot be written.
    """
    from byteways.answers.results.progress import opened
    from byteways.record.run_folder import REPORT
    from byteways.report.page import from_run
    from byteways.report.render import packed_records, render
    from byteways.report.second_process import MANY_RECORDS, computed_in_second_process

    folder = opened(run) if isinstance(run, Path) else run
    path = out or folder.path / REPORT
    if len(folder.records) < MANY_RECORDS:
        return _written(path, render(from_run(folder, beside), packed_records(folder)), out is not None)
    with computed_in_second_process(lambda: packed_records(folder)) as wait:
        page = from_run(folder, beside)
        return _written(path, render(page, wait()), out is not None)


def write_comparison(
    runs: Sequence[RunFolder], out: Path | None = None, *, names: Sequence[str], mixed: bool = False
) -> Path:
    """Writes the page on two runs and returns its path.

    Args:
        runs: The reference, and the run that is compared with it.
        out: The file to write; default: `compared.html` in the folder of the second run.
        names: What the runs are called.
        mixed: Whether a simulated run may stand beside a measured one.

    Raises:
        BytewaysError: The runs cannot be compared (`compare_runs`), or the file cannot be written.
    """
    from byteways.report.compared import from_comparison
    from byteways.report.render import render_compared
    from byteways.verdicts.two_runs.comparison import compare_runs

    (compared,) = compare_runs(runs, names, mixed=mixed)
    page = render_compared(from_comparison(runs, compared))
    return _written(out or runs[1].path / COMPARED, page, out is not None)


def _written(path: Path, text: str, given: bool) -> Path:
    """Writes a page to the file that the user gave, or to its own place in a run folder."""
    from byteways.base.system_errors import cannot_write
    from byteways.base.writing import write, write_named

    try:
        (write_named if given else write)(path, text)
    except OSError as error:
        hint = "name another file with `byteways report RUN --out FILE`"
        raise cannot_write(path, error, hint) from error
    return path
