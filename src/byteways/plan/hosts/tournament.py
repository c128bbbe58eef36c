"""Round-robin tournaments: in each round every host meets one other, and in the end all have met (pure).

The circle method: one host stays, the others move one seat each round (Kirkman 1847; Lucas 1883, Récréations
mathématiques II). Rounds and the round in which two seats meet are computed directly, so a tournament of any
size takes no memory.
"""

from __future__ import annotations

from collections.abc import Iterator


def rounds_of(hosts: int) -> int:
    """Returns the rounds in which all hosts meet: one less than hosts, as many for an odd number."""
    return 0 if hosts < 2 else _seats(hosts) - 1


def seats_in_round(hosts: int, number: int) -> Iterator[tuple[int, int]]:
    """Yields the two seats of every meeting of a round. With an odd number, one host pauses (a bye).

    Args:
        hosts: How many.
        number: From 0 to rounds_of(hosts) - 1.
    """
    last = _seats(hosts) - 1
    for step in range((last + 1) // 2):
        first = (number + step) % last
        second = last if step == 0 else (number - step) % last
        if first < hosts and second < hosts:
            yield first, second


def round_of(hosts: int, first: int, second: int) -> int:
    """Returns the round in which two different seats meet."""
    last = _seats(hosts) - 1
    if last in (first, second):
        return min(first, second)
    # Seats (r + s) and (r - s) meet in round r: twice r is their sum, modulo an odd number.
    return (first + second) * ((last + 1) // 2) % last


def _seats(hosts: int) -> int:
    """Returns an even number of seats: the last one is empty for an odd number of hosts."""
    return hosts + hosts % 2
