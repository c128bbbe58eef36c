"""The plan of libbyteways_copy: which method copies faster than the driver's call, as a file that C reads.

native/copy_library/plan_file.hpp has the format. A cell leads where the comparison of its bandwidth with that
of the call of the driver says so, and where it stays faster when its own call is counted in full and that of
the driver not at all: a program may wait for a copy or enqueue others meanwhile. Of methods that take nearly
the same time the library uses the one that leaves most multiprocessors to the program.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from byteways.answers.best.block_copies import BlockGrid, method_alone
from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import compare
from byteways.answers.results.index import Index
from byteways.answers.results.selection import by_nearest
from byteways.answers.results.summary import Result, group_by
from byteways.base.errors import BytewaysError
from byteways.cases.block_list import BlockList
from byteways.cases.option_set import NO_OPTIONS, OptionSet
from byteways.cases.options import AS_CALLED, BLOCK_BYTES, LAYOUT, SCATTERED, SUBMIT
from byteways.cases.relays import DEFAULT_DEPTH, DEFAULT_PIECE_BYTES

FIRST_LINE = "byteways copy plan 1"
DEFAULT, RELAY = "default", "relay"
#: Memory of the ends whose copies the plan is of. Programs cannot tell pinned and registered memory apart.
_HOST_MEMORY, _DEVICE_MEMORY = "pinned", "device"
_OF_BLOCKS = ("block_bytes", "layout", "scattered", *AS_CALLED)
#: Options that a case may have, by interface; those of others answer other questions.
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "copy": ("submit",),
    "route": ("relays", "via", "piece_bytes", "depth"),
    "copy-blocks": (*_OF_BLOCKS, "submit"),
    "kernel-blocks": (*_OF_BLOCKS, "blocks", "threads"),
    "bulk-blocks": (*_OF_BLOCKS, "blocks", "chunk_bytes", "stages"),
}
#: Methods by their interface, and the options that the library reads.
_KERNELS = {"kernel-blocks": "kernel", "bulk-blocks": "bulk"}
_SHAPE = ("blocks", "threads", "chunk_bytes", "stages")
_WRITTEN = ("via", "piece", "depth", *_SHAPE)  # in the order of the file
_MILLION = 1_000_000
#: So much longer than the fastest method another one may take that occupies fewer multiprocessors.
NEARLY_AS_FAST = 1.03
#: Multiprocessors that methods without option `blocks` occupy: all, and kBulkBlocks (bulk_numbers.hpp).
_OCCUPIED = {"kernel": math.inf, "bulk": 8}


@dataclass(frozen=True)
class PlanCell:
    """`count` blocks of `block_bytes`: their time in ns, the call included, and whether it leads."""

    block_bytes: int
    count: int
    time_ns: float
    leads: bool
    spares: bool = False  # it leads, is nearly the fastest, and occupies fewer multiprocessors
    parts: tuple[int, ...] = ()  # of a relay, in millionths: of the direct path, then of each relay
    claim: Claim | None = None  # on the method and the driver's call


@dataclass(frozen=True)
class PlanMethod:
    """A method between two places, with the options that the library reads."""

    name: str
    options: OptionSet
    cells: tuple[PlanCell, ...]

    @property
    def leading(self) -> tuple[PlanCell, ...]:
        return tuple(cell for cell in self.cells if cell.leads)

    @property
    def multiprocessors(self) -> float:
        """How many it occupies at most."""
        return int(self.options.get("blocks", 0)) or _OCCUPIED.get(self.name, 0)

    @property
    def text(self) -> str:
        """`kernel blocks=8 threads=512`, as in the file."""
        return " ".join(
            (self.name, *(f"{one}={self.options[one]}" for one in _WRITTEN if one in self.options))
        )


@dataclass(frozen=True)
class PlanPath:
    """Copies from place to place by streams of a GPU; a place is `host` or a GPU's name."""

    source: str
    destination: str
    by: str
    methods: tuple[PlanMethod, ...]  # the first one is the driver's call

    def __str__(self) -> str:
        return f"{self.source} > {self.destination}"


