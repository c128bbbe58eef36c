"""linux-rdma perftest: ib_write_bw, ib_read_lat and the like, of InfiniBand and RoCE adapters.

MB/sec are 2^20 bytes, which new versions write as MiB/sec; Gb/sec are 10^9 bits. Latencies of `send` and
`write` are half of a round trip, those of `read` whole ones. The output does not contain the memory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from byteways.ext.audit.imported.lines import Line
from byteways.ext.audit.imported.reader import DataCheck
from byteways.ext.audit.imported.reading import Reading
from byteways.ext.audit.imported.value import ForeignValue, Operation, Unit

_TITLE = (
    r"(?P<test>(?:RDMA_(?:Write|Read)|Send|Atomic\w*|Raw\w*) (?P<both>Bidirectional )?(?:Post List )?"
    r"(?P<what>BW|Latency) Test)"
)
_BEGINS = re.compile(rf"\s*{_TITLE}\s*$")
_FIRST = re.compile(_TITLE)
_HEADER = re.compile(r"#bytes\s+#iterations\s+")
_COLUMN = re.compile(r"(?P<name>[A-Za-z_%][\w% .]{0,40}?|[\d.]+% percentile)\[(?P<unit>[\w/]+)\]")
_ROW = re.compile(r"(?P<size>\d{1,15})\s+(?P<iterations>\d+)(?P<cells>(?:\s+\S+)+)$")
_OTHER = re.compile(
    r"-{10,}$|Dual-port|Number of|Connection type|Using SRQ|PCIe relax|TX depth|RX depth|CQ Mod|Mtu|MTU"
    r"|Link type|GID index|Max inline|rdma_cm|Data ex|local address|remote address|GID:|Conflicting"
    r"|Warning|\*+|Waiting for|Perform|ibv_wr|Lock-free|WARNING|initializing|Using |\[pid|cuMem|deallocating"
)
_UNITS = {
    "MB/sec": Unit("MiB/s", written="MB/sec"),
    "MiB/sec": Unit("MiB/s", written="MiB/sec"),
    "Gb/sec": Unit("Gb/s", written="Gb/sec"),
    "usec": Unit("us", written="usec"),
}
#: Columns that are no values of these units: millions of messages, a deviation.
_LEFT_OUT = ("MsgRate", "t_stdev", "TPS average")
_STATISTICS = {
    "BW peak": "max",
    "BW average": "mean",
    "t_min": "min",
    "t_max": "max",
    "t_typical": "median",
    "t_avg": "mean",
    "99% percentile": "p99",
    "99.9% percentile": "p99.9",
}


class PerftestReader(Reading):
    """Reads the lines of a program of perftest."""

    name = "perftest"
    begins = _BEGINS
    data_check = DataCheck(none_because="it checks no data")

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self._title: re.Match[str] | None = None
        self._columns: Sequence[tuple[str, str]] = ()
        self._rows = 0
        self.take(line)

    def take(self, line: Line) -> bool:
        text = line.text.strip()
        if found := _FIRST.match(text):
            if self._title is not None:
                return False
            self._title = found
        elif _HEADER.match(text):
            self._take_header(line, text)
        elif self._columns and (found := _ROW.match(text)):
            self._take_row(line, found)
        else:
            return not text or _OTHER.match(text) is not None
        return True

    def end(self) -> None:
        if not self._rows:
            self.refuse(self.found.begins_at, "the output ends before its first row")

    def _take_header(self, line: Line, text: str) -> None:
        columns = [
            (found["name"].strip(), found["unit"]) for found in _COLUMN.finditer(_HEADER.sub("", text))
        ]
        unknown = [name for name, unit in columns if name not in _LEFT_OUT and unit not in _UNITS]
        if unknown or not columns:
            what = (
                f"the column '{unknown[0][:40]}' has an unknown unit"
                if unknown
                else "a header without columns"
            )
            self.refuse(line.number, what)
            return
        self._columns = columns

    def _take_row(self, line: Line, found: re.Match[str]) -> None:
        self._rows += 1
        cells = found["cells"].split()
        if len(cells) != len(self._columns):
            self.refuse(line.number, f"a row of {len(cells)} numbers under {len(self._columns)} columns")
            return
        for (column, unit), text in zip(self._columns, cells, strict=True):
            if column not in _LEFT_OUT:
                self._add(line, column, _UNITS[unit], text, int(found["size"]))

    def _add(self, line: Line, column: str, unit: Unit, text: str, size_bytes: int) -> None:
        assert self._title is not None  # the first line is a title
        both, rate = bool(self._title["both"]), unit.metric == "bandwidth"
        statistic = _STATISTICS.get(column)
        counts = "sum-of-directions" if both else "per-direction"
        one_way = "Read" not in self._title["test"] and "Atomic" not in self._title["test"]
        extreme = ("extreme",) if statistic in ("min", "max") else ()
        pattern = "bidirectional" if both else "unidirectional"
        self.add(
            ForeignValue(
                line=line.number,
                test=self._title["test"],
                column=column,
                text=text,
                unit=unit,
                statistic=statistic,
                counts=counts if rate else "one-way" if one_way else "round-trip",
                size_bytes=size_bytes,
                operation=Operation("", pattern, "0/?:?", "1/?:?", ranks=2),
                differences=("no-case", "devices-unknown", "memory-unknown", *extreme),
            )
        )
