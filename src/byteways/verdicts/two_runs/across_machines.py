"""Compares runs of different machines: kinds of pairs by link class, each as a part of its nominal peak.

The same case on another GPU model is another question; what can be compared is how much of its links each
interface reaches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import compare
from byteways.answers.results.index import Index
from byteways.answers.results.selection import PAIR_KINDS, does_the_job, kind, unidirectional
from byteways.answers.results.summary import RecordedRun, Result, ResultGroup, group_by, pool
from byteways.answers.results.variants import Variant
from byteways.base.errors import BytewaysError

COMPARED_QUANTITY = "fraction of peak"


@dataclass(frozen=True)
class MachinesRow:
    """One interface at one size over one class of links in each run; the values are fractions of the peak."""

    between: str  # a key of selection.KINDS
    variant: Variant
    size_bytes: int
    classes: tuple[str, str]  # of the first run's links and of the second's
    peaks_bytes_per_s: tuple[float | None, float | None]  # None: differs between the pairs
    claim: Claim  # on the second run, beside the first

    def to_json(self) -> dict[str, Any]:
        return {
            "between": PAIR_KINDS[self.between],
            "variant": self.variant.to_json(),
            "size_bytes": self.size_bytes,
            "link_classes": [*self.classes],
            "peaks_bytes_per_s": [*self.peaks_bytes_per_s],
            "claim": self.claim.to_json(),
        }


@dataclass(frozen=True)
class ClassComparison:
    """Two runs by kind of pair and link class, in the order of the kinds."""

    names: tuple[str, str]
    rows: tuple[MachinesRow, ...]

    def to_json(self) -> dict[str, Any]:
        """Returns plain data with every claim."""
        return {"runs": [*self.names], "rows": [row.to_json() for row in self.rows]}


def compare_classes(runs: Sequence[RecordedRun], names: Sequence[str]) -> list[ClassComparison]:
    """Compares the first run with each other one; the claims of two runs hold simultaneously.

    Raises:
        BytewaysError: Two runs have no transfer of equal interface, memory and size over links with a peak.
    """
    first, *others = (_places(Index.of(run)) for run in runs)
    return [_compared(first, other, (names[0], name)) for other, name in zip(others, names[1:], strict=True)]


#: What both runs must share, and by link class the results.
_Places = Mapping[tuple[str, Variant, int], Mapping[str, ResultGroup]]


def _places(index: Index) -> _Places:
    """Returns the results as fractions of their peaks, without settings that one vendor alone has."""
    usable = [
        _as_fraction(cell, cell.peak)
        for cell in unidirectional(index.quotable)
        if cell.peak and cell.stays and does_the_job(cell) and not cell.variant.environment
    ]
    same = group_by(usable, lambda cell: (kind(cell), cell.variant, cell.size_bytes))
    return {
        key: {link_class: pool(some) for link_class, some in group_by(cells, index.link_class).items()}
        for key, cells in same.items()
    }


def _as_fraction(cell: Result, peak: float) -> Result:
    return replace(cell, value=cell.value / peak, low=cell.low / peak, high=cell.high / peak)


def _compared(first: _Places, second: _Places, names: tuple[str, str]) -> ClassComparison:
    order = list(PAIR_KINDS)
    keys = sorted(first.keys() & second.keys(), key=lambda key: (order.index(key[0]), key[2], key[1]))
    several = [(key, *both) for key in keys for both in product(first[key].items(), second[key].items())]
    if not several:
        raise BytewaysError(
            f"{names[0]} and {names[1]} have no transfer in common over links with a known peak",
            hint="run the same suite on both machines",
        )
    rows = [
        MachinesRow(
            *key,
            (link_class, others),
            (one.peak, two.peak),
            compare(
                *(two, one),
                kind="machines",
                comparisons=len(several),
                match=None,
                names=(names[1], names[0]),
                quantity=COMPARED_QUANTITY,
            ),
        )
        for key, (link_class, one), (others, two) in several
    ]
    return ClassComparison(names, tuple(rows))
