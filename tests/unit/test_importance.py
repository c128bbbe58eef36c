"""The list of findings: complete, in order, and each entry that of one finding."""

from __future__ import annotations

from byteways.explain.claims.importance import Priority


def test_entries_are_in_the_order_of_their_weights() -> None:
    """Catches an entry at a place of the list that its weight contradicts, and one of no weight."""
    weights = [entry.weight for entry in Priority]
    assert weights == sorted(weights, reverse=True) and weights[-1] > 0
