"""CUDA's sample bandwidthTest: tables by direction, and lines of `--csv`.

New versions print GB/s of 10^9 bytes, old ones MB/s of 2^20 bytes. A copy within a GPU counts bytes read
and written.
"""

from __future__ import annotations

import re

from byteways.ext.audit.imported.lines import Line
from byteways.ext.audit.imported.reader import DataCheck
from byteways.ext.audit.imported.reading import Reading
from byteways.ext.audit.imported.value import ForeignValue, Operation, Unit

_CSV = r"bandwidthTest-(?P<way>[HD]2[HD])-(?P<memory>Pinned|Paged), Bandwidth = "
_TITLE = r"(?P<from>Host|Device) to (?P<to>Host|Device) Bandwidth, (?P<devices>\d+) Device\(s\)"
_BEGINS = re.compile(rf"\s*(?:\[CUDA Bandwidth Test\]|{_CSV}|{_TITLE})")
_FIRST = "[CUDA Bandwidth Test]"
_CSV_LINE = re.compile(
    _CSV + r"(?P<rate>\S+) (?P<unit>[GM]B/s), Time = (?P<time>\S+) s, Size = (?P<size>\d{1,15}) bytes,"
    r" NumDevsUsed = (?P<devices>\d+)$"
)
_BEGINS_CSV = re.compile(_CSV)
_TABLE = re.compile(_TITLE)
_MEMORY = re.compile(r"(?P<memory>PINNED|PAGEABLE) Memory Transfers")
_HEADER = re.compile(r"Transfer Size \(Bytes\)\s+Bandwidth\((?P<unit>[GM]B/s)\)$")
_ROW = re.compile(r"(?P<size>\d{1,15})\s+(?P<rate>\S+)$")
_DEVICE = re.compile(r"Device (?P<gpu>\d{1,6}): (?P<model>.+)$")
_OTHER = re.compile(
    r"Running on|Quick Mode|Range Mode|Shmoo Mode|Result = |NOTE: The CUDA Samples|Write-Combined|\.+$"
)
_FAILED = "Result = FAIL"
_UNITS = {"GB/s": Unit("GB/s"), "MB/s": Unit("MiB/s", written="MB/s")}
_PINNED = {"PINNED": "pinned", "PAGEABLE": "pageable", "Pinned": "pinned", "Paged": "pageable"}


class BandwidthTestReader(Reading):
    """Reads the lines of bandwidthTest."""

    name = "bandwidth-test"
    begins = _BEGINS
    data_check = DataCheck(marks=("Result = FAIL",))

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self._ways = ""  # HD: from the host to the device
        self._titled_at = 0
        self._memory = ""
        self._unit: Unit | None = None
        self._rows = 0
        self._alone = True  # one GPU copies
        self._begun = False
        self.take(line)

    def take(self, line: Line) -> bool:
        text = line.text.strip()
        if text.startswith(_FIRST):
            if self._begun:
                return False
        elif _BEGINS_CSV.match(text):
            self._take_csv(line, text)
        elif found := _TABLE.match(text):
            self.end()
            self._ways, self._titled_at = found["from"][0] + found["to"][0], line.number
            self._memory, self._unit, self._rows, self._alone = "", None, 0, found["devices"] == "1"
        elif found := _MEMORY.match(text):
            self._memory = _PINNED[found["memory"]]
        elif found := _HEADER.match(text):
            self._unit = _UNITS[found["unit"]]
        elif self._ways and self._unit is not None and (found := _ROW.match(text)):
            self._rows += 1
            test = "2".join(self._ways)
            self._add(line, test, "Bandwidth", found["rate"], self._unit, int(found["size"]))
        elif found := _DEVICE.match(text):
            self.know(gpus={int(found["gpu"]): found["model"]})
        elif text == _FAILED:
            self.found.call_all_wrong(line.number, text)
        else:
            return not text or _OTHER.match(text) is not None
        self._begun = True
        return True

    def end(self) -> None:
        if self._titled_at and not self._rows:
            self.refuse(self._titled_at, "the table has no row: the output was cut")
        self._titled_at = 0

    def _take_csv(self, line: Line, text: str) -> None:
        found = _CSV_LINE.match(text)
        if found is None:
            self.refuse(line.number, "the line ends before its size: it was cut")
            return
        self._memory, self._alone = _PINNED[found["memory"]], found["devices"] == "1"
        self._ways = found["way"][0] + found["way"][2]
        self._add(line, found["way"], "Bandwidth", found["rate"], _UNITS[found["unit"]], int(found["size"]))
        self._add(line, found["way"], "Time", found["time"], Unit("s"), int(found["size"]))

    def _add(self, line: Line, test: str, column: str, text: str, unit: Unit, size_bytes: int) -> None:
        gpus = self.found.hints.gpus
        host, gpu = (
            f"?:{self._memory or '?'}",
            f"gpu{next(iter(gpus))}:device" if len(gpus) == 1 else "?:device",
        )
        ends = [host if end == "H" else gpu for end in self._ways]
        local = self._ways == "DD"
        rate = unit.metric == "bandwidth"
        self.add(
            ForeignValue(
                line=line.number,
                test=test,
                column=column,
                text=text,
                unit=unit,
                statistic="mean",
                counts=("read+write" if local else "per-direction") if rate else "call",
                size_bytes=size_bytes,
                operation=Operation("copy", "unidirectional", ends[0], ends[1]),
                differences=() if self._alone else ("sum-of-turns",),  # the samples add up all GPUs
            )
        )
