"""One row per record, base units in the column names, the same columns in the same order for every run.

What has no fixed shape (options, directions …) is one column of JSON text; samples have no place here.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from typing import IO, Any

from byteways.results.record import Record
from byteways.results.samples import SamplesOf
from byteways.results.simulated import is_simulated
from byteways.text import visible

#: What a spreadsheet takes for the beginning of a formula (OWASP, CSV injection).
FORMULA = ("=", "+", "-", "@", "\t", "\r")

#: Column -> where it is in the record as JSON. New columns are added at the end.
COLUMNS: dict[str, tuple[str | int, ...]] = {
    "case_id": ("case_id",),
    "round": ("round",),
    "sweep": ("sweep",),
    "category": ("category",),
    "interface": ("interface",),
    "executor": ("executor",),
    "access": ("access",),
    "pattern": ("pattern",),
    "path": ("path",),
    "source": ("source",),
    "destination": ("destination",),
    "size_bytes": ("size_bytes",),
    "cache": ("cache",),
    "options": ("options",),
    "environment": ("environment",),
    "status": ("status",),
    "reason": ("reason",),
    "bandwidth_bytes_per_s": ("bandwidth_bytes_per_s",),
    "latency_ns": ("latency_ns",),
    "peak_bytes_per_s": ("peak_bytes_per_s",),
    "fraction_of_peak": ("fraction_of_peak",),
    "counts": ("counts",),
    "time_median_ns": ("time_ns", "median"),
    "time_ci95_low_ns": ("time_ns", "ci95", 0),
    "time_ci95_high_ns": ("time_ns", "ci95", 1),
    "time_min_ns": ("time_ns", "min"),
    "time_max_ns": ("time_ns", "max"),
    "time_mean_ns": ("time_ns", "mean"),
    "time_sd_ns": ("time_ns", "sd"),
    "samples": ("time_ns", "n"),
    "batch": ("batch",),
    "timed_by": ("timed_by",),
    "gated": ("gated",),
    "slope": ("slope",),
    "timer_resolution_ns": ("timer_resolution_ns",),
    "engine": ("engine",),
    "engine_evidence": ("engine_evidence",),
    "verified": ("verified",),
    "verification": ("verification",),
    "window_ns": ("window_ns",),
    "end_to_end_ns": ("end_to_end_ns",),
    "directions_bytes_per_s": ("directions",),
    "end_to_end_bytes_per_s": ("end_to_end_bytes_per_s",),
    "flows": ("flows",),
    "launch": ("launch",),
    "placement": ("placement",),
    "warnings": ("warnings",),
    "started_at": ("started_at",),
    "wall_s": ("wall_s",),
    "method_version": ("method_version",),
    "simulated": ("simulated",),  # of the run: not in the record
    "submit_ns": ("submit_ns",),
    "half_round_trip_ns": ("half_round_trip_ns",),
}


def write(
    manifest: dict[str, Any], records: Sequence[Record], out: IO[str], samples_of: SamplesOf | None = None
) -> None:
    """Writes a header line and one row per record; a missing value is an empty field."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for record in records:
        line = {**record.to_json(), "simulated": is_simulated(manifest)}
        writer.writerow([_plain(cell_of(line, column)) for column in COLUMNS])


def cell_of(line: Mapping[str, Any], column: str) -> Any:
    """What a column holds of a record as JSON; None when it has none."""
    return _field(_at(line, COLUMNS[column]))


def _plain(cell: Any) -> Any:
    """Text that a spreadsheet takes for text, not for a formula, and that commands no terminal."""
    if not isinstance(cell, str):
        return cell
    return visible(f"'{cell}" if cell.startswith(FORMULA) else cell)


def _at(value: Any, place: Sequence[str | int]) -> Any:
    for step in place:
        if value is None:
            return None
        value = value.get(step) if isinstance(value, Mapping) else value[step]
    return value


def _field(value: Any) -> Any:
    """Numbers and text as they are, true and false as JSON has them, everything else as JSON text."""
    if value is None or (isinstance(value, (int, float, str)) and not isinstance(value, bool)):
        return value
    if value in ({}, []):
        return None
    return json.dumps(value)
