"""Memory of another process, opened by its IPC handle, beside the same transfers within one process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from byteways.answers.claims.claim import TIE, Claim
from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import rate
from byteways.answers.claims.wording import difference, difference_text, tie
from byteways.answers.results.counting import listed
from byteways.answers.results.index import Index
from byteways.answers.results.selection import PAIR_KINDS, kind, uses_ipc, within_a_process
from byteways.answers.results.summary import Part, Result, ResultGroup, group_by, pool
from byteways.answers.results.variants import Variant
from byteways.base.units import format_size
from byteways.cases.interfaces import metric_of
from byteways.questions.display.table import Columns, Table, figures, tabulated, words
from byteways.questions.display.topic import Topic
from byteways.questions.subjects.ranks import gb_figure, marked, us_figure

INTRODUCTION = (
    "The same transfers on memory that another process allocated and exported. The GPU opens it by its IPC "
    "handle before anything is timed. Messages of MPI, NCCL and RCCL between processes of a host use such "
    "memory, so these rates bound theirs."
)
#: What the two sides of a comparison are called.
_NAMES = ("memory of another process (IPC)", "memory of the same process")


@dataclass(frozen=True)
class _Same:
    """What two results share, but for the process whose memory it is."""

    place: str
    variant: Variant
    pattern: str

    @property
    def said(self) -> str:
        label = self.variant.named(memory=False)
        return label if self.pattern == "unidirectional" else f"{label}, {self.pattern}"


@dataclass(frozen=True)
class IpcComparison:
    """Results of one size, on memory of another process and on that of one process."""

    case: _Same
    size_bytes: int
    opened: ResultGroup
    own: ResultGroup
    claim: Claim

    @property
    def is_time(self) -> bool:
        return metric_of(self.case.variant.interface) != "bandwidth"


def _one_process(memory: str) -> str:
    return "device" if memory == "ipc" else memory


def _same(index: Index, cell: Result) -> _Same:
    setting = cell.variant
    variant = Variant(
        setting.interface,
        setting.access,
        _one_process(setting.source),
        _one_process(setting.destination),
        setting.cache,
        setting.options,
        setting.environment,
    )
    return _Same(_place(index, cell), variant, cell.record.pattern)


def _place(index: Index, cell: Result) -> str:
    """`Between GPUs, NVLink4 ×18`; a single buffer is at one end, the GPU that accesses it at the other."""
    if cell.source != cell.destination:
        between, link_class = PAIR_KINDS[kind(cell)], index.link_class(cell)
    else:
        link_class = index.class_between(cell.record.executor, cell.source.device)
        between = PAIR_KINDS["gpu-gpu" if link_class else "gpu"]
    return f"{between}, {link_class}" if link_class else between


def pairs(index: Index, results: Iterable[Result]) -> list[IpcComparison]:
    """Returns each result on another process's memory with its counterpart, by transfer and size."""
    opened = [cell for cell in results if uses_ipc(cell)]
    wanted = {(_same(index, cell), cell.size_bytes, cell.record.path) for cell in opened}
    own = group_by(
        (cell for cell in results if opened and within_a_process(cell)),
        lambda cell: (_same(index, cell), cell.size_bytes, cell.record.path),
    )
    ways = len({case for case, _, _ in wanted}) + 1
    pairs = []
    for (case, size), group in group_by(opened, lambda cell: (_same(index, cell), cell.size_bytes)).items():
        members = [cell for cell in group if (case, size, cell.record.path) in own]
        others = [other for cell in members for other in own[case, size, cell.record.path]]
        if members:
            sides = pool(members), pool(others)
            claim = compare(*sides, kind="ipc", ways=ways, names=_NAMES)
            pairs.append(IpcComparison(case, size, *sides, claim))
    return pairs


def topic(index: Index) -> Topic | None:
    """Returns the topic of memory of other processes; None if the run has none with a counterpart."""
    alike = group_by(pairs(index, index.cells), lambda pair: (pair.case.place, pair.is_time))
    if not alike:
        return None
    tables = tuple(_table(place, members) for (place, _), members in alike.items())
    return Topic("ipc", "Memory of another process (IPC)", INTRODUCTION, tables)


def _table(place: str, members: Sequence[IpcComparison]) -> Table:
    unit = "µs" if members[0].is_time else "GB/s"
    columns: Columns[IpcComparison] = (
        words("transfer", lambda pair: pair.case.said),
        figures("size", lambda pair: format_size(pair.size_bytes)),
        figures(f"one process, {unit}", lambda pair: _figure(pair.own, pair.is_time)),
        figures(f"opened by IPC, {unit}", lambda pair: _figure(pair.opened, pair.is_time)),
        words("IPC compared with one process", lambda pair: difference_text(pair.claim)),
    )
    pairs = sorted(members, key=lambda pair: (pair.case.said, pair.size_bytes))
    return marked(tabulated(place, columns, pairs))


def _figure(result: ResultGroup, is_time: bool) -> str:
    if not is_time:
        return gb_figure(result)
    return us_figure(Part(result.value, result.low, result.high), result)


def compared_with_one_process(index: Index) -> Iterator[Finding]:
    """Compares at the largest size of each place; the greatest difference is in the title."""
    rates = [pair for pair in pairs(index, index.quotable) if not pair.is_time]
    for place, members in group_by(rates, lambda pair: pair.case.place).items():
        size = max(pair.size_bytes for pair in members)
        largest = [pair for pair in members if pair.size_bytes == size]
        decided = [pair for pair in largest if pair.claim.differ or pair.claim.verdict == TIE]
        if not decided:
            continue
        decided.sort(key=lambda pair: (not pair.claim.differ, -pair.claim.gain))
        first = decided[0]
        said = f"by {first.case.said}, {difference(first.claim)}" if first.claim.differ else _ties(decided)
        yield finding(
            f"{place}, {format_size(size)}: {said}",
            _detail(decided),
            Priority.IPC,
            [side for pair in decided for side in (pair.opened, pair.own)],
            [pair.claim for pair in decided],
        )


def _ties(comparisons: Sequence[IpcComparison]) -> str:
    names = dict.fromkeys(pair.case.variant.interface for pair in comparisons)
    return f"{tie([pair.claim for pair in comparisons], _NAMES)}, by {listed([*names])}"


def _detail(comparisons: Sequence[IpcComparison]) -> str:
    figures = [f"{pair.case.said} {rate(pair.opened)} and {rate(pair.own)}" for pair in comparisons]
    return f"GB/s, memory of another process first: {'; '.join(figures)}."
