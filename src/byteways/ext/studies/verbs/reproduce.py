"""`byteways reproduce`: run a published experiment here or on a machine model, and compare the values."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from byteways.base.errors import BytewaysError, ExitStatus
from byteways.base.json_text import json_text
from byteways.base.settings import check_settings
from byteways.cli.run_options import (
    AsJson,
    Budget,
    DryRunOption,
    LauncherCommand,
    MachineOption,
    NoReport,
    Only,
    Out,
    Resume,
    Seed,
    Size,
    check_started_once,
    given,
    options_of,
)
from byteways.cli.run_task import RunTask, name_writers, refuse, refuse_with_resume
from byteways.cli.runs import opened_run
from byteways.console.terminal import echo, say
from byteways.ext.studies.published.reading import load
from byteways.ext.studies.published.study import Study
from byteways.ext.studies.verbs.beside_option import BesideRun, check_before, check_pair, opened_second_run
from byteways.measuring.conduct.execution import Execution
from byteways.measuring.conduct.simulation import simulation_of
from byteways.plan.planner import NoCaseError
from byteways.record.run_folder import RunFolder, read_manifest
from byteways.record.simulation_mark import model_of, subject

if TYPE_CHECKING:
    from byteways.console.layout import Lines
    from byteways.ext.studies.comparison.outcome import StudyOutcome
    from byteways.machine.model import Topology
    from byteways.questions.display.table import Table


def reproduce(
    key: Annotated[
        str, typer.Argument(help="Study to repeat: a name from `list studies`, or your own study's folder.")
    ],
    out: Out = None,
    machine: MachineOption = None,
    seed: Seed = None,
    budget: Budget = None,
    only: Only = None,
    size: Size = None,
    launcher: LauncherCommand = None,
    resume: Resume = None,
    finished: Annotated[
        Path | None,
        typer.Option(
            "--from", help="Compare this run folder, of any suite, and measure nothing.", metavar="RUN"
        ),
    ] = None,
    beside: BesideRun = None,
    dry_run: DryRunOption = False,
    as_json: AsJson = False,
    no_report: NoReport = False,
) -> int:
    """Repeat a published experiment: compare its values with ours, and check its claims here."""
    check_started_once()
    check_settings()  # reports an invalid one here, not in a worker
    study = load(key)
    name_writers(Path(study.folder) if study.folder else None, resume)
    options = options_of(only, size, budget, launcher=launcher)
    asked = (("--out", out), *given(options))
    if finished is not None:
        chosen = (("--machine", machine), ("--seed", seed is not None))
        unfit = (*asked, *chosen, ("--dry-run", dry_run), ("--resume", resume))
        what = "--from compares a finished run; {} cannot change it"
        refuse(unfit, what, f"reproduce {key} --from {finished}")
        return _compared(study, finished, as_json, opened_second_run(beside, study))
    if resume is not None:
        refuse_with_resume(asked, f"reproduce {key} --resume {resume}")
        _check_study(study, resume)
    simulation = simulation_of(machine, None, seed)
    other = opened_second_run(beside, study)
    if other is not None:
        check_before(study, other, simulation, resume)
    in_manifest = {"key": study.key, "title": study.title}
    if study.folder:
        in_manifest["folder"] = study.folder
    suite = study.suite if resume is None else None
    task = RunTask(suite, options, out, resume, simulation, in_manifest, other)

    def tell(run: RunFolder, counts: Counter[str], written: Path | None) -> None:
        _print(study, run, as_json, counts, written, other)

    def on_begin(execution: Execution) -> None:
        _tell_scope(study, execution.machine.topology)

    try:
        if dry_run:
            return task.print_plan(as_json)
        intention = f"repeating {study.authors} {study.year}"
        return task.measure(intention, tell, report=not no_report, on_begin=on_begin)
    except NoCaseError as error:
        raise _not_here(study, error) from error


def _named(study: Study) -> str:
    """Returns the argument that selects the study."""
    return study.folder or study.key


def _check_study(study: Study, folder: Path) -> None:
    """Raises BytewaysError if the run in the folder is of another study, or of none."""
    manifest = read_manifest(folder)
    own = (manifest.get("study") or {}).get("key")
    if own != study.key:
        repeats = f"it repeats {own}" if own else f"it ran suite {manifest['suite']['name']}"
        raise BytewaysError(
            f"{folder} is not a run of {study.key}", cause=repeats, hint=f"byteways run --resume {folder}"
        )


def _not_here(study: Study, error: NoCaseError) -> BytewaysError:
    """Returns the error for a study with no possible case on this machine."""
    from byteways.ext.studies.comparison.scope import scope

    return BytewaysError(
        f"no part of {study.key} can run on this machine",
        cause=scope(study, error.topology).words or error.cause,
        hint=f"byteways reproduce {_named(study)} --machine {study.models[0]} simulates its original machine",
    )


def _tell_scope(study: Study, topology: Topology) -> None:
    """Prints which figures of the study this machine can reproduce, if not all."""
    from byteways.ext.studies.comparison.scope import scope

    here = scope(study, topology)
    if here.gone:
        say(f"can run here: {', '.join(here.possible) or 'nothing'}; {here.words}")


def _compared(study: Study, folder: Path, as_json: bool, beside: RunFolder | None) -> int:
    """Prints a finished run compared with the study."""
    from byteways.ext.studies.comparison.value_lookup import Sheet

    run = opened_run(folder)
    if not Sheet(study, run).any():
        raise BytewaysError(
            f"{folder} has no results that {study.key} compares",
            cause=f"it is a run of suite {run.manifest['suite']['name']} on {subject(run.manifest)}",
            hint=f"byteways reproduce {_named(study)} measures them",
        )
    check_pair(study, run, beside)
    _print(study, run, as_json, None, None, beside)
    return ExitStatus.GOOD


def _print(
    study: Study,
    run: RunFolder,
    as_json: bool,
    counts: Counter[str] | None,
    report: Path | None,
    beside: RunFolder | None,
) -> None:
    from byteways.console.layout import show
    from byteways.ext.studies.comparison.outcome import compare, to_json

    outcome: StudyOutcome = compare(study, run, beside)
    if not as_json:
        show(_blocks(outcome), outcome.mark)
        echo(f"\nreport: {report}" if report else f"\nrun: {run.path}")
        return
    answer: dict[str, Any] = {
        "folder": str(run.path),
        "state": run.manifest["state"],
        "simulated": bool(run.manifest["simulated"]),
        "machine_model": model_of(run.manifest) or None,
        "beside": str(beside.path) if beside else None,
        "report": str(report) if report else None,
        **to_json(outcome),
    }
    if counts is not None:
        answer["records"] = dict(counts)
    echo(json_text(answer, indent=1))


def _blocks(outcome: StudyOutcome) -> list[Table | Lines]:
    """Returns the tables of the report's section for the terminal."""
    from byteways.console.layout import Lines
    from byteways.ext.studies.comparison.topic import topic_of

    topic = topic_of(outcome)
    blocks: list[Table | Lines] = [Lines(topic.title, (topic.lead,), sentences=True)]
    for table in topic.tables:
        blocks.append(replace(table, sentences=not table.numeric))
        if table.note:
            blocks.append(Lines(f"{table.title}: notes", tuple(filter(None, table.notes)), sentences=True))
    return blocks
