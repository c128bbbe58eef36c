"""Collectives by several libraries side by side: one table for each launch mode, and which leads."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.answers.best.ranking import rank
from byteways.answers.best.wording_rankings import margin
from byteways.answers.claims.wording import LEADER, LEADER_MEANS
from byteways.answers.results.summary import Part, Result, group_by
from byteways.base.units import format_size
from byteways.cases.interfaces import COLLECTIVES
from byteways.cases.options import IN_PLACE, LAUNCH, SUBMIT, TIMING
from byteways.questions.display.table import Columns, Table, TableColumn, figures, tabulated, words
from byteways.questions.subjects.ranks import library, marked, memory, settings, us_figure

#: Options that must be equal to compare libraries: how operations follow each other, and who launches them.
_MODE = (TIMING, LAUNCH, SUBMIT, IN_PLACE)
#: What a launch mode is called.
_LAUNCHES = {"process": "one process each", "thread": "one thread each", "single": "one thread for all"}
#: What a submission adds to it.
_SUBMITS = {"calls": "", "graph": "as a graph", "persistent": "a batch by one launch"}
NOTE = f"Equal launch modes only; {LEADER}: {LEADER_MEANS}"


def tables(moving: Sequence[Result]) -> list[Table]:
    """Returns a table for each collective, group of ranks and mode that several libraries carried out."""
    made = []
    groups = group_by(moving, _alike)
    for alike in sorted(groups, key=_order):
        (pattern, ranks, *mode), by_way = alike, group_by(groups[alike], _way)
        if len({name for name, _ in by_way}) < 2:
            continue
        title = ", ".join(part for part in (f"{pattern} of {ranks} ranks", *mode) if part)
        made.append(_table(title, by_way))
    return made


def _alike(cell: Result) -> tuple[str, ...]:
    """Returns the words of a table's title: collective, ranks, memory and launch mode."""
    options = {option.name: cell.record.options.get(option.name, option.default) for option in _MODE}
    return (
        cell.record.pattern,
        str(len(cell.case.ranks)),
        memory(cell),
        str(options["timing"]),
        _LAUNCHES[str(options["launch"])],
        _SUBMITS.get(str(options["submit"] or "calls"), ""),
        "in place" if options["in_place"] == "yes" else "",
    )


def _order(alike: tuple[str, ...]) -> tuple[object, ...]:
    """Sorts by collective, then by mode, the default first."""
    pattern, ranks, where, timing, launch, submit, in_place = alike
    modes = [list(words.values()).index(word) for words, word in ((_LAUNCHES, launch), (_SUBMITS, submit))]
    return COLLECTIVES.index(pattern), int(ranks), where, TIMING.words.index(timing), *modes, in_place


def _way(cell: Result) -> tuple[str, str]:
    """The library, and what else differs from its defaults."""
    return library(cell), settings(cell, *(option.name for option in _MODE))


#: A size, its results by way, which way leads, and by how much.
_OfSize = tuple[int, dict[tuple[str, str], list[Result]], str, str]


def _table(title: str, by_way: dict[tuple[str, str], list[Result]]) -> Table:
    ways = sorted(by_way)
    sizes = sorted({cell.size_bytes for cells in by_way.values() for cell in cells})
    rows = []
    for size in sizes:
        here = {way: [cell for cell in by_way[way] if cell.size_bytes == size] for way in ways}
        rows.append((size, here, *_fastest(here)))

    def column(way: tuple[str, str]) -> TableColumn[_OfSize]:
        return figures(" ".join(part for part in way if part), lambda row: _time(row[1][way]))

    columns: Columns[_OfSize] = (
        figures("size", lambda row: format_size(row[0])),
        *map(column, ways),
        words(LEADER, lambda row: row[2]),
        words("margin", lambda row: row[3]),
    )
    assumed = any("assumed" in (cell.record.rests_on or ()) for cells in by_way.values() for cell in cells)
    table = tabulated(f"{title}: time by library, µs", columns, rows)
    return marked(table, NOTE, "based on assumed parameters of the model" if assumed else "")


def _time(cells: Sequence[Result]) -> str:
    if not cells or cells[0].time_ns is None:
        return ""
    cell, time_ns = cells[0], cells[0].time_ns
    return us_figure(Part(time_ns, time_ns * cell.value / cell.high, time_ns * cell.value / cell.low), cell)


def _fastest(here: dict[tuple[str, str], list[Result]]) -> tuple[str, str]:
    """Returns the way that leads, with its settings, and by how much; a tie has no leader."""
    cells = [cell for cells in here.values() for cell in cells]
    if len({library(cell) for cell in cells}) < 2:
        return "", ""
    ranking = rank(cells)
    if ranking is None:
        return "", "one round does not rank"
    first = ranking.group.cells[0]
    others = [tie for tie in ranking.ties if library(tie.group.cells[0]) != library(first)]
    leader = "" if others else " ".join(part for part in _way(first) if part)
    return leader, margin(ranking, {cell.record.interface: library(cell) for cell in cells})
