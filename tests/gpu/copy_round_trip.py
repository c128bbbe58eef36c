"""A program that moves blocks to a GPU and back by each method of libbyteways_copy, and prints the outcome.

With the argument `plan` it prints the file of the driver, and a plan by which the examples use kernels; with
`hip` it does the copies through the HIP runtime that BYTEWAYS_LIBHIP names.

Run in a process of its own, because a driver does not survive the fork of a test's process.
"""

from __future__ import annotations

import ctypes
import json
import random
import sys
import time
from typing import Any

from tests.native import copy_program as of
from tests.native.copy_program import Program

COUNT, SIZE, LARGE = 512, 16 << 10, 256 << 20
PATHS = ("path host gpu0 by gpu0", "path gpu0 host by gpu0")


def forced(method: str, rows: tuple[str, str]) -> list[str]:
    """Lines of a plan by which this method is always faster."""
    return [line for path in PATHS for line in (path, "method default", rows[0], f"method {method}", rows[1])]


BLOCKS = "row 16384 1:100 64:6400 4096:400000", "row 16384 1:10+ 64:640+ 4096:40000+"
#: So slow that no relay counts as one whose link others use, even under a sanitizer.
WHOLE = "row 268435456 1:9000000000", "row 268435456 1:4000000000+ parts=600000,400000"
PLANS = {
    "batch": forced("batch", BLOCKS),
    "kernel": forced("kernel", BLOCKS),
    "kernel with 32 blocks": forced("kernel blocks=32 threads=512", BLOCKS),
    "bulk": forced("bulk", BLOCKS),
    "relay": forced("relay via=gpu1 piece=4194304 depth=2", WHOLE),
}


PIECE = 16 << 20
#: Of the examples in examples/copy, which copy 24 blocks of 16 KiB there and back.
OF_EXAMPLES = [
    line
    for path, method in zip(PATHS, ("kernel", "bulk"), strict=True)
    for line in (path, "method default", "row 16384 24:96000", f"method {method}", "row 16384 24:9000+")
]


class Memory:
    """Pinned memory with a pattern, device memory for it, and pinned memory for what comes back."""

    def __init__(self, program: Program, size: int) -> None:
        self.size = size
        self.source, self.back, self.device = program.pinned(size), program.pinned(size), program.device(size)
        pieces, generator = range(0, size, PIECE), random.Random(5)  # one draw has less than 256 MiB
        of.write(self.source, b"".join(generator.randbytes(min(PIECE, size - at)) for at in pieces))

    def clear(self) -> None:
        of.write(self.back, bytes(self.size))

    @property
    def right(self) -> bool:
        return of.read(self.back, self.size) == of.read(self.source, self.size)


def blocks_there_and_back(program: Program, memory: Memory, plan: int, stream: int) -> list[int]:
    """Scatters blocks on the GPU and gathers them again; returns the codes."""
    places = list(range(COUNT))
    random.Random(6).shuffle(places)
    row = [SIZE * k for k in range(COUNT)]
    scattered = [memory.device + SIZE * place for place in places]
    return [
        program.copy_uniform(scattered, [memory.source + at for at in row], SIZE, stream, plan),
        program.copy_uniform([memory.back + at for at in row], scattered, SIZE, stream, plan),
    ]


def round_trip(program: Program, name: str, lines: list[str], memory: Memory) -> dict[str, Any]:
    plan, stream = program.open(*lines), program.stream()
    method = getattr(of, name.split()[0].upper())
    if name == "relay":
        program.allow(plan, 1)
    memory.clear()
    if memory.size == LARGE:
        codes = [
            program.library.bw_copy(memory.device, memory.source, LARGE, stream, plan),
            program.library.bw_copy(memory.back, memory.device, LARGE, stream, plan),
        ]
    else:
        codes = blocks_there_and_back(program, memory, plan, stream)
    program.synchronize(stream)
    found = {"codes": codes, "right": memory.right, "calls": program.statistics(plan).calls[method]}
    found["warning"] = program.warning(plan)
    if memory.size != LARGE:
        began = time.perf_counter_ns()
        blocks_there_and_back(program, memory, plan, stream)
        found["host_ns"] = (time.perf_counter_ns() - began) // 2  # Python's lists included
    program.synchronize(stream)
    program.library.bw_plan_close(plan)
    return found


def captured(program: Program, memory: Memory) -> dict[str, Any]:
    """Both copies recorded into a graph, which runs twice."""
    plan, stream = program.open(*PLANS["kernel"]), program.stream()
    graph, ready = ctypes.c_void_p(), ctypes.c_void_p()
    program.call("cuStreamBeginCapture_v2", "hipStreamBeginCapture", ctypes.c_void_p(stream), 0)
    codes = blocks_there_and_back(program, memory, plan, stream)
    program.call("cuStreamEndCapture", "hipStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(graph))
    instantiate = "cuGraphInstantiateWithFlags", "hipGraphInstantiateWithFlags"
    program.call(*instantiate, ctypes.byref(ready), graph, ctypes.c_uint64(0))
    right = []
    for _ in range(2):
        memory.clear()
        program.call("cuGraphLaunch", "hipGraphLaunch", ready, ctypes.c_void_p(stream))
        program.synchronize(stream)
        right.append(memory.right)
    return {"codes": codes, "right": all(right), "calls": program.statistics(plan).calls[of.KERNEL]}


def between_gpus(program: Program, memory: Memory) -> dict[str, Any]:
    """Blocks that lie scattered on GPU 1, read from there by a kernel on GPU 0."""
    lines = [line.replace("path host gpu0", "path gpu1 gpu0") for line in PLANS["kernel"][:5]]
    stream = program.stream()
    program.gpu(1)
    others = program.device(memory.size)
    program.gpu(0)
    plan = program.open(*lines)
    places = list(range(COUNT))
    random.Random(8).shuffle(places)
    row, scattered = [SIZE * k for k in range(COUNT)], [others + SIZE * place for place in places]
    memory.clear()
    codes = [
        program.copy_uniform(scattered, [memory.source + at for at in row], SIZE, stream, plan),
        program.copy_uniform([memory.device + at for at in row], scattered, SIZE, stream, plan),
        program.library.bw_copy(memory.back, memory.device, memory.size, stream, plan),
    ]
    program.synchronize(stream)
    return {"codes": codes, "right": memory.right, "calls": program.statistics(plan).calls[of.KERNEL]}


def main() -> None:
    program = Program(None, "hip" if sys.argv[1:] == ["hip"] else "cuda")
    if sys.argv[1:] == ["plan"]:
        print(json.dumps([of.driver_file(), of.checked(*program.key(), *OF_EXAMPLES)]))
        return
    gpus = len(program.key()) - 1
    small = Memory(program, COUNT * SIZE)
    found = {
        name: round_trip(program, name, lines, small)
        for name, lines in PLANS.items()
        if name != "relay" and not (name == "bulk" and program.vendor == "hip")  # instructions of NVIDIA's
    }
    found["captured"] = captured(program, small)
    if gpus > 1:
        if program.vendor == "cuda":  # HIP does not tell memory that all peers may use from that of pools
            found["between GPUs"] = between_gpus(program, small)
        found["relay"] = round_trip(program, "relay", PLANS["relay"], Memory(program, LARGE))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
