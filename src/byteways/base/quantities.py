"""Ranges of quantities that come from files: no number is calculated with before it passed here.

A damaged line, a program of another unit or a hostile file may hold 10^99 GB/s, a size below zero or an
integer of 400 digits. Each range is wider than anything that a machine does: a number beyond is no
measurement.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class QuantityRange:
    """A quantity in base units: zero, or from `least` to `most`."""

    name: str
    unit: str
    least: float
    most: float
    whole: bool = False


#: By kind. Bandwidth of one link, device or operation: 10^15 bytes/s are a hundred times the memory bandwidth
#: of the fastest GPU; a machine together has ten times more. Time of one operation: light moves 3 µm in
#: 0.01 ns, and none takes a day. Size of one operation: no node has a pebibyte of memory. Sums, counts and
#: clocks: what 64 bits with a sign hold, as programs count. Rate: 10^21 a second is a thousand times the
#: arithmetic of the largest machine.
QUANTITIES: Mapping[str, QuantityRange] = {
    "bandwidth": QuantityRange("a bandwidth", "bytes/s", 1.0, 1e15),
    "bandwidth-sum": QuantityRange("a bandwidth", "bytes/s", 1.0, 1e16),
    "time": QuantityRange("the time of an operation", "ns", 1e-2, 1e14),
    "rate": QuantityRange("a rate", "1/s", 1e-9, 1e21),
    "size": QuantityRange("the size of an operation", "bytes", 1, 2**50, whole=True),
    "bytes": QuantityRange("a number of bytes", "bytes", 1, 2**63 - 1, whole=True),
    "count": QuantityRange("a count", "", 1, 2**63 - 1, whole=True),
    "moment": QuantityRange("a time by a clock", "ns", 1, 2**63 - 1, whole=True),
}


class OutOfRangeError(ValueError):
    """A number that no measurement gives; the text completes "VALUE …"."""


def mistake_in_quantity(value: float, kind: str) -> str | None:
    """Returns what is wrong with a number as a quantity, without the number; None: nothing is.

    Args:
        value: In the base unit; may be an integer of any length.
        kind: A key of QUANTITIES.
    """
    known = QUANTITIES[kind]
    if isinstance(value, float) and not math.isfinite(value):
        return "is not finite"
    if value < 0:
        return f"is negative, and {known.name} is not"
    if value and not known.least <= value <= known.most:
        side, bound = ("above", known.most) if value > known.most else ("below", known.least)
        return f"is {side} {bound:.3g} {known.unit}".rstrip() + f": {known.name} cannot be"
    if known.whole and isinstance(value, float) and not value.is_integer():
        return f"is not a whole number, and {known.name} is one"
    return None


def quantity(value: Any, kind: str) -> Any:
    """Returns a number of a file after its check.

    Args:
        value: Anything that a file may hold in the place.
        kind: A key of QUANTITIES.

    Raises:
        OutOfRangeError: It is no number, or out of range.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise OutOfRangeError("is not a number")
    if wrong := mistake_in_quantity(value, kind):
        raise OutOfRangeError(wrong)
    return int(value) if QUANTITIES[kind].whole else value


def quantity_or_none(value: Any, kind: str) -> Any:
    """Returns a number of a file; None: it is none of this kind."""
    try:
        return quantity(value, kind)
    except OutOfRangeError:
        return None
