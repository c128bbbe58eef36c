"""libbyteways_copy.so: what is no plan is refused where it is read, and limits of a plan are kept."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path
from typing import Any

import pytest

from tests.native import copy_program as of
from tests.native import simulated as toy
from tests.native.copy_program import Program

KIB = 1 << 10
BOTH = pytest.mark.parametrize("vendor", ["cuda", "hip"])
GPUS = [f"gpu {number} GPU-{number} 0000:{number:02x}:00.0 Toy" for number in range(3)]
KEY = ("driver cuda 13.0 -", *GPUS)
DEFAULT = ("path host gpu0 by gpu0", "method default", "row 131072 1:1000000 64:64000000")
RELAY = "method relay via=gpu1 piece=16384 depth=2"
BIG = 2**64 - 1

#: Lines after those of the default, and which of them is named, counted from 1.
SENSELESS: dict[str, tuple[list[str], int]] = {
    "relay without rows": ([RELAY], 1),
    "kernel without rows": (["method kernel"], 1),
    "bulk without rows": (["method bulk"], 1),
    "batch without rows": (["method batch"], 1),
    "method without rows before another": (["method batch", "method kernel", "row 64 1:5+"], 1),
    "method without rows before a path": (["method batch", "path gpu0 host by gpu0"], 1),
    "path without methods": (["path gpu0 host by gpu0"], 1),
    "path without methods before another": (["path gpu0 host by gpu0", "path host gpu1 by gpu1"], 1),
    "path again": (list(DEFAULT), 1),
    "default again": (["method default"], 1),
    "relay of several blocks": ([RELAY, "row 131072 1:5+ 64:6+ parts=600000,400000"], 2),
    "relay of 64 blocks alone": ([RELAY, "row 131072 64:6+ parts=600000,400000"], 2),
    "relay without parts": ([RELAY, "row 131072 1:5+"], 2),
    "parts of more than all": ([RELAY, "row 131072 1:5+ parts=1,1000090"], 2),
    "parts of a little more than all": ([RELAY, "row 131072 1:5+ parts=600001,400000"], 2),
    "parts that wrap around": ([RELAY, "row 131072 1:5+ parts=4294967295,1000001"], 2),
    "relay over the destination": (["method relay via=gpu0 piece=16384 depth=2"], 1),
    "relay over one GPU twice": (["method relay via=gpu1,gpu1 piece=16384 depth=2"], 1),
    "relay over the host": (["method relay via=host piece=16384 depth=2"], 1),
    "piece that wraps around": (["method relay via=gpu1 piece=4611686018427387904 depth=4"], 1),
    "staging of more than 32 bits": (["method relay via=gpu1 piece=2147483648 depth=4"], 1),
    "a million pieces": (["method relay via=gpu1 piece=16 depth=1000000"], 1),
    "no depth": (["method relay via=gpu1 piece=16384 depth=0"], 1),
    "threads of no whole warp": (["method kernel blocks=8 threads=40"], 1),
    "threads beyond a block": (["method kernel threads=1056"], 1),
    "blocks beyond a grid": (["method kernel blocks=2147483648"], 1),
    "chunks that wrap around": (["method bulk chunk_bytes=134217728 stages=32"], 1),
    "a chunk that wraps around": (["method bulk chunk_bytes=2147483648 stages=2"], 1),
    "shared memory that no GPU has": (["method bulk chunk_bytes=16384 stages=15"], 1),
    "chunks of no grain": (["method bulk chunk_bytes=24"], 1),
    "more stages than barriers": (["method bulk stages=33"], 1),
    "a size that no machine has": ([f"row {BIG} 1:1000000"], 1),
    "a count that no machine has": ([f"row 262144 1:2000000 {BIG}:2000001"], 1),
    "a time that no machine takes": ([f"row 262144 1:{BIG}"], 1),
    "a number beyond 64 bits": (["row 262144 1:99999999999999999999999"], 1),
    "the driver again": (["driver cuda 13.0 -"], 1),
    "a GPU again": (["gpu 3 GPU-1 0000:77:00.0 Toy"], 1),
}


@pytest.mark.parametrize("case", SENSELESS)
def test_a_senseless_plan_is_refused_by_its_line(case: str, tmp_path: Path) -> None:
    """Catches contents that the library would crash on, allocate by, or copy wrong data for.

    The checksum is right: only what the lines say is wrong.
    """
    more, named = SENSELESS[case]
    path = tmp_path / "plan"
    path.write_text(of.checked(*KEY, *DEFAULT, *more), encoding="utf-8")

    def scene(program: Program) -> Any:
        return program.open_file(str(path)), program.last_error()

    (code, plan), message = of.run(scene)
    assert (code, plan) == (of.DAMAGED, 0)
    assert re.search(rf"line {1 + len(KEY) + len(DEFAULT) + named}: .", message), message


def test_nothing_follows_the_last_line(tmp_path: Path) -> None:
    """Catches lines behind the checksum, which it says nothing of."""
    path = tmp_path / "plan"
    path.write_text(of.checked(*KEY, *DEFAULT) + "row 262144 1:5\n", encoding="utf-8")

    def scene(program: Program) -> Any:
        return program.open_file(str(path))[0], program.last_error()

    code, message = of.run(scene)
    assert code == of.DAMAGED and f"line {3 + len(KEY) + len(DEFAULT)}: " in message


@pytest.mark.parametrize("kind", ["fifo", "folder", "device", "endless", "link to a fifo"])
def test_what_is_no_file_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    """Catches a plan that is waited for: a FIFO without a writer, or a file without an end."""
    path, fifo = tmp_path / "plan", tmp_path / "fifo"
    os.mkfifo(fifo)
    places = {"fifo": fifo, "folder": tmp_path, "device": Path("/dev/null"), "endless": Path("/dev/zero")}
    path.symlink_to(fifo)

    def scene(program: Program) -> Any:
        return program.open_file(str(places.get(kind, path))), program.last_error()

    (code, plan), message = of.run(scene)
    assert (code, plan) == (of.NOT_READ, 0) and "regular file" in message


def test_shared_memory_that_this_gpu_lacks() -> None:
    """Catches a launch that can only fail, copy by copy, where preparing could say so."""
    lines = (
        *("path host gpu0 by gpu0", "method default", "row 4096 4:4000 16:16000"),
        *("method bulk chunk_bytes=16384 stages=8", "row 4096 4:2000+ 16:4000+"),
    )

    def scene(program: Program) -> Any:
        plan = program.open(*lines)
        copied = blocks_to_gpu(program, plan, [4 * KIB] * 8)
        return copied, program.statistics(plan).calls[of.BULK], program.warning(plan)

    fits, lacks = (of.run(scene, toy.nvidia(gpu__architecture=name)) for name in ("sm_90", "sm_120"))
    assert fits == [[0, True], 1, ""]
    assert lacks[:2] == [[0, True], 0] and "shared memory" in lacks[2] and str(99 * KIB) in lacks[2]


def blocks_to_gpu(program: Program, plan: int, sizes: list[int], stream: int | None = None) -> list[Any]:
    """The code of a copy of such blocks, and whether it has the right bytes and no others."""
    stream = program.stream() if stream is None else stream
    room = max(sizes) + 64
    data = random.Random(4).randbytes(room * len(sizes))
    source, target = program.pinned(len(data)), program.device(len(data))
    of.write(source, data)
    of.write(target, bytes(len(data)))
    places = [room * k for k in range(len(sizes))]
    code = program.copy_blocks(
        [target + at if size else 0 for at, size in zip(places, sizes, strict=True)],
        [source + at if size else 0 for at, size in zip(places, sizes, strict=True)],
        sizes,
        stream,
        plan,
    )
    program.synchronize(stream)
    expected = b"".join(
        data[at : at + size] + bytes(room - size) for at, size in zip(places, sizes, strict=True)
    )
    return [code, of.read(target, len(data)) == expected]


#: Rows for blocks of 4 KiB, or for one of 128 KiB: each method leads where it can be used.
BY_METHOD = {
    "default": [],
    "batch": ["method batch", "row 4096 1:100+ 4:400+ 16:1600+"],
    "kernel": ["method kernel", "row 4096 1:100+ 4:400+ 16:1600+"],
    "bulk": ["method bulk", "row 4096 1:100+ 4:400+ 16:1600+"],
    "relay": ["method relay via=gpu1 piece=16384 depth=2", "row 131072 1:50000+ parts=500000,500000"],
}


@pytest.mark.parametrize(
    ("vendor", "method"),
    [
        (vendor, method)
        for vendor in ("cuda", "hip")
        for method in BY_METHOD
        if (vendor, method) != ("hip", "bulk")
    ],
)
def test_empty_blocks_are_no_blocks_of_any_method(vendor: str, method: str) -> None:
    """Catches a method that takes an empty block for the first one, counts it, or reads its pointers."""
    size, one = (128 * KIB, True) if method == "relay" else (4 * KIB, False)
    lists = [[0, size], [size, 0], [0, 0, size, 0]]
    if not one:
        lists += [[0, *[size] * 4], [size, 0] * 8, [0, size, size, 0, 0, size, size]]

    def scene(program: Program) -> Any:
        plan = program.open(
            *("path host gpu0 by gpu0", "method default", "row 4096 1:1000 4:4000 16:16000"),
            *("row 131072 1:100000 4:400000 16:1600000", *BY_METHOD[method]),
        )
        program.allow(plan, 1)
        copied = [blocks_to_gpu(program, plan, sizes) for sizes in lists]
        counts = program.statistics(plan)
        used = getattr(of, method.upper())
        return copied, counts.calls[used], counts.bytes[used], program.warning(plan)

    expected = [[[0, True]] * len(lists), len(lists), sum(map(sum, lists)), ""]
    assert of.run(scene, vendor=vendor) == expected


#: Two ways over gpu1, which need 128 KiB each: few large pieces, and many small ones.
TWO_SHAPES = (
    *("path host gpu0 by gpu0", "method default", "row 131072 1:1000000"),
    *("method relay via=gpu1 piece=65536 depth=2", "row 131072 1:500000+ parts=600000,400000"),
    *("path gpu0 host by gpu0", "method default", "row 131072 1:1000000"),
    *("method relay via=gpu1 piece=16384 depth=8", "row 131072 1:500000+ parts=600000,400000"),
)


@BOTH
@pytest.mark.parametrize(("limit", "relays"), [(128 * KIB, 2), (128 * KIB - 1, 0)])
def test_the_limit_of_staging_memory_is_one(vendor: str, limit: int, relays: int) -> None:
    """Catches a relay with the largest pieces of one way and the number of pieces of another."""

    def scene(program: Program) -> Any:
        plan, stream = program.open(*TWO_SHAPES), program.stream()
        program.library.bw_plan_limit_staging(plan, limit)
        codes = [program.allow(plan, 1)]
        staging = program.statistics(plan).staging_bytes
        data = random.Random(5).randbytes(256 * KIB)
        source, back, target = program.pinned(len(data)), program.pinned(len(data)), program.device(len(data))
        of.write(source, data)
        of.write(back, bytes(len(data)))
        codes.append(program.library.bw_copy(target, source, len(data), stream, plan))
        program.synchronize(stream)
        codes.append(program.library.bw_copy(back, target, len(data), stream, plan))
        program.synchronize(stream)
        return (
            codes,
            staging <= limit,
            of.read(back, len(data)) == data,
            program.statistics(plan).calls[of.RELAY],
        )

    assert of.run(scene, vendor=vendor) == [[0, 0, 0], True, True, relays]


def test_pieces_of_another_size_wait_for_the_relay() -> None:
    """Catches two shapes of pieces in one staging memory at a time, which would mix their bytes."""

    def scene(program: Program) -> Any:
        plan, stream = program.open(*TWO_SHAPES), program.stream()
        program.allow(plan, 1)
        data = random.Random(6).randbytes(512 * KIB)
        source, back, target = program.pinned(len(data)), program.pinned(len(data)), program.device(len(data))
        of.write(source, data)
        for _ in range(3):
            assert program.library.bw_copy(target, source, len(data), stream, plan) == 0
            assert program.library.bw_copy(back, target, len(data), stream, plan) == 0
        program.synchronize(stream)
        return (
            of.read(back, len(data)) == data,
            program.fallbacks(plan),
            program.statistics(plan).calls[of.RELAY],
        )

    right, fallbacks, relays = of.run(scene)
    assert right and relays >= 1 and set(fallbacks) == {str(of.BUSY)}
