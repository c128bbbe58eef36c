"""The messages of `particles` between two ranks, computed without byteways' native core.

For the plain loop that particles_peer.py compares with (benchmarks/peers/particle_loop.c): the same particles
leave with the same messages from the same places. The rule is that of native/interfaces/particles/trips.cpp,
written once more; a test compares it with what a run says of its messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from byteways.cases.applications import MOST_NEIGHBOURS, PARTICLE_BYTES, leaving
from byteways.cases.options import MESSAGE_BYTES

#: Then the first one again.
TRIPS = 4
WORDS = PARTICLE_BYTES // 8
_MASK = (1 << 64) - 1


@dataclass(frozen=True)
class Message:
    """First word in the store of its rank, first word among the messages, and words."""

    in_store: int
    in_messages: int
    words: int


class _Draw:
    """Numbers that repeat in every run."""

    def __init__(self, rank: int, trip: int, purpose: int) -> None:
        self.key = (rank << 40) + (trip << 32) + (purpose << 24)
        self.drawn = 0

    def below(self, limit: int) -> int:
        self.drawn += 1
        word = (self.key + self.drawn) * 0x9E3779B97F4A7C15 & _MASK
        return ((word ^ word >> 32) >> 16) % limit


def _most_particles(size_bytes: int) -> int:
    """Particles in a message at most."""
    particles, largest = size_bytes // PARTICLE_BYTES, int(MESSAGE_BYTES.usual) // PARTICLE_BYTES
    messages = 2 * leaving(size_bytes, {}) // largest + 2 * MOST_NEIGHBOURS
    return min(largest, particles // (2 * messages))


def messages_of(size_bytes: int, rank: int, trip: int) -> list[Message]:
    """What a rank of two sends away in a trip, with the usual options.

    Args:
        size_bytes: Of its particles at home.
    """
    draw, left, sizes = _Draw(rank, trip, 0), leaving(size_bytes, {}), []
    draw.below(3)  # the share of the only neighbour
    while left > 0:
        sizes.append(min(left, 1 + draw.below(_most_particles(size_bytes))))
        left -= sizes[-1]
    stripe = size_bytes // PARTICLE_BYTES // len(sizes)
    draw, messages, at = _Draw(rank, trip, 1), [], 0
    for number, size in enumerate(sizes):
        first = number * stripe + draw.below(stripe - size + 1)
        messages.append(Message(first * WORDS, at, size * WORDS))
        at += size * WORDS
    return messages


def text_of(size_bytes: int) -> str:
    """The file that the plain loop reads."""
    part_words = MOST_NEIGHBOURS * leaving(size_bytes, {}) * WORDS

    def numbers() -> Iterator[int]:
        yield from (size_bytes // 8 + part_words, part_words, TRIPS)
        for trip in range(TRIPS):
            for rank in range(2):
                messages = messages_of(size_bytes, rank, trip)
                yield len(messages)
                for one in messages:
                    yield from (one.in_store, one.in_messages, one.words)

    return " ".join(map(str, numbers())) + "\n"
