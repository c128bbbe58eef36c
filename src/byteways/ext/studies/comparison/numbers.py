"""Formats values and sizes of a study, in tables and pictures alike."""

from __future__ import annotations


def number(value: float, unit: str) -> str:
    """Formats four significant digits; fractions with three decimals."""
    if unit == "of peak":
        return f"{value:.3f}"
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"
