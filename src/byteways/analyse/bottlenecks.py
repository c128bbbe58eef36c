"""Names the bottleneck of flows below prediction: the fewest shared resources that explain them.

A resource explains slow flows if their total load on it equals its capacity: the same in every case that it
limits, and not exceeded by any record of the run, whatever its interface and settings. Many resources would
fit a single case, so a bottleneck needs two. The result may be "unexplained".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from byteways.analyse.prediction import Carried, Predictions, Together
from byteways.analyse.resources import Resource, Uses, resources
from byteways.analyse.summary import group_by
from byteways.plan.case import Flow
from byteways.topology.model import Topology

#: A resource counts as full from this fraction of its greatest observed load: the load grows slightly with
#: the number of flows (three H200 write 156 GB/s to host memory, four 163:
#: docs/reference/measured-h200x4.md).
FULL = 0.9
#: Least number of cases that a named resource must limit.
LEAST_CASES = 2
#: Maximum number of resources to explain one setting: more could explain anything.
MOST_RESOURCES = 5


@dataclass(frozen=True)
class Bottleneck:
    """A resource that limits flows. `names` includes others that the cases cannot distinguish from it."""

    resource: Resource
    names: tuple[str, ...]
    bytes_per_s: float  # its greatest load in any record: a limit that one of them passes would be none
    cases: tuple[Together, ...]
    example: Together  # the slowest of the cases with the fewest other bottlenecks


@dataclass(frozen=True)
class Explanation:
    """The cases of one setting below prediction, and the bottlenecks that explain them."""

    setting: tuple[object, ...]
    bottlenecks: tuple[Bottleneck, ...]
    unexplained: tuple[Together, ...]

    def of(self, case: Together) -> list[Bottleneck]:
        """Returns the bottlenecks of a case."""
        return [each for each in self.bottlenecks if case in each.cases]


def explanations(topology: Topology, predicted: Predictions) -> list[Explanation]:
    """Returns one per setting with a case below prediction; serialised flows are no evidence."""
    found = []
    cases = [case for case in predicted.cases if "serialised" not in case.cell.warning_ids]
    loads = _Loads(predicted)
    for setting, same in group_by(cases, lambda case: case.setting).items():
        if any(case.held_back for case in same):
            found.append(_explain(topology, setting, same, loads))
    return [_told_apart(one, [other for other in found if other is not one]) for one in found]


def _told_apart(one: Explanation, others: Sequence[Explanation]) -> Explanation:
    """Removes names of a bottleneck that another setting rules out: kernels use no copy engine."""
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
    """A resource with the load of its flows in each case, member by member."""

    resource: Resource
    names: tuple[str, ...]
    users: tuple[tuple[frozenset[int], ...], ...]  # [case][member]: flow indices
    loads: tuple[tuple[float, ...], ...]  # [case][member]: bytes/s
    capacity: float

    def holds(self, case: int) -> frozenset[int]:
        """Returns the flows of a case that use a full member."""
        full = [
            users
            for users, load in zip(self.users[case], self.loads[case], strict=True)
            if len(users) > 1 and load >= FULL * self.capacity
        ]
        return frozenset().union(*full)


def _explain(
    topology: Topology, setting: tuple[object, ...], cases: Sequence[Together], seen: _Loads
) -> Explanation:
    held = [index for index, case in enumerate(cases) if case.held_back]
    pairs = [cases[index] for index in held if len(cases[index].flows) == 2]
    candidates = _candidates(resources(topology, cases, pairs), cases, held, seen)
    chosen: list[_Candidate] = []
    while len(chosen) < MOST_RESOURCES:
        best = max(
            candidates, key=lambda one: _score([*chosen, one], cases, held), default=None
        )  # among equals the first, which is the most specific
        if best is None or _score([*chosen, best], cases, held) <= _score(chosen, cases, held):
            break
        chosen.append(best)
    explained = [index for index in held if _explained(chosen, cases[index], index)]
    for one in list(chosen):  # remove those made redundant by later ones
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
        example = min(mine, key=lambda index: (len(holding[index]), cases[index].kept))
        held_back = tuple(cases[index] for index in mine)
        bottlenecks.append(Bottleneck(one.resource, one.names, one.capacity, held_back, cases[example]))
    rest_ = tuple(cases[index] for index in held if index not in explained)
    return Explanation(setting, tuple(bottlenecks), rest_)


def _candidates(
    found: Sequence[Resource], cases: Sequence[Together], held: Sequence[int], seen: _Loads
) -> list[_Candidate]:
    """Returns resources that could limit LEAST_CASES cases; merges equal users, keeping all names."""
    by_users: dict[object, _Candidate] = {}
    places = [seen.place(case.carried) for case in cases]
    for resource in found:
        members = [seen.users_of(uses) for uses in resource.uses]
        users = tuple(tuple(seen.indices(place, member) for member in members) for place in places)
        loads = tuple(
            tuple(sum(case.rates[index] for index in member) for member in each)
            for case, each in zip(cases, users, strict=True)
        )
        capacity = max((load for each in loads for load in each), default=0.0)
        one = _Candidate(resource, (resource.name,), users, loads, capacity)
        if not _holds_enough(one, cases, held):
            continue
        one = replace(one, capacity=max(capacity, seen.most(members)))
        if not _holds_enough(one, cases, held):
            continue
        # Compare only the cases below prediction.
        key = tuple(frozenset(one.holds(index)) for index in range(len(cases)))
        twin = by_users.get(key)
        if twin is None:
            by_users[key] = one
        elif twin.resource.family == resource.family and not resource.hidden:  # a known resource suffices
            by_users[key] = _Candidate(
                twin.resource, (*twin.names, resource.name), twin.users, twin.loads, twin.capacity
            )
    return [*by_users.values()]


def _holds_enough(one: _Candidate, cases: Sequence[Together], held: Sequence[int]) -> bool:
    return sum(bool(one.holds(index) & set(cases[index].slow)) for index in held) >= LEAST_CASES


#: The flows that use a member of a resource, by devices, which alone decide: source, executor, destination.
_Users = frozenset[tuple[str, str, str]]


class _Loads:
    """The rates of all flows of a run, by the devices of the flows that ran together: records of the same
    devices, at other sizes or by other interfaces, use the same resources.
    """

    def __init__(self, predicted: Predictions) -> None:
        self._flows: dict[tuple[str, str, str], Flow] = {}  # one of each devices
        self._places: dict[tuple[tuple[str, str, str], ...], int] = {}
        self._devices: list[tuple[tuple[str, str, str], ...]] = []  # by place
        self._rates: list[list[tuple[float, ...]]] = []  # likewise
        self._indices: dict[tuple[int, _Users], frozenset[int]] = {}
        self._loads: dict[tuple[int, frozenset[int]], float] = {}  # by place, and flows
        self._most: dict[_Users, float] = {}
        for case in predicted.cases:
            self.place(case.carried)
        for one in predicted.seen:
            self._rates[self.place(one.carried)].append(one.rates)

    def place(self, carried: Sequence[Carried]) -> int:
        """Returns the number of these devices together."""
        devices = tuple([one for _, one, _ in carried])
        place = self._places.get(devices)
        if place is None:
            place = self._places[devices] = len(self._rates)
            self._rates.append([])
            self._devices.append(devices)
            self._flows |= {one: flow for flow, one, _ in carried}
        return place

    def users_of(self, uses: Uses) -> _Users:
        """Returns the devices of all flows of the run that use a member of a resource."""
        return frozenset([devices for devices, flow in self._flows.items() if uses(flow)])

    def indices(self, place: int, member: _Users) -> frozenset[int]:
        """Returns which of the flows at a place use a member."""
        known = self._indices.get((place, member))
        if known is None:
            devices = self._devices[place]
            known = frozenset([index for index, one in enumerate(devices) if one in member])
            self._indices[place, member] = known
        return known

    def most(self, members: Sequence[_Users]) -> float:
        """Returns the greatest load of a resource's member in any record, in bytes/s."""
        return max(map(self._most_of, members), default=0.0)

    def _most_of(self, member: _Users) -> float:
        if member not in self._most:
            places = [place for place, rates in enumerate(self._rates) if rates]
            loads = [self._load(place, self.indices(place, member)) for place in places]
            self._most[member] = max(loads, default=0.0)
        return self._most[member]

    def _load(self, place: int, users: frozenset[int]) -> float:
        """Returns the greatest load by these flows of a place in any record."""
        if (place, users) not in self._loads:
            rates = self._rates[place]
            self._loads[place, users] = max(sum(each[index] for index in users) for each in rates)
        return self._loads[place, users]


def _score(chosen: Sequence[_Candidate], cases: Sequence[Together], held: Sequence[int]) -> tuple[int, int]:
    """Returns the numbers of explained cases and of slow flows that use something full."""
    whole = sum(_explained(chosen, cases[index], index) for index in held)
    flows = sum(len(_held_flows(chosen, index) & set(cases[index].slow)) for index in held)
    return whole, flows


def _explained(chosen: Sequence[_Candidate], case: Together, index: int) -> bool:
    """Whether every slow flow uses something full."""
    return bool(chosen) and bool(case.slow) and set(case.slow) <= _held_flows(chosen, index)


def _held_flows(chosen: Sequence[_Candidate], index: int) -> frozenset[int]:
    return frozenset().union(*(one.holds(index) for one in chosen))
