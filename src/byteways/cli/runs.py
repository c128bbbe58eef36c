"""What verbs that read runs share: options, and opening a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from byteways.console.terminal import say

if TYPE_CHECKING:
    from byteways.record.run_folder import RunFolder


Mixed = Annotated[bool, typer.Option("--mixed", help="Allow comparing simulated results with measured ones.")]
Every = Annotated[bool, typer.Option("--all", help="Print every case.")]


def opened_run(path: Path) -> RunFolder:
    """Opens a run; prints a warning if it is incomplete or has unreadable lines.

    Raises:
        BytewaysError: The folder is not a run, or its records are missing.
    """
    from byteways.answers.results.progress import notices, opened

    run = opened(path)
    for notice in notices(run):
        say(f"warning: {path}: {notice}")
    return run
