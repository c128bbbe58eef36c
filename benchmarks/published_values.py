"""The published values that machine models are fitted to and checked against, and which are which.

    python benchmarks/published_values.py

prints how many values of each machine are fitted, held out and excluded. The values are in
`published/<machine>.csv` (columns: published/README.md), the split in `model_split.toml`. A whole group is on
one side: values of one source that share method, executor, access, buffers, pattern, options and environment,
whatever their size.
"""

from __future__ import annotations

import csv
import importlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from byteways.plan.case import Buffer

#: Python 3.10 has no TOML parser of its own; tomli is the same one.
tomllib: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

FOLDER = Path(__file__).parent / "published"
SPLIT = Path(__file__).parent / "model_split.toml"
FITTED, HELD_OUT, EXCLUDED = "fitted", "held_out", "excluded"

METHODS = (
    "copy",
    "kernel",
    "memcpy",
    "chase",
    "prefetch",
    "stream-copy",
    "stream-triad",
    "kernel-store",
    "cpu-store",
)
PATTERNS = ("one-way", "two-way", "all-pairs")
METRICS = ("bandwidth", "time", "latency")
COUNTS = ("one direction", "read+write", "sum of both directions", "sum of all flows", "not stated")
EXACTNESS = ("exact", "rounded", "approximate")


class SplitError(ValueError):
    """The split does not fit the values: a group on no side or on two, or a pattern of no group."""


@dataclass(frozen=True)
class Value:
    """One published value. `value` and `half_unit` are in bytes/s (bandwidth) or ns (time, latency)."""

    key: str
    system: str  # where it was measured, as the source says
    source_key: str
    locator: str
    method: str
    options: Mapping[str, str]  # what the source fixed for the operation: compute-units
    environment: Mapping[str, str]  # of the process: HSA_XNACK
    executor: str
    access: (
        str  # what the executor does to the far buffer: read, write; local, remote: both ends are one agent's
    )
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
    timing: str
    same_as: str  # key of the value that is another print of this measurement; empty: none
    note: str

    @property
    def group(self) -> str:
        """What is fitted or held out as a whole."""
        settings = [f"{name}={text}" for name, text in [*self.options.items(), *self.environment.items()]]
        flow = f"{self.source}>{self.destination}"
        how = [self.source_key, self.method, self.executor, self.access]
        return " ".join([*how, flow, self.pattern, *settings])


def machines() -> list[str]:
    """Names of the machines that have published values, in alphabetic order."""
    return sorted(path.stem for path in FOLDER.glob("*.csv"))


def load(machine: str) -> list[Value]:
    """All published values of a machine, in the order of its file.

    Raises:
        FileNotFoundError: the machine has no file.
        ValueError: a cell is no number or no buffer.
    """
    with (FOLDER / f"{machine}.csv").open(encoding="utf-8", newline="") as file:
        return [_value(row) for row in csv.DictReader(file)]


def split(machine: str) -> tuple[list[Value], list[Value], list[Value]]:
    """The machine's values as (fitted, held out, excluded).

    Approximate values and second prints of a measurement are excluded whatever their group.

    Raises:
        SplitError: a group is on no side or on two, or a pattern of the split names no group.
    """
    values = load(machine)
    side_of = assign({value.group for value in values if _usable(value)}, _patterns(machine))
    sides: dict[str, list[Value]] = {FITTED: [], HELD_OUT: [], EXCLUDED: []}
    for value in values:
        sides[side_of[value.group] if _usable(value) else EXCLUDED].append(value)
    return sides[FITTED], sides[HELD_OUT], sides[EXCLUDED]


def assign(groups: Iterable[str], patterns: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The side of each group by (side, shell-style pattern) pairs.

    Raises:
        SplitError: a group matches no pattern or more than one, or a pattern no group.
    """
    matches = {
        group: [entry for entry in patterns if fnmatchcase(group, entry[1])] for group in sorted(groups)
    }
    for group, found in matches.items():
        if len(found) != 1:
            raise SplitError(f"'{group}' is on {len(found)} sides: {found}")
    used = {found[0] for found in matches.values()}
    for entry in patterns:
        if entry not in used:
            raise SplitError(f"'{entry[1]}' ({entry[0]}) names no group")
    return {group: found[0][0] for group, found in matches.items()}


def _patterns(machine: str) -> list[tuple[str, str]]:
    table = tomllib.loads(SPLIT.read_text(encoding="utf-8"))[machine]
    chosen = [(side, pattern) for side in (FITTED, HELD_OUT) for pattern in table[side]]
    return chosen + [(EXCLUDED, name) for entry in table.get(EXCLUDED, []) for name in entry["groups"]]


def _usable(value: Value) -> bool:
    return value.exactness != "approximate" and not value.same_as


def _value(row: Mapping[str, str]) -> Value:
    cells: dict[str, Any] = dict(row)
    cells["options"] = _settings(row["options"])
    cells["environment"] = _settings(row["environment"])
    cells["source"], cells["destination"] = Buffer.parse(row["source"]), Buffer.parse(row["destination"])
    cells["size_bytes"] = int(row["size_bytes"]) if row["size_bytes"] else None
    cells["value"], cells["half_unit"] = float(row["value"]), float(row["half_unit"])
    peak = row["peak_bytes_per_s"]
    cells["peak_bytes_per_s"] = float(peak) if peak else None
    return Value(**cells)


def _settings(text: str) -> dict[str, str]:
    """`A=1 B=2` as {"A": "1", "B": "2"}."""
    return dict(setting.split("=", 1) for setting in text.split())


def main() -> int:
    print(f"{'machine':16}{'fitted':>8}{'held out':>10}{'excluded':>10}{'groups fitted':>15}{'held out':>10}")
    for machine in machines():
        sides = split(machine)
        counts = [len(side) for side in sides]
        groups = [len({value.group for value in side}) for side in sides[:2]]
        print(f"{machine:16}{counts[0]:8}{counts[1]:10}{counts[2]:10}{groups[0]:15}{groups[1]:10}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
