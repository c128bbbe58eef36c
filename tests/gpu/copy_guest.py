"""A program that uses libbyteways_copy on a real GPU where guests are easily in the way.

Streams per thread, a reset of the GPU between copies, captures in each mode, and a stream of another context.
Run in a process of its own, as copy_round_trip.py.
"""

from __future__ import annotations

import ctypes
import json
import sys
import threading
from collections.abc import Callable
from typing import Any

from tests.gpu.copy_round_trip import COUNT, LARGE, PLANS, SIZE, Memory, blocks_there_and_back
from tests.native import copy_program as of
from tests.native.copy_program import Program

PER_THREAD = 2  # CU_STREAM_PER_THREAD
MODES = {"global": 0, "thread-local": 1, "relaxed": 2}


def outcome(program: Program, memory: Memory, plan: int, codes: list[int]) -> dict[str, Any]:
    """Codes, whether the bytes came back, calls by the kernel, and fallbacks."""
    calls = program.statistics(plan).calls[of.KERNEL]
    return {
        "codes": codes,
        "right": memory.right,
        "calls": calls,
        "fallbacks": program.fallbacks(plan),
        "warning": program.warning(plan),
    }


def streams_of_threads(program: Program) -> dict[str, Any]:
    """Two threads copy at a time on the stream that each has of its own."""
    plan = program.open(*PLANS["kernel"])
    memories = [Memory(program, COUNT * SIZE) for _ in range(2)]
    codes: list[int] = []

    def copy(memory: Memory) -> None:
        program.gpu(0)
        for _ in range(20):
            memory.clear()
            codes.extend(blocks_there_and_back(program, memory, plan, PER_THREAD))
            program.synchronize(PER_THREAD)
            codes.append(0 if memory.right else 1)

    threads = [threading.Thread(target=copy, args=(memory,)) for memory in memories]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcome(program, memories[0], plan, codes)


def relays_of_threads(program: Program) -> dict[str, Any]:
    """A thread copies over a relay while a copy by another thread's stream of the same handle uses it."""
    plan = program.open(*PLANS["relay"])
    program.allow(plan, 1)
    memories = [Memory(program, LARGE) for _ in range(2)]

    def enqueue(memory: Memory) -> int:
        return int(program.library.bw_copy(memory.device, memory.source, LARGE, PER_THREAD, plan))

    def other() -> None:
        program.gpu(0)
        codes.append(enqueue(memories[1]))
        program.synchronize(PER_THREAD)

    codes = [enqueue(memories[0])]
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    program.synchronize(PER_THREAD)
    calls = list(program.statistics(plan).calls)
    stream = program.stream()
    right = []
    for memory in memories:
        memory.clear()
        assert program.library.bw_copy(memory.back, memory.device, LARGE, stream, None) == 0
        program.synchronize(stream)
        right.append(memory.right)
    return {"codes": codes, "right": all(right), "relays": calls[of.RELAY], "all": sum(calls)}


def after_a_reset(program: Program) -> dict[str, Any]:
    """Copies before a reset of the GPU, after it, and after the plan was prepared again."""
    plan, found = program.open(*PLANS["kernel"]), []
    for step in ("before", "after", "prepared"):
        if step == "after":
            program.synchronize()
            program.call("cuDevicePrimaryCtxReset_v2", "", 0)
            program.gpu(0)
        if step == "prepared":
            assert program.library.bw_plan_prepare(plan) == 0
        memory, stream = Memory(program, COUNT * SIZE), program.stream()
        memory.clear()
        codes = blocks_there_and_back(program, memory, plan, stream)
        program.synchronize(stream)
        found.append(outcome(program, memory, plan, codes))
    program.call("cuDevicePrimaryCtxReset_v2", "", 0)
    program.gpu(0)
    program.library.bw_plan_close(plan)
    return {"steps": found}


def in_captures(program: Program) -> dict[str, Any]:
    """While a stream is captured in each mode: copies on it, and all else on another one, by both threads."""
    found = {}
    for name, mode in MODES.items():
        memory, beside = (Memory(program, COUNT * SIZE) for _ in range(2))
        plan, captured, stream = program.open(*PLANS["kernel"]), program.stream(), program.stream()
        memory.clear()
        beside.clear()
        codes: list[int] = []

        def use(beside: Memory = beside, stream: int = stream, codes: list[int] = codes) -> None:
            program.gpu(0)
            other = program.open(*PLANS["kernel"])
            for _ in range(70):
                codes.extend(blocks_there_and_back(program, beside, other, stream))
                with program.relaxed():
                    program.synchronize(stream)
            program.library.bw_plan_close(other)

        graph, ready, handle = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(captured)
        program.call("cuStreamBeginCapture_v2", "", handle, mode)
        codes.extend(blocks_there_and_back(program, memory, plan, captured))
        run(use)
        use()
        program.call("cuStreamEndCapture", "", handle, ctypes.byref(graph))
        program.call("cuGraphInstantiateWithFlags", "", ctypes.byref(ready), graph, ctypes.c_uint64(0))
        program.call("cuGraphLaunch", "", ready, handle)
        program.synchronize(captured)
        found[name] = {"codes": codes, "right": memory.right and beside.right}
    return found


def run(action: Callable[[], None]) -> None:
    thread = threading.Thread(target=action)
    thread.start()
    thread.join()


def in_another_context(program: Program) -> dict[str, Any]:
    """Copies on a stream of a context that is not the primary one."""
    plan, memory, context = program.open(*PLANS["kernel"]), Memory(program, COUNT * SIZE), ctypes.c_void_p()
    create = program.driver.cuCtxCreate_v2
    assert create(ctypes.byref(context), 0, 0) == 0  # it is current now
    stream = program.stream()
    memory.clear()
    codes = blocks_there_and_back(program, memory, plan, stream)
    program.synchronize(stream)
    return outcome(program, memory, plan, codes)


SCENES: dict[str, Callable[[Program], dict[str, Any]]] = {
    "streams of threads": streams_of_threads,
    "relays of threads": relays_of_threads,
    "after a reset": after_a_reset,
    "in captures": in_captures,
    "in another context": in_another_context,
}


def main() -> None:
    program = Program(None, "cuda")
    scene = sys.argv[1]
    gpus = len(program.key()) - 1
    print(json.dumps(SCENES[scene](program) if gpus > 1 or "relays" not in scene else None))


if __name__ == "__main__":
    main()