@dataclass(frozen=True)
class CopyPlan:
    """All that a plan says, and whose it is."""

    run_id: str
    driver: tuple[str, str, str]  # runtime, version, release
    gpus: tuple[tuple[str, str, str], ...]  # UUID, PCI address, model
    paths: tuple[PlanPath, ...] = field(default=())

    @property
    def text(self) -> str:
        """The file."""
        lines = [FIRST_LINE, f"run {self.run_id}", " ".join(("driver", *self.driver))]
        lines += [" ".join(("gpu", str(number), *gpu)) for number, gpu in enumerate(self.gpus)]
        for path in self.paths:
            lines.append(f"path {path.source} {path.destination} by {path.by}")
            for method in path.methods:
                lines.append(f"method {method.text}")
                lines += _rows(method.cells)
        body = "".join(f"{line}\n" for line in lines)
        return f"{body}end {_checksum(body):016x}\n"


def copy_plan(index: Index) -> CopyPlan:
    """Returns the plan that a run's results support.

    Raises:
        BytewaysError: The run has no GPU, or no driver's copy that could be compared with.
    """
    numbers, driver, gpus = _machine(index)
    found = [
        (cell, role) for cell in index.ranked if _is_plain(index, cell) and (role := _role(cell, numbers))
    ]
    ends = group_by(found, lambda pair: _ends(pair[0], numbers))
    paths = [_path(index, names, members) for names, members in ends.items() if names is not None]
    known = tuple(path for path in paths if path is not None)
    if not known:
        raise BytewaysError(
            "the run has no copies that a plan could be made of",
            cause="it needs copy, copy-blocks or route on pinned and device memory, in 3 rounds or more",
            hint="byteways run blocks",
        )
    return CopyPlan(str(index.manifest.get("run_id", "")), driver, gpus, known)


def without_lead(plan: CopyPlan) -> Iterator[tuple[PlanPath, PlanCell]]:
    """Yields the cells of methods that took less time than the driver's call, but have no lead."""
    for path in plan.paths:
        usual = {(cell.block_bytes, cell.count): cell.time_ns for cell in path.methods[0].cells}
        for method in path.methods[1:]:
            for cell in method.cells:
                if not cell.leads and cell.time_ns < usual[cell.block_bytes, cell.count]:
                    yield path, cell


@dataclass(frozen=True)
class _Role:
    """What a result is for the plan."""

    method: str
    options: OptionSet
    block_bytes: int
    rank: int = 0  # of results for one cell the least counts


def _role(cell: Result, numbers: Mapping[str, str]) -> _Role | None:
    """Returns which method a result is of; None if it is of none."""
    record, options = cell.record, cell.record.options
    if record.interface not in _OPTIONS or set(options) - {*_OPTIONS[record.interface]}:
        return None
    submit = options.get(SUBMIT.name, SUBMIT.usual_word)
    if record.interface == "copy":
        return _Role(DEFAULT, NO_OPTIONS, record.size_bytes) if submit == SUBMIT.usual_word else None
    if record.interface == "route":
        return _relay(cell, numbers)
    scattered = [options.get(option.name, option.default) == option.default for option in (LAYOUT, SCATTERED)]
    if not all(scattered):
        return None
    block_bytes = int(options.get(BLOCK_BYTES.name, BLOCK_BYTES.usual))
    if record.interface in _KERNELS:
        shape = OptionSet({name: options[name] for name in _SHAPE if name in options})
        return _Role(_KERNELS[record.interface], shape, block_bytes)
    if submit == "batch":
        return _Role("batch", NO_OPTIONS, block_bytes)
    return _Role(DEFAULT, NO_OPTIONS, block_bytes) if submit == SUBMIT.usual_word else None


def _relay(cell: Result, numbers: Mapping[str, str]) -> _Role | None:
    record = cell.record
    via = [name.split(">")[1] for name in record.parts or {} if name.count(">") == 2]
    if not via:
        return _Role(DEFAULT, NO_OPTIONS, record.size_bytes, 1)
    if not set(via) <= numbers.keys():
        return None
    piece = record.options.get("piece_bytes", DEFAULT_PIECE_BYTES)
    depth = record.options.get("depth", DEFAULT_DEPTH)
    names = ",".join(numbers[gpu] for gpu in via)
    return _Role(RELAY, OptionSet({"via": names, "piece": piece, "depth": depth}), record.size_bytes)


