"""Text of NVIDIA's nvbandwidth, 0.4 to 0.10: for each test a title, a matrix of cells, and their sum.

A test that does not run is `Waived:` without its name. Tests of several nodes list processes, not devices.
"""

from __future__ import annotations

import re

from byteways.ext.audit.imported.lines import Line
from byteways.ext.audit.imported.nvbandwidth_tests import Cell, total_of, value_of
from byteways.ext.audit.imported.reader import DataCheck
from byteways.ext.audit.imported.reading import ABSENT, Reading, mistake_in_number
from byteways.ext.audit.imported.value import Unit

#: Its first line; of pasted parts, that of a test.
_BEGINS = re.compile(r"\s*(?:nvbandwidth Version: |Running \w+_(?:ce|sm|tma|copy)\.\s*$)")
_VERSION = re.compile(r"nvbandwidth Version: v?(?P<version>\S+)$")
_RUNNING = re.compile(r"Running (?P<test>\w+)\.$")
_TITLE = re.compile(r"(?P<words>[^()]*(?:\((?:row|column)\)[^()]*)+) \((?P<unit>GB/s|ns|us)\)$")
_PART = re.compile(r"\b(?:(?:Read|Write)[12]|Total)\b")
_HEADER = re.compile(r"\d{1,6}(?:\s+\d{1,6})*$")
_ROW = re.compile(r"(?P<row>\d{1,6})(?P<cells>(?:\s+\S+)+)$")
_CELL = re.compile(r"\d+\.\d\d")
_BELOW = re.compile(r"(?P<what>SUM|MIN|MAX|AVG|COEFFICIENT_OF_VARIATION) (?P<test>\w+) (?P<number>\S+)$")
_DEVICE = re.compile(r"Device (?P<gpu>\d{1,6}): (?P<model>.+?)(?: \([0-9a-f]{4,8}(?::[0-9a-f]{2}){2}\))?$")
_PROCESS = re.compile(
    r"Process\s+(?P<rank>\d{1,6}) \((?P<host>[\w.-]+)\): device \d+: (?P<model>.+?)(?: \([0-9a-f:]+\))?$"
)
_ABOUT = re.compile(
    r"(?P<what>CUDA Runtime Version|CUDA Driver Version(?: \(API\))?|Driver Version|Built from Git version"
    r"|MPI version|NOTE|Waived|Waiving|WARNING|Warning|ERROR|Error|Not Found)\b[ .:]*(?P<rest>.*)$"
)
#: A byte that is wrong, and an error of the driver, each of which ends the program.
_FAILED = re.compile(r"Invalid value when checking the pattern|ASSERT in expression|\[CUDA_ERROR_\w+\]")
_LIBRARIES = {"CUDA Runtime Version": "cuda", "Driver Version": "driver"}


class NvbandwidthReader(Reading):
    """Reads the lines of nvbandwidth."""

    name = "nvbandwidth"
    begins = _BEGINS
    data_check = DataCheck(
        marks=(
            " Invalid value when checking the pattern at 0x7f00",
            "ASSERT in expression h_errorFlag == 0",
            "[CUDA_ERROR_ILLEGAL_ADDRESS] an illegal memory access was encountered",
        )
    )

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self._test = self._part = ""
        self._unit: Unit | None = None  # of the matrix whose rows follow
        self._columns: list[int] | None = None
        self._rows = 0
        self._summed = False
        self._titled_at = 0  # line of the last title
        self._version: tuple[int, ...] | None = None
        self._started = False
        self._test_begins = 0  # the place of its first value
        self.take(line)

    def take(self, line: Line) -> bool:
        text = line.text.strip()
        if found := _VERSION.match(text):
            return self._take_version(found["version"])
        if found := _RUNNING.match(text):
            self._end_of_matrix()
            self._started, self._test, self._part, self._unit = True, found["test"], "", None
            self._test_begins = len(self.found.values)
        elif found := _BELOW.match(text):
            self._take_below(line, found)
        elif self._unit is not None and self._columns is None and _HEADER.match(text):
            self._columns = [int(column) for column in text.split()]
        elif self._columns is not None and (found := _ROW.match(text)):
            self._take_row(line, found)
        elif found := _TITLE.match(text):
            self._take_title(line, found)
        elif _FAILED.match(text):
            self.found.call_wrong(line.number, text[:100], self._test_begins)
        else:
            return self._take_about(text)
        return True

    def end(self) -> None:
        self._end_of_matrix()

    def _take_version(self, version: str) -> bool:
        """Takes the first line; that of another run begins another output."""
        if self._started:
            return False
        self._started = True
        self.know(version=version)
        self._version = tuple(int(part) for part in re.findall(r"\d{1,6}", version)[:3])
        return True

    def _take_title(self, line: Line, found: re.Match[str]) -> None:
        self._end_of_matrix()
        part = _PART.search(found["words"])
        self._part, self._unit = part[0] if part else "", Unit(found["unit"])
        self._columns, self._rows, self._titled_at, self._summed = None, 0, line.number, False
        if not self._test:
            self.refuse(line.number, "the title of a matrix without the name of its test", "keep 'Running …'")

    def _take_row(self, line: Line, found: re.Match[str]) -> None:
        assert self._unit is not None and self._columns is not None  # the caller has seen both
        cells, self._rows = found["cells"].split(), self._rows + 1
        if len(cells) != len(self._columns):
            wanted = len(self._columns)
            self.refuse(line.number, f"a row of {len(cells)} cells in a matrix of {wanted} columns")
            return
        row = int(found["row"])
        for column, text in zip(self._columns, cells, strict=True):
            between_gpus = self._test.startswith("device_to_device")
            if text in ABSENT or (between_gpus and row == column and text == "0.00"):  # before 0.2
                continue
            cell = Cell(row, column, self._part, self._version)
            value = value_of(self._test, cell, text, self._unit, line=line.number, pointer=None)
            if mistake_in_number(text) is None and not _CELL.fullmatch(text):
                self.refuse(
                    line.number, f"'{text}' has not the two decimals of nvbandwidth: the line was cut"
                )
            else:
                self.add(value)

    def _take_below(self, line: Line, found: re.Match[str]) -> None:
        if found["what"] == "COEFFICIENT_OF_VARIATION":  # over samples, without a unit
            return
        unit = self._unit or Unit("GB/s")
        total = total_of(found["test"], found["what"], found["number"], unit, line=line.number, pointer=None)
        self.add(total)
        self._columns, self._summed = None, True

    def _take_about(self, text: str) -> bool:
        if found := _DEVICE.match(text):
            self.know(gpus={int(found["gpu"]): found["model"]})
        elif found := _PROCESS.match(text):
            self.know(hosts=tuple(dict.fromkeys((*self.found.hints.hosts, found["host"]))))
            self.know(gpus={int(found["rank"]): found["model"]})
        elif found := _ABOUT.match(text):
            if name := _LIBRARIES.get(found["what"]):
                self.know(libraries={name: found["rest"]})
        else:
            return not text
        return True

    def _end_of_matrix(self) -> None:
        """Notes a matrix without what ends it, which every version here prints."""
        if self._unit is not None and not self._summed:
            what = "its sum" if self._rows else "its first row"
            self.refuse(self._titled_at, f"the matrix of {self._test or 'a test'} ends before {what}")
        self._unit, self._columns = None, None
