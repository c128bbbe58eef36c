"""One row per record, base units in the column names: the columns of columns.py as text.

What has no fixed shape (options, directions …) is one column of JSON text; samples have no place here.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import IO, Any

from byteways.base.text import visible
from byteways.record import columns
from byteways.record.record import Record
from byteways.record.samples import SamplesOf

#: What a spreadsheet takes for the beginning of a formula (OWASP, CSV injection).
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write(
    manifest: dict[str, Any], records: Sequence[Record], out: IO[str], samples_of: SamplesOf | None = None
) -> None:
    """Writes a header line and one row per record; a missing value is an empty field."""
    writer = csv.writer(out, lineterminator="\n")
    data = columns.values(manifest, records)
    writer.writerow(data)
    for row in zip(*data.values(), strict=True):
        writer.writerow([_plain(cell) for cell in row])


def _plain(cell: Any) -> Any:
    """Text that a spreadsheet takes for text, not for a formula, and that commands no terminal."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if not isinstance(cell, str):
        return cell
    return visible(f"'{cell}" if cell.startswith(FORMULA) else cell)
