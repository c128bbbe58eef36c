"""CUDA's sample p2pBandwidthLatencyTest: matrices that their titles alone tell from each other.

From p2pBandwidthLatencyTest.cu: a row's GPU copies to the column's (`P2P Reads`: from it), in its stream; a
bidirectional cell has both directions. The diagonal is a copy within a GPU that counts bytes read and
written. A latency is the time of a copy of 16 bytes: by events of the GPU, or the time that the CPU's
calls take.
"""

from __future__ import annotations

import re

from byteways.ext.audit.imported.lines import Line
from byteways.ext.audit.imported.reader import DataCheck
from byteways.ext.audit.imported.reading import ABSENT, Reading, mistake_in_number
from byteways.ext.audit.imported.value import ForeignValue, Operation, Unit

_TITLE = (
    r"(?P<both>Unidirectional |Bidirectional )?P2P=(?P<peer>Enabled|Disabled) (?P<what>Bandwidth|Latency)"
    r"(?: \(P2P (?P<access>Writes|Reads)\))? Matrix \((?P<unit>GB/s|us)\)"
)
_BEGINS = re.compile(rf"\s*(?:\[P2P \(Peer-to-Peer\) GPU Bandwidth Latency Test\]|{_TITLE})")
_FIRST = "[P2P (Peer-to-Peer)"
_MATRIX = re.compile(_TITLE)
_HEADER = re.compile(r"(?P<clock>D\\D|GPU|CPU)(?P<columns>(?:\s+\d{1,6})+)$")
_ROW = re.compile(r"(?P<row>\d{1,6})(?P<cells>(?:\s+\S+)+)$")
_DEVICE = re.compile(r"Device: (?P<gpu>\d{1,6}), (?P<model>.+), pciBusID: ")
_OTHER = re.compile(
    r"Device=\d+ CAN(?:NOT)? Access|\*\*\*NOTE|So you can see|P2P Connectivity Matrix|NOTE: The CUDA Samples"
)
_CELL = re.compile(r"\d+\.\d\d")
_LATENCY_BYTES = 16


class P2pReader(Reading):
    """Reads the lines of p2pBandwidthLatencyTest."""

    name = "p2p-bandwidth-latency-test"
    begins = _BEGINS
    data_check = DataCheck(none_because="it checks no data")

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self._title: re.Match[str] | None = None  # of the matrix whose rows follow
        self._titled_at = 0
        self._columns: list[int] | None = None
        self._clock = ""  # of latencies: GPU or CPU
        self._rows = 0
        self._begun = False
        self.take(line)

    def take(self, line: Line) -> bool:
        text = line.text.strip()
        if text.startswith(_FIRST):
            if self._begun:
                return False
        elif found := _MATRIX.match(text):
            self.end()
            self._title, self._titled_at = found, line.number
            self._columns, self._rows = None, 0
        elif text.startswith("P2P Connectivity Matrix"):
            self.end()
            self._title = None
        elif found := _HEADER.match(text):
            self._clock = found["clock"]
            self._columns = [int(column) for column in found["columns"].split()]
        elif self._columns is not None and (found := _ROW.match(text)):
            self._take_row(line, found)
        elif found := _DEVICE.match(text):
            self.know(gpus={int(found["gpu"]): found["model"]})
        else:
            return not text or _OTHER.match(text) is not None
        self._begun = True
        return True

    def end(self) -> None:
        if self._title is not None and self._rows < len(self._columns or (0,)):
            self.refuse(self._titled_at, f"the matrix has {self._rows} of {len(self._columns or ())} rows")
        self._title = None

    def _take_row(self, line: Line, found: re.Match[str]) -> None:
        assert self._columns is not None  # the caller has seen it
        self._rows = 1 if found["row"] == "0" else self._rows + 1
        if self._title is None:  # of the matrix of connections
            return
        cells = found["cells"].split()
        if len(cells) != len(self._columns):
            wanted = len(self._columns)
            self.refuse(line.number, f"a row of {len(cells)} cells in a matrix of {wanted} columns")
            return
        for column, text in zip(self._columns, cells, strict=True):
            if text in ABSENT:
                continue
            if mistake_in_number(text) is None and not _CELL.fullmatch(text):
                self.refuse(line.number, f"'{text}' has not two decimals: the line was cut")
            else:
                self.add(self._value(line, int(found["row"]), column, text, self._title))

    def _value(self, line: Line, row: int, column: int, text: str, title: re.Match[str]) -> ForeignValue:
        both = title["both"] == "Bidirectional "
        here, there = f"gpu{row}:device", f"gpu{column}:device"
        reads = title["access"] == "Reads"
        operation = Operation(
            "copy",
            "bidirectional" if both else "unidirectional",
            there if reads else here,
            here if reads else there,
            executor=f"gpu{row}",
        )
        timed, local = title["what"] == "Latency", row == column
        differences = {
            # Without peer access the driver stages through the host; two local copies at once are no case.
            "no-case": (title["peer"] == "Disabled" and not local)
            or (both and local)
            or self._clock == "CPU",
            "size-unknown": not timed,
        }
        counts = (
            "call" if timed else "read+write" if local else "sum-of-directions" if both else "per-direction"
        )
        return ForeignValue(
            line=line.number,
            test=title[0].partition(" Matrix")[0],
            column=f"(row {row}, column {column})" + (f" {self._clock}" if timed else ""),
            text=text,
            unit=Unit(title["unit"]),
            statistic="mean",
            counts=counts,
            size_bytes=_LATENCY_BYTES if timed else None,
            operation=operation,
            differences=tuple(code for code, holds in differences.items() if holds),
        )
