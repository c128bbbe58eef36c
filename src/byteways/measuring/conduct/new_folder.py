"""The folder of a new run: claimed before anything is measured, and restored if the run does not begin."""

from __future__ import annotations

import contextlib
from pathlib import Path

from byteways.base.errors import BytewaysError
from byteways.base.files import sync_folder
from byteways.base.system_errors import hint_for
from byteways.base.writing import DRAFT
from byteways.measuring.conduct.journal import Journal
from byteways.record.run_folder import BEFORE_MEASURING, JOURNAL, MANIFEST, is_left_over


def check_new_folder(folder: Path) -> None:
    """Checks that a new run may use the folder: missing, empty, or left by a run killed before measuring.

    Raises:
        BytewaysError: The folder has other content, is a file, or cannot be read.
    """
    try:
        is_run = (folder / MANIFEST).exists()
        occupied = folder.exists() and (is_run or not is_left_over(folder))
    except OSError as error:
        raise _no_folder(folder, error) from error
    if occupied:
        hint = f"byteways run --resume {folder}, or another --out" if is_run else "choose another --out"
        raise BytewaysError(f"{folder} is not empty", hint=hint)


def _no_folder(folder: Path, error: OSError) -> BytewaysError:
    remedy = hint_for(error, writing=True) or "choose another --out"
    return BytewaysError(f"cannot use the run folder {folder}", cause=error.strerror, hint=remedy)


def claim_folder(folder: Path) -> Journal:
    """Creates the folder if missing, and locks it for this run."""
    check_new_folder(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        sync_folder(folder.parent)
    except OSError as error:
        raise _no_folder(folder, error) from error
    journal = Journal(folder)
    try:
        if (folder / MANIFEST).exists() or not is_left_over(folder):  # another run began meanwhile
            raise BytewaysError(f"another run is using {folder}", hint="choose another --out")
        _remove_all(folder, but=JOURNAL)
    except OSError as error:
        journal.close()
        raise _no_folder(folder, error) from error
    except BytewaysError:
        journal.close()
        raise
    return journal


def restore_folder(folder: Path, existed: bool) -> None:
    """Removes the files of a run that did not begin."""
    with contextlib.suppress(OSError):  # the next run recognises leftovers
        _remove_all(folder)
        (folder / MANIFEST).unlink(missing_ok=True)
        if not existed:
            folder.rmdir()


def _remove_all(folder: Path, but: str = "") -> None:
    for name in BEFORE_MEASURING:
        if name != but:
            (folder / name).unlink(missing_ok=True)
    for entry in folder.iterdir():
        if DRAFT.fullmatch(entry.name):
            entry.unlink(missing_ok=True)
