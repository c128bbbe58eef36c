"""Names what holds flows back that stay below prediction: the fewest shared resources that explain it.

A resource explains that flows are slow when what they carry over it together is its capacity: the same in
every case that it holds back, and no record of the run, whatever its interface and settings, carries more.
Anything would fit a single case, so a resource has to hold back two. "Nothing explains it" is an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from byteways.analyse.prediction import Carried, Predictions, Seen, Together
from byteways.analyse.resources import Resource, Uses, resources
from byteways.analyse.summary import group_by
from byteways.topology.model import Topology

#: A resource is full from this part of the most that was seen over it: it gives a little more to more flows
#: (three H200 write 156 GB/s to host memory, four 163: docs/reference/measured-h200x4.md).
FULL = 0.9
#: Cases of a run that a resource must hold back to be named.
LEAST_CASES = 2
#: Resources that one setting is explained by at most: more would explain anything.
MOST_RESOURCES = 5


@dataclass(frozen=True)
class Bottleneck:
    """A resource that holds flows back. `names` has others that the cases cannot tell from it."""

    resource: Resource
    names: tuple[str, ...]
    bytes_per_s: float  # what it carries, the median over the cases that it holds back
    cases: tuple[Together, ...]
    example: Together  # of the cases that the fewest others hold back too, the slowest


@dataclass(frozen=True)
class Explanation:
    """The cases of one setting that stay below prediction, and what explains them."""

    setting: tuple[object, ...]
    bottlenecks: tuple[Bottleneck, ...]
    unexplained: tuple[Together, ...]

    def of(self, case: Together) -> list[Bottleneck]:
        """What holds a case back."""
        return [each for each in self.bottlenecks if case in each.cases]


def explanations(topology: Topology, predicted: Predictions) -> list[Explanation]:
    """One for each setting of which a case is held back; flows that took turns are no evidence."""
    found = []
    cases = [case for case in predicted.cases if "serialised" not in case.cell.warning_ids]
    for setting, same in group_by(cases, lambda case: case.setting).items():
        if any(case.held_back for case in same):
            found.append(_explain(topology, setting, same, predicted.seen))
    return [_told_apart(one, [other for other in found if other is not one]) for one in found]


def _told_apart(one: Explanation, others: Sequence[Explanation]) -> Explanation:
    """Without the names of a bottleneck that another setting rules out: kernels use no copy engine."""
    known = [set(bottleneck.names) for other in others for bottleneck in other.bottlenecks]
    kept = []
    for bottleneck in one.bottlenecks:
        names = bottleneck.names
        for other in known:
            names = tuple(name for name in names if name in other) or names
        kept.append(replace(bottleneck, names=names))
    return replace(one, bottlenecks=tuple(kept))


@dataclass(frozen=True)
class _Candidate:
    """A resource with what flows over it carry in each case, member by member."""

    resource: Resource
    names: tuple[str, ...]
    users: tuple[tuple[frozenset[int], ...], ...]  # [case][member]: flows by index
    loads: tuple[tuple[float, ...], ...]  # [case][member]: bytes/s
    capacity: float

    def holds(self, case: int) -> frozenset[int]:
        """Flows of a case that use a member which is full."""
        full = [
            users
            for users, load in zip(self.users[case], self.loads[case], strict=True)
            if len(users) > 1 and load >= FULL * self.capacity
        ]
        return frozenset().union(*full)


def _explain(
    topology: Topology, setting: tuple[object, ...], cases: Sequence[Together], seen: Sequence[Seen]
) -> Explanation:
    held = [index for index, case in enumerate(cases) if case.held_back]
    pairs = [cases[index] for index in held if len(cases[index].flows) == 2]
    candidates = _candidates(resources(topology, cases, pairs), cases, held, seen)
    chosen: list[_Candidate] = []
    while len(chosen) < MOST_RESOURCES:
        best = max(
            candidates, key=lambda one: _score([*chosen, one], cases, held), default=None
        )  # the first of equals, so the most particular
        if best is None or _score([*chosen, best], cases, held) <= _score(chosen, cases, held):
            break
        chosen.append(best)
    explained = [index for index in held if _explained(chosen, cases[index], index)]
    for one in list(chosen):  # what later ones made needless
        rest = [other for other in chosen if other is not one]
        if all(_explained(rest, cases[index], index) for index in explained):
            chosen = rest
    chosen = [
        one
        for one in chosen
        if sum(bool(one.holds(index) & set(cases[index].slow)) for index in explained) >= LEAST_CASES
    ]
    explained = [index for index in held if _explained(chosen, cases[index], index)]
    holding = {
        index: [one for one in chosen if one.holds(index) & set(cases[index].slow)] for index in explained
    }
    bottlenecks = []
    for one in chosen:
        mine = [index for index in explained if one in holding[index]]
        if not mine:
            continue
        full = [load for index in mine for load in one.loads[index] if load >= FULL * one.capacity]
        example = min(mine, key=lambda index: (len(holding[index]), cases[index].kept))
        held_back = tuple(cases[index] for index in mine)
        bottlenecks.append(Bottleneck(one.resource, one.names, median(full), held_back, cases[example]))
    rest_ = tuple(cases[index] for index in held if index not in explained)
    return Explanation(setting, tuple(bottlenecks), rest_)


def _candidates(
    found: Sequence[Resource], cases: Sequence[Together], held: Sequence[int], seen: Sequence[Seen]
) -> list[_Candidate]:
    """Resources that could hold back LEAST_CASES, those with the same users as one, under all their names."""
    by_users: dict[object, _Candidate] = {}
    for resource in found:
        members = [_Members(uses) for uses in resource.uses]
        users = tuple(tuple(member.of(case.carried) for member in members) for case in cases)
        loads = tuple(
            tuple(sum(case.rates[index] for index in member) for member in each)
            for case, each in zip(cases, users, strict=True)
        )
        capacity = max((load for each in loads for load in each), default=0.0)
        one = _Candidate(resource, (resource.name,), users, loads, capacity)
        if not _holds_enough(one, cases, held):
            continue
        one = replace(one, capacity=max(capacity, _most_seen(members, seen)))
        if not _holds_enough(one, cases, held):
            continue
        # Equal where it matters: in the cases that are held back.
        key = tuple(frozenset(one.holds(index)) for index in range(len(cases)))
        twin = by_users.get(key)
        if twin is None:
            by_users[key] = one
        elif twin.resource.family == resource.family and not resource.hidden:  # nothing hidden is needed
            by_users[key] = _Candidate(
                twin.resource, (*twin.names, resource.name), twin.users, twin.loads, twin.capacity
            )
    return [*by_users.values()]


def _holds_enough(one: _Candidate, cases: Sequence[Together], held: Sequence[int]) -> bool:
    return sum(bool(one.holds(index) & set(cases[index].slow)) for index in held) >= LEAST_CASES


class _Members:
    """Which flows use a member of a resource; it asks for a flow's devices alone, so each answer is kept."""

    def __init__(self, uses: Uses) -> None:
        self._uses = uses
        self._known: dict[tuple[str, str, str], bool] = {}

    def of(self, carried: Sequence[Carried]) -> frozenset[int]:
        """The flows that use it, by index."""
        for flow, devices, _ in carried:
            if devices not in self._known:
                self._known[devices] = self._uses(flow)
        return frozenset(index for index, (_, devices, _) in enumerate(carried) if self._known[devices])


def _most_seen(members: Sequence[_Members], seen: Sequence[Seen]) -> float:
    """The most that any record of the run carried over a member of a resource."""
    return max(
        (
            sum(one.carried[index][2] for index in member.of(one.carried))
            for one in seen
            for member in members
        ),
        default=0.0,
    )


def _score(chosen: Sequence[_Candidate], cases: Sequence[Together], held: Sequence[int]) -> tuple[int, int]:
    """Cases that are explained, and slow flows that use something full."""
    whole = sum(_explained(chosen, cases[index], index) for index in held)
    flows = sum(len(_held_flows(chosen, index) & set(cases[index].slow)) for index in held)
    return whole, flows


def _explained(chosen: Sequence[_Candidate], case: Together, index: int) -> bool:
    """Whether every slow flow uses something that is full."""
    return bool(chosen) and bool(case.slow) and set(case.slow) <= _held_flows(chosen, index)


def _held_flows(chosen: Sequence[_Candidate], index: int) -> frozenset[int]:
    return frozenset().union(*(one.holds(index) for one in chosen))
