"""Which pairs of hosts meet, and in which round: the rule that a plan stores in place of its pairs (pure)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from byteways.base.errors import BytewaysError
from byteways.plan.hosts.names import Host
from byteways.plan.hosts.tournament import round_of, rounds_of, seats_in_round

#: Pairs of each host in a sample, if `--pairs sample` does not say: enough to tell a slow host from a slow
#: partner.
DEFAULT_EACH = 8


@dataclass(frozen=True)
class PairRule:
    """`all`: every two hosts meet. `sample`: every host meets `each` others."""

    pairs: str = "all"
    each: int = 0
    seed: int = 1

    @classmethod
    def parse(cls, text: str) -> PairRule:
        """Parses `all`, `sample` or `sample:16`. Raises BytewaysError otherwise."""
        word, colon, number = text.partition(":")
        if word == "all" and not colon:
            return cls()
        if word == "sample" and (not colon or (number.isdecimal() and 1 <= int(number) <= 10**6)):
            return cls("sample", int(number) if colon else DEFAULT_EACH)
        raise BytewaysError(
            f"--pairs {text} is neither 'all' nor 'sample'",
            hint=f"--pairs sample measures {DEFAULT_EACH} pairs per host, --pairs sample:16 measures 16",
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


#: Numbers of hosts that measure together, in the order of the case's ranks.
HostGroup = tuple[int, ...]


@dataclass(frozen=True)
class Meetings:
    """Groups of hosts, by their numbers in the file, that measure at once: the pairs of one round of a
    tournament, or after it all hosts together.
    """

    round: int  # of the suite
    number: int  # of the tournament, from 0; all hosts together: the number of its rounds
    groups: tuple[HostGroup, ...]


@dataclass(frozen=True)
class Tournament:
    """The meetings of hosts by a rule. Seats are drawn: neighbours in the file do not meet in turn."""

    hosts: tuple[Host, ...]
    rule: PairRule

    @property
    def rounds(self) -> int:
        """Rounds of the tournament in each round of the suite."""
        return len(self._numbers)

    @property
    def pairs(self) -> int:
        """Pairs that meet."""
        return self.rounds * (len(self.hosts) // 2)

    @property
    def pauses(self) -> bool:
        """Whether one host pauses in each round."""
        return len(self.hosts) % 2 == 1

    def meetings(self, round_: int) -> Iterator[Meetings]:
        """Yields the tournament of one round of the suite.

        In each, rounds come in another order; where all hosts meet, they also have other seats, so that
        other pairs measure at the same time.
        """
        seats = self._seats(round_ if self.rule.pairs == "all" else 0)
        order = list(self._numbers)
        random.Random(f"order {self.rule.seed} {round_}").shuffle(order)
        for number, drawn in enumerate(order):
            met = ((seats[a], seats[b]) for a, b in seats_in_round(len(self.hosts), drawn))
            yield Meetings(round_, number, tuple(sorted((min(pair), max(pair)) for pair in met)))

    def link_class(self, first: int, second: int) -> str:
        """Returns the class of the links between two hosts, as far as their groups tell."""
        a, b = self.hosts[first].group, self.hosts[second].group
        if not a or not b:
            return "between hosts"
        return "within a group" if a == b else "between groups"

    def _seats(self, round_: int) -> list[int]:
        """Returns the host of each seat."""
        seats = list(range(len(self.hosts)))
        random.Random(f"seats {self.rule.seed} {round_}").shuffle(seats)
        return seats

    @cached_property
    def _numbers(self) -> Sequence[int]:
        """The rounds of the circle method that are held."""
        total = rounds_of(len(self.hosts))
        if self.rule.pairs == "all" or self.rule.each >= total:
            return range(total)
        drawn = random.Random(f"rounds {self.rule.seed}").sample(range(total), self.rule.each)
        return self._covering(drawn)

    def _covering(self, drawn: Sequence[int]) -> list[int]:
        """Returns the rounds with others in place of some, so that each class of links is measured."""
        seats = self._seats(0)
        seat_of = {host: seat for seat, host in enumerate(seats)}
        must: list[int] = []
        while True:
            others = [number for number in drawn if number not in must]
            kept = [*must, *others[: max(0, self.rule.each - len(must))]]
            missing = [
                pair
                for kind, pair in self._examples.items()
                if not any(self._has(kind, seats, number) for number in kept)
            ]
            if not missing:
                return kept
            first, second = missing[0]
            must.append(round_of(len(self.hosts), seat_of[first], seat_of[second]))

    def _has(self, kind: str, seats: Sequence[int], number: int) -> bool:
        met = seats_in_round(len(self.hosts), number)
        return any(self.link_class(seats[a], seats[b]) == kind for a, b in met)

    @cached_property
    def _examples(self) -> dict[str, tuple[int, int]]:
        """Returns one pair of hosts for each class of links that exists."""
        found: dict[str, tuple[int, int]] = {}
        first_of: dict[str, int] = {}
        for number, host in enumerate(self.hosts):
            first_of.setdefault(host.group, number)
            grouped = next((first for group, first in first_of.items() if group), number)
            for other in {0, first_of[host.group], grouped} - {number}:
                found.setdefault(self.link_class(other, number), (other, number))
        return found
