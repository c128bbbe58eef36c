"""Formats that a run can be exported in, one a file; FORMATS is the one table of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, Any

from byteways.record.exporters import csv_format, json_format, parquet_format
from byteways.record.record import Record
from byteways.record.samples import SamplesOf


@dataclass(frozen=True)
class Format:
    """`write` takes manifest, records, an open file (of bytes where `binary`, else of text), and what finds
    the samples of a record, None where they are not wanted.
    """

    write: Callable[[dict[str, Any], Sequence[Record], IO[Any], SamplesOf | None], None]
    binary: bool = False
    takes_samples: bool = True


FORMATS: dict[str, Format] = {
    "csv": Format(csv_format.write, takes_samples=False),
    "json": Format(json_format.write),
    "parquet": Format(parquet_format.write, binary=True),
}
