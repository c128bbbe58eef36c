"""Managed-memory migration: prefetch, on-demand migration and zero-copy, compared with explicit copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, finding, notice
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import rate
from byteways.answers.claims.wording import fastest_by_size, longer
from byteways.answers.results.counting import count, listed
from byteways.answers.results.index import Index
from byteways.answers.results.selection import PAIR_KINDS, WITH_OWN_TABLES, kind, link_class, unidirectional
from byteways.answers.results.summary import Result, ResultGroup, group_by, pool
from byteways.base.units import bandwidth_number, format_bandwidth, format_size
from byteways.cases.interfaces import INTERFACES, moves_pages
from byteways.cases.memory import is_managed
from byteways.cases.reasons import PAGES_LAND_ELSEWHERE
from byteways.machine.model import Topology
from byteways.questions.display.chart import Axis, Chart, Series
from byteways.questions.display.curves import result_point
from byteways.questions.display.table import Columns, Table, TableColumn, figures, tabulated, words
from byteways.questions.display.topic import Topic

PREFETCH, ON_DEMAND, ZERO_COPY = "prefetch", "on demand", "zero-copy"
#: The methods, in table order.
MIGRATION_METHODS = (PREFETCH, ON_DEMAND, ZERO_COPY)


@dataclass(frozen=True)
class Compared:
    """One kind of pair, link class and size: the result of each method, and of explicit transfers.

    `explicit` is the fastest interface between non-migrating memories on the same paths.
    """

    kind: str  # a key of selection.KINDS
    class_name: str
    size_bytes: int
    ways: dict[str, ResultGroup]
    explicit: ResultGroup | None

    @property
    def paths(self) -> list[str]:
        return list(dict.fromkeys(cell.record.path for group in self.ways.values() for cell in group.cells))

    @property
    def slow_down(self) -> Claim | None:
        """Explicit copies versus prefetch, path by path; None if either is missing."""
        if PREFETCH not in self.ways or self.explicit is None:
            return None
        names = self.explicit.cells[0].record.interface, PREFETCH
        return compare(self.explicit, self.ways[PREFETCH], kind="prefetch", names=names)

    @property
    def claims(self) -> list[Claim]:
        """Each method compared with every other one."""
        return [
            compare(group, other, kind="pages", ways=len(self.ways), names=(name, rival))
            for name, group in self.ways.items()
            for rival, other in self.ways.items()
            if rival != name
        ]

    @property
    def fastest(self) -> str | None:
        """The method significantly faster than all others; None if there is none."""
        leading = [claim.first.name for claim in self.claims if claim.leads]
        return next((name for name in self.ways if leading.count(name) == len(self.ways) - 1), None)

    @property
    def leads(self) -> list[Claim]:
        """The claims that the fastest method leads; empty without a fastest one."""
        return [claim for claim in self.claims if claim.first.name == self.fastest]


def way_of(cell: Result) -> str | None:
    """Returns how pages reached the destination; None if the case concerns no page migration.

    Pages that start on the executor neither migrate nor are accessed remotely.
    """
    record = cell.record
    if moves_pages(record.interface):
        return PREFETCH
    by_touch = not INTERFACES[record.interface].by_call
    if not by_touch or not is_managed(cell.source.memory) or record.executor == cell.source.device:
        return None
    if record.migrated_bytes is not None:
        return ON_DEMAND if record.migrated_bytes else ZERO_COPY
    return {"off": ZERO_COPY, "on-demand": ON_DEMAND}.get(str(record.options.get("migration")))


def compared(topology: Topology, results: Sequence[Result]) -> list[Compared]:
    """Returns all combinations of pair kind, link class and size with managed pages, by first appearance."""
    singles = [cell for cell in unidirectional(results) if cell.record.cache == "cold"]
    ways = {id(cell): way for cell in singles if (way := way_of(cell)) is not None}
    moving = [cell for cell in singles if id(cell) in ways]
    plain = [cell for cell in singles if cell.stays and cell.record.interface not in WITH_OWN_TABLES]
    plain_by_size = group_by(plain, lambda cell: cell.size_bytes)
    places = group_by(moving, lambda cell: (kind(cell), link_class(topology, cell)))
    answer = []
    for (pair, class_name), members in places.items():
        paths = {cell.record.path for cell in members}
        by_size = group_by(members, lambda cell: cell.size_bytes)
        for size in sorted(by_size):
            by_way = group_by(by_size[size], lambda cell: ways[id(cell)])
            settled = [cell for cell in plain_by_size.get(size, ()) if cell.record.path in paths]
            groups = {name: _fastest(by_way[name]) for name in MIGRATION_METHODS if name in by_way}
            answer.append(Compared(pair, class_name, size, groups, _fastest(settled) if settled else None))
    return answer


def _fastest(cells: Sequence[Result]) -> ResultGroup:
    """Returns the fastest group of cells that differ only in the pair."""
    groups = [pool(members) for members in group_by(cells, lambda cell: cell.variant).values()]
    return max(groups, key=lambda group: group.value)


EXPLICIT = "explicit copy"
UNKNOWN_METHOD = "unknown"
#: Shown for missing values; columns with nothing else are omitted.
MISSING_SIGN = "–"


def topic(index: Index) -> Topic | None:
    """Returns the topic of managed memory; None if no case migrated or accessed managed pages."""
    rows = compared(index.topology, index.cells)
    if not rows:
        return None
    places = list(group_by(rows, lambda row: (row.kind, row.class_name)).values())
    return Topic(
        "pages",
        "Managed-memory migration",
        "Managed pages are prefetched, migrated on demand (on first touch) or accessed in place "
        "(zero-copy), compared with the best explicit copy between memories that do not migrate. "
        "Residency was queried from the system, not assumed.",
        tuple(_table(sizes) for sizes in places),
        tuple(_chart(sizes) for sizes in places if len(sizes) > 1),
    )


def _title(row: Compared) -> str:
    return f"{PAIR_KINDS[row.kind]}, {row.class_name}" if row.class_name else PAIR_KINDS[row.kind]


def _said(group: ResultGroup | None) -> str:
    if group is None:
        return MISSING_SIGN
    doubts = sorted({word for cell in group.cells for word in cell.doubts})
    return format_bandwidth(group.value) + (f" ({', '.join(doubts)})" if doubts else "")


def _figure(group: ResultGroup | None) -> str:
    """Formats GB/s, with a star if there are data warnings."""
    if group is None:
        return MISSING_SIGN
    doubted = any(cell.doubts for cell in group.cells)
    return bandwidth_number(group.value) + "*" * doubted


def _table(sizes: Sequence[Compared]) -> Table:
    def column(name: str) -> TableColumn[Compared]:
        return figures(f"{name}, GB/s", lambda size: _figure(size.ways.get(name)))

    columns: Columns[Compared] = (
        figures("size", lambda size: format_size(size.size_bytes)),
        *map(column, MIGRATION_METHODS),
        figures(f"{EXPLICIT}, GB/s", lambda size: _figure(size.explicit)),
        words("by", lambda size: size.explicit.cells[0].record.interface if size.explicit else MISSING_SIGN),
        figures("prefetch takes, times", _slow_down),
        figures("migrated on demand", _moved),
    )
    shown = [column for column in columns if any(column.cell(size) != MISSING_SIGN for size in sizes)]
    note = "Median over " + ", ".join(dict.fromkeys(path for size in sizes for path in size.paths)) + "."
    groups = [group for size in sizes for group in (*size.ways.values(), size.explicit) if group is not None]
    doubts = sorted({word for group in groups for cell in group.cells for word in cell.doubts})
    if doubts:
        note += f" * {', '.join(doubts)}."
    if any(_moved(size) == UNKNOWN_METHOD for size in sizes):
        note += " Whether touched pages migrated is unknown: 'on demand' is the requested mode."
    return tabulated(_title(sizes[0]), shown, sizes, note)


def _slow_down(size: Compared) -> str:
    claim = size.slow_down
    return f"{claim.effect:.3g}" if claim and claim.pairs else MISSING_SIGN


def _moved(row: Compared) -> str:
    """Formats the observed bytes migrated per operation; above the size if pages are larger."""
    group = row.ways.get("on demand")
    moved_bytes = {cell.record.migrated_bytes for cell in group.cells} if group is not None else set()
    if not moved_bytes:
        return MISSING_SIGN
    return UNKNOWN_METHOD if None in moved_bytes else format_size(max(value or 0 for value in moved_bytes))


def _chart(sizes: Sequence[Compared]) -> Chart:
    lines = []
    for name in (*MIGRATION_METHODS, EXPLICIT):
        points = []
        for size in sizes:
            group = size.explicit if name == EXPLICIT else size.ways.get(name)
            if group is not None:
                points.append(result_point(size.size_bytes, group))
        if points:
            lines.append(Series(name, tuple(points)))
    return Chart(
        _title(sizes[0]),
        "Bandwidth of one operation; each size uses separate regions.",
        Axis("bytes of one operation", "log", "bytes"),
        Axis("GB/s", "log"),
        tuple(lines),
    )


#: Maximum number of paths that a sentence names.
_MOST_PATHS = 3
#: The methods as sentences name them.
_NAMES = {
    PREFETCH: "prefetching",
    ON_DEMAND: "migration on demand",
    ZERO_COPY: "reaching the pages where they are (zero-copy)",
}


def _compared(index: Index) -> list[Compared]:
    return compared(index.topology, index.ranked)


def _by_place(index: Index) -> list[list[Compared]]:
    rows = index.once(_compared)
    return list(group_by(rows, lambda row: (row.kind, row.class_name)).values())


def _where(row: Compared, several: bool) -> str:
    lead = PAIR_KINDS[row.kind]
    return f"{lead} ({row.class_name})" if several and row.class_name else lead


def prefetching(index: Index) -> Iterator[Finding]:
    """Compares the prefetch call with the fastest interface between non-migrating memories."""
    gains: list[tuple[Claim, str, Compared]] = []
    for sizes in _by_place(index):
        slow = [size for size in sizes if size.slow_down is not None]
        if not slow or slow[-1].slow_down is None or not slow[-1].slow_down.leads:
            continue
        last, claim = slow[-1], slow[-1].slow_down
        assert last.explicit is not None
        title = (
            f"Prefetching {last.ways[PREFETCH].cells[0].record.path} takes {longer(claim)} "
            f"{last.explicit.cells[0].variant.name}: {rate(last.ways[PREFETCH])} vs "
            f"{rate(last.explicit)} GB/s at {format_size(last.size_bytes)}"
        )
        gains.append((claim, title, last))
    if gains:
        claim, title, last = max(gains, key=lambda entry: entry[0].gain)
        assert last.explicit is not None
        detail = (
            "The prefetch migrates the pages of one allocation, the copy fills a second one; residency "
            "was queried after every timed batch."
        )
        results = last.ways[PREFETCH], last.explicit
        yield finding(title, detail, Priority.PREFETCHING, results, [entry[0] for entry in gains])


def landing(index: Index) -> Iterator[Finding]:
    """Reports prefetches that were skipped because their pages would land on another NUMA domain."""
    landed = [candidate for candidate in index.records if candidate.reason_code == PAGES_LAND_ELSEWHERE]
    by_path = group_by(landed, lambda record: record.path)
    if not landed:
        return
    more = len(by_path) - _MOST_PATHS
    shown = listed([*list(by_path)[:_MOST_PATHS], *([f"{count(more, 'more path')}"] if more > 0 else [])])
    title = f"Prefetches over {shown} were not run: their pages would land on another NUMA domain"
    parts = []
    for path, members in list(by_path.items())[:_MOST_PATHS]:
        cases = count(len({record.case_id for record in members}), "case")
        parts.append(f"{path} ({cases}): {index.voice.quote(str(members[0].reason))}.")
    yield notice(title, " ".join(parts), Priority.PAGES_LANDING)


def crossover(index: Index) -> Iterator[Finding]:
    """Reports the fastest method by size for each kind of pair, for the link class that comes first."""
    places = _by_place(index)
    kinds = [sizes[0].kind for sizes in places]
    for place, sizes in enumerate(places):
        if sizes[0].kind in kinds[:place]:
            continue  # the report has the other classes
        spans = _spans([size for size in sizes if len(size.ways) > 1])
        if not spans:
            continue
        parts = [f"{_NAMES[name]} {_between(alike[0], alike[-1])}" for name, alike in spans]
        claims = [row.leads for _, alike in spans for row in alike]
        lead = _where(sizes[0], kinds.count(sizes[0].kind) > 1)
        title = f"{lead}, {fastest_by_size(parts, claims)}"
        at = spans[-1][1][-1]
        detail = f"At {format_size(at.size_bytes)}: " + listed(
            [f"{name} {rate(at.ways[name])} GB/s" for name in MIGRATION_METHODS if name in at.ways]
        )
        others = [row.ways[name] for name, alike in spans for row in alike if row is not at]
        results = [*at.ways.values(), *others]
        yield finding(
            title,
            detail + ".",
            Priority.MANAGED_CROSSOVER,
            results,
            [claim for group in claims for claim in group],
        )


def _spans(sizes: Sequence[Compared]) -> list[tuple[str, list[Compared]]]:
    """Returns runs of adjacent sizes with the same fastest method; sizes without one end a run."""
    spans: list[tuple[str, list[Compared]]] = []
    before: str | None = None
    for size in sizes:
        name = size.fastest
        if name is not None and name == before:
            spans[-1][1].append(size)
        elif name is not None:
            spans.append((name, [size]))
        before = name
    return spans


def _between(least: Compared, most: Compared) -> str:
    if least is most:
        return f"at {format_size(least.size_bytes)}"
    return f"from {format_size(least.size_bytes)} to {format_size(most.size_bytes)}"
