"""What every rule is given, and the words that all rules use for numbers.

A rule claims a difference only where the intervals do not overlap (summary.above) and it is worth a sentence.
A sentence that rests on a figure with a warning says so (`marked`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from byteways.analyse import selection, summary
from byteways.analyse.summary import Cell, Group, Run, Variant
from byteways.plan.case import is_device
from byteways.results.record import Record
from byteways.topology.model import Topology
from byteways.units import three_digits

#: Relative difference below which a sentence would tell the reader nothing to act on, however sure it is.
WORTH_SAYING = 0.005


@dataclass(frozen=True)
class Finding:
    """One sentence with its number, the reason behind it, and how much it matters (greater first)."""

    title: str
    detail: str
    importance: float


class Facts:
    """A run with its cells, worked out once."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.records = run.records
        self.topology: Topology = run.topology

    @cached_property
    def cells(self) -> list[Cell]:
        return summary.cells(self.records)

    @cached_property
    def singles(self) -> list[Cell]:
        """Unidirectional bandwidth with cold caches."""
        return [cell for cell in selection.unidirectional(self.cells) if cell.record.cache == "cold"]

    def of_kind(self, name: str) -> list[Cell]:
        return [cell for cell in self.singles if selection.kind(cell) == name]

    def alone(self, cell: Cell) -> list[Cell | None]:
        """For each flow of a concurrent case, the same flow measured alone (None: it was not)."""
        record = cell.record
        wanted = (
            record.interface,
            record.size_bytes,
            record.cache,
            _frozen(record.options),
            _frozen(record.environment),
        )
        return [
            self._alone.get((flow["source"], flow["destination"], flow["executor"], *wanted))
            for flow in record.flows
        ]

    @cached_property
    def _alone(self) -> dict[tuple[object, ...], Cell]:
        table: dict[tuple[object, ...], Cell] = {}
        for cell in selection.unidirectional(self.cells):
            record, flow = cell.record, cell.record.flows[0]
            what = record.interface, record.size_bytes, record.cache
            options = _frozen(record.options), _frozen(record.environment)
            key = (flow["source"], flow["destination"], flow["executor"], *what, *options)
            table[key] = cell
        return table


def _frozen(options: dict[str, object] | dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, str(value)) for name, value in options.items()))


def gb(bytes_per_s: float) -> str:
    """'394', '55.4', '2094': GB/s to three digits, as a sentence wants it."""
    return three_digits(bytes_per_s / 1e9)


def percent(fraction: float) -> str:
    """'88 %', '0.6 %'."""
    value = 100 * fraction
    return f"{value:.0f} %" if value >= 9.95 else f"{value:.2g} %"


def times(factor: float) -> str:
    """'3.9 times', '12 times'."""
    return f"{factor:.0f} times" if factor >= 9.95 else f"{factor:.2g} times"


def faster(factor: float) -> str:
    """'8.2 % faster than' below twice, '3.9 times as fast as' above."""
    return f"{percent(factor - 1)} faster than" if factor < 2 else f"{times(factor)} as fast as"


def of_peak(figure: Cell | Group) -> str:
    """' (88 % of 450)', empty without a known common peak."""
    return f" ({percent(figure.value / figure.peak)} of {gb(figure.peak)})" if figure.peak else ""


def span(figure: Cell | Group) -> str:
    """'393–395'."""
    low, high = gb(figure.low), gb(figure.high)
    return low if low == high else f"{low}–{high}"


def marked(title: str, *figures: Cell | Group) -> str:
    """The sentence with what makes its figures unsure: '… (noisy)', '… (noisy: 2 of 12 figures)'."""
    cells = [
        cell for figure in figures for cell in (figure.cells if isinstance(figure, Group) else (figure,))
    ]
    parts = []
    doubts = [cell.doubts for cell in cells]
    for word in dict.fromkeys(word for words in doubts for word in words):
        carry = sum(word in words for words in doubts)
        parts.append(f"{word}: {carry} of {len(cells)} figures" if 3 * carry < len(cells) else word)
    return f"{title} ({', '.join(parts)})" if parts else title


def with_span(figure: Cell | Group) -> str:
    """'13.7 (5.4–13.9)': a figure with its interval, in GB/s."""
    return f"{gb(figure.value)} ({span(figure)})"


def told_apart(first: Cell | Group, second: Cell | Group) -> bool:
    """Whether one is greater than the other."""
    return summary.above(first, second) or summary.above(second, first)


#: How a sentence says who issues a transfer.
ACCESS = {"read": " as a read", "write": " as a write", "remote": " by a third agent"}


def way(same: Variant) -> str:
    """`copy as a write`, `copy with pinned memory`, `kernel as a read (blocks=8)`: how the bytes are moved.

    Between host memory and a GPU the GPU issues it, so the direction says whether it reads.
    """
    text = same.interface
    one_gpu_end = is_device(same.source) != is_device(same.destination)
    if not one_gpu_end or same.managed:
        text += ACCESS.get(same.access, "")
    if same.host_memory:
        text += f" with {same.host_memory} memory"
    warm = "warm" if same.cache == "warm" else ""
    rest = [part for part in (same.options, same.environment, warm) if part]
    return f"{text} ({', '.join(rest)})" if rest else text


def listed(parts: Sequence[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def count(number: int, noun: str, plural: str | None = None) -> str:
    """'1 pair', '12 pairs'."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def cpu_threads(record: Record) -> int | None:
    """Threads that a CPU's transfer ran on: blocks × threads of its launch, None when not recorded."""
    launch = record.launch or {}
    if "threads" not in launch:
        return None
    return int(launch.get("blocks") or 1) * int(launch["threads"])


def agents_of(cells: Iterable[Cell]) -> list[str]:
    """Agents on either end, as people count them."""
    ends = {agent for cell in cells for agent in (cell.source.agent, cell.destination.agent)}
    return sorted(ends, key=selection.agent_order)
