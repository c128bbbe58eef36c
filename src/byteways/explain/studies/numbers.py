"""Formats values and sizes of a study, in tables and pictures alike."""

from __future__ import annotations

from byteways.units import format_size

#: Units for sizes in powers of 1000.
DECIMAL = ("B", "kB", "MB", "GB")


def size_of(size_bytes: int) -> str:
    """Formats a size in bytes in powers of two, or of ten if it is one (100 kB, 8 MB)."""
    text = format_size(size_bytes)
    if "." not in text or size_bytes % 1000:
        return text
    power = max(power for power in range(1, len(DECIMAL)) if size_bytes >= 1000**power)
    return f"{size_bytes / 1000**power:g} {DECIMAL[power]}"


def number(value: float, unit: str) -> str:
    """Formats four significant digits; fractions with three decimals."""
    if unit == "of peak":
        return f"{value:.3f}"
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"
