"""`byteways show`: a run's main results on a page of terminal, its sections by name, or all as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from byteways.answers.results.counting import count
from byteways.base.errors import BytewaysError
from byteways.base.json_text import json_text
from byteways.base.spelling import closest
from byteways.cases.interfaces import metric_of
from byteways.cli.runs import opened_run
from byteways.console.overview import (
    hanging,
    marked_each_screen,
    print_findings,
    print_headline,
    print_matrix,
    print_title,
    print_verdict,
    rendered,
)
from byteways.console.show_tables import print_table
from byteways.console.terminal import echo, echo_rendered
from byteways.machine.model import Topology
from byteways.record.busy_machine import other_work, verdict_of
from byteways.record.record import Record
from byteways.record.simulation_mark import is_simulated, mark_of, model_of, subject

if TYPE_CHECKING:
    from rich.console import Console

    from byteways.answers.claims.finding import Finding
    from byteways.answers.results.index import Index
    from byteways.questions.display.table import Table


# The sections of `byteways show` as text, and the page of terminal that it prints unless a section is named.
#
# The page has the status, the node, the recommended interfaces and the findings, the most important first;
# then whole tables while there is room, and the names of all sections.

#: Lines of the page: what a tall terminal shows without scrolling.
PAGE_LINES = 60
#: Lines of the page that findings have at least, if there are any: three of them, as at the end of `run`.
FINDING_LINES = 12
#: Most lines of the node on the page, which 16 GPUs need; a larger one is printed by name.
NODE_LINES = 24
NODE_SECTION, BEST_SECTION, FINDINGS_SECTION, MATRICES_SECTION = "node", "recommended", "findings", "matrices"
#: Sections whose name is not the anchor of their topic, which links and JSON keep.
SECTION_OF = {"together": "contention"}
OF_OVERVIEW = (NODE_SECTION, BEST_SECTION, FINDINGS_SECTION)


@dataclass(frozen=True)
class Overview:
    """What the page begins with: before the tables."""

    index: Index
    findings: Sequence[Finding]

    @property
    def rows(self) -> int:
        """The number of rows of the recommended interfaces."""
        from byteways.answers.best.headline import headline

        first = headline(self.index)
        return len(first.rows) if first else 0

    def sections(self) -> dict[str, str]:
        """Returns node, recommended interfaces and findings in full, those with data."""
        texts = {
            NODE_SECTION: rendered(lambda console: print_matrix(console, self.index, self.findings)),
            BEST_SECTION: rendered(lambda console: print_headline(console, self.index)),
            FINDINGS_SECTION: rendered(lambda console: print_findings(console, self.findings)),
        }
        return {name: text for name, text in texts.items() if text}


def table_sections(index: Index) -> dict[str, str]:
    """Returns the tables as text by the name of their section: the topics, then what belongs to none."""
    from byteways.questions.tables import tables
    from byteways.questions.topics import topics

    def fill(named: Sequence[tuple[str, Table]]) -> Callable[[Console], None]:
        def print_tables(console: Console) -> None:
            for title, table in named:
                _print_table(console, title, table)

        return print_tables

    others = tables(index)
    sections: dict[str, list[tuple[str, Table]]] = {}
    for topic in topics(index):
        titles = [": ".join(dict.fromkeys(filter(None, (topic.title, part.title)))) for part in topic.tables]
        sections[SECTION_OF.get(topic.anchor, topic.anchor)] = list(zip(titles, topic.tables, strict=True))
    sections[MATRICES_SECTION] = [(part.title, part) for part in others.grids]
    for topic in others.parts.values():
        sections[topic.anchor] = [(part.title or topic.title, part) for part in topic.tables]
    return {name: rendered(fill(named)) for name, named in sections.items() if named}


def chosen(names: Sequence[str], texts: Mapping[str, str]) -> list[str]:
    """Returns the sections of these names. Raises BytewaysError if the run has none of a name."""
    for name in names:
        if name not in texts:
            raise BytewaysError(f"no section '{name}' in this run", hint=closest(name, texts))
    return [texts[name] for name in dict.fromkeys(names)]


def page(head: str, overview: Overview, texts: Mapping[str, str], command: Sequence[str]) -> str:
    """Returns the page, of at most PAGE_LINES lines.

    Args:
        head: What precedes the sections.
        overview: The node, the recommended interfaces and the findings.
        texts: All sections in full by name.
        command: What prints this, and a section if its name follows.
    """
    whole = "\n".join([head, *texts.values()])
    if len(whole.splitlines()) <= PAGE_LINES:
        return whole
    found = overview.findings
    lines = head.splitlines()
    last = PAGE_LINES - len(_ending(len(found), texts, command))
    lines += _node(overview, texts)
    lines += _recommended(overview, last - len(lines) - (FINDING_LINES if found else 0))
    shown, titles = _titles(found, last - len(lines))
    lines += titles
    if shown == len(found):
        for name, text in texts.items():
            if name not in OF_OVERVIEW and len(part := text.splitlines()) <= last - len(lines):
                lines += part
    return "\n".join([*lines, *_ending(len(found) - shown, texts, command)])


def _node(overview: Overview, texts: Mapping[str, str]) -> list[str]:
    """Returns the node: in full, without the shares of the peak, or nothing, by what NODE_LINES allow."""
    full = texts.get(NODE_SECTION, "").splitlines()
    if len(full) <= NODE_LINES:
        return full
    rates = rendered(
        lambda console: print_matrix(console, overview.index, overview.findings, rates_alone=True)
    ).splitlines()
    return rates if len(rates) <= NODE_LINES else []


def _recommended(overview: Overview, room: int) -> list[str]:
    """Returns the recommended interfaces without their details, as many rows as have room."""

    def fill(most: int, console: Console) -> None:
        if left := print_headline(console, overview.index, most):
            console.print(f"{count(left, 'more row')}: {BEST_SECTION}", style="dim")

    return _longest((partial(fill, most) for most in range(1, overview.rows + 1)), room)[1]


def _titles(found: Sequence[Finding], room: int) -> tuple[int, list[str]]:
    """Returns the number of findings whose titles have room below their heading, and the lines."""

    def fill(number: int, console: Console) -> None:
        print_findings(console, found[:number], details=False)

    return _longest((partial(fill, number) for number in range(1, len(found) + 1)), room)


def _longest(growing: Iterable[Callable[[Console], None]], room: int) -> tuple[int, list[str]]:
    """Returns how many of these texts, from short to long, have room, and the lines of the last one."""
    number, lines = 0, list[str]()
    for number, fill in enumerate(growing):
        longer = rendered(fill).splitlines()
        if len(longer) > room:
            return number, lines
        lines = longer
    return number + bool(lines), lines


def _ending(left: int, texts: Mapping[str, str], command: Sequence[str]) -> list[str]:
    """Returns what else there is, and the command for it."""
    more = f"{count(left, 'more finding')} and the tables" if left else "Details and tables"

    def fill(console: Console) -> None:
        console.print(f"\n{more}, by name:", style="bold")
        hanging(console, "  ", f"{shlex.join(command)} SECTION")
        hanging(console, "  ", f"{', '.join(texts)}; or --all")

    return rendered(fill).splitlines()


def _print_table(console: Console, title: str, table: Table) -> None:
    rows = table.rows
    warned = ""
    if table.results:
        rows = tuple(
            tuple(
                f"{text}*" if result and result.warned else text for text, result in zip(*both, strict=True)
            )
            for both in zip(table.rows, table.results, strict=True)
        )
        warned = "* has a warning (see warnings)" if rows != table.rows else ""
    named = f"{title}, {table.unit}" if table.unit else title
    print_table(console, named, table.headings, rows or table.rows, table.numeric)
    if notes := [note for note in (table.note, warned) if note]:
        console.print("; ".join(notes), style="dim")
    if table.advice:
        console.print(f"\nWhat to do about the {title.lower()}", style="bold")
        for row, advice in zip(table.rows, table.advice, strict=True):
            hanging(console, f"{row[0]}: ", advice)


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
