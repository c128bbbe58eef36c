"""Sizes in suites and on the command line: '64KiB', '64KiB..1GiB', '64KiB..1GiB x4', and lists."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from byteways.base.units import format_size, parse_size

#: More memory than any host has; a larger number is a typing error.
MAX_SIZE_BYTES = 2**46

_RANGE = re.compile(r"^\s*(?P<low>.+?)\s*\.\.\s*(?P<high>.+?)(?:\s+x\s*(?P<step>\d+))?\s*$")


def _size(text: str | int) -> int:
    value = parse_size(str(text))
    if value > MAX_SIZE_BYTES:
        raise ValueError(f"'{text}' is too large: more than {format_size(MAX_SIZE_BYTES)}")
    return value


def _range(text: str) -> tuple[int, int, int] | None:
    """Returns (low, high, factor), sizes in bytes; None if the text is not a range."""
    match = _RANGE.match(text)
    if match is None:
        return None
    low, high = _size(match["low"]), _size(match["high"])
    step = int(match["step"] or 2)
    if low > high:
        raise ValueError(f"'{text}' is decreasing; write the smaller size first")
    if step < 2:
        raise ValueError(f"'{text}' does not increase; the step is a factor of at least 2")
    return low, high, step


def expand_sizes(size: str | int | Sequence[str | int]) -> tuple[int, ...]:
    """Returns the sizes in bytes of a suite's `size`, in order without duplicates; ranges include both ends.

    Raises:
        ValueError: Not a size, zero, above MAX_SIZE_BYTES, a descending range, or an empty list.
    """
    if not isinstance(size, (str, int)):
        sizes = tuple(dict.fromkeys(value for item in size for value in expand_sizes(item)))
        if not sizes:
            raise ValueError("the list of sizes is empty")
        return sizes
    bounds = _range(size) if isinstance(size, str) else None
    if bounds is None:
        return (_size(size),)
    low, high, step = bounds
    steps = [low]
    while steps[-1] * step < high:
        steps.append(steps[-1] * step)
    return tuple(dict.fromkeys((*steps, high)))


def size_filter(text: str) -> Callable[[int], bool]:
    """Whether a size in bytes is in a comma-separated list of sizes and ranges; ranges include both ends.

    Args:
        text: The list.

    Raises:
        ValueError: Like expand_sizes().
    """
    intervals = []
    for item in text.split(","):
        bounds = _range(item)
        low, high = bounds[:2] if bounds else (_size(item),) * 2
        intervals.append((low, high))
    return lambda size_bytes: any(low <= size_bytes <= high for low, high in intervals)


def single_sizes(text: str | None) -> tuple[int, ...]:
    """Returns the sizes in bytes that `--size` names one by one; a range only selects. None names none."""
    items = text.split(",") if text is not None else ()
    return tuple(dict.fromkeys(_size(item) for item in items if _range(item) is None))
