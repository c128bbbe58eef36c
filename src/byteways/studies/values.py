"""Published values: what others measured, a row each, as comparisons and the check of the models read them.

The columns are those of benchmarks/published/README.md. A study's values are in its `published.csv`, with two
columns more: `machine`, the model of the system they were measured on, and `statistic`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from byteways.plan.case import Buffer

METHODS = (
    "copy",
    "kernel",
    "memcpy",
    "pointer-chase",
    "prefetch",
    "stream-copy",
    "stream-triad",
    "kernel-store",
    "cpu-store",
)
PATTERNS = ("unidirectional", "bidirectional", "all-pairs")
METRICS = ("bandwidth", "time", "latency")
COUNTS = ("one direction", "read+write", "sum of both directions", "sum of all flows", "not stated")
EXACTNESS = ("exact", "rounded", "approximate")
#: What a source makes of its repetitions; `max` is of bandwidths, so the shortest time.
STATISTICS = ("mean", "max", "median", "not stated")

#: Beyond any size in bytes, rate in bytes/s and time in ns.
LARGEST = 2.0**62
#: The file in a study's folder.
FILE = "published.csv"


@dataclass(frozen=True)
class Value:
    """One published value. `value` and `half_unit` are in bytes/s (bandwidth) or ns (time, latency)."""

    machine: str  # the model of the system it was measured on
    key: str
    system: str  # where it was measured, as the source says
    source_key: str
    locator: str
    method: str
    options: Mapping[str, str]  # what the source fixed for the operation: compute-units
    environment: Mapping[str, str]  # of the process: HSA_XNACK
    executor: str
    access: str  # what the executor does to the far buffer: read, write; local, remote: one device's ends
    pattern: str
    source: Buffer
    destination: Buffer
    size_bytes: int | None  # None: not stated, or (chase) beyond all caches
    metric: str
    value: float
    counts: str  # which bytes a bandwidth counts; empty for times
    exactness: str  # exact: half_unit <= 0.1 % of value; rounded: more; approximate: "about", a range
    half_unit: float  # half of the last digit that the source prints
    peak_bytes_per_s: float | None  # the peak, where the source gives a fraction of it
    statistic: str  # what the source makes of its repetitions, one of STATISTICS; empty: no study compares it
    timing: str
    same_as: str  # key of the value that is another print of this measurement; empty: none
    note: str
    derived: str = ""  # how the value comes from what the source prints; empty: it prints it
    range: tuple[float, float] | None = None  # where the source gives a range, of which `value` is the middle

    @property
    def group(self) -> str:
        """What a model is fitted to or checked against as a whole."""
        settings = [f"{name}={text}" for name, text in [*self.options.items(), *self.environment.items()]]
        flow = f"{self.source}>{self.destination}"
        how = [self.source_key, self.method, self.executor, self.access]
        return " ".join([*how, flow, self.pattern, *settings])


def read_values(lines: Iterable[str], machine: str | None = None) -> list[Value]:
    """The values of a CSV text, in its order.

    Args:
        lines: With the head of the columns.
        machine: Of all values, where there is no such column.

    Raises:
        ValueError: A cell is no number or no buffer.
    """
    return [_value(row, machine) for row in csv.DictReader(lines)]


def values_of_study(key: str) -> list[Value]:
    """The published values of a study that comes with byteways.

    Raises:
        OSError: There is no such study.
    """
    file = resources.files("byteways.studies") / key / FILE
    return read_values(file.read_text(encoding="utf-8").splitlines())


def _value(row: Mapping[str, str], machine: str | None) -> Value:
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
    return Value(**cells)


def _positive(text: str) -> float:
    """Raises ValueError for what is no number that a size or a rate may have."""
    number = float(text)
    if not 0 < number < LARGEST:
        raise ValueError(f"{text:.40} is not a number above 0 and below {LARGEST:g}")
    return number


def _range(text: str, middle: float) -> tuple[float, float]:
    """`10e9..15e9`. Raises ValueError when `middle` is not between the two."""
    low, high = map(float, text.split(".."))
    if not low < middle < high:
        raise ValueError(f"{middle:g} is not between the ends of {text}")
    return low, high


def _settings(text: str) -> dict[str, str]:
    """`A=1 B=2` as {"A": "1", "B": "2"}."""
    return dict(setting.split("=", 1) for setting in text.split())
