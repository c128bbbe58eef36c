"""The list of findings: complete, in order, and each entry that of one finding."""

from __future__ import annotations

from byteways.answers.claims.effects import LEAST_LEAD
from byteways.answers.claims.importance import NO_DIFFERENCE_IMPORTANCE, Priority, worth


def test_entries_are_in_the_order_of_their_weights() -> None:
    """Catches an entry at a place of the list that its weight contradicts, and one of no weight."""
    weights = [entry.weight for entry in Priority]
    assert weights == sorted(weights, reverse=True) and weights[-1] > 0


def test_what_a_user_gains_comes_before_what_only_describes() -> None:
    """Catches energy or loaded latency ahead of the recommended method, however little that gains."""
    recommended = (Priority.FASTEST_BETWEEN_GPUS, Priority.FASTEST_TO_GPU, Priority.FASTEST_FROM_GPU)
    least = min(worth(entry.weight, LEAST_LEAD) for entry in recommended)
    assert least > max(worth(entry.weight, 1e9) for entry in (Priority.ENERGY, Priority.LOADED_LATENCY))
    assert least > NO_DIFFERENCE_IMPORTANCE
