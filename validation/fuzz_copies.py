"""Compares copies of random lists of blocks by libbyteways_copy with copies of the same bytes in Python.

    python -m validation.fuzz_copies --lists 10000
    python -m validation.fuzz_copies --batch cuda:kernel:3 --seed 1    # one batch again

Every method of a plan copies in every direction, on simulated machines of both vendors. Lists are of 0 to 200
blocks, of equal and of mixed sizes, empty, misaligned, repeated, copied onto themselves and overlapping; two
threads copy at a time, each on two streams of its own, on the default one and on the one of the thread. After
each pair of lists all bytes must be those that Python has copied; a list whose result depends on the order
must be refused, and copy nothing. Further lists are of blocks beyond 4 GiB, in memory whose contents are
simulated, too. A method that copied no list of its row has not been tested: that is an error as well.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from random import Random
from typing import Any

from byteways.measuring.shared.simulator import simulator_path
from tests.native import copy_program as of
from tests.native import simulated as toy
from tests.native.copy_program import Program

DIRECTIONS = (("host", "gpu0"), ("gpu0", "host"), ("gpu0", "gpu0"), ("gpu1", "gpu0"), ("gpu0", "gpu1"))
METHODS = ("default", "batch", "kernel", "bulk", "relay")
#: Lists of one process.
BATCH = 400
#: Bytes of a stream's memory on each side. A simulated machine has the bytes of memory below 1 MiB.
ROOM = 96 << 10
#: Of bw_error, and the handles of the default stream and of the one that each thread has.
OVERLAP, DEFAULT_STREAM, THREAD_STREAM = of.OVERLAP, 0, 2
GIB = 1 << 30


def directions(vendor: str, method: str) -> Sequence[tuple[str, str]]:
    """Where a method copies on a machine with two GPUs.

    A relay needs one that is no end. HIP does not say which memory of another GPU kernels may reach.
    """
    if method == "relay":
        return DIRECTIONS[:2]
    return DIRECTIONS[:3] if (vendor, method) == ("hip", "kernel") else DIRECTIONS


def methods(vendor: str) -> Sequence[str]:
    """AMD GPUs have no instructions for bulk copies."""
    return [method for method in METHODS if (vendor, method) != ("hip", "bulk")]


def lines(method: str, source: str, destination: str) -> list[str]:
    """A plan by which the method leads for all that was measured."""
    sizes, counts = [8, 256, 4096, 65536, 1 << 20, 1 << 25, GIB, 32 * GIB], (1, 4, 64)
    slow = [f"row {size} " + " ".join(f"{count}:{100 * size * count}" for count in counts) for size in sizes]
    fast = [f"row {size} " + " ".join(f"{count}:{50 * size * count}+" for count in counts) for size in sizes]
    made = [f"path {source} {destination} by gpu0", "method default", *slow]
    if method == "relay":
        over = [f"row {size} 1:{50 * size}+ parts=600000,400000" for size in sizes]
        return [*made, "method relay via=gpu1 piece=8192 depth=3", *over]
    shape = " blocks=8 threads=96" if method == "kernel" and destination == "gpu0" else ""
    return made if method == "default" else [*made, f"method {method}{shape}", *fast]


@dataclass
class Tally:
    """What became of the lists of a row."""

    lists: int = 0
    copied: int = 0  # by the row's method
    refused: int = 0
    differences: list[str] = field(default_factory=list)

    def add(self, other: dict[str, Any]) -> None:
        self.lists += other["lists"]
        self.copied += other["copied"]
        self.refused += other["refused"]
        self.differences += other["differences"]


@dataclass(frozen=True)
class BlockList:
    """Offsets of destinations and sources, sizes, and how the call gets them."""

    to: list[int]
    sources: list[int]
    sizes: list[int]
    uniform: bool

    @property
    def blocks(self) -> Iterator[tuple[int, int, int]]:
        return zip(self.to, self.sources, self.sizes, strict=True)


def draw_list(draw: Random) -> BlockList:
    """A list of blocks within ROOM bytes on either side."""
    grain = draw.choice([8, 8, 16, 16, 16, 256, 1024, 4096])
    count = draw.choice([0, 1, 1, 1, 2, 3, 5, 16, 64, 200])
    uniform, style = draw.random() < 0.4, draw.choice(["apart", "apart", "apart", "anywhere", "again"])
    span = max(grain, ROOM // max(1, count) // grain * grain)  # of a block with its gap
    size = grain * draw.randint(0 if draw.random() < 0.05 else 1, span // grain)
    places = list(range(count))
    draw.shuffle(places)
    to, sources, sizes = [], [], []
    for k, place in enumerate(places):
        if not uniform:
            size = 0 if draw.random() < 0.2 else grain * draw.randint(1, span // grain)
            if size and draw.random() < 0.1:  # no multiple of a word
                size -= draw.randint(1, 7)
        if style == "anywhere":
            ends = [grain * draw.randint(0, (ROOM - size) // grain) for _ in range(2)]
        else:
            ends = [min(span * k, ROOM - size) // 8 * 8, min(span * place, ROOM - size) // 8 * 8]
        if draw.random() < 0.02:
            ends[1] = ends[0]
        to.append(ends[0])
        sources.append(ends[1])
        sizes.append(size)
    if style == "again" and count:
        chosen = [draw.randrange(count) for _ in range(count)]
        to, sources, sizes = ([each[k] for k in chosen] for each in (to, sources, sizes))
    return BlockList(to, sources, sizes, uniform)


def depends_on_order(blocks: BlockList, same_memory: bool) -> bool:
    """Whether a byte is written by two blocks, or written by one and read by another or by itself.

    A repeated block counts once, and one that is copied onto itself writes nothing that another one reads.
    """
    written, changed = bytearray(ROOM), bytearray(ROOM)
    unique = {block for block in blocks.blocks if block[2]}
    for to, source, size in unique:
        if 1 in written[to : to + size]:
            return True
        written[to : to + size] = b"\1" * size
        if not (same_memory and to == source):
            changed[to : to + size] = b"\1" * size
    return same_memory and any(1 in changed[source : source + size] for _, source, size in unique)


@dataclass
class Side:
    """Memory of one end of a thread's copies: a part for each stream."""

    address: int
    model: list[bytearray]

    def part(self, lane: int) -> int:
        return self.address + ROOM * lane


