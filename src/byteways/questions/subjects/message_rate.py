"""Messages of several pairs of ranks at once: messages per second and bandwidth, by the number of pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import supported
from byteways.answers.claims.wording import difference_text
from byteways.answers.results.index import Index
from byteways.answers.results.summary import Part, Result, group_by
from byteways.base.units import format_size
from byteways.cases.interfaces import MULTI_PAIR
from byteways.questions.display.table import Table, TableColumn, figures, tabulated
from byteways.questions.display.topic import Topic
from byteways.questions.subjects.collectives import members_of, ranks_of
from byteways.questions.subjects.ranks import (
    AS_OSU,
    MARK,
    as_osu,
    gb_figure,
    library,
    marked,
    memory,
    settings,
    versions,
)

INTRODUCTION = (
    "Each rank of the first half sends windows of MPI messages to one rank of the second half, all "
    "concurrently, as in osu_mbw_mr. The slowest pair determines the time."
)


def pairs_at_once(results: Iterable[Result]) -> list[Result]:
    """Returns the results of several pairs at once."""
    return [cell for cell in results if cell.record.pattern == MULTI_PAIR]


def per_second(cell: Result) -> Part:
    """Returns the messages per second of all pairs together, with the value's interval."""
    size = cell.size_bytes
    return Part(cell.value / size, cell.low / size, cell.high / size)


def topic(index: Index) -> Topic | None:
    """Returns the topic; None if the run has no such messages."""
    alike = group_by(pairs_at_once(index.cells), _alike)
    if not alike:
        return None
    tables: list[Table] = []
    for key, members in alike.items():
        tables += _tables(", ".join(filter(None, key)), members)
    return Topic("message-rate", "Messages of several pairs concurrently", INTRODUCTION, tuple(tables))


def _alike(cell: Result) -> tuple[str, str, str]:
    return library(cell), memory(cell), settings(cell)


def _tables(title: str, members: Sequence[Result]) -> Iterator[Table]:
    """Yields messages per second and bandwidth, a row per size and a column per number of pairs."""
    yield _table(f"{title}: million messages/s", members, _millions)
    yield _table(f"{title}: GB/s of all pairs", members, gb_figure)


def _table(title: str, members: Sequence[Result], figure: Callable[[Result], str]) -> Table:
    counts = sorted({ranks_of(cell) for cell in members})
    at = {(cell.size_bytes, ranks_of(cell)): cell for cell in members}

    def column(count: int) -> TableColumn[int]:
        return figures(
            _pairs(count // 2), lambda size: figure(at[size, count]) if (size, count) in at else ""
        )

    columns = (figures("size", format_size), *map(column, counts))
    table = tabulated(title, columns, sorted({size for size, _ in at}))
    return marked(table, AS_OSU * as_osu(members), versions(members))


def _pairs(count: int) -> str:
    return "1 pair" if count == 1 else f"{count} pairs"


def _millions(cell: Result) -> str:
    return _supported(cell) + MARK * bool(cell.warning_ids)


def _supported(cell: Result) -> str:
    rate_text = per_second(cell)
    return supported(rate_text.value / 1e6, rate_text.low / 1e6, rate_text.high / 1e6)


def message_rate(index: Index) -> Iterator[Finding]:
    """Reports the rate of the smallest messages by most pairs, beside that of one pair."""
    for members in group_by(pairs_at_once(index.between_ranks), _alike).values():
        size = min(cell.size_bytes for cell in members)
        smallest = {ranks_of(cell): cell for cell in members if cell.size_bytes == size}
        most = smallest[max(smallest)]
        pairs = ranks_of(most) // 2
        title = (
            f"{_pairs(pairs)} of ranks send{'s' * (pairs == 1)} {_supported(most)} million {library(most)} "
            f"messages of {format_size(size)} per second"
        )
        detail = ", ".join(
            part for part in (f"Ranks {members_of(most)}", memory(most), settings(most)) if part
        )
        alone = smallest.get(2)
        about = pairs, library(most), size
        results = [most]
        claims: list[Claim] = []
        if alone is not None and alone is not most:
            names = _pairs(pairs), "one pair"
            claim = compare(most, alone, kind=MULTI_PAIR, match=lambda cell: cell.size_bytes, names=names)
            title += f"; compared with one pair: {difference_text(claim)}"
            detail += f". One pair alone: {_supported(alone)} million"
            results.append(alone)
            claims.append(claim)
        yield finding(title, f"{detail}.", Priority.MESSAGE_RATE, results, claims, about=about)
