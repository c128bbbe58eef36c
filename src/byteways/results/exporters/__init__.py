"""Formats that a run can be exported in, one a file; FORMATS is the one table of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import IO, Any

from byteways.results.exporters import csv_format, json_format
from byteways.results.record import Record

Writer = Callable[[dict[str, Any], Sequence[Record], IO[str]], None]

FORMATS: dict[str, Writer] = {"csv": csv_format.write, "json": json_format.write}