def place(program: Program, where: str, size: int) -> int:
    """Memory on the host or a GPU."""
    if where == "host":
        return program.pinned(size)
    program.gpu(int(where[3:]))
    made = program.device(size)
    program.gpu(0)
    return made


class Copier:
    """A thread of a program: it copies lists on its streams, and compares."""

    def __init__(self, program: Program, ends: tuple[str, str], plan: int, seed: str) -> None:
        self.program, self.plan, self.draw = program, plan, Random(seed)
        self.tally = Tally()
        self.bytes = self.draw.randbytes(4 * ROOM)
        self.source = Side(place(program, ends[0], 2 * ROOM), [bytearray(), bytearray()])
        self.same = ends[0] == ends[1] != "host" and self.draw.random() < 0.5
        self.target = (
            self.source if self.same else Side(place(program, ends[1], 2 * ROOM), [bytearray(), bytearray()])
        )
        own = [program.stream(), program.stream()]
        self.streams = [own, own, [own[0], DEFAULT_STREAM], [THREAD_STREAM, own[1]]]

    def run(self, lists: int) -> None:
        """Copies pairs of lists, one on each stream, without waiting between them."""
        self.program.gpu(0)
        for _ in range(0, lists, 2):
            streams, pair = self.draw.choice(self.streams), [draw_list(self.draw) for _ in range(2)]
            for lane in range(2):
                self.fill(lane)
            for lane, blocks in enumerate(pair):
                self.copy(lane, blocks, streams[lane])
            for stream in streams:
                self.program.synchronize(stream)
            for lane, blocks in enumerate(pair):
                self.compare(lane, blocks)

    def fill(self, lane: int) -> None:
        for side in {id(side): side for side in (self.source, self.target)}.values():
            at = self.draw.randrange(3 * ROOM)
            side.model[lane] = bytearray(self.bytes[at : at + ROOM])
            of.write(side.part(lane), bytes(side.model[lane]))

    def copy(self, lane: int, blocks: BlockList, stream: int) -> None:
        source, target = self.source.part(lane), self.target.part(lane)
        # Addresses of empty blocks are never looked at.
        to = [target + at if size else self.draw.choice([0, 1, target]) for at, _, size in blocks.blocks]
        sources = [source + at if size else self.draw.choice([0, 1, source]) for _, at, size in blocks.blocks]
        if blocks.uniform and blocks.sizes:
            code = self.program.copy_uniform(to, sources, blocks.sizes[0], stream, self.plan)
        else:
            code = self.program.copy_blocks(to, sources, blocks.sizes, stream, self.plan)
        refuse = depends_on_order(blocks, self.same)
        self.tally.lists += 1
        self.tally.refused += code == OVERLAP
        if code != (OVERLAP if refuse else 0):
            self.differ(f"code {code} where {OVERLAP if refuse else 0} is right", lane, blocks)
        if refuse:
            return
        before = bytes(self.source.model[lane])
        for at, start, size in blocks.blocks:
            self.target.model[lane][at : at + size] = before[start : start + size]

    def compare(self, lane: int, blocks: BlockList) -> None:
        for name, side in (("source", self.source), ("destination", self.target)):
            if of.read(side.part(lane), ROOM) != side.model[lane]:
                self.differ(f"bytes of the {name}", lane, blocks)

    def differ(self, what: str, lane: int, blocks: BlockList) -> None:
        shown = list(blocks.blocks)[:4]
        self.tally.differences.append(
            f"{what}, list {self.tally.lists} on stream {lane}: {len(blocks.sizes)} blocks {shown}"
        )


