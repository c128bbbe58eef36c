"""Numbers of a simulated machine's sheet (models/sheet.py): workers have no package that reads a model."""

from __future__ import annotations


def number_of(sheet: str, key: str) -> float | None:
    """Returns the number of a key of the machine model; None where the sheet does not have it."""
    for line in sheet.splitlines():
        name, _, value = line.partition("\t")
        if name == key:
            return float(value)
    return None
