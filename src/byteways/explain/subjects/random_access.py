"""Random access: bandwidth and accesses per second by access size, as GUPS counts updates."""

from __future__ import annotations

from byteways.explain.claims.phrases import supported
from byteways.explain.display.table import Table
from byteways.explain.display.topic import Topic
from byteways.explain.results.index import Index
from byteways.explain.results.selection import device_order
from byteways.explain.results.summary import Part, Result
from byteways.explain.subjects.ranks import MARK, gb_figure, note_of, settings
from byteways.plan.case import Buffer
from byteways.plan.interfaces import INTERFACES, is_scattered
from byteways.plan.options import ACCESS_BYTES
from byteways.units import format_size

INTRODUCTION = (
    "Independent accesses to random addresses of one buffer; an operation accesses each address once. One "
    "GUPS is one billion updates per second; HPCC RandomAccess updates 8 bytes at a time over half of the "
    "memory. An update reads and writes, and its bandwidth counts both."
)
NOTE = "Peaks are for sequential access; transactions move 32 or 64 bytes, so smaller accesses waste a part"
HEADINGS = (
    *("threads of, memory", "interface", "size", "access, B", "settings"),
    *("GB/s", "of peak", "10⁹ accesses/s"),
)


def accesses_per_s(cell: Result) -> Part:
    """Returns the accesses per second of all flows together, with the value's interval."""
    counted = INTERFACES[cell.record.interface].counted * access_bytes(cell)
    return Part(cell.value / counted, cell.low / counted, cell.high / counted)


def access_bytes(cell: Result) -> int:
    """Returns the bytes of one access."""
    return int(cell.record.options.get(ACCESS_BYTES.name, ACCESS_BYTES.usual))


def topic(index: Index) -> Topic | None:
    """Returns the topic; None if the run has no random access."""
    cells = [
        cell
        for cell in index.cells
        if is_scattered(cell.record.interface) and cell.record.pattern != "interference"
    ]
    if not cells:
        return None
    rows = tuple(map(_row, sorted(cells, key=_order)))
    note = note_of(rows, NOTE)
    table = Table("Random access", HEADINGS, rows, (2, 3, 5, 6, 7), (note,))
    return Topic("random-access", "Random access", INTRODUCTION, (table,))


def _order(cell: Result) -> tuple[object, ...]:
    record = cell.record
    names = list(INTERFACES)
    place = (device_order(record.executor), _place(cell))
    return (*place, names.index(record.interface), access_bytes(cell), record.size_bytes)


def _row(cell: Result) -> tuple[str, ...]:
    each = accesses_per_s(cell)
    mark = MARK * bool(cell.warning_ids)
    return (
        _place(cell),
        cell.record.interface,
        format_size(cell.record.size_bytes),
        str(access_bytes(cell)),
        settings(cell, ACCESS_BYTES.name),
        gb_figure(cell),
        "" if cell.fraction is None else f"{100 * cell.fraction:.0f} %",
        supported(each.value / 1e9, each.low / 1e9, each.high / 1e9) + mark,
    )


def _place(cell: Result) -> str:
    """`gpu0, own device memory`, `gpu0, gpu1:device`, `gpu0 and gpu1, each other's device memory`."""
    record, buffer = cell.record, cell.source
    warm = ", warm" if record.cache == "warm" else ""
    if record.pattern == "bidirectional":
        devices = [Buffer.parse(str(flow["source"])).device for flow in record.flows]
        return f"{' and '.join(devices)}, each other's {buffer.memory} memory{warm}"
    where = f"own {buffer.memory} memory" if buffer.device == record.executor else str(buffer)
    return f"{record.executor}, {where}{warm}"
