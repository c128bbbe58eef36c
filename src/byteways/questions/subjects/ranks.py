"""Shared by messages and collectives: formatting of values, and naming of the ranks' locations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from byteways.answers.claims.phrases import percent, supported
from byteways.answers.results.index import Index
from byteways.answers.results.selection import kind
from byteways.answers.results.summary import Part, Result, ResultGroup
from byteways.answers.results.variants import LIBRARY_NAMES, interface_name
from byteways.cases.interfaces import INTERFACES, metric_of
from byteways.cases.options import TIMING
from byteways.cases.osu import OSU
from byteways.questions.display.table import Table, shaded

#: Beginning of a sentence about two ranks, by kind of pair (selection.KINDS).
SENTENCE_STARTS = {
    "cpu": "Between ranks of one NUMA domain",
    "cpu-cpu": "Between ranks in different NUMA domains",
    "gpu-gpu": "Between ranks with a GPU each",
    "gpu": "Between ranks that share a GPU",
    "cpu-gpu": "From a rank's host memory to another's GPU",
    "gpu-cpu": "From a rank's GPU to another's host memory",
}
#: The same of two hosts, by class of the links between them (plan/hosts/rule.py).
BETWEEN_HOSTS = {
    "between hosts": "Between hosts",
    "within a group": "Between hosts of one group",
    "between groups": "Between hosts of different groups",
}
#: What an interface is called that needs no library beside MPI, and one whose records do not tell which of
#: both vendors' it was.
MPI = LIBRARY_NAMES["mpi"]
#: Our own kernels and copies over peer memory.
DIRECT_INTERFACE = "direct"
#: Suffix of a value with a warning, and the table note on it.
MARK, MARKED = "*", "* has a warning (listed below)"
#: Table note on messages that are timed as OSU's programs do.
AS_OSU = "Timed as in OSU's programs: the mean over a loop of fixed length, by the clock of the first rank"


def as_osu(cells: Iterable[Result]) -> bool:
    """Whether these results are of the loops of OSU's programs."""
    return any(cell.record.options.get(TIMING.name) == OSU for cell in cells)


def where(index: Index, cell: Result) -> str:
    """`Between ranks with a GPU each (NVLink4 ×18)`."""
    if cell.record.tournament is not None:
        return BETWEEN_HOSTS.get(
            str(cell.record.tournament.get("link_class")), BETWEEN_HOSTS["between hosts"]
        )
    link_class = index.link_class(cell)
    return f"{SENTENCE_STARTS[kind(cell)]} ({link_class})" if link_class else SENTENCE_STARTS[kind(cell)]


def library(cell: Result) -> str:
    """Returns what executed the message or collective: `MPI`, `UCX`, `NCCL`, `RCCL`, `direct`. `MPI put` and
    `MPI get` are methods of their own.
    """
    if INTERFACES[cell.record.interface].one_sided:
        return interface_name(cell.record.interface)
    if INTERFACES[cell.record.interface].library == DIRECT_INTERFACE:
        return DIRECT_INTERFACE
    return (cell.record.evidence and cell.record.evidence.library) or LIBRARY_NAMES[
        INTERFACES[cell.record.interface].between
    ]


def versions(cells: Iterable[Result]) -> str:
    """`NCCL 2.28.3`, of libraries whose records tell; empty of MPI, whose version the run has."""
    evidence = (cell.record.evidence for cell in cells if INTERFACES[cell.record.interface].library)
    return ", ".join(
        dict.fromkeys(f"{each.library} {each.library_version}" for each in evidence if each and each.library)
    )


def memory(cell: Result) -> str:
    """`pageable memory, warm`, `pinned > device memory`."""
    ends = dict.fromkeys((cell.variant.source, cell.variant.destination))
    return f"{' > '.join(ends)} memory" + (", warm" if cell.record.cache == "warm" else "")


def settings(cell: Result, *excluded: str) -> str:
    """Returns options and variables of a case, except `excluded`, which tables show separately."""
    return " ".join((*cell.variant.options.without(*excluded).words(), *cell.variant.environment.words()))


def gb_figure(result: Result | ResultGroup) -> str:
    """Formats GB/s with the digits that the interval supports, marked if there is a warning."""
    return supported(result.value / 1e9, result.low / 1e9, result.high / 1e9) + _mark(result)


def us_figure(value_ns: Part, result: Result | ResultGroup) -> str:
    """Formats a time in µs like `gb_figure`."""
    return supported(value_ns.value / 1e3, value_ns.low / 1e3, value_ns.high / 1e3) + _mark(result)


def plain_us(time_ns: float) -> str:
    """Formats a time in µs without an interval: three digits, more if it has more before the point."""
    time_us = time_ns / 1e3
    return f"{time_us:.0f}" if time_us >= 100 else f"{time_us:.3g}"


def _mark(result: Result | ResultGroup) -> str:
    cells = result.cells if isinstance(result, ResultGroup) else (result,)
    return MARK * any(cell.warning_ids for cell in cells)


def marked(table: Table, *notes: str) -> Table:
    """Returns the table with these notes and the meaning of the mark (note_of)."""
    return replace(table, notes=(note_of(table.rows, *notes),))


def note_of(rows: Iterable[Sequence[str]], *notes: str) -> str:
    """Returns the notes of a table, including the meaning of the mark if a value has it."""
    marked = any(text.endswith(MARK) for row in rows for text in row)
    return "; ".join(note for note in (*notes, MARKED * marked) if note)


def absolute_and_relative(
    title: str,
    unit: str,
    pairs: Mapping[tuple[str, str], Result],
    compared: Mapping[tuple[str, str], Result],
    names: tuple[Sequence[str], Sequence[str]],
    notes: Sequence[str],
    gaps: str = "",
) -> Iterator[Table]:
    """Yields the matrices of messages by their ends: figures, then relative to the best.

    Args:
        title: Of both.
        unit: Of the figures.
        pairs: The results by sender and receiver.
        compared: Those that are shaded and related to their best.
        names: The senders and the receivers, in order.
        notes: Below the figures.
        gaps: Below both tables: why there is no result for some ends.
    """
    is_time = metric_of(next(iter(pairs.values())).record.interface) == "latency"
    shown = set(map(id, compared.values()))
    best = (min if is_time else max)(cell.value for cell in compared.values())

    def share(cell: Result) -> float | None:
        part = best / cell.value if is_time else cell.value / best
        return part if id(cell) in shown else None

    def figure(cell: Result) -> str:
        half = Part(cell.value / 2, cell.low / 2, cell.high / 2)
        return us_figure(half, cell) if is_time else gb_figure(cell)

    text = "best latency divided by the pair's latency" if is_time else "bandwidth over the best"
    parts = (
        (f"{title}, {unit}", pairs, figure, tuple(notes)),
        (f"{title}, relative to the best", compared, lambda cell: percent(share(cell) or 0.0), (text,)),
    )
    for name, cells, formatted, below in parts:
        table = shaded(name, "from \\ to", names, cells, formatted, share)
        yield marked(table, *below, gaps)
