"""The report: one self-contained page. `page` says what is on it, `render` and the template how it looks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from byteways.results.run_folder import RunFolder


def write_report(run: Path | RunFolder, out: Path | None = None, beside: RunFolder | None = None) -> Path:
    """Writes the report of a run and returns its path.

    Args:
        run: The folder that `byteways run` made, or the opened run.
        out: The file to write; default: `report.html` in the folder.
        beside: A run of the same study on another machine, drawn in the study's figures.

    Raises:
        BytewaysError: The folder is not a run, its records are missing, or the file cannot be written.
    """
    from byteways.analyse.progress import opened
    from byteways.errors import BytewaysError
    from byteways.report.page import from_run
    from byteways.report.render import render
    from byteways.results.run_folder import REPORT

    folder = opened(run) if isinstance(run, Path) else run
    path = out or folder.path / REPORT
    text = render(from_run(folder, beside))
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        hint = "name another file with `byteways report RUN --out FILE`"
        raise BytewaysError(f"cannot write {path}", cause=error.strerror, hint=hint) from error
    return path
