"""Formats that a run can be exported in, one a file; FORMATS is the one table of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, Any

from byteways.results.exporters import csv_format, json_format, parquet_format
from byteways.results.record import Record


@dataclass(frozen=True)
class Format:
    """`write` takes manifest, records and an open file: of bytes where `binary`, else of text."""

    write: Callable[[dict[str, Any], Sequence[Record], IO[Any]], None]
    binary: bool = False


FORMATS: dict[str, Format] = {
    "csv": Format(csv_format.write),
    "json": Format(json_format.write),
    "parquet": Format(parquet_format.write, binary=True),
}
