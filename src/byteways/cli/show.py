"""`byteways show`: a run's main results on a page of terminal, its sections by name, or all as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from byteways.base.errors import BytewaysError
from byteways.base.json_text import json_text
from byteways.cases.interfaces import metric_of
from byteways.cli.runs import opened_run
from byteways.console.overview import marked_each_screen, print_title, print_verdict, rendered
from byteways.console.terminal import echo, echo_rendered
from byteways.machine.model import Topology
from byteways.record.busy_machine import other_work, verdict_of
from byteways.record.record import Record
from byteways.record.simulation_mark import is_simulated, mark_of, model_of, subject

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class View:
    """A run restricted to the records that the filters select."""

    manifest: dict[str, Any]
    topology: Topology
    records: Sequence[Record]
    damaged_lines: int


def _sections_of_run(context: typer.Context, incomplete: str) -> list[str]:
    """Returns the sections of the run that a command line names, for a shell that completes one."""
    from byteways.answers.results.index import Index
    from byteways.cli.show_sections import Overview, table_sections
    from byteways.questions.findings import findings
    from byteways.record.run_folder import RunFolder

    try:
        index = Index(RunFolder(Path(context.params["run"])))
    except (BytewaysError, KeyError, TypeError):  # no run yet: there is nothing to complete
        return []
    names = (*Overview(index, findings(index)).sections(), *table_sections(index))
    return [name for name in names if name.startswith(incomplete)]


def show(
    run: Annotated[Path, typer.Argument(help="The folder that `byteways run` made.", metavar="RUN")],
    sections: Annotated[
        list[str] | None,
        typer.Argument(
            help="What to print: 'findings', 'patterns' or another section that the page names. "
            "[default: the page]",
            metavar="[SECTION]...",
            autocompletion=_sections_of_run,
            show_default=False,
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", help="Select cases: 'interface=copy,path=gpu0>gpu*'. Repeatable: cases that match any."
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option("--size", help="Select sizes: '1MiB', '64KiB..1GiB'. Tables show the largest."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Print every section.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print every result as JSON.")] = False,
) -> int:
    """Show the main results of a run on one page of 60 lines, and its other tables by name."""
    from byteways.answers.results.progress import progress

    names = sections or []
    shown = ["byteways", "show", str(run)]
    for option in (name for name, value in (("--all", every), ("--json", as_json)) if value and names):
        hint = f"{shlex.join([*shown, *names])}, or {shlex.join([*shown, option])}"
        raise BytewaysError(f"{option} prints all sections, not {' and '.join(names)} alone", hint=hint)
    folder = opened_run(run)
    view = View(
        folder.manifest,
        folder.topology,
        _kept(folder.records, only or [], size, folder.topology),
        folder.damaged_lines,
    )
    if as_json:
        echo(json_text(_as_data(view), indent=1))
    else:
        filters = [word for text in only or [] for word in ("--only", text)]
        filters += ["--size", size] if size is not None else []
        _print(view, progress(folder), names, every, [*shown, *filters])
    return 0


def _kept(
    records: Sequence[Record], only: Sequence[str], size: str | None, topology: Topology
) -> list[Record]:
    """Returns the selected records. Raises BytewaysError if a filter is invalid or nothing is left."""
    if not only and size is None:
        return [*records]
    from byteways.cases.case import Case
    from byteways.plan.filters import only_filter, sizes_filter
    from byteways.plan.unmatched import nothing_matches

    wanted, fits = only_filter(only, topology), sizes_filter(size)
    cases = [(record, Case.from_json(record.definition)) for record in records]
    kept = [record for record, case in cases if wanted(case, record.sweep) and fits(record.size_bytes)]
    if records and not kept:
        raise nothing_matches([(case, record.sweep) for record, case in cases], only, size, topology)
    return kept


def _as_data(view: View) -> dict[str, Any]:
    from byteways.answers.best.headline import best_first, headline
    from byteways.answers.results.index import Index
    from byteways.answers.results.obstacles import not_measured, warning_groups
    from byteways.answers.results.summary import Result
    from byteways.questions.findings import findings
    from byteways.questions.topics import topics
    from byteways.verdicts.two_runs.environments import carriers

    def figures(cell: Result) -> dict[str, Any]:
        record = cell.record
        name = "bandwidth_bytes_per_s" if metric_of(record.interface) == "bandwidth" else "latency_ns"
        asked = (
            "case_id interface executor access pattern path source destination size_bytes "
            "cache options environment"
        )
        return {
            **{field: getattr(record, field) for field in asked.split()},
            name: cell.value,
            f"{name}_interval": [cell.low, cell.high],
            "counts": record.counts,
            "operation_ns": cell.time_ns,
            "rounds": len(cell.records),
            "samples": cell.samples,
            "ranked": cell.ranked,
            "directions": cell.directions or None,
            "direction_intervals": {path: [part.low, part.high] for path, part in cell.parts.items()} or None,
            "peak_bytes_per_s": cell.peak,
            "fraction_of_peak": cell.fraction if name != "latency_ns" else None,
            "engine": record.engine,
            "verified": all(same.verified for same in cell.records),
            "warnings": list(cell.warning_ids),
        }

    index = Index(view)
    return {
        "run_id": view.manifest.get("run_id"),
        "simulated": is_simulated(view.manifest),
        "machine_model": model_of(view.manifest) or None,
        "state": view.manifest.get("state"),
        "unusable_gpus": view.manifest.get("unusable_gpus", []),
        "other_work": work.to_json() if (work := other_work(view.records)) else None,
        "between_ranks": carriers(view.manifest, view.records),
        "damaged_lines": view.damaged_lines,
        "best": best_first(headline(index)),
        "findings": [finding.to_json() for finding in findings(index)],
        "cells": [figures(cell) for cell in index.cells],
        "void": [record.case_id for record in index.void],
        "warnings": [vars(group) for group in warning_groups(view.records)],
        "topics": [asdict(topic, dict_factory=_of_topic) for topic in topics(index)],
        "not_measured": [vars(reason) for reason in not_measured(view.records)],
    }


def _of_topic(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns a part of a topic as data, of a table the text alone: the results have cells of their own."""
    data = dict(fields)
    data.pop("overview", None)
    if "headings" in data:
        for name in ("results", "unit", "advice"):
            del data[name]
    return data


