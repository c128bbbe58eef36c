"""Counts and lists in words."""

from __future__ import annotations

from collections.abc import Sequence


def listed(parts: Sequence[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """'1 pair', '12 pairs'."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