def _is_plain(index: Index, cell: Result) -> bool:
    """Whether a program's copy would be like it: over cold caches, on memory that the library recognises."""
    memories = {
        (end.device[:3], end.memory, end.first_touch is None) for end in (cell.source, cell.destination)
    }
    usual = {("cpu", _HOST_MEMORY, True), ("gpu", _DEVICE_MEMORY, True)}
    record = cell.record
    alone = record.pattern == "unidirectional" and len(record.flows) == 1
    plain = alone and record.cache == "cold" and not record.environment
    return plain and memories <= usual and by_nearest(cell, index.topology)


def _ends(cell: Result, numbers: Mapping[str, str]) -> tuple[str, str, str] | None:
    """Returns source, destination and the GPU of the stream; None if one of them is not in the plan."""
    devices = cell.source.device, cell.destination.device, cell.record.executor
    names = ["host" if name.startswith("cpu") else numbers.get(name, "") for name in devices]
    return (names[0], names[1], names[2]) if all(names) and names[2] != "host" else None


def _path(
    index: Index, names: tuple[str, str, str], members: Sequence[tuple[Result, _Role]]
) -> PlanPath | None:
    """Returns the methods between two places; None if the driver's call was not measured there."""
    usual = _driver_calls(index, members)
    if not usual:
        return None
    others = group_by(
        (member for member in members if member[1].method != DEFAULT and _at(*member) in usual),
        lambda member: (member[1].method, member[1].options),
    )
    ways = 1 + len(others)
    cells = [PlanCell(*at, _time_ns(cell, DEFAULT), False) for at, cell in usual.items()]
    methods = [PlanMethod(DEFAULT, NO_OPTIONS, _monotone(cells))]
    for (name, options), same in others.items():
        cells = [_cell(cell, role, usual[_at(cell, role)], ways) for cell, role in same]
        methods.append(PlanMethod(name, options, _monotone(cells)))
    return PlanPath(*names, tuple(_sparing(methods)))


def _sparing(methods: Sequence[PlanMethod]) -> Iterator[PlanMethod]:
    """Yields the methods, with a mark on nearly fastest cells that occupy fewer multiprocessors."""
    leading = [
        ((cell.block_bytes, cell.count), method, cell) for method in methods for cell in method.leading
    ]
    marked: dict[tuple[int, int], PlanMethod] = {}
    for at, same in group_by(leading, lambda one: one[0]).items():
        fastest = min(same, key=lambda one: one[2].time_ns)
        near = [one for one in same if one[2].time_ns <= NEARLY_AS_FAST * fastest[2].time_ns]
        sparing = min(near, key=lambda one: (one[1].multiprocessors, one[2].time_ns))
        if sparing[1].multiprocessors < fastest[1].multiprocessors:
            marked[at] = sparing[1]
    for method in methods:
        cells = (
            replace(one, spares=marked.get((one.block_bytes, one.count)) is method) for one in method.cells
        )
        yield replace(method, cells=tuple(cells))


def _driver_calls(index: Index, members: Sequence[tuple[Result, _Role]]) -> dict[tuple[int, int], Result]:
    """Returns the results of the driver's call by size and number of blocks.

    Where another method was measured and the call was not, it is interpolated between its neighbours.
    """
    usual: dict[tuple[int, int], Result] = {}
    for cell, role in sorted(members, key=lambda member: member[1].rank):
        if role.method == DEFAULT:
            usual.setdefault(_at(cell, role), cell)
    by_size = group_by(
        ((at[0], method_alone(cell, AS_CALLED)) for at, cell in usual.items() if at[1] > 1),
        lambda member: member[0],
    )
    grid = BlockGrid(index, {size: [cell for _, cell in some] for size, some in by_size.items()})
    for cell, role in members:
        at = _at(cell, role)
        if at[1] > 1 and at not in usual and (between := _between(grid, cell, BlockList(at[1], at[0]))):
            usual[at] = between
    return usual


def _between(grid: BlockGrid, cell: Result, blocks: BlockList) -> Result | None:
    """Returns the driver's call for these blocks on the path of `cell`, from measured ones around them."""
    for place in grid.places:
        found = grid.at(place, blocks)
        for one in found.decision.cells if found else ():
            if (one.record.path, one.record.executor) == (cell.record.path, cell.record.executor):
                return one
    return None


