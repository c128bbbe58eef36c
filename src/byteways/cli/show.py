"""`byteways show`: a run's results as tables for a terminal or pipe, or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from byteways.cli.overview import (
    hanging,
    print_findings,
    print_headline,
    print_title,
    print_verdict,
    rendered,
)
from byteways.cli.runs import opened_run
from byteways.cli.show_tables import print_table
from byteways.cli.terminal import echo, echo_rendered
from byteways.json_text import json_text
from byteways.plan.interfaces import metric_of
from byteways.record.busy_machine import other_work, verdict_of
from byteways.record.record import Record
from byteways.record.simulation_mark import is_simulated, mark_of, model_of, subject
from byteways.topology.model import Topology

if TYPE_CHECKING:
    from rich.console import Console

    from byteways.explain.display.table import Table
    from byteways.explain.results.index import Index


@dataclass(frozen=True)
class View:
    """A run restricted to the records that the filters select."""

    manifest: dict[str, Any]
    topology: Topology
    records: Sequence[Record]
    damaged_lines: int


def show(
    run: Annotated[Path, typer.Argument(help="The folder that `byteways run` made.", metavar="RUN")],
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
    as_json: Annotated[bool, typer.Option("--json", help="Print every result as JSON.")] = False,
) -> int:
    """Show the figures of a run: findings, matrices, latency, patterns, warnings, and what was skipped."""
    from byteways.explain.results.progress import progress

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
        _print(view, progress(folder))
    return 0


def _kept(
    records: Sequence[Record], only: Sequence[str], size: str | None, topology: Topology
) -> list[Record]:
    """Returns the selected records. Raises BytewaysError if a filter is invalid or nothing is left."""
    if not only and size is None:
        return [*records]
    from byteways.plan.case import Case
    from byteways.plan.filters import only_filter, sizes_filter
    from byteways.plan.unmatched import nothing_matches

    wanted, fits = only_filter(only, topology), sizes_filter(size)
    cases = [(record, Case.from_json(record.definition)) for record in records]
    kept = [record for record, case in cases if wanted(case, record.sweep) and fits(record.size_bytes)]
    if records and not kept:
        raise nothing_matches([(case, record.sweep) for record, case in cases], only, size, topology)
    return kept


def _as_data(view: View) -> dict[str, Any]:
    from byteways.explain.best.headline import best_first, headline
    from byteways.explain.findings import findings
    from byteways.explain.results.index import Index
    from byteways.explain.results.obstacles import not_measured, warning_groups
    from byteways.explain.results.summary import Result
    from byteways.explain.topics import topics
    from byteways.explain.two_runs.environments import carriers

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


def _print(view: View, progress: str) -> None:
    from byteways.explain.findings import findings
    from byteways.explain.results.index import Index
    from byteways.report.second_process import MANY_RECORDS, computed_in_second_process

    mark, index = mark_of(view.manifest), Index(view)

    def head(console: Console) -> None:
        found = findings(index)
        _print_head(console, view, progress, mark)
        console.print()
        print_title(console, index, found)
        print_headline(console, index, mark)
        if not found:
            console.print(f"\nnothing {index.voice.measured} yet")
        print_findings(console, found)

    def body(console: Console) -> None:
        _print_tables(console, index, mark)

    if len(view.records) < MANY_RECORDS:
        first, rest = rendered(head), rendered(body)
    else:
        _ = index.ranked  # both processes need them
        with computed_in_second_process(lambda: rendered(body)) as wait:
            first, rest = rendered(head), wait()
    echo_rendered(f"{first}\n{rest}" if rest else first)


def _print_head(console: Console, view: View, progress: str, mark: str) -> None:
    from byteways.explain.display.numbers import moment
    from byteways.explain.two_runs.environments import carriers

    manifest = view.manifest
    print_verdict(console, mark or verdict_of(manifest, view.records))
    suite = manifest.get("suite", {})
    started = moment(str(manifest.get("started_at") or ""))
    console.print(f"{suite.get('name')} on {subject(manifest)}, {started}, {progress}")
    if libraries := carriers(manifest, view.records):
        console.print(f"between ranks: {', '.join(libraries)}")


def _print_tables(console: Console, index: Index, mark: str) -> None:
    """Prints the topics, then what belongs to none."""
    from byteways.explain.tables import tables
    from byteways.explain.topics import topics

    for topic in topics(index):
        for part in topic.tables:
            named = dict.fromkeys((topic.title, part.title) if part.title else (topic.title,))
            _print_table(console, mark, ": ".join(named), part)
    others = tables(index)
    for part in others.grids:
        _print_table(console, mark, part.title, part)
    for topic in others.parts.values():
        for part in topic.tables:
            _print_table(console, mark, part.title or topic.title, part)


def _print_table(console: Console, mark: str, title: str, table: Table) -> None:
    rows = table.rows
    warned = ""
    if table.results:
        rows = tuple(
            tuple(
                f"{text}*" if result and result.warned else text for text, result in zip(*both, strict=True)
            )
            for both in zip(table.rows, table.results, strict=True)
        )
        warned = "* has a warning (listed below)" if rows != table.rows else ""
    named = f"{title}, {table.unit}" if table.unit else title
    print_table(console, mark, named, table.headings, rows or table.rows, table.numeric)
    if notes := [note for note in (table.note, warned) if note]:
        console.print("; ".join(notes), style="dim")
    if table.advice:
        console.print(f"\nWhat to do about the {title.lower()}", style="bold")
        for row, advice in zip(table.rows, table.advice, strict=True):
            hanging(console, f"{row[0]}: ", advice)
