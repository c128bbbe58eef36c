"""`byteways check`: is this normal? A verdict on each case of a run, and PASS, FAIL or NOT DECIDED on all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from byteways.base.errors import BytewaysError, ExitStatus
from byteways.base.json_text import json_text
from byteways.base.system_errors import cannot_write
from byteways.base.writing import write_named
from byteways.cli.power_options import LeastEffect, Strict
from byteways.cli.runs import Every, Mixed, opened_run
from byteways.console.terminal import echo, say

if TYPE_CHECKING:
    from byteways.verdicts.checks.check import Check

#: Most rows that are printed without --all.
MOST_ROWS = 30


def check(
    runs: Annotated[
        list[Path],
        typer.Argument(help="The run folder to check; with --learn those to learn from.", metavar="RUN…"),
    ],
    against: Annotated[
        str,
        typer.Option(
            "--against",
            help="Reference: 'normal' (what such machines usually reach), a run folder, 'peak', a TOML "
            "file of limits, or a file that --learn wrote.",
        ),
    ] = "normal",
    tolerance: Annotated[
        str | None,
        typer.Option(
            "--tolerance",
            help="Least difference from a run or from normal results that is FAIL or HIGH. [default: 5%]",
        ),
    ] = None,
    at_least: Annotated[
        str | None,
        typer.Option(
            "--at-least",
            help="With --against peak: fraction of the peak that a path must reach. [default: 70%]",
        ),
    ] = None,
    allow_missing: Annotated[
        bool,
        typer.Option(
            "--allow-missing", help="Accept missing cases that the run lost or left out for lack of time."
        ),
    ] = False,
    least_effect: LeastEffect = None,
    strict: Strict = False,
    mixed: Mixed = False,
    junit: Annotated[
        Path | None, typer.Option("--junit", help="Write the verdicts as JUnit XML.", metavar="FILE")
    ] = None,
    prometheus: Annotated[
        Path | None,
        typer.Option("--prometheus", help="Write metrics for the node exporter.", metavar="FILE"),
    ] = None,
    slurm: Annotated[
        bool, typer.Option("--slurm", help="Print only the command that drains a node that failed.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print all verdicts with their claims as JSON.")
    ] = False,
    every: Every = False,
    learn: Annotated[
        bool, typer.Option("--learn", help="Learn what is normal from these runs and write it to --out.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="With --learn: the file to write.", metavar="FILE")
    ] = None,
) -> int:
    """Judge each case of a run; exit with status 1 if any is FAIL or MISSING, or all together are slower."""
    from byteways.verdicts.checks.check import CheckQuestion, checked

    if learn:
        return _learn(runs, out)
    if out is not None:
        raise BytewaysError("--out is for --learn", hint="--junit, --prometheus or --json write verdicts")
    if len(runs) > 1:
        raise BytewaysError("one run is checked at a time", hint="--against RUN names the reference")
    if slurm and as_json:
        raise BytewaysError("--slurm and --json both print to standard output", hint="leave out one of them")
    question = CheckQuestion.of(
        *(against, tolerance, at_least),
        least_effect=least_effect,
        strict=strict,
        allow_missing=allow_missing,
        mixed=mixed,
    )
    folder = opened_run(runs[0])
    reference = opened_run(Path(against)) if question.kind == "run" else None
    found = checked(folder, str(runs[0]), question, reference)
    if slurm and found.marks:
        raise BytewaysError("--slurm would drain this node for a simulated run", hint="leave out --slurm")
    _write(found, junit, prometheus)
    if as_json:
        echo(json_text(found.to_json(), indent=1))
    elif slurm:
        _print_drain_line(found)
    else:
        _print(found, every)
    return _status(found)


def _status(found: Check) -> int:
    """Returns the exit status: a run of which nothing can be judged has not passed."""
    from byteways.verdicts.checks.verdict import UNKNOWN
    from byteways.verdicts.checks.wording_check import nothing_judged

    if found.verdict == UNKNOWN:
        raise nothing_judged(found)
    return ExitStatus.FAILED if found.failed else ExitStatus.GOOD


def _learn(runs: list[Path], out: Path | None) -> int:
    from byteways.answers.results.counting import count
    from byteways.verdicts.checks.learning import learned

    if out is None:
        raise BytewaysError("--learn needs a file to write", hint="byteways check --learn RUN… --out FILE")
    found = learned([(opened_run(run), str(run)) for run in runs])
    write_file(out, found.text(), "--out")
    say(f"{out}: {count(len(found.settings), 'setting')} of {count(len(found.machines), 'machine')}")
    return ExitStatus.GOOD


def _write(found: Check, junit: Path | None, prometheus: Path | None) -> None:
    from byteways.report.verdicts import junit as junit_format
    from byteways.report.verdicts import prometheus as prometheus_format

    if junit is not None:
        write_file(junit, junit_format.junit(found), "--junit")
    if prometheus is not None:
        write_file(prometheus, prometheus_format.prometheus(found), "--prometheus")


def write_file(path: Path, text: str, option: str) -> None:
    """Writes the file that an option names. Raises BytewaysError if it cannot be written."""
    try:
        write_named(path, text)
    except OSError as error:
        raise cannot_write(path, error, f"name another file with {option}") from error


def _print_drain_line(found: Check) -> None:
    from byteways.report.verdicts.slurm import drain_line

    if line := drain_line(found, os.environ.get("SLURMD_NODENAME") or found.host.partition(".")[0]):
        echo(line)


def _shown(found: Check) -> tuple[str, ...]:
    """Returns verdicts that do not fail and are printed without --all."""
    from byteways.verdicts.checks.verdict import HIGH, NOT_DECIDED

    return (HIGH, NOT_DECIDED) if found.strict else (HIGH,)


def _print(found: Check, every: bool) -> None:
    from byteways.console.layout import Lines, show
    from byteways.questions.display.table import Table
    from byteways.verdicts.checks.wording_check import HEADINGS, details, row, summary, suspicion

    for mark in found.marks:
        echo(mark)
    cases = found.everything if every else found.cases
    chosen = [one for one in cases if every or one.failing or one.verdict in _shown(found)]
    shown = chosen if every else chosen[:MOST_ROWS]
    lines = [summary(found), suspicion(found), *details(found)]
    if len(shown) < len(chosen):
        lines.append(f"{len(chosen) - len(shown)} more: --all")
    blocks: list[Table | Lines] = [Lines("result", tuple(filter(None, lines)))]
    if shown:
        blocks.append(Table("cases, the worst first", HEADINGS, tuple(map(row, shown)), (2, 3, 4, 5)))
    show(blocks)