def _print(view: View, progress: str, names: Sequence[str], every: bool, command: Sequence[str]) -> None:
    from byteways.answers.results.index import Index
    from byteways.cli.show_sections import Overview, chosen, page, table_sections
    from byteways.questions.findings import findings
    from byteways.report.second_process import MANY_RECORDS, computed_in_second_process

    mark, index = mark_of(view.manifest), Index(view)
    verdict = mark or verdict_of(view.manifest, view.records)

    def tables() -> dict[str, str]:
        return table_sections(index)

    def head(console: Console) -> None:
        print_verdict(console, verdict)
        _print_head(console, view, progress)
        console.print()
        print_title(console, index)
        if not overview.findings:
            console.print(f"\nnothing {index.voice.measured} yet")

    _ = index.ranked  # both processes need them
    many = len(view.records) >= MANY_RECORDS
    with computed_in_second_process(tables) if many else nullcontext(tables) as wait:
        overview = Overview(index, findings(index))
        texts = {**overview.sections(), **wait()}
    if names:
        sections = "\n".join(chosen(names, texts)).removeprefix("\n")
        text = "\n".join(filter(None, (rendered(lambda console: print_verdict(console, verdict)), sections)))
    elif every:
        text = "\n".join([rendered(head), *texts.values()])
    else:
        text = page(rendered(head), overview, texts, command)
    echo_rendered(marked_each_screen(text, mark))


def _print_head(console: Console, view: View, progress: str) -> None:
    from byteways.questions.display.numbers import moment
    from byteways.verdicts.two_runs.environments import carriers

    manifest = view.manifest
    suite = manifest.get("suite", {})
    started = moment(str(manifest.get("started_at") or ""))
    console.print(f"{suite.get('name')} on {subject(manifest)}, {started}, {progress}")
    if libraries := carriers(manifest, view.records):
        console.print(f"between ranks: {', '.join(libraries)}")
