"""Published values: one row per measurement of others, used by comparisons and to check machine models.

validation/published/README.md defines the columns. A study's `published.csv` has two more: `machine`, the
model of the measured system, and `statistic`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from byteways.cases.case import Buffer

METHODS = (
    "copy",
    "kernel",
    "memcpy",
    "mpi",
    "pointer-chase",
    "prefetch",
    "stream-copy",
    "stream-triad",
    "kernel-store",
    "cpu-store",
    "xccl",
)
PUBLISHED_PATTERNS = ("unidirectional", "bidirectional", "all-pairs", "ping-pong", "collective")
METRICS = ("bandwidth", "time", "latency")
PUBLISHED_COUNTS = (
    "one direction",
    "read+write",
    "sum of both directions",
    "sum of all flows",
    "bus bandwidth",
    "not stated",
)
EXACTNESS = ("exact", "rounded", "approximate")
#: Statistics over repetitions; `max` refers to bandwidth, so it is the minimum time.
STATISTICS = ("mean", "max", "median", "not stated")

#: Upper limit for sizes in bytes, rates in bytes/s and times in ns.
LARGEST = 2.0**62
#: The file name in a study's folder.
PUBLISHED_FILE = "published.csv"


@dataclass(frozen=True)
class PublishedValue:
    """One published value. `value` and `half_unit` are in bytes/s (bandwidth) or ns (time, latency)."""

    machine: str  # the model of the measured system
    key: str
    system: str  # the measured system, as the source names it
    source_key: str
    locator: str
    method: str
    options: Mapping[str, str]  # settings of the operation: compute-units; program and ranks of MPI and xccl
    environment: Mapping[str, str]  # of the process: HSA_XNACK
    executor: str
    access: str  # executor's access to the far buffer: read, write; local, remote: both ends on one device
    pattern: str
    source: Buffer
    destination: Buffer
    size_bytes: int | None  # None: not stated, or (chase) larger than all caches
    metric: str
    value: float
    counts: str  # which bytes a bandwidth counts; empty for times
    exactness: str  # exact: half_unit <= 0.1 % of value; rounded: more; approximate: "about", a range
    half_unit: float  # half of the last printed digit
    peak_bytes_per_s: float | None  # the peak, if the source gives a fraction of it
    statistic: str  # over the source's repetitions, one of STATISTICS; empty: no study compares it
    timing: str
    same_as: str  # key of another print of the same measurement; empty: none
    note: str
    derived: str = ""  # how the value is computed from printed ones; empty: printed itself
    range: tuple[float, float] | None = None  # the range, if the source gives one; `value` is its middle

    @property
    def group(self) -> str:
        """Key of the group that a model is fitted to or checked against as a whole."""
        settings = [f"{name}={text}" for name, text in [*self.options.items(), *self.environment.items()]]
        flow = f"{self.source}>{self.destination}"
        how = [self.source_key, self.method, self.executor, self.access]
        return " ".join([*how, flow, self.pattern, *settings])


def read_values(lines: Iterable[str], machine: str | None = None) -> list[PublishedValue]:
    """Parses the values of a CSV text, in order.

    Args:
        lines: Lines including the column headings.
        machine: Machine of all values, if there is no such column.

    Raises:
        ValueError: A cell is not a valid number or buffer.
    """
    return [_value(row, machine) for row in csv.DictReader(lines)]


def values_of_study(key: str) -> list[PublishedValue]:
    """Reads the published values of a built-in study.

    Raises:
        OSError: No such study.
    """
    file = resources.files("byteways.ext.studies.published") / key / PUBLISHED_FILE
    return read_values(file.read_text(encoding="utf-8").splitlines())


def _value(row: Mapping[str, str], machine: str | None) -> PublishedValue:
    cells: dict[str, Any] = {"statistic": "", **row}
    if machine is not None:
        cells["machine"] = machine
    cells["options"] = _settings(row["options"])
    cells["environment"] = _settings(row["environment"])
    cells["source"], cells["destination"] = Buffer.parse(row["source"]), Buffer.parse(row["destination"])
    size, peak, ends = row["size_bytes"], row["peak_bytes_per_s"], row.get("range") or ""
    cells["size_bytes"] = int(_positive(size)) if size else None
    cells["value"], cells["half_unit"] = _positive(row["value"]), float(row["half_unit"])
    cells["peak_bytes_per_s"] = _positive(peak) if peak else None
    cells["range"] = _range(ends, cells["value"]) if ends else None
    return PublishedValue(**cells)


def _positive(text: str) -> float:
    """Parses a size or rate. Raises ValueError if it is not a positive number up to LARGEST."""
    number = float(text)
    if not 0 < number < LARGEST:
        raise ValueError(f"{text:.40} is not a number above 0 and below {LARGEST:g}")
    return number


def _range(text: str, middle: float) -> tuple[float, float]:
    """Parses `10e9..15e9`. Raises ValueError if `middle` is outside."""
    low, high = map(float, text.split(".."))
    if not low < middle < high:
        raise ValueError(f"{middle:g} is not between the ends of {text}")
    return low, high


def _settings(text: str) -> dict[str, str]:
    """Parses `A=1 B=2` to {"A": "1", "B": "2"}."""
    return dict(setting.split("=", 1) for setting in text.split())
