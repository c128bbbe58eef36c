"""Numbers that differ from others of their own table: slow rows, columns and cells, dips, asymmetric pairs.

The bounds are those of our own runs (subjects/odd_pairs.py, subjects/dips.py), without their intervals: other
programs print one number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from statistics import median

from byteways.answers.results.selection import class_between
from byteways.base.units import format_size
from byteways.ext.audit.imported.value import ForeignValue
from byteways.ext.audit.judging.verdict import Oddity
from byteways.machine.model import Topology
from byteways.questions.subjects.dips import DIP_BELOW, NEIGHBOUR_FACTOR
from byteways.questions.subjects.odd_pairs import LEAST_FAST, LEAST_PAIRS, apart

#: A direction of a pair is odd below this part of the other one.
ASYMMETRIC_BELOW = 0.9
#: Below this size, protocols of libraries change with the size, and so do rates.
LEAST_DIP_BYTES = 2**20
#: Differences that all values of a table have alike.
_ALIKE = frozenset(("extreme", "first-iterations", "memory-unknown", "one-of-two-directions", "size-unknown"))

_Numbered = tuple[int, ForeignValue]


def oddities(values: Sequence[_Numbered], topology: Topology) -> Mapping[int, tuple[Oddity, ...]]:
    """Returns how values differ from others of their tables, by their places.

    Args:
        values: All bandwidths and times, each with the number of its output.
        topology: For the classes of links: only equal pairs are compared.
    """
    found: defaultdict[int, list[Oddity]] = defaultdict(list)
    pairs: defaultdict[Hashable, list[int]] = defaultdict(list)
    curves: defaultdict[Hashable, list[int]] = defaultdict(list)
    for place, (output, value) in enumerate(values):
        if not _ALIKE.issuperset(value.differences) or value.value <= 0:
            continue
        operation = value.operation
        same = (output, value.test, value.unit.metric, value.counts, value.statistic, operation.pattern)
        ends = operation.source, operation.destination, operation.executor, operation.ranks
        if kind := _class_of(value, topology):
            pairs[same, value.size_bytes, kind].append(place)
        if value.unit.metric == "bandwidth" and value.size_bytes:
            curves[same, value.column, ends].append(place)
    for places in pairs.values():
        _odd_cells(places, values, found)
        _asymmetric(places, values, found)
    for places in curves.values():
        _dips(places, values, found)
    return {place: tuple(some) for place, some in found.items()}


def _device(text: str) -> str:
    return text.rpartition("/")[2].partition(":")[0]


def _pair(value: ForeignValue) -> tuple[str, str]:
    return _device(value.operation.source), _device(value.operation.destination)


def _class_of(value: ForeignValue, topology: Topology) -> tuple[str, ...]:
    """Returns what makes pairs of a table equal; empty for values that are of no pair."""
    ends, known = _pair(value), set(topology.names())
    if ends[0] == ends[1] or not known.issuperset(ends):
        return ()
    kinds = (value.operation.source, value.operation.destination)
    memories = tuple(text.partition(":")[2] for text in kinds)
    return (class_between(topology, *ends), ends[0][:3], ends[1][:3], *memories)


def _rate(value: ForeignValue) -> float:
    """Returns what is greater for the faster one."""
    return value.value if value.unit.metric == "bandwidth" else 1 / value.value


def _odd_cells(places: Sequence[int], values: Sequence[_Numbered], found: dict[int, list[Oddity]]) -> None:
    if len(places) < LEAST_PAIRS:
        return
    ordered = sorted(places, key=lambda place: _rate(values[place][1]))
    slow = ordered[: _slower(tuple(_rate(values[place][1]) for place in ordered))]
    if not slow:
        return
    fast = ordered[len(slow) :]
    usual = median(_rate(values[place][1]) for place in fast)
    shared = _shared(
        [_pair(values[place][1]) for place in slow], [_pair(values[place][1]) for place in places]
    )
    for place in slow:
        value = values[place][1]
        code, name = shared or ("cell", ">".join(_pair(value)))
        found[place].append(Oddity(code, name, _rate(value) / usual, len(fast)))


def _slower(ordered: Sequence[float]) -> int:
    """Returns how many of these ascending rates are below the fastest group; 0 where none is."""
    slow = 0
    while start := _gap(ordered[slow:]):
        slow += start
    return slow


def _gap(ordered: Sequence[float]) -> int:
    """Returns how many values are below the widest gap; 0 without any."""
    places = range(1, len(ordered) - LEAST_FAST + 1)
    for start in sorted(places, key=lambda place: ordered[place - 1] / ordered[place]):
        if apart(ordered[:start], ordered[start:]):
            return start
    return 0


def _shared(slow: Sequence[tuple[str, str]], every: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    """Returns the row, column or device whose pairs are exactly the slower ones."""
    if len(slow) < 2:
        return None
    ways = (
        ("row", lambda pair, name: pair[0] == name),
        ("column", lambda pair, name: pair[1] == name),
        ("device", lambda pair, name: name in pair),
    )
    for code, has in ways:
        for name in dict.fromkeys(slow[0]):
            own = {pair for pair in every if has(pair, name)}
            if own == set(slow) and len(own) < len(set(every)):
                return code, name
    return None


def _asymmetric(places: Sequence[int], values: Sequence[_Numbered], found: dict[int, list[Oddity]]) -> None:
    by_pair = {_pair(values[place][1]): place for place in places}
    for (source, destination), place in by_pair.items():
        back = by_pair.get((destination, source))
        if back is None or found.get(place):
            continue
        ratio = _rate(values[place][1]) / _rate(values[back][1])
        if ratio < ASYMMETRIC_BELOW:
            found[place].append(Oddity("asymmetric", f"{source}>{destination}", ratio, 1))


def _dips(places: Iterable[int], values: Sequence[_Numbered], found: dict[int, list[Oddity]]) -> None:
    ordered = sorted(places, key=lambda place: values[place][1].size_bytes or 0)
    for smaller, place, larger in zip(ordered, ordered[1:], ordered[2:], strict=False):
        sizes = [values[one][1].size_bytes or 0 for one in (smaller, place, larger)]
        rates = [values[one][1].value for one in (smaller, place, larger)]
        near = sizes[2] <= NEIGHBOUR_FACTOR**2 * sizes[0] and len(set(sizes)) == len(sizes)
        if near and sizes[1] >= LEAST_DIP_BYTES and rates[1] < DIP_BELOW * min(rates[0], rates[2]):
            ratio = rates[1] / min(rates[0], rates[2])
            found[place].append(Oddity("dip", format_size(sizes[1]), ratio, 2))
