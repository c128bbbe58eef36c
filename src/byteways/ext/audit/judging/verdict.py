"""What an audit says of each number, as data: codes, fields, base units; its sentences: wording_audit.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from byteways.ext.audit.imported.cases import OwnCase
from byteways.ext.audit.imported.reader import UnreadPlace
from byteways.ext.audit.imported.value import ForeignValue

WRONG_NUMBER = "wrong-data"
IMPOSSIBLE_NUMBER, LOW_NUMBER, ODD_NUMBER, HIGH_NUMBER = "impossible", "low", "odd", "high"
COUNTED_OTHERWISE, NORMAL_NUMBER, NOT_JUDGED = "counted-otherwise", "normal", "not-judged"
#: The worst first, with what each says of a number.
AUDIT_VERDICTS: Mapping[str, str] = {
    WRONG_NUMBER: "its program calls the data wrong that it moved, so that it is never a result",
    IMPOSSIBLE_NUMBER: "beyond the physical limit of its path",
    LOW_NUMBER: "slower than expected",
    ODD_NUMBER: "expected, or not judged, and unlike others of its own table",
    HIGH_NUMBER: "faster than expected, within the physical limit",
    COUNTED_OTHERWISE: "expected, after conversion to what byteways counts",
    NORMAL_NUMBER: "as expected",
    NOT_JUDGED: "not compared with anything",
}
#: Verdicts that make the exit status 1.
FAILING_NUMBERS = (WRONG_NUMBER, IMPOSSIBLE_NUMBER, LOW_NUMBER, ODD_NUMBER)

#: What explains a number that is impossible, high or low, by code.
CAUSES: Mapping[str, str] = {
    "one-device": "both ends on one {kind}",
    "sum-of-directions": "both directions added",
    "read-and-write": "bytes read and bytes written both counted",
    "sum-of-devices": "all {factor:.0f} devices added",
    "cache": "the bytes stayed in a cache",
    "binary-unit": "2^20 (or 2^30) taken for 10^6 (10^9)",
    "bus-for-algorithm": "a bus bandwidth taken for an algorithm bandwidth",
    "algorithm-for-bus": "an algorithm bandwidth taken for a bus bandwidth",
    "launch-time": "the time of the call alone: the host did not wait for the end",
    "unit-of-1000": "a unit mistaken for the next one (MB for GB, µs for ms)",
    "bits-for-bytes": "bits taken for bytes, or bytes for bits",
    "one-direction": "one direction alone where both are to be added",
    "pageable-memory": "pageable host memory instead of pinned",
    "through-host": "through the host instead of the direct link",
}
#: Why a number is not judged, by code; codes of imported_values.DIFFERENCES are used as well.
NOT_JUDGED_REASONS: Mapping[str, str] = {
    "no-reference": "nothing is known of such a case on such a machine",
    "small-size": "below {least}, programs differ in how much of the fixed cost they include",
    "cache": "caches may hold the bytes",
    "no-device": "the machine lacks a device of the output",
    "zero": "it is zero",
    "rate": "byteways has no limit for a number of operations per second",
}
#: Bounds: a physical limit, or, where no raw rate of a link is published, one from its data rate.
PHYSICAL_BOUND, NOMINAL_BOUND = "physical", "nominal"
#: What a number is expected from.
FROM_NORMAL, FROM_PUBLISHED, FROM_PEAK = "normal", "published", "peak"


@dataclass(frozen=True)
class Bound:
    """What no such number can exceed, in the count of the case: most bytes/s, or least ns."""

    value: float
    kind: str  # PHYSICAL_BOUND or NOMINAL_BOUND
    source: str  # resources with their rates


@dataclass(frozen=True)
class Expected:
    """What a case gives on such machines, in its own count; bytes/s or ns."""

    value: float
    least: float  # from here to `most` it is normal
    most: float
    basis: str  # FROM_NORMAL: byteways measured it; FROM_PUBLISHED; FROM_PEAK: a part of the vendors' peaks
    machines: str  # "3 machines (1 published)"; of a peak its explanation
    size_bytes: int  # of the reference, which may differ from the number's where sizes matter little


@dataclass(frozen=True)
class Cause:
    """An explanation that fits: the number times `factor`, on the path that it assumes, is expected."""

    code: str  # a key of CAUSES
    factor: float  # 1: it assumes another path alone
    then: float  # bytes/s or ns after the correction
    expected: float  # … beside what is expected there
    basis: str  # of `expected`


@dataclass(frozen=True)
class Oddity:
    """How a number differs from others of its own table."""

    code: str  # row, column, device, cell, dip, asymmetric
    place: str  # "gpu3", "gpu1>gpu0", a size
    ratio: float  # to the others, or to the neighbours
    others: int  # how many values it is beside


# A log may have a million numbers. To copy a Struct with a change takes a tenth of the time of a dataclass.
class AuditedValue(msgspec.Struct, frozen=True, gc=False):
    """The verdict on one number."""

    verdict: str
    value: ForeignValue
    output: int  # index in Audit.outputs
    reason: str = ""  # of NOT_JUDGED: a key of NOT_JUDGED_REASONS or imported_values.DIFFERENCES
    own: OwnCase | None = None  # of several possible cases that with the highest bound
    equal: bool = False  # whether `own` is equal in definition
    differences: tuple[str, ...] = ()  # why it is not
    counted: float | None = None  # the number in the count of `own`
    bound: Bound | None = None
    expected: Expected | None = None
    causes: tuple[Cause, ...] = ()  # the nearest first
    oddities: tuple[Oddity, ...] = ()

    @property
    def failing(self) -> bool:
        return self.verdict in FAILING_NUMBERS

    @property
    def factor(self) -> float:
        """From the printed number to the count of the case; 1: the same count."""
        return self.own.factor if self.own else 1.0

    def to_json(self) -> dict[str, Any]:
        """Returns plain data in base units; None where there is nothing."""
        value, operation = self.value, self.value.operation
        return {
            "verdict": self.verdict,
            "reason": self.reason or None,
            "output": self.output,
            "line": value.line,
            "pointer": value.pointer,
            "test": value.test,
            "column": value.column,
            "text": value.text,
            "unit": value.unit.name,
            "value": value.value,
            "statistic": value.statistic,
            "counts": value.counts,
            "size_bytes": value.size_bytes,
            "source": operation.source or None,
            "destination": operation.destination or None,
            "pattern": operation.pattern or None,
            "ranks": operation.ranks,
            "differences": [*self.differences],
            "case": self.own.case.identity() if self.own else None,
            "equal": self.equal,
            "case_counts": self.own.counts if self.own else None,
            "factor": self.factor,
            "case_value": _finite(self.counted),
            "bound": asdict(self.bound) if self.bound else None,
            "expected": asdict(self.expected) if self.expected else None,
            "causes": [asdict(cause) for cause in self.causes],
            "oddities": [asdict(one) for one in self.oddities],
        }


def _finite(value: float | None) -> float | None:
    return value if value is not None and value < float("inf") else None


@dataclass(frozen=True)
class AuditedOutput:
    """An output of a file."""

    file: str
    format: str
    begins_at: int  # line
    program: str = ""  # with its version


@dataclass(frozen=True)
class Audit:
    """The verdicts on all numbers of some files."""

    machine: str  # what the user or the file calls it
    marks: tuple[str, ...]  # lines above everything: nominal, simulated
    outputs: tuple[AuditedOutput, ...]
    values: tuple[AuditedValue, ...]  # in the order of the files
    mistakes: tuple[tuple[str, UnreadPlace], ...] = field(default=())  # with their files
    # Where programs call their data wrong, with the file and the format of the output.
    wrong: tuple[tuple[str, str, UnreadPlace], ...] = ()

    @cached_property
    def counts(self) -> dict[str, int]:
        """Number of values by verdict, the worst first."""
        found = Counter(one.verdict for one in self.values)
        return {verdict: found[verdict] for verdict in AUDIT_VERDICTS}

    @property
    def failed(self) -> bool:
        return bool(self.wrong) or any(one.failing for one in self.values)

    def to_json(self) -> dict[str, Any]:
        """Returns plain data in base units."""
        return {
            "machine": self.machine,
            "marks": [*self.marks],
            "failed": self.failed,
            "counts": self.counts,
            "outputs": [asdict(output) for output in self.outputs],
            "values": [one.to_json() for one in self.values],
            "mistakes": [{"file": file, **asdict(one)} for file, one in self.mistakes],
            "wrong_data": [
                {"file": file, "program": program, "line": one.line, "what": one.what}
                for file, program, one in self.wrong
            ],
        }
