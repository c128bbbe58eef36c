"""Ranks that keep the others waiting: they begin late, or have no CPU though they are ready to run.

The clock of one host orders the ranks' begins (`native/timing/rank_skew.hpp`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from byteways.base.units import short_time
from byteways.record.warnings import WarningFields

#: A rank is late by at least this much, in ns and as a share of a batch: a barrier releases the ranks of a
#: host within a few messages, some microseconds.
LATE_NS, LATE_SHARE = 1e4, 0.1
#: … and begins last in at least this share of the batches.
BEGINS_LAST = 0.75
#: A rank without a CPU for this share of the time slows what waits for it as much.
NO_CPU = 0.05
#: A straggler stands out: its value is at least this many times the median of the other ranks.
STANDS_OUT = 2.0


@dataclass(frozen=True)
class Straggler:
    """One rank that keeps the others waiting, by one of two signs."""

    rank: int  # of the world
    late_ns: float = 0.0  # median delay of its begin after the first rank's
    no_cpu: float = 0.0  # share of the time in which it was ready to run but had no CPU

    def fields(self) -> WarningFields:
        """Returns the fields of its warning."""
        if self.late_ns:
            return {"rank": self.rank, "late_ns": self.late_ns}
        return {"rank": self.rank, "no_cpu": self.no_cpu}

    def __str__(self) -> str:
        if self.late_ns:
            return f"rank {self.rank} begins {short_time(self.late_ns)} after the first rank"
        return f"rank {self.rank} has no CPU for {100 * self.no_cpu:.0f} % of the time"


def stragglers(ranks: Sequence[Mapping[str, Any]], batch_ns: float) -> list[Straggler]:
    """Returns the ranks that keep the others waiting.

    Args:
        ranks: The field `ranks` of a record.
        batch_ns: Time of one batch: short delays do not count beside long batches.
    """
    late = [each["begin_ns"] for each in ranks]
    absent = [each.get("no_cpu") or 0.0 for each in ranks]
    in_order = sorted(late), sorted(absent)  # once: there may be thousands of ranks
    found = []
    for at, each in enumerate(ranks):
        is_late = late[at] >= max(LATE_NS, LATE_SHARE * batch_ns) and each["begins_last"] >= BEGINS_LAST
        if is_late and _is_outlier(late[at], in_order[0]):
            found.append(Straggler(each["rank"], late_ns=late[at]))
        elif absent[at] >= NO_CPU and _is_outlier(absent[at], in_order[1]):
            found.append(Straggler(each["rank"], no_cpu=absent[at]))
    return found


def _is_outlier(value: float, in_order: Sequence[float]) -> bool:
    """Whether a value is far above the median of all others."""
    at, count = bisect_left(in_order, value), len(in_order)
    # The middle of the others, as places among all: those behind the value are one further.
    near = (place + (place >= at) for place in ((count - 2) // 2, (count - 1) // 2))
    return value >= STANDS_OUT * fmean(in_order[place] for place in near)
