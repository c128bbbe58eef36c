"""Finds what slower cases share: the smallest set of links, switch ports or devices that explains them.

One function answers two questions: which link is slower than its equals within one run
(subjects/odd_pairs.py), and which one became slower between two runs (two_runs/suspects.py). A part explains
each case that involves it. It is contradicted if a case at full speed moves more bytes/s over it than any
slower case does: the fault would have slowed that case, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from math import inf

from byteways.answers.results.summary import Result
from byteways.cases.interfaces import metric_of
from byteways.machine.model import Topology
from byteways.machine.routes import nodes_of, route
from byteways.record.record import Record

#: Rates over a part that differ by less than this fraction are equal: repeated runs of one machine agree
#: within 1 %.
EQUAL_RATES = 0.02
#: Most parts of an explanation: more could explain anything.
MOST_CULPRITS = 3
#: A further part must explain at least this many cases that the others do not: one case alone may be chance.
LEAST_OWN_CASES = 2
#: From this number of slower cases on, an explanation may leave some open, at most this fraction but at least
#: one: each has its own small chance of a false difference.
FEW_CASES, OPEN_FRACTION = 4, 0.1
#: An explanation of a smaller fraction of the slower cases explains nothing.
LEAST_EXPLAINED = 0.75
#: Sets of two and of three are formed of this number of parts, those with most slower cases: some ten
#: thousand sets each.
CANDIDATES = {2: 150, 3: 40}


@dataclass(frozen=True)
class CaseEvidence:
    """A case with what it involves and whether it is slower than expected."""

    parts: frozenset[str]
    slow: bool
    speed: float | None = None  # relative to what is expected; None without a result
    low: float = 0.0  # the least speed within its interval
    rate: float | None = None  # bytes/s of all its flows; None for times
    single: bool = False  # whether one flow moves them all, so that each part carries `rate`


def evidence(parts: frozenset[str], slow: bool, result: Result, speed: float, low: float) -> CaseEvidence:
    """Returns the evidence of a case with a result.

    Args:
        parts: What the case involves (parts_of()).
        slow: Whether it is slower than expected, by a significant difference.
        result: Its result.
        speed: Its speed relative to what is expected.
        low: The least speed within its interval.
    """
    record = result.record
    rate = result.value if metric_of(record.interface) == "bandwidth" else None
    return CaseEvidence(parts, slow, speed, low, rate, len(record.flows) == 1)


@dataclass(frozen=True)
class SlowParts:
    """The parts that explain slower cases together."""

    names: tuple[str, ...]  # the smallest set: `gpu0-nvswitch`
    alike: tuple[tuple[str, ...], ...]  # for each of them, other parts that exactly the same cases involve
    slower: int  # slower cases that involve one of them
    compared: int  # all cases that do
    of: int  # all slower cases


def parts_of(record: Record, topology: Topology) -> frozenset[str]:
    """Returns what a case involves: devices, pairs of them, links on its routes, roles of devices.

    Pairs and links have two names: `gpu0-gpu1` in any direction, `gpu0>gpu1` in this one.

    Args:
        record: The case.
        topology: The machine whose routes count: of two runs the reference.
    """
    found: set[str] = set()
    for flow in record.flows:
        source, destination = (_device(str(flow[end])) for end in ("source", "destination"))
        executor = _device(str(flow["executor"]))
        if source == executor == destination:
            found |= {source, f"memory of {source}"}
            continue
        found |= {source, executor, destination}
        found |= {*_names(source, destination)} if source != destination else set()
        for begin, end in pairwise((source, executor, destination)):
            if begin != end:
                found |= {*_names(begin, end), *_links(topology, begin, end)}
    issuers = Counter(_device(str(flow["executor"])) for flow in record.flows)
    return frozenset(found | {f"concurrent flows issued by {name}" for name, n in issuers.items() if n > 1})


def joined(a: str, b: str) -> str:
    """`gpu0-nvswitch`: the name of a link or a pair in any direction."""
    return "-".join(sorted((a, b)))


def _device(text: str) -> str:
    """Returns the device of a buffer or executor: `gpu0` of `1/gpu0:device@cpu0`."""
    return text.partition("@")[0].partition(":")[0].rpartition("/")[2]


def _names(begin: str, end: str) -> tuple[str, str]:
    return joined(begin, end), f"{begin}>{end}"


def _links(topology: Topology, begin: str, end: str) -> Iterable[str]:
    if not {begin, end} <= {*topology.names()}:
        return
    nodes = nodes_of(begin, route(topology, begin, end))
    for one, other in pairwise(nodes):
        yield from _names(one, other)


def culprit(cases: Sequence[CaseEvidence]) -> SlowParts | None:
    """Returns the smallest set of parts that explains the slower cases and is not contradicted; None without
    any.

    Among sets of one size the one whose cases are slower most often; among equals a GPU, then a link, then a
    NUMA domain, then one direction of a link.
    """
    search = _Search(cases)
    found: tuple[_Part, ...] = ()
    for size in range(1, MOST_CULPRITS + 1):
        better = search.best(size)
        if better and search.adds_enough(better, found):
            found = better
        if search.open(found) <= search.may_stay_open:
            break
    return search.named(found) if found else None


@dataclass(frozen=True)
class _Part:
    """Equal parts: those that exactly the same cases involve. Cases are bits."""

    names: tuple[str, ...]
    all_cases: int
    slow_cases: int


class _Search:
    """The parts of a set of cases that may explain the slower ones."""

    def __init__(self, cases: Sequence[CaseEvidence]) -> None:
        self._cases = cases
        self._all_slow = sum(case.slow for case in cases)
        self.may_stay_open = 0 if self._all_slow < FEW_CASES else max(1, int(OPEN_FRACTION * self._all_slow))

    @cached_property
    def _parts(self) -> list[_Part]:
        """The parts that are not contradicted, those with most slower cases first."""
        involving: dict[str, int] = {}
        for place, case in enumerate(self._cases):
            for name in case.parts:
                involving[name] = involving.get(name, 0) | 1 << place
        slow = sum(1 << place for place, case in enumerate(self._cases) if case.slow)
        same: dict[int, list[str]] = {}
        for name, found in involving.items():
            if found & slow:
                same.setdefault(found, []).append(name)
        parts = [
            _Part(tuple(sorted(names, key=_order)), found, found & slow)
            for found, names in same.items()
            if not _contradicted([case for place, case in enumerate(self._cases) if found >> place & 1])
        ]
        return sorted(parts, key=lambda part: (-part.slow_cases.bit_count(), _order(part.names[0])))

    def best(self, size: int) -> tuple[_Part, ...]:
        """Returns the parts of this number that explain the slower cases best; empty without any."""
        return max(combinations(self._parts[: CANDIDATES.get(size)], size), key=self._score, default=())

    def _score(self, parts: Sequence[_Part]) -> tuple[int, float]:
        """Explaining all but what may stay open comes first, then the precision: few cases at full speed."""
        found, slow = _together(parts)
        explained = slow.bit_count()
        complete = min(explained, self._all_slow - self.may_stay_open)
        return complete, 2 * explained / (found.bit_count() + self._all_slow)

    def adds_enough(self, parts: Sequence[_Part], fewer: Sequence[_Part]) -> bool:
        """Whether these explain enough that fewer parts do not."""
        more = self.open(fewer) - self.open(parts)
        if not fewer:
            return more > 0
        alone = min(
            self.open([other for other in parts if other is not part]) - self.open(parts) for part in parts
        )
        return more >= LEAST_OWN_CASES and alone >= LEAST_OWN_CASES

    def open(self, parts: Sequence[_Part]) -> int:
        """Returns the number of slower cases that these do not explain."""
        return self._all_slow - _together(parts)[1].bit_count()

    def named(self, parts: Sequence[_Part]) -> SlowParts | None:
        """Returns the culprit; None if the parts explain too little."""
        found, slow = _together(parts)
        if slow.bit_count() < LEAST_EXPLAINED * self._all_slow:
            return None
        parts = sorted(parts, key=lambda part: (-part.slow_cases.bit_count(), part.names[0]))
        names, alike = tuple(part.names[0] for part in parts), tuple(part.names[1:] for part in parts)
        return SlowParts(names, alike, slow.bit_count(), found.bit_count(), self._all_slow)


def _order(name: str) -> tuple[int, str]:
    """Sort key: a GPU, a link or pair in any direction, a NUMA domain, one direction of a link, a role."""
    device = 0 if name.startswith("gpu") else 2
    kind = 4 if " " in name else 3 if ">" in name else 1 if "-" in name else device
    return kind, name


def _together(parts: Sequence[_Part]) -> tuple[int, int]:
    """Returns the cases that involve one of the parts, and the slower ones of them."""
    found = slow = 0
    for part in parts:
        found |= part.all_cases
        slow |= part.slow_cases
    return found, slow


def _contradicted(cases: Sequence[CaseEvidence]) -> bool:
    """Whether a case at full speed moves more over a part than all slower cases, given the cases with it.

    A case that is slower by less than the interval shows contradicts nothing: its interval must exclude half
    of the mildest loss.
    """
    rates = [case.rate for case in cases if case.slow and case.rate is not None]
    capacity = max(rates, default=inf)
    mildest = max((case.speed for case in cases if case.slow and case.speed is not None), default=0.0)
    return any(
        case.single
        and not case.slow
        and (case.rate or 0.0) > (1 + EQUAL_RATES) * capacity
        and case.low > (1 + mildest) / 2
        for case in cases
    )
