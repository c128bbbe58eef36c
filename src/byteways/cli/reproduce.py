"""`byteways reproduce`: a published experiment, here or on a machine model, beside the published numbers."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from byteways.cli.run import command_line, default_folder, measured, print_plan
from byteways.errors import BytewaysError, ExitStatus
from byteways.results.run_folder import RunFolder
from byteways.results.simulated import model_of, worded
from byteways.run.conductor import Interrupted
from byteways.run.execution import begin, check_new_folder, dry_plan
from byteways.run.interruption import Interruption
from byteways.run.options import Options
from byteways.run.simulation import simulation_of
from byteways.settings import gpus_wanted
from byteways.studies.study import Study, load

if TYPE_CHECKING:
    from byteways.analyse.studies.outcome import StudyOutcome
    from byteways.cli.layout import Lines, Table


def reproduce(
    key: Annotated[str, typer.Argument(help="Which study: a name of `list studies`.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="New folder. [default: byteways-<key>-<host>-<time>]")
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine", help="Simulate this machine instead: a name of `list machines` or a TOML file."
        ),
    ] = None,
    budget: Annotated[
        float | None, typer.Option("--budget", help="Seconds for the whole run. [default: the study's]")
    ] = None,
    finished: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Compare this run folder, whatever suite it is of, and measure nothing.",
            metavar="RUN",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and measure nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome (or the plan) as JSON.")] = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Do not write report.html.")] = False,
) -> int:
    """Repeat a published experiment: its figures beside ours, and whether what it claims holds here."""
    gpus_wanted()  # a mistyped setting is told here and not by a worker
    study = load(key)
    if finished is not None:
        given = {"--out": out, "--machine": machine, "--budget": budget, "--dry-run": dry_run}
        if changed := [name for name, value in given.items() if value]:
            raise BytewaysError(
                f"--from compares a run that is finished; {' '.join(changed)} cannot change it",
                hint=f"byteways reproduce {key} --from {finished}",
            )
        return _compared(study, finished, as_json)
    if budget is not None and not 0 < budget < float("inf"):
        raise BytewaysError(f"a budget of {budget:g} s is none", hint="--budget takes seconds: --budget 60")
    options = Options(budget_s=budget)
    simulation = simulation_of(machine, None)
    if dry_run:
        mark = simulation.mark if simulation else ""
        return print_plan(dry_plan(study.suite, options, simulation=simulation), as_json, mark)
    folder = out or default_folder(study.suite, simulation)
    check_new_folder(folder)
    with Interruption() as interruption:
        print(f"repeating {study.authors} {study.year} into {folder}", file=sys.stderr)  # noqa: T201
        try:
            execution = begin(
                study.suite,
                options,
                folder,
                command_line(),
                interruption.check,
                simulation=simulation,
                study={"key": study.key, "title": study.title},
            )
        except Interrupted:
            print("interrupted before anything was measured", file=sys.stderr)  # noqa: T201
            return ExitStatus.INTERRUPTED

        def tell(run: RunFolder, counts: Counter[str], written: Path | None) -> None:
            _print(study, run, as_json, counts, written)

        return measured(execution, interruption, tell, report=not no_report)


def _compared(study: Study, folder: Path, as_json: bool) -> int:
    """Prints a finished run beside the study."""
    from byteways.analyse.progress import damage, opened, shortfall

    run = opened(folder)
    for notice in (shortfall(run), damage(run)):
        if notice:
            print(f"warning: {folder}: {notice}", file=sys.stderr)  # noqa: T201 - stderr is for what is no data
    _print(study, run, as_json, None, None)
    return ExitStatus.GOOD


def _print(
    study: Study, run: RunFolder, as_json: bool, counts: Counter[str] | None, report: Path | None
) -> None:
    from byteways.analyse.studies.outcome import compare, to_json
    from byteways.cli.layout import show

    outcome: StudyOutcome = compare(study, run)
    if not as_json:
        show(_blocks(outcome), outcome.mark)
        typer.echo(f"\nreport: {report}" if report else f"\nrun: {run.path}")
        return
    answer: dict[str, Any] = {
        "folder": str(run.path),
        "state": run.manifest["state"],
        "simulated": bool(run.manifest["simulated"]),
        "machine_model": model_of(run.manifest) or None,
        "report": str(report) if report else None,
        **to_json(outcome),
    }
    if counts is not None:
        answer["records"] = dict(counts)
    typer.echo(json.dumps(answer, indent=1, allow_nan=False))


def _blocks(outcome: StudyOutcome) -> list[Table | Lines]:
    """The tables of the report's section, for the terminal; of a simulated run in its words."""
    from byteways.analyse.topics.study import topic_of
    from byteways.cli.layout import Lines, Table

    def said(text: str) -> str:
        return worded(text, bool(outcome.mark))

    topic = topic_of(outcome)
    blocks: list[Table | Lines] = [Lines(said(topic.title), (said(topic.lead),))]
    for table in topic.tables:
        headings = tuple(map(said, table.headings))
        rows = tuple(tuple(map(said, row)) for row in table.rows)
        right = frozenset(headings[column] for column in table.numeric)
        blocks.append(Table(said(table.title), headings, rows, right))
        if table.note:
            blocks.append(Lines(f"{said(table.title)}: notes", tuple(said(table.note).split("; "))))
    return blocks
