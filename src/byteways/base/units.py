"""Units: base units inside, formatted once at the edge.

KiB, MiB and GiB are powers of two, kB, MB and GB powers of ten (SI), of sizes as of bandwidths.
"""

from __future__ import annotations

import re

from byteways.base.quantities import QUANTITIES
from byteways.base.text import Sentence

_PREFIXES = "KMGT"
_DECIMAL_NAMES = ("B", "kB", "MB", "GB", "TB")
_DURATION = re.compile(r"^\s*(?:(\d+(?:\.\d+)?)h)?\s*(?:(\d+(?:\.\d+)?)m)?\s*(?:(\d+(?:\.\d+)?)s?)?\s*$")
_SIZE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([KMGT]i?B?|B)?\s*$", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Parses a size to bytes: '64KiB', '64k' and '65536' are equal, '64kB' is 64,000.

    Raises:
        ValueError: The text is not a size, is zero, or not a whole number of bytes.
    """
    match = _SIZE.match(text)
    if match is None:
        raise ValueError(f"'{text}' is not a size; write 4096, 64KiB, 1MiB or 1GiB")
    unit = (match[2] or "B").upper()
    base = 1000 if unit.endswith("B") and "I" not in unit else 1024
    value = float(match[1]) * base ** (_PREFIXES.find(unit[0]) + 1)
    if value == float("inf"):
        raise ValueError(f"'{text[:40]}…' is too large")
    if value < 1 or value != int(value):
        raise ValueError(f"'{text}' is not a whole, positive number of bytes")
    return int(value)


def parse_duration(text: str) -> float:
    """Parses '90', '90s', '30m', '2h' or '1h30m' to seconds.

    Raises:
        ValueError: The text is not a duration, or it is zero.
    """
    match = _DURATION.match(text)
    if match is None or not any(match.groups()):
        raise ValueError(f"'{text}' is not a duration; write 90s, 30m, 2h or 1h30m")
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    total_s = 3600 * hours + 60 * minutes + seconds
    if total_s <= 0:
        raise ValueError(f"'{text}' is not a positive duration")
    if total_s * 1e9 > QUANTITIES["moment"].most:
        raise ValueError(f"'{text[:40]}' is too long")
    return total_s


def format_duration(duration_s: float) -> Sentence:
    """'45 s', '30 min', '1 h 30 min'."""
    if duration_s < 120:
        return f"{duration_s:.4g} s"
    hours, minutes = divmod(round(duration_s / 60), 60)
    return " ".join(part for part in (f"{hours} h" * bool(hours), f"{minutes} min" * bool(minutes)) if part)


def format_size(size_bytes: int) -> Sentence:
    """'64 KiB', '1 GiB', '100 B', '1.5 MiB'; of a power of ten '1 MB', which is 976.6 KiB."""
    return " ".join(size_and_unit(size_bytes))


def size_and_unit(size_bytes: int) -> tuple[str, str]:
    """('64', 'KiB'): the parts of format_size()."""
    value, unit = float(size_bytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    text = f"{value:.4g}"
    power = max((power for power in range(len(_DECIMAL_NAMES)) if size_bytes >= 1000**power), default=0)
    decimal = float(f"{size_bytes / 1000**power:.2g}")  # two digits: capacities of memory stay binary
    if float(text) != value and power and decimal * 1000**power == size_bytes:
        return f"{decimal:g}", _DECIMAL_NAMES[power]
    return text, unit


def format_bandwidth(bytes_per_s: float) -> Sentence:
    """'394.1 GB/s', as bandwidth_number() has it."""
    return f"{bandwidth_number(bytes_per_s)} GB/s"


def bandwidth_number(bytes_per_s: float) -> str:
    """'394.1', four significant digits, always in GB/s so that columns are comparable."""
    value = bytes_per_s / 1e9
    digits = 0 if value >= 1000 else 1 if value >= 100 else 2 if value >= 1 else 4
    return f"{value:.{digits}f}"


def three_digits(value: float) -> str:
    """'1518', '772', '7.54': at least three significant digits, all before the point from 100 up."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def format_time(time_ns: float) -> Sentence:
    """'824 ns', '6.10 µs', '1.36 ms', '2.4 s'."""
    for limit, scale, unit in ((1e3, 1.0, "ns"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms")):
        if time_ns < limit:
            return f"{time_ns / scale:.4g} {unit}"
    return f"{time_ns / 1e9:.4g} s"


def short_time(time_ns: float) -> Sentence:
    """'824 ns', '1.45 µs', '13.3 µs': three digits, for sentences and dense tables."""
    return format_time(float(f"{time_ns:.3g}"))
