"""A value that another program printed: in base units, with that program's own definition of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

#: Units as programs print them, in bytes/s, nanoseconds or per second. A program's own meaning of "MB/s"
#: decides which row its reader takes.
BANDWIDTH_UNITS: Mapping[str, float] = {
    "B/s": 1.0,
    "MB/s": 1e6,
    "MiB/s": 2.0**20,
    "GB/s": 1e9,
    "GiB/s": 2.0**30,
    "Gb/s": 1.25e8,
}
TIME_UNITS: Mapping[str, float] = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
RATE_UNITS: Mapping[str, float] = {"1/s": 1.0, "Gflop/s": 1e9}
_FACTORS = {**BANDWIDTH_UNITS, **TIME_UNITS, **RATE_UNITS}
_EXACT_FACTORS = {name: Decimal(factor) for name, factor in _FACTORS.items()}


@dataclass(frozen=True)
class Unit:
    """A unit of a column: its name in the tables above, and what the program writes."""

    name: str  # a key of BANDWIDTH_UNITS, TIME_UNITS or RATE_UNITS
    written: str = ""  # "MB/s" of a program that means 2^20 bytes; empty: the same as the name

    @property
    def metric(self) -> str:
        """`bandwidth`, `time` or `rate`."""
        if self.name in BANDWIDTH_UNITS:
            return "bandwidth"
        return "time" if self.name in TIME_UNITS else "rate"

    @property
    def factor(self) -> float:
        """What one unit is in bytes/s, ns or 1/s."""
        return _FACTORS[self.name]


#: Of a value whose program checked the data that it moved, and calls them wrong.
DATA_WRONG = "data-wrong"


@dataclass(frozen=True)
class Operation:
    """What was measured, in byteways' own words as far as the output says it; empty or None: it does not.

    Ends are written like buffers of a case: `gpu0:device`, `cpu0:pinned`, with the rank first between
    processes (`1/gpu1:device`). A device or memory that the output leaves out is `?`: `?:device`, `gpu0:?`.
    """

    interface: str = ""  # a row of plan.interfaces: copy, kernel, mpi, xccl, stream-triad, memcpy …
    pattern: str = ""  # unidirectional, bidirectional, all-pairs, or the collective's name
    source: str = ""
    destination: str = ""
    executor: str = ""  # the device that issues or runs it
    ranks: int | None = None  # processes or GPUs that take part, of messages and collectives
    options: Mapping[str, int | str | bool] = field(default_factory=dict)


# A log may have a million values. Nobody changes one; to make a frozen one takes four times as long.
@dataclass(slots=True)
class ForeignValue:
    """One number of an output."""

    line: int | None  # in its file, from 1; None: of a JSON file, see `pointer`
    test: str  # the program's own name of the test: osu_bw, device_to_device_memcpy_read_ce, all_reduce_perf
    column: str  # the program's own name of the column or cell: "busbw (out of place)", "(row 0, column 1)"
    text: str  # the number as it is written
    unit: Unit
    statistic: str | None  # over repetitions: mean, median, min, max, p99 …; None: not stated
    # As of a record: per-direction, sum-of-directions, read+write, bus, algorithm …; one-way: half of a
    # round trip.
    counts: str | None
    size_bytes: int | None
    operation: Operation
    differences: tuple[str, ...] = ()  # codes of record/imported_values.py
    pointer: str | None = None  # of a JSON file: its place as a JSON pointer (RFC 6901)

    @property
    def value(self) -> float:
        """The number in bytes/s, ns or 1/s."""
        return float(Decimal(self.text) * _EXACT_FACTORS[self.unit.name])  # rounded once

    @property
    def rounding(self) -> float:
        """Half of the last printed digit as a share of the number, which is not zero: 0.05 is 0.045 to 0.055,
        hence 0.1.
        """
        mantissa, _, exponent = self.text.lower().partition("e")
        decimals = len(mantissa.partition(".")[2])
        return 0.5 * 10.0 ** (int(exponent or 0) - decimals) / abs(float(self.text))


@dataclass(frozen=True)
class Hints:
    """What an output says of the machine and of the program. Environments are not read: they hold secrets."""

    gpus: Mapping[int, str] = field(default_factory=dict)  # model by number
    hosts: tuple[str, ...] = ()
    version: str | None = None  # of the program
    libraries: Mapping[str, str] = field(default_factory=dict)  # name to version: nccl, cuda, driver