def _at(cell: Result, role: _Role) -> tuple[int, int]:
    return role.block_bytes, cell.size_bytes // role.block_bytes


def _cell(cell: Result, role: _Role, usual: Result, ways: int) -> PlanCell:
    time_ns = _time_ns(cell, role.method)
    # Each method is compared with the driver's call alone.
    claim = compare(cell, usual, kind="plan", comparisons=ways - 1)
    leads = claim.leads and time_ns < _time_ns(usual, DEFAULT)
    parts = _parts(cell) if role.method == RELAY else ()
    return PlanCell(*_at(cell, role), time_ns, leads, parts=parts, claim=claim)


def _time_ns(cell: Result, method: str) -> float:
    """Returns the time of a copy with its call, as a program sees it that waits for the copy.

    Samples of one operation contain the call. Otherwise the call of a kernel comes before its work, and the
    driver's calls for single copies run while earlier copies are done.
    """
    record, device = cell.record, cell.time_ns or 0.0
    if all(record.options.get(name) == value for name, value in AS_CALLED.items()):
        return device
    calls = [record.submit_ns for record in cell.middle if record.submit_ns is not None]
    call = fmean(calls) if calls else 0.0
    return max(device, call) if method == DEFAULT else device + call


def _parts(cell: Result) -> tuple[int, ...]:
    """Returns the parts of all paths in millionths; their sum is a million."""
    shares = [round(_MILLION * share) for share in (cell.middle[0].parts or {}).values()]
    return (_MILLION - sum(shares[1:]), *shares[1:])


def _monotone(cells: Iterable[PlanCell]) -> tuple[PlanCell, ...]:
    """Returns the cells in order, none of which takes less time than one of fewer or smaller blocks."""
    done: list[PlanCell] = []
    for cell in sorted(cells, key=lambda one: (one.block_bytes, one.count)):
        below = [one.time_ns for one in done if one.count <= cell.count]
        done.append(replace(cell, time_ns=max([cell.time_ns, *below])))
    return tuple(done)


def _rows(cells: Sequence[PlanCell]) -> list[str]:
    lines = []
    for block_bytes, row in group_by(cells, lambda cell: cell.block_bytes).items():
        times = [f"{cell.count}:{max(1, round(cell.time_ns))}{_mark(cell)}" for cell in row]
        parts = [f"parts={','.join(map(str, row[0].parts))}"] if row[0].parts else []
        lines.append(" ".join(("row", str(block_bytes), *times, *parts)))
    return lines


def _mark(cell: PlanCell) -> str:
    return "*" if cell.spares else "+" if cell.leads else ""


def _machine(
    index: Index,
) -> tuple[dict[str, str], tuple[str, str, str], tuple[tuple[str, str, str], ...]]:
    """Returns the names of GPUs in the plan by those of the run, the driver, and what identifies each GPU."""
    devices = (index.manifest.get("capabilities") or {}).get("devices") or {}
    gpus = [one for name, one in devices.items() if name.startswith("gpu") and one.get("uuid")]
    if not gpus:
        raise BytewaysError("the run has no GPU", hint="a plan is made of a run on a machine with GPUs")
    runtime = str(gpus[0]["runtime"])
    same = [one for one in gpus if one["runtime"] == runtime]
    keys = tuple((str(one["uuid"]), str(one["pci_address"]).lower(), str(one["model"])) for one in same)
    numbers = {str(one["name"]): f"gpu{number}" for number, one in enumerate(same)}
    return numbers, (runtime, *_versions(index, runtime)), keys


def _versions(index: Index, runtime: str) -> tuple[str, str]:
    """Returns version and release of a runtime's library, which have the form of numbers between points."""
    for library in index.manifest.get("libraries") or ():
        if str(library.get("library", "")).split("-")[0] == runtime:
            numbers = re.findall(r"\d+(?:\.\d+)+", str(library.get("version", "")))
            return numbers[0] if numbers else "-", numbers[1] if len(numbers) > 1 else "-"
    return "-", "-"


def _checksum(text: str) -> int:
    """Returns the FNV-1a hash of 64 bits (Fowler, Noll, Vo)."""
    state = 0xCBF29CE484222325
    for byte in text.encode():
        state = (state ^ byte) * 0x100000001B3 % 2**64
    return state