def copy_lists(program: Program, method: str, ends: tuple[str, str], lists: int, seed: str) -> dict[str, Any]:
    """A row's lists of one process: two threads share a plan."""
    plan = prepared(program, method, ends)
    copiers = [Copier(program, ends, plan, f"{seed} {number}") for number in range(2)]
    assert program.library.bw_plan_prepare(plan) == 0  # the memory of another GPU is in use by now
    threads = [threading.Thread(target=copier.run, args=(lists // 2,)) for copier in copiers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = Tally(copied=int(program.statistics(plan).calls[METHODS.index(method)]))
    for copier in copiers:
        found.add(vars(copier.tally))
    program.library.bw_plan_close(plan)
    return vars(found)


def prepared(program: Program, method: str, ends: tuple[str, str]) -> int:
    plan = program.open(*lines(method, *ends))
    program.allow(plan, 1)
    assert program.warning(plan) == "", program.warning(plan)
    return plan


def copy_large(
    program: Program, method: str, ends: tuple[str, str], several: bool, seed: str
) -> dict[str, Any]:
    """Blocks of which one, or all together, are beyond 4 GiB, with known bytes where a cut would show."""
    draw, found, part = Random(seed), Tally(), 4096
    plan = program.open(*[line.replace("piece=8192", f"piece={GIB // 4}") for line in lines(method, *ends)])
    program.library.bw_plan_limit_staging(plan, ctypes.c_size_t(GIB))
    program.allow(plan, 1)
    whole = 4 * GIB + 16 * draw.randint(1, 1000) * part
    source, target = (place(program, where, whole) for where in ends)
    assert program.library.bw_plan_prepare(plan) == 0
    stream, small = program.stream(), program.pinned(part)
    marks = sorted({0, part, GIB, 2 * GIB - part, 4 * GIB - part, 4 * GIB, whole - part})
    divided = draw.choice([[whole], [4 * GIB, whole - 4 * GIB], [GIB] * 4]) if several else [whole]
    begins = [sum(divided[:k]) for k in range(len(divided))]
    words = {at: draw.randbytes(part) for at in marks}

    def move(to: int, start: int, size: int) -> None:
        assert program.library.bw_copy(to, start, size, stream, None) == 0
        program.synchronize(stream)

    for at, data in words.items():
        of.write(small, data)
        move(source + at, small, part)
    code = program.copy_blocks(
        [target + at for at in begins], [source + at for at in begins], divided, stream, plan
    )
    program.synchronize(stream)
    if code != 0:
        found.differences.append(f"code {code}: {program.last_error()}")
    for at, data in words.items():
        move(small, target + at, part)
        expected = data if at < sum(divided) else bytes(part)
        if of.read(small, part) != expected:
            found.differences.append(f"bytes at {at} of {divided}")
    found.lists, found.copied = 1, int(program.statistics(plan).calls[METHODS.index(method)])
    return vars(found)


@dataclass(frozen=True)
class Batch:
    """Lists of one process: of a method, a direction, and a number by which they are drawn."""

    vendor: str
    method: str
    ends: tuple[str, str]
    lists: int
    number: int
    large: bool = False

    @property
    def row(self) -> tuple[str, str, str]:
        size = " beyond 4 GiB" if self.large else ""
        return self.method, self.vendor, f"{self.ends[0]} > {self.ends[1]}{size}"

    @property
    def name(self) -> str:
        return f"{self.vendor}:{self.method}:{self.number}"

    def run(self, seed: int) -> dict[str, Any]:
        own = f"{seed} {self.row} {self.number}"
        sheet = (toy.nvidia if self.vendor == "cuda" else toy.amd)(gpu__memory_bytes=64 * GIB)

        def scene() -> dict[str, Any]:
            program = Program(sheet, self.vendor)
            if self.large:
                return copy_large(program, self.method, self.ends, self.number > 0, own)
            return copy_lists(program, self.method, self.ends, self.lists, own)

        try:
            found: dict[str, Any] = toy.apart(scene)
        except AssertionError as failed:  # the process crashed, or was ended
            found = {"lists": 0, "copied": 0, "refused": 0, "differences": [str(failed)[-400:]]}
        return found


def batches(lists: int) -> list[Batch]:
    """All rows get equally many lists, and some beyond 4 GiB each."""
    rows = [
        (vendor, method, ends)
        for vendor in ("cuda", "hip")
        for method in methods(vendor)
        for ends in directions(vendor, method)
    ]
    each = max(2, -(-lists // len(rows) // 2) * 2)
    made = [Batch(*row, min(BATCH, each - at), at // BATCH) for row in rows for at in range(0, each, BATCH)]
    large = max(2, min(20, lists // 20000))
    return made + [Batch(*row, 1, number, True) for row in rows for number in range(large)]


def table(tallies: dict[tuple[str, str, str], Tally]) -> bool:
    """Prints the rows; whether all of them are right."""
    print(
        f"{'method':8} {'vendor':6} {'direction':26} {'lists':>8} {'by it':>8} {'refused':>8} {'differ':>7}"
    )
    for (method, vendor, ends), tally in tallies.items():
        counts = f"{tally.lists:8} {tally.copied:8} {tally.refused:8} {len(tally.differences):7}"
        print(f"{method:8} {vendor:6} {ends:26} {counts}")
    untested = [row for row, tally in tallies.items() if tally.copied == 0]
    for row in untested:
        print(f"error: no list was copied by {row[0]} of {row[1]}, {row[2]}")
    wrong = sum(len(tally.differences) for tally in tallies.values())
    print(f"{sum(tally.lists for tally in tallies.values())} lists, {wrong} differences")
    return not untested and wrong == 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares copies by libbyteways_copy with Python's.")
    parser.add_argument("--lists", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--batch", help="VENDOR:METHOD:NUMBER, to run these batches of its rows alone")
    arguments = parser.parse_args()
    os.environ.update({f"BYTEWAYS_LIB{name}": simulator_path() for name in ("CUDA", "HIP")})
    chosen = batches(arguments.lists)
    if arguments.batch:
        chosen = [one for one in chosen if one.name == arguments.batch]
    tallies: dict[tuple[str, str, str], Tally] = {one.row: Tally() for one in chosen}
    shown = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for one, found in zip(chosen, pool.map(lambda one: one.run(arguments.seed), chosen), strict=True):
            tallies[one.row].add(found)
            for what in found["differences"][: max(0, 20 - shown)]:
                shown += 1
                again = f"--lists {arguments.lists} --seed {arguments.seed} --batch {one.name}"
                print(f"difference: {' '.join(one.row)}: {what}")
                print(f"  python -m validation.fuzz_copies {again}")
    return 0 if table(tallies) else 1


if __name__ == "__main__":
    sys.exit(main())
