"""Random access: bandwidth and accesses per second by access size, as GUPS counts updates."""

from __future__ import annotations

from byteways.answers.claims.phrases import supported
from byteways.answers.results.index import Index
from byteways.answers.results.selection import device_order
from byteways.answers.results.summary import Part, Result
from byteways.base.units import format_size
from byteways.cases.interfaces import INTERFACES, is_scattered
from byteways.cases.options import ACCESS_BYTES
from byteways.questions.display.table import Columns, figures, tabulated, words
from byteways.questions.display.topic import Topic
from byteways.questions.subjects.ranks import MARK, gb_figure, marked, settings

INTRODUCTION = (
    "Independent accesses to random addresses of one buffer; an operation accesses each address once. One "
    "GUPS is one billion updates per second; HPCC RandomAccess updates 8 bytes at a time over half of the "
    "memory. An update reads and writes, and its bandwidth counts both."
)
NOTE = "Peaks are for sequential access; transactions move 32 or 64 bytes, so smaller accesses waste a part"


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
    table = marked(tabulated("Random access", _COLUMNS, sorted(cells, key=_order)), NOTE)
    return Topic("random-access", "Random access", INTRODUCTION, (table,))


def _order(cell: Result) -> tuple[object, ...]:
    record = cell.record
    names = list(INTERFACES)
    place = (device_order(record.executor), _place(cell))
    return (*place, names.index(record.interface), access_bytes(cell), record.size_bytes)


def _accesses(cell: Result) -> str:
    each = accesses_per_s(cell)
    return supported(each.value / 1e9, each.low / 1e9, each.high / 1e9) + MARK * bool(cell.warning_ids)


def _place(cell: Result) -> str:
    """`gpu0, own device memory`, `gpu0, gpu1:device`, `gpu0 and gpu1, each other's device memory`."""
    record, buffer = cell.record, cell.source
    warm = ", warm" if record.cache == "warm" else ""
    if record.pattern == "bidirectional":
        devices = [flow.source.device for flow in cell.case.flows]
        return f"{' and '.join(devices)}, each other's {buffer.memory} memory{warm}"
    where = f"own {buffer.memory} memory" if buffer.device == record.executor else str(buffer)
    return f"{record.executor}, {where}{warm}"


_COLUMNS: Columns[Result] = (
    words("threads of, memory", _place),
    words("interface", lambda cell: cell.record.interface),
    figures("size", lambda cell: format_size(cell.size_bytes)),
    figures("access, B", lambda cell: str(access_bytes(cell))),
    words("settings", lambda cell: settings(cell, ACCESS_BYTES.name)),
    figures("GB/s", gb_figure),
    figures("of peak", lambda cell: "" if cell.fraction is None else f"{100 * cell.fraction:.0f} %"),
    figures("10⁹ accesses/s", _accesses),
)
