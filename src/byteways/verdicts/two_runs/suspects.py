"""What the affected cases of two runs have in common: a device, a link, or a role of a device.

The smallest set that explains them is named (bottlenecks/culprits.py). If none explains them, candidates are
ranked by the harmonic mean of two parts: of their own cases that are affected, and of the affected cases that
are theirs. A link that one run lacks explains more than any of them, and then a rank that the records
themselves blame, or a device that they blame for more cases (blamed_ranks.py).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from byteways.answers.results.blamed_ranks import ERRORS_ON
from byteways.machine.model import Topology
from byteways.questions.bottlenecks.culprits import CaseEvidence, culprit, joined

#: A rank, host or device that at least this share of the affected cases blames may come before what they have
#: in common: not every case that waits for it says so (long batches hide a late begin).
NAMED_SHARE = 0.25
_IS_BLAMED = re.compile(r"(?:rank|host) ").match


@dataclass(frozen=True)
class Suspect:
    """What most affected cases have in common."""

    name: str  # `gpu0`, `gpu0-nvswitch`, `memory of gpu0`, `rank 1 (gpu1)`, `gpu0-gpu1 or gpu2-gpu3`
    slower: int  # its affected cases
    compared: int  # its compared cases
    of: int  # all affected cases
    missing: bool = False  # a link that the later run lacks
    names: tuple[str, ...] = ()  # the smallest set of parts that explains them: one, or several faults
    alike: tuple[str, ...] = ()  # other parts that exactly the same cases involve


def suspect(cases: Sequence[CaseEvidence], missing: Iterable[str] = ()) -> Suspect | None:
    """Returns what explains the affected cases best; None without any.

    Args:
        cases: Each compared case, affected ones included.
        missing: Links that the later run lacks; one that an affected case involves comes before all else.
    """
    affected = [case for case in cases if case.slow]
    all_cases = Counter(name for case in cases for name in case.parts)
    own = Counter(name for case in affected for name in case.parts)
    if not own:
        return None
    total = len(affected)
    failed = {name.removeprefix(ERRORS_ON) for name in own if name.startswith(ERRORS_ON)}
    failed = {name for name in failed if own[ERRORS_ON + name] >= NAMED_SHARE * total}
    own = Counter({name: number for name, number in own.items() if not name.startswith(ERRORS_ON)})

    def best(names: Iterable[str]) -> str:
        def key(name: str) -> tuple[float, int, bool, str]:
            return 2 * own[name] / (all_cases[name] + total), -len(name), ">" not in name, name

        return max(names, key=key)

    lacking = set(missing) & {*own}
    blamed = {name for name, number in own.items() if _IS_BLAMED(name) and number >= NAMED_SHARE * total}
    found = None if lacking or blamed else _explained(cases)
    if found is None:
        name = best(lacking or blamed or own)
        found = Suspect(name, own[name], all_cases[name], total, bool(lacking), (name,))
    # A device that fails halfway may have links with failed cases only. Broken links fail calls on it, too.
    if not lacking and not blamed and failed and own[device := best(failed)] > found.slower:
        found = Suspect(device, own[device], all_cases[device], total, names=(device,))
    return found


def _explained(cases: Sequence[CaseEvidence]) -> Suspect | None:
    """Returns the smallest set of parts that explains the affected cases; None if none does."""
    known = (
        replace(case, parts=frozenset(name for name in case.parts if not name.startswith(ERRORS_ON)))
        for case in cases
    )
    if (found := culprit([*known])) is None:
        return None
    alike = tuple(name for names in found.alike for name in names)
    return Suspect(
        " or ".join(found.names), found.slower, found.compared, found.of, names=found.names, alike=alike
    )


def missing_links(first: Topology, second: Topology) -> tuple[str, ...]:
    """Returns the links of the first machine that the second lacks, `gpu0-nvswitch`, if it has their ends."""
    there = {joined(link.a, link.b) for link in second.links}
    ends = {*second.names(), *second.switches}
    names = (joined(link.a, link.b) for link in first.links if {link.a, link.b} <= ends)
    return tuple(dict.fromkeys(name for name in names if name not in there))
