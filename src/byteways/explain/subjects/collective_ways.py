"""Collectives by several libraries side by side: one table for each launch mode, and which leads."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.explain.best.ranking import rank
from byteways.explain.best.wording_rankings import margin
from byteways.explain.claims.wording import LEADER, LEADER_MEANS
from byteways.explain.display.table import Table
from byteways.explain.results.summary import Part, Result, group_by
from byteways.explain.subjects.ranks import library, memory, note_of, us_figure
from byteways.plan.case import Case
from byteways.plan.interfaces import COLLECTIVES
from byteways.plan.options import IN_PLACE, LAUNCH, SUBMIT, TIMING
from byteways.units import format_size

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
        str(len(Case.from_json(cell.record.definition).ranks)),
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
    names = {option.name for option in _MODE}
    others = [word for word in cell.variant.options.split(" ") if word.partition("=")[0] not in names]
    return library(cell), " ".join(word for word in (*others, cell.variant.environment) if word)


def _table(title: str, by_way: dict[tuple[str, str], list[Result]]) -> Table:
    ways = sorted(by_way)
    sizes = sorted({cell.record.size_bytes for cells in by_way.values() for cell in cells})
    rows = []
    for size in sizes:
        here = {way: [cell for cell in by_way[way] if cell.record.size_bytes == size] for way in ways}
        times = [_time(here[way]) for way in ways]
        rows.append((format_size(size), *times, *_fastest(here)))
    headings = ("size", *(" ".join(part for part in way if part) for way in ways), LEADER, "margin")
    figures = tuple(range(len(ways) + 1))
    assumed = any("assumed" in (cell.record.rests_on or ()) for cells in by_way.values() for cell in cells)
    note = note_of(rows, NOTE, "based on assumed parameters of the model" if assumed else "")
    return Table(f"{title}: time by library, µs", headings, tuple(rows), figures, (note,))


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
