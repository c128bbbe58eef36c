"""The report: one self-contained page. `page` says what is on it, `render` and the template how it looks."""

from __future__ import annotations

from pathlib import Path


def write_report(folder: Path, out: Path | None = None) -> Path:
    """Writes the report of a run and returns where it is.

    Args:
        folder: The folder that `byteways run` made.
        out: The file to write; `report.html` in the folder when None.

    Raises:
        BytewaysError: The folder is no run, its figures are gone, or the file cannot be written.
    """
    from byteways.analyse.progress import opened
    from byteways.errors import BytewaysError
    from byteways.report.page import from_run
    from byteways.report.render import render
    from byteways.results.run_folder import REPORT

    path = out or folder / REPORT
    text = render(from_run(opened(folder)))
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        hint = "name another file with `byteways report RUN --out FILE`"
        raise BytewaysError(f"cannot write {path}", cause=error.strerror, hint=hint) from error
    return path
