"""Measures a prepared run with progress on the terminal, and prints its outcome."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from byteways.base.errors import ExitStatus
from byteways.base.json_text import json_text
from byteways.base.text import restored
from byteways.base.units import format_duration
from byteways.cases.case import PlannedCase
from byteways.cli.progress import WRONG, Progress, counts_text, stderr_screen
from byteways.console.terminal import echo, say
from byteways.measuring.conduct.conductor import Conductor
from byteways.measuring.conduct.execution import Execution
from byteways.measuring.conduct.interruption import Interruption
from byteways.measuring.conduct.skipped_cases import Lacks, mostly_skipped
from byteways.plan.suite_types import LEAST_RANKED
from byteways.record.busy_machine import verdict_of
from byteways.record.run_folder import LOG, RunFolder
from byteways.record.simulation_mark import Voice, mark_of, model_of, voice_of
from byteways.record.unusable_gpus import verdict_on_gpus

if TYPE_CHECKING:
    from rich.console import Console

    from byteways.answers.claims.finding import Finding
    from byteways.answers.results.summary import RecordedRun

#: Prints the outcome: receives the run, its number of records by status, and the path of the report.
Tell = Callable[[RunFolder, Counter[str], Path | None], None]
FINDINGS_SHOWN = 3
#: What to do about GPUs that cannot be used.
WITHOUT_GPUS = "byteways doctor says more; BYTEWAYS_GPUS=0 byteways run measures the host alone"


def command_line() -> list[str]:
    return ["byteways", *sys.argv[1:]]


def measure_and_report(
    execution: Execution,
    interruption: Interruption,
    tell: Tell,
    *,
    report: bool,
    beside: RunFolder | None = None,
) -> int:
    """Measures, writes the report, calls `tell`, and returns the exit status.

    Args:
        tell: Receives the run, its number of records by status, and the path of the report.
        report: Whether to write the report.
        beside: A run of the same study on another machine, drawn in the report.
    """
    try:
        spare = sum(1 for case in execution.remaining if case.spare)
        skipped = sum(1 for case in execution.remaining if case.reason is not None) - spare
        mark = mark_of(execution.manifest)
        if mark:
            say(mark)
        if verdict := verdict_on_gpus(execution.manifest):
            say(verdict)
        # A simulated run does not add cases in spare time.
        after_all = "" if mark else "  (measured if time remains)"
        left_out = f", {spare} left out for lack of time{after_all}" if spare else ""
        recorded = len(execution.planned) - len(execution.remaining)
        already = f", {recorded} already recorded" if recorded else ""
        voice = voice_of(execution.manifest)
        cases = _cases([one for one in execution.remaining if one.reason is None], voice)
        again = f", repeated for {format_duration(for_s)}" if (for_s := _for_s(execution)) else ""
        if recorded and not execution.remaining and not again:
            say(f"this run is complete: nothing of its {recorded} records is missing")
        else:
            say(f"{cases}{left_out}, {skipped} skipped{already}{again}")

        if few := _too_few_rounds(execution):
            say(few)
        for doubt in execution.doubts():
            say(doubt)

        def on_start(conductor: Conductor) -> None:
            interruption.at_once = conductor.kill_at_once

        with Progress(len(execution.remaining), interruption, stderr_screen()) as progress:
            execution.measure(progress, on_start, progress.begins_round, _open_cases)
        if execution.state == "interrupted":
            say_how_to_continue(interruption, execution.folder, execution.manifest)
        folder = RunFolder(execution.folder)
        counts = Counter(record.status for record in folder.records)
        told = counts_text(Counter(record.display_status for record in folder.records), voice)
        say(f"{told} in {folder.manifest['wall_s']:.1f} s")
        if left := _left_out(execution, folder):
            say(left)
        if beyond := _beyond_limit(folder):
            say(beyond)
        if settled := settled_text(execution, folder):
            say(settled)
        written = None
        if report:
            from byteways.report import write_report

            written = write_report(execution.folder, beside=beside)
        tell(folder, counts, written)
    finally:
        execution.close()
    if execution.state == "interrupted":
        return ExitStatus.INTERRUPTED
    return _status(execution, folder, voice)


def _open_cases(folder: Path) -> list[list[str]]:
    from byteways.answers.best.open_comparisons import open_cases

    return open_cases(folder)


def settled_text(execution: Execution, run: RecordedRun) -> str:
    """Says that further rounds decided the comparisons of the first page, or what would; '' if there were
    none and none are needed.
    """
    from byteways.answers.best.open_comparisons import open_comparisons, what_is_open
    from byteways.answers.results.index import Index

    own = 1 + max((one.round for one in execution.planned), default=0)
    if own < LEAST_RANKED or _for_s(execution) or execution.state != "complete":
        return ""
    if found := open_comparisons(Index.of(run)):
        return what_is_open(found)
    return f"the comparisons of the first page are decided after {own} rounds" if _settled(execution) else ""


def _settled(execution: Execution) -> bool:
    """Whether the run has rounds that its suite does not ask for."""
    asked: int = execution.manifest["suite"]["rounds"]
    return 1 + max(one.round for one in execution.planned) > asked


def say_how_to_continue(interruption: Interruption, folder: Path, manifest: Mapping[str, Any]) -> None:
    """Says how to continue a run that was interrupted. Before anything else: a batch system may leave no time
    for what is said of the results.
    """
    launcher = manifest["options"].get("launcher")
    again = f" --launcher {quote(restored(launcher))}" if launcher else ""
    say(f"interrupted by {interruption.requested}; continue with: byteways run --resume {folder}{again}")


def refuse_gpus(manifest: Mapping[str, Any]) -> bool:
    """Says which GPUs could not be used and what to do; returns whether there are any."""
    verdict = verdict_on_gpus(manifest)
    if verdict:
        say(f"{verdict}; {WITHOUT_GPUS}")
    return bool(verdict)


def _status(execution: Execution, folder: RunFolder, voice: Voice) -> int:
    """Returns the exit status of a run that came to its end, and says why if it is not GOOD."""
    status = ExitStatus.GOOD
    if any(record.status in WRONG for record in folder.records):
        log = execution.folder / LOG
        say(f"some {voice.measurement}s failed: byteways show {execution.folder} not-measured, and {log}")
        status = ExitStatus.FAILED
    if refuse_gpus(folder.manifest):
        status = ExitStatus.FAILED
    machine = execution.machine.probed
    lacks = Lacks(machine.capabilities, machine.libraries, voice.simulated)
    error = mostly_skipped(execution.planned, folder.records, lacks)
    if error is not None:
        say("\n".join(error.lines()))
        status = max(status, error.status)
    return status


def _left_out(execution: Execution, folder: RunFolder) -> str:
    """Lists by sweep what was left out for lack of time; '' if nothing was."""
    left = Counter(
        record.sweep for record in folder.records if record.display_status == "left out" and record.round == 0
    )
    if not left:
        return ""
    able = (planned for planned in execution.planned if planned.reason is None or planned.spare)
    asked = Counter(planned.sweep for planned in able if planned.round == 0)
    parts = (f"{count} of {asked[sweep]} of {sweep}" for sweep, count in left.items())
    return f"left out for lack of time: {', '.join(parts)}"


def _too_few_rounds(execution: Execution) -> str:
    """Returns a note if there are too few rounds to rank results; otherwise ''."""
    rounds = execution.manifest["suite"]["rounds"]
    if rounds >= LEAST_RANKED or _for_s(execution) is not None:
        return ""
    told = "one round is" if rounds == 1 else f"{rounds} rounds are"
    return f"{told} not enough to rank results: differences between rounds are unknown"


def _beyond_limit(folder: RunFolder) -> str:
    """Returns the number of results beyond a physical limit as text; '' if there are none."""
    count = sum(record.beyond_limit for record in folder.records)
    if not count:
        return ""
    figures = "1 result is" if count == 1 else f"{count} results are"
    return f"{figures} beyond a physical limit and void: byteways show {folder.path}"


def _for_s(execution: Execution) -> float | None:
    """Returns the duration in seconds for which the suite is repeated; None without one."""
    for_s: float | None = execution.manifest["options"].get("for_s")
    return for_s


def print_outcome(folder: RunFolder, counts: Counter[str], report: Path | None, as_json: bool) -> None:
    """Prints the recommended interfaces, the main findings and where the report is."""
    from byteways.answers.best.headline import best_first, headline

    found = main_findings(folder)
    if as_json:
        outcome = {
            "folder": str(folder.path),
            "state": folder.manifest["state"],
            "simulated": bool(folder.manifest["simulated"]),
            "machine_model": model_of(folder.manifest) or None,
            "counts": dict(counts),
            "wall_s": folder.manifest["wall_s"],
            "unusable_gpus": folder.manifest.get("unusable_gpus", []),
            "report": str(report) if report else None,
            "best": best_first(headline(folder)),
            "findings": [
                {"title": finding.title, "detail": finding.detail, "importance": finding.importance}
                for finding in found
            ],
        }
        echo(json_text(outcome, indent=1))
        return
    print_ending(folder, found)
    echo(f"report: {report}" if report else f"run: {folder.path}")


def print_ending(folder: RunFolder, found: Sequence[Finding]) -> None:
    """Prints the node, these findings and the recommended interfaces."""
    from byteways.answers.results.index import Index
    from byteways.console.overview import (
        print_findings,
        print_headline,
        print_matrix,
        print_title,
        print_verdict,
        printed,
    )

    mark, index = mark_of(folder.manifest), Index.of(folder)

    def fill(console: Console) -> None:
        print_verdict(console, mark or verdict_of(folder.manifest, folder.records))
        print_title(console, index)
        print_matrix(console, index, found)
        print_findings(console, found, "Findings that matter most")
        print_headline(console, index)
        console.print()

    printed(fill)


def main_findings(folder: RunFolder) -> list[Finding]:
    """Returns the most important findings of a run."""
    from byteways.questions.findings import findings

    return findings(folder)[:FINDINGS_SHOWN]


def _cases(planned: Sequence[PlannedCase], voice: Voice) -> str:
    """Returns `26 cases to measure (78 measurements)`: a case is measured once in each round."""
    count = len({one.case.case_id for one in planned})
    cases = "1 case" if count == 1 else f"{count} cases"
    all_rounds = f" ({len(planned)} {voice.measurement}s)" if len(planned) > count else ""
    return f"{cases} to {voice.measure}{all_rounds}"
