"""Units: base units inside, formatted once at the edge.

Sizes are powers of two in KiB, MiB, GiB; bandwidth is decimal, 1 GB/s = 10**9 bytes/s.
"""

from __future__ import annotations

import re

_SIZE_UNITS = {"B": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_DECIMAL_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_DURATION = re.compile(r"^\s*(?:(\d+(?:\.\d+)?)h)?\s*(?:(\d+(?:\.\d+)?)m)?\s*(?:(\d+(?:\.\d+)?)s?)?\s*$")
_SIZE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([KMGT]i?B?|B)?\s*$", re.IGNORECASE)


def parse_size(text: str, *, decimal: bool = False) -> int:
    """Parses '64KiB', '1GiB', '4096' or '4k' to bytes.

    Args:
        text: The size.
        decimal: Whether KB, MB and GB are powers of ten; otherwise they are refused, as most people who write
            them mean powers of two.

    Raises:
        ValueError: The text is not a size, is decimal, zero, or not a whole number of bytes.
    """
    match = _SIZE.match(text)
    if match is None:
        raise ValueError(f"'{text}' is not a size; write 4096, 64KiB, 1MiB or 1GiB")
    unit = (match[2] or "B").upper()
    if unit in _DECIMAL_UNITS and not decimal:
        raise ValueError(f"'{text}' is decimal; sizes are powers of two, write {match[1]}{unit[0]}iB")
    if unit in ("K", "M", "G", "T", "KI", "MI", "GI", "TI"):
        unit = unit[0] + "IB"
    value = float(match[1]) * {**_SIZE_UNITS, **_DECIMAL_UNITS}[unit]
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
    return total_s


def format_duration(duration_s: float) -> str:
    """'45 s', '30 min', '1 h 30 min'."""
    if duration_s < 120:
        return f"{duration_s:.4g} s"
    hours, minutes = divmod(round(duration_s / 60), 60)
    return " ".join(part for part in (f"{hours} h" * bool(hours), f"{minutes} min" * bool(minutes)) if part)


def format_size(size_bytes: int) -> str:
    """'64 KiB', '1 GiB', '100 B', or with a fraction '1.5 MiB'."""
    value, unit = float(size_bytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.4g} {unit}"


def format_bandwidth(bytes_per_s: float) -> str:
    """'394.1 GB/s', four significant digits, always in GB/s so that columns are comparable."""
    value = bytes_per_s / 1e9
    digits = 0 if value >= 1000 else 1 if value >= 100 else 2 if value >= 1 else 4
    return f"{value:.{digits}f} GB/s"


def three_digits(value: float) -> str:
    """'1518', '772', '7.54': at least three significant digits, all before the point from 100 up."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def format_time(time_ns: float) -> str:
    """'824 ns', '6.10 µs', '1.36 ms', '2.4 s'."""
    for limit, scale, unit in ((1e3, 1.0, "ns"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms")):
        if time_ns < limit:
            return f"{time_ns / scale:.4g} {unit}"
    return f"{time_ns / 1e9:.4g} s"


def short_time(time_ns: float) -> str:
    """'824 ns', '1.45 µs', '13.3 µs': three digits, for sentences and dense tables."""
    return format_time(float(f"{time_ns:.3g}"))
