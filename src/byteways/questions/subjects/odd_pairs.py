"""Pairs that are slower than equal ones in one run, and the link or device that all of them use.

Equal pairs have the same interface, memory, size, and class of links. If they fall into groups, the slower
ones share a cause, however many they are: a link at 80 % of its rate slows half of the pairs of four GPUs.
The cause is the smallest set of links and devices that explains all slower pairs (bottlenecks/culprits.py).
Without one, pairs far from the others are outliers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import Any

from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import rate, span
from byteways.answers.claims.wording import less
from byteways.answers.results.counting import count, listed
from byteways.answers.results.index import Index
from byteways.answers.results.selection import kind
from byteways.answers.results.summary import Result, ResultGroup, group_by, pool
from byteways.base.units import format_size
from byteways.machine.model import Topology
from byteways.machine.routes import route
from byteways.questions.bottlenecks.culprits import CaseEvidence, culprit, evidence, joined, parts_of

#: Fewer equal pairs do not show which of them is slow.
LEAST_PAIRS = 3
#: A single pair above all others shows no usual speed.
LEAST_FAST = 2
#: Least relative lag of outliers behind the others, beyond the intervals; equal links of a machine differ by
#: less.
LEAST_LAG = 0.02
#: … and their least distance from the median of the others, in median absolute deviations of these.
ODD_SCATTER = 5.0
#: Least relative gap between two groups of pairs, however many are in the slower one: a link that lost 5 % is
#: found whatever the last digit, and equal links of healthy machines differ by less. The gap must also be
#: wider than the groups on both sides of it.
GROUP_GAP = 0.045
#: Most pairs that a detail lists.
MOST_LISTED = 6


@dataclass(frozen=True)
class Groups:
    """Equal pairs in two groups."""

    slow: ResultGroup
    fast: ResultGroup
    claim: Claim  # the slower group beside the other
    of: int  # number of equal pairs

    @property
    def size_bytes(self) -> int:
        return self.slow.cells[0].size_bytes

    @property
    def outliers(self) -> bool:
        """Whether the slower pairs are the minority, which stand out without a known cause."""
        return len(self.slow.cells) < len(self.fast.cells)

    def to_json(self) -> dict[str, Any]:
        """Returns both groups, the slower first, and their ratio."""
        groups = [
            {
                "pairs": [cell.record.path for cell in group.cells],
                "value": group.value,
                "low": group.low,
                "high": group.high,
            }
            for group in (self.slow, self.fast)
        ]
        return {"groups": groups, "ratio": self.claim.effect}


def odd_pairs(index: Index) -> Iterator[Finding]:
    """Reports links and devices that slow all pairs over them, or else the pairs that are outliers."""
    classes = _classes(index)
    found = [groups for one in classes if (groups := one.groups)]
    if not found:
        return
    cause = culprit([case for one in classes for case in one.evidence(index.topology)])
    named = False
    for name, alike in zip(cause.names, cause.alike, strict=True) if cause else ():
        if _is_part(index.topology, name) and (own := _own(index, found, name)):
            named = True
            yield _slow_part(index, own, (name, *alike))
    outliers = [groups for groups in found if groups.outliers]
    if outliers and not named:
        yield _outliers(index, outliers)


@dataclass(frozen=True)
class _Class:
    """Equal pairs, or transfers within equal devices."""

    members: tuple[Result, ...]
    across: bool  # between two devices

    @cached_property
    def groups(self) -> Groups | None:
        """The slower pairs beside the fastest; None where no pair is slower."""
        return groups_of(self.members) if self.across else None

    def evidence(self, topology: Topology) -> list[CaseEvidence]:
        """Returns what each pair says of the parts that it uses; a part of all equal pairs has no evidence
        in its favour, since nothing shows their full speed.
        """
        involved = [parts_of(cell.record, topology) for cell in self.members]
        groups = self.groups
        slow = {id(cell) for cell in groups.slow.cells} if groups else set()
        usual = groups.fast.value if groups else median(cell.value for cell in self.members)
        common = frozenset() if groups else frozenset.intersection(*involved)
        return [
            evidence(parts - common, id(cell) in slow, cell, cell.value / usual, cell.low / usual)
            for cell, parts in zip(self.members, involved, strict=True)
        ]


def _classes(index: Index) -> list[_Class]:
    alike = group_by(
        index.singles,
        lambda cell: (cell.variant, cell.size_bytes, kind(cell), index.link_class(cell)),
    )
    return [
        _Class(tuple(members), members[0].source.device != members[0].destination.device)
        for members in alike.values()
        if len(members) >= LEAST_PAIRS
    ]


def groups_of(members: Sequence[Result]) -> Groups | None:
    """Returns the slower of equal pairs beside the fastest group; None where no pair is slower.

    The slower pairs may be of several groups, with a cause each: the widest gap is looked for first, then
    further ones among the pairs above it.
    """
    fast = sorted(members, key=lambda cell: cell.value)
    slow: list[Result] = []
    while start := _gap(fast):
        slow, fast = [*slow, *fast[:start]], fast[start:]
    if not slow:
        return None
    claim = compare(pool(slow), pool(fast), kind="odd", ways=len(members), match=None)
    return Groups(pool(slow), pool(fast), claim, len(members))


def _gap(ordered: Sequence[Result]) -> int:
    """Returns the number of pairs below the widest gap in which the intervals do not meet; 0 without any."""
    places = range(1, len(ordered) - LEAST_FAST + 1)
    for start in sorted(places, key=lambda place: ordered[place - 1].value / ordered[place].value):
        slow, fast = ordered[:start], ordered[start:]
        if apart([cell.value for cell in slow], [cell.value for cell in fast]):
            claim = compare(pool(slow), pool(fast), kind="odd", ways=len(ordered), match=None)
            if claim.trails and claim.unanimous:
                return start
    return 0


def apart(slow: Sequence[float], fast: Sequence[float]) -> bool:
    """Whether the slower of these ascending rates are a group, or few outliers far below the others."""
    gap = fast[0] - slow[-1]
    if gap >= GROUP_GAP * fast[0] and gap >= _span(fast) + _span(slow[::-1]):
        return True
    middle = median(fast)
    scatter = median(abs(value - middle) for value in fast)
    far = slow[-1] < middle - max(ODD_SCATTER * scatter, LEAST_LAG * middle)
    return far and len(slow) < len(fast) and gap >= max(scatter, LEAST_LAG * middle)


def _span(values: Sequence[float]) -> float:
    """Returns how far the first group of these sorted rates extends: up to the next gap."""
    for one, other in pairwise(values):
        if abs(other - one) >= GROUP_GAP * max(one, other):
            return abs(one - values[0])
    return abs(values[-1] - values[0])


def _is_part(topology: Topology, name: str) -> bool:
    """Whether a name is that of a device or a link: two GPUs of a switch are a pair without a link."""
    links = {joined(link.a, link.b) for link in topology.links}
    return name in topology.names() or joined(*name.replace(">", "-").split("-")[:2]) in links


def _own(index: Index, found: Sequence[Groups], name: str) -> list[Groups]:
    """Returns the groups with the slower pairs over a part alone, those first that show it best: the largest
    size, the shortest routes, the fastest interface.
    """
    own = []
    for groups in found:
        slow = [cell for cell in groups.slow.cells if name in parts_of(cell.record, index.topology)]
        if slow:
            claim = compare(pool(slow), groups.fast, kind="odd", ways=groups.of, match=None)
            own.append(replace(groups, slow=pool(slow), claim=claim))
    return sorted(own, key=lambda one: (-one.size_bytes, _hops(index, one.slow), -one.fast.value))


def _slow_part(index: Index, own: Sequence[Groups], names: Sequence[str]) -> Finding:
    groups, *_ = own
    cells = groups.slow.cells
    name = " or ".join(one for one in names if ">" not in one and _is_part(index.topology, one)) or names[0]
    others = "the others" if len(groups.fast.cells) + len(cells) == groups.of else f"{len(groups.fast.cells)}"
    shared = f"; {'both' if len(cells) == 2 else f'all {len(cells)}'} use it" if len(cells) > 1 else ""
    title = (
        f"{name} is slow: {cells[0].variant.name} reaches {rate(groups.slow)} GB/s on {len(cells)} of "
        f"{count(groups.of, 'pair')} of {index.link_class(cells[0])}, {rate(groups.fast)} on {others} "
        f"({less(groups.claim)}){shared}"
    )
    what = "links and clocks" if names[0] in index.topology.names() else "state and error counters"
    affected = _pairs([cell for one in own for cell in one.slow.cells])
    detail = f"{_figures(groups)} Affected pairs: {affected}. Check the {what} of {names[0]} first."
    priority, claims = _priority(groups, named=True), [one.claim for one in own]
    told = finding(title, detail, priority, (groups.slow, groups.fast), claims)
    return replace(told, data={"culprit": names[0], "alike": [*names[1:]], **groups.to_json()})


def _outliers(index: Index, found: Sequence[Groups]) -> Finding:
    """Returns the finding on the pair farthest behind the others: at the largest size, which tells most about
    a link; among equals on the shortest route, as a slow link also slows longer routes that cross it.
    """
    largest = max(groups.size_bytes for groups in found)
    claims = [
        (compare(cell, groups.fast, kind="odd", ways=groups.of, match=None), cell, groups)
        for groups in found
        for cell in groups.slow.cells
    ]
    claim, cell, groups = min(
        (one for one in claims if one[2].size_bytes == largest),
        key=lambda one: (_hops(index, pool([one[1]])), -one[0].gain),
    )
    title = (
        f"{cell.record.path} is an outlier: {cell.variant.name} gets {rate(cell)} GB/s where "
        f"{count(len(groups.fast.cells), 'pair')} of {index.link_class(cell)} get {rate(groups.fast)} "
        f"({less(claim)})"
    )
    paths = dict.fromkeys(one.record.path for _, one, _ in claims)
    detail = f"{format_size(largest)}, interval {span(cell)} GB/s."
    if len(paths) > 1:
        detail += f" Outliers: {_pairs([one for _, one, _ in claims])}."
    priority = _priority(groups, named=False)
    told = finding(title, detail, priority, (cell, groups.fast), [one[0] for one in claims])
    return replace(told, data={"culprit": None, "alike": [], **groups.to_json()})


def _priority(groups: Groups, *, named: bool) -> Priority:
    """Returns the entry of a slow part that is named: a problem of the machine unless it is a small one."""
    large = groups.slow.value <= (1 - GROUP_GAP) * groups.fast.value
    return Priority.SLOW_LINK if named and large else Priority.ODD_PAIR


def _figures(groups: Groups) -> str:
    return f"{format_size(groups.size_bytes)}, intervals {span(groups.slow)} and {span(groups.fast)} GB/s."


def _pairs(cells: Sequence[Result]) -> str:
    """'gpu0>gpu2, gpu2>gpu0 and 4 others'."""
    paths = [*dict.fromkeys(cell.record.path for cell in cells)]
    if len(paths) > MOST_LISTED:
        return f"{', '.join(paths[:MOST_LISTED])} and {count(len(paths) - MOST_LISTED, 'other')}"
    return listed(paths)


def _hops(index: Index, group: ResultGroup) -> int:
    """Returns the number of links between the two ends of the first pair."""
    cell = group.cells[0]
    return len(route(index.topology, cell.source.device, cell.destination.device))
