"""How much of its plan a run has recorded, with messages if incomplete."""

from __future__ import annotations

from pathlib import Path

from byteways.answers.results.summary import RecordedRun
from byteways.base.errors import BytewaysError
from byteways.record.run_folder import JOURNAL, JournalText, RunFolder
from byteways.record.simulation_mark import voice_of

RESUME = "continue with `byteways run --resume RUN`"


def progress(run: RecordedRun) -> str:
    """Returns `complete: 620 of 624 planned measurements done`, or how many are recorded.

    Each round of a case is a measurement. A run without recorded end may still be running.
    """
    state = run.manifest.get("state")
    planned = f"{_planned(run)} planned {voice_of(run.manifest).measurements}"
    if state == "complete" and not shortfall(run):
        measured = sum(record.status == "measured" for record in run.records)
        return f"complete: {measured} of {planned} done"
    state = "not finished (no end recorded)" if state == "running" else state
    return f"{state}: {_recorded(run)} of {planned} recorded"


def shortfall(run: RecordedRun) -> str:
    """Returns a sentence with advice if the run is incomplete, otherwise ''."""
    state, recorded, planned = run.manifest.get("state"), _recorded(run), _planned(run)
    if state == "complete" and recorded >= planned:
        return ""
    said = f"{recorded} of {planned} planned {voice_of(run.manifest).measurements} are recorded"
    if state == "running":
        return f"This run is not finished (no end recorded), {said}: {RESUME}."
    if state == "complete":
        return f"This run is complete, but only {said}: {JOURNAL} has lost the others; {RESUME}."
    return f"This run is {state}, {said}: {RESUME}."


#: Maximum number of damaged or duplicate lines named.
MOST_NAMED_LINES = 3


def damage(run: RecordedRun) -> str:
    """Returns a sentence on unreadable or duplicate lines; '' without any."""
    said = []
    named = run.journal if isinstance(run, RunFolder) else JournalText()
    if run.damaged_lines:
        lines = [f"line {number}: {why}" for number, why in zip(named.damaged, named.reasons, strict=True)]
        if named.unfinished_bytes:
            lines.append("the last line was cut off")
        said.append(f"{run.damaged_lines} damaged line(s) in {JOURNAL} left out{_named(lines)}")
    if named.doubled:
        lines = [f"line {number}" for number in named.doubled]
        count = f"{len(named.doubled)} record(s) of a case and round that are there already"
        said.append(f"{count} left out{_named(lines)}")
    return "; ".join(said)


def _named(lines: list[str]) -> str:
    more = ["…"] if len(lines) > MOST_NAMED_LINES else []
    return f" ({', '.join([*lines[:MOST_NAMED_LINES], *more])})" if lines else ""


def notices(run: RecordedRun) -> tuple[str, ...]:
    """Returns what shortfall() and damage() say; empty of a complete run."""
    return tuple(filter(None, (shortfall(run), damage(run))))


def opened(path: Path) -> RunFolder:
    """Opens the run in this folder.

    Raises:
        BytewaysError: The folder is not a run, or its records are missing.
    """
    run = RunFolder(path)
    journal = run.path / JOURNAL
    if run.manifest.get("planned") and run.manifest["state"] != "running" and not journal.exists():
        raise BytewaysError(
            f"{path} has no results",
            cause=f"{journal}: No such file or directory",
            hint=f"restore it from a copy, or measure again: byteways run --resume {path}",
        )
    return run


def _recorded(run: RecordedRun) -> int:
    if isinstance(run, RunFolder):
        return len(run.records)  # its reader leaves out those of one case and round
    return len({(record.case_id, record.round) for record in run.records})


def _planned(run: RecordedRun) -> int:
    return int(run.manifest.get("planned") or 0)
