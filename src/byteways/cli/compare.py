"""`byteways compare`: what differs between runs, case by case, or between machines by link class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from byteways.base.errors import BytewaysError, ExitStatus
from byteways.base.json_text import json_text
from byteways.base.spelling import closest
from byteways.cli.power_options import LeastEffect, Strict
from byteways.cli.runs import Every, Mixed, opened_run
from byteways.console.terminal import echo, say
from byteways.verdicts.two_runs.wording_options import FAIL_IF

if TYPE_CHECKING:
    from byteways.console.layout import Lines
    from byteways.questions.display.table import Table
    from byteways.record.run_folder import RunFolder
    from byteways.verdicts.two_runs.across_machines import ClassComparison, MachinesRow
    from byteways.verdicts.two_runs.comparison import Comparison
    from byteways.verdicts.two_runs.environments import Difference

CASE, LINK_CLASS = "case", "link-class"
#: Most differing cases, differences of environment and failed cases that are printed without --all.
MOST_PRINTED_CASES, MOST_DIFFERENCES, MOST_FAILED = 30, 20, 10
#: Cases of unlike machines: one of them has other GPUs in each, so that few rows say it all.
MOST_OF_MACHINES = 5


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Two or more run folders; the first is the reference.", metavar="RUN…"),
    ],
    by: Annotated[
        str,
        typer.Option(
            "--by",
            help="'case'; or 'link-class', which compares different machines as fractions of the peak.",
        ),
    ] = CASE,
    fail_if: Annotated[list[str] | None, typer.Option("--fail-if", help=f"{FAIL_IF} Repeatable.")] = None,
    least_effect: LeastEffect = None,
    strict: Strict = False,
    mixed: Mixed = False,
    every: Every = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print all comparisons with their claims as JSON.")
    ] = False,
) -> int:
    """Compare runs: differences of the environment, then of the results, the largest first."""
    from byteways.answers.claims.wording import UNDECIDED
    from byteways.verdicts.two_runs.comparison import check, compare_runs
    from byteways.verdicts.two_runs.paired_cases import DEFAULT_LEAST_EFFECT
    from byteways.verdicts.two_runs.wording_comparison import Condition, part_of

    if by not in (CASE, LINK_CLASS):
        raise BytewaysError(f"unknown --by '{by}'", hint=closest(by, (CASE, LINK_CLASS)))
    conditions = [Condition.parse(text) for text in fail_if or ()]
    given = ("--fail-if", conditions), ("--strict", strict), ("--least-effect", least_effect)
    for option in (name for name, value in given if by == LINK_CLASS and value):
        raise BytewaysError(f"{option} compares case by case", hint="leave out --by link-class")
    least = DEFAULT_LEAST_EFFECT if least_effect is None else part_of("--least-effect", least_effect)
    folders = [opened_run(run) for run in runs]
    names = [str(run) for run in runs]
    if by == LINK_CLASS:
        check(folders, names, mixed=mixed)
        _by_class(folders, names, every, as_json)
        return ExitStatus.GOOD
    found = compare_runs(folders, names, mixed=mixed, least_effect=least)
    broken = [
        f"{one.names[1]}: {said}" for one in found for rule in conditions if (said := rule.broken_by(one))
    ]
    undecided = [f"{one.names[1]}: {len(one.undecided)}" for one in found if strict and one.undecided]
    if as_json:
        comparisons = [{**one.to_json(), **_classes_as_data(one, folders)} for one in found]
        told = {"marks": _marks(folders), "comparisons": comparisons, "broken": broken}
        echo(json_text(told, indent=1))
    else:
        for one in found:
            _print(one, folders, every)
    for text in broken:
        say(f"--fail-if: {text}")
    for text in undecided:
        say(f"--strict: {text} {UNDECIDED}")
    return ExitStatus.FAILED if broken or undecided else ExitStatus.GOOD


def _marks(folders: Sequence[RunFolder]) -> list[str]:
    from byteways.record.simulation_mark import mark_of

    return [f"{folder.path}: {mark}" for folder in folders if (mark := mark_of(folder.manifest))]


def _print(compared: Comparison, folders: Sequence[RunFolder], every: bool) -> None:
    from byteways.console.layout import Lines, show
    from byteways.questions.display.table import Table
    from byteways.verdicts.two_runs.wording_comparison import HEADINGS, row

    own = [_named(name, folders) for name in compared.names]
    for mark in _marks(own):
        echo(mark)
    first, second = compared.names
    most = MOST_PRINTED_CASES if compared.same_gpus else MOST_OF_MACHINES
    blocks: list[Table | Lines] = [Lines("runs", (f"first: {first}", f"second: {second}"))]
    blocks += [_environment(compared, own), Lines("result", tuple(_result(compared, most)))]
    if not compared.same_gpus:
        blocks += _class_tables(_classes(compared, folders), every)
    if compared.lost:
        failed = tuple((one.status, f"{one.interface} {one.path}", one.reason or "") for one in compared.lost)
        title = f"failed in {second}, not in {first}"
        blocks.append(Table(title, ("status", "case", "reason"), failed[: None if every else MOST_FAILED]))
    pairs = compared.pairs if every else [pair for pair in compared.pairs if pair.claim.differ][:most]
    if pairs:
        rows = tuple(row(pair) for pair in pairs)
        blocks.append(
            Table("cases, the largest differences first", HEADINGS, rows, tuple(range(1, len(HEADINGS))))
        )
    show(blocks)


def _named(name: str, folders: Sequence[RunFolder]) -> RunFolder:
    return next(folder for folder in folders if str(folder.path) == name)


def _environment(compared: Comparison, runs: Sequence[RunFolder]) -> Table | Lines:
    from byteways.console.layout import Lines
    from byteways.questions.display.table import Table
    from byteways.verdicts.two_runs.environments import between_machines

    title = "differences of the environment"
    if not compared.environment:
        return Lines(title, ("none",))
    found: Sequence[Difference] = compared.environment
    if not compared.same_gpus:
        found = between_machines(found, *(run.topology for run in runs))
    told = [(one.what, one.first or "-", one.second or "-") for one in found]
    if len(told) > MOST_DIFFERENCES:
        told[MOST_DIFFERENCES:] = [(f"and {len(told) - MOST_DIFFERENCES} more", "--json", "--json")]
    return Table(title, ("what", "first", "second"), tuple(told))


def _result(compared: Comparison, most: int) -> Iterator[str]:
    from byteways.answers.results.counting import count
    from byteways.verdicts.two_runs.wording_comparison import more, pooled, summary, suspicion

    yield summary(compared)
    if said := suspicion(compared):
        yield said
    yield from pooled(compared)
    if not compared.same_gpus:
        yield "the machines have different GPUs: compare the fractions of the nominal peak below"
    for reason, number in compared.not_compared.items():
        yield f"{count(number, 'case')} not compared: {reason}"
    only = zip((compared.only_first, compared.only_second), compared.names, strict=True)
    yield from (f"{count(number, 'case')} only in {name}" for number, name in only if number)
    if said := more(compared, most):
        yield said


def _by_class(folders: Sequence[RunFolder], names: Sequence[str], every: bool, as_json: bool) -> None:
    from byteways.verdicts.two_runs.across_machines import compare_classes

    found = compare_classes(folders, names)
    if as_json:
        told = {"marks": _marks(folders), "comparisons": [one.to_json() for one in found]}
        echo(json_text(told, indent=1))
        return
    for mark in _marks(folders):
        echo(mark)
    for one in found:
        _print_classes(one, every)


def _print_classes(compared: ClassComparison, every: bool) -> None:
    from byteways.console.layout import Lines, show
    from byteways.verdicts.two_runs.wording_comparison import class_summary

    first, second = compared.names
    runs = Lines("runs", (f"first: {first}", f"second: {second}"))
    result = Lines("result, as fractions of the nominal peak", tuple(class_summary(compared.rows)))
    show([runs, result, *_class_tables(compared.rows, every)])


def _classes(compared: Comparison, folders: Sequence[RunFolder]) -> tuple[MachinesRow, ...]:
    """Returns the rows of two unlike machines by link class; none without transfers over known links."""
    from byteways.verdicts.two_runs.across_machines import compare_classes

    try:
        (found,) = compare_classes([_named(name, folders) for name in compared.names], compared.names)
    except BytewaysError:
        return ()
    return found.rows


def _classes_as_data(compared: Comparison, folders: Sequence[RunFolder]) -> dict[str, Any]:
    """Returns what the JSON of a comparison has beside cases if the machines have different GPUs."""
    if compared.same_gpus:
        return {}
    return {"link_classes": [row.to_json() for row in _classes(compared, folders)]}


def _class_tables(rows: Sequence[MachinesRow], every: bool) -> list[Table | Lines]:
    """Returns a table for each kind of pair; of the largest size alone unless every row is asked for."""
    from byteways.answers.results.selection import PAIR_KINDS
    from byteways.answers.results.summary import group_by
    from byteways.questions.display.table import Table
    from byteways.verdicts.two_runs.wording_comparison import class_row

    columns = ("interface", "size", "first", "second", "second beside first")
    tables: list[Table | Lines] = []
    for between, some in group_by(rows, lambda row: row.between).items():
        largest = max(row.size_bytes for row in some)
        shown = [row for row in some if every or row.size_bytes == largest]
        left_out = "" if len(shown) == len(some) else "; other sizes: --all"
        title = f"{PAIR_KINDS[between]}, fractions of the nominal peak{left_out}"
        tables.append(Table(title, columns, tuple(map(class_row, shown))))
    return tables
