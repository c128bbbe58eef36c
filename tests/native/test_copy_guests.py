"""libbyteways_copy.so as a guest: what it leaves of the program's errors, streams, contexts and captures."""

from __future__ import annotations

import ctypes
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.native import copy_program as of
from tests.native import simulated as toy
from tests.native.copy_program import Program

KIB = 1 << 10
BLOCK = 4 * KIB
SIZE = 128 * KIB
BOTH = pytest.mark.parametrize("vendor", ["cuda", "hip"])
INVALID_VALUE, OUT_OF_MEMORY, INVALID_DEVICE, UNSUPPORTED = 1, 2, 101, 801
PER_THREAD = 2  # CU_STREAM_PER_THREAD, hipStreamPerThread
GLOBAL, THREAD_LOCAL, RELAXED = range(3)


def leading(method: str) -> list[str]:
    """Lines of a plan in which a method leads for blocks of 4 KiB to gpu0."""
    rows = "row 4096 1:1000 4:4000 16:16000", "row 4096 1:100+ 4:400+ 16:1600+"
    return ["path host gpu0 by gpu0", "method default", rows[0], f"method {method}", rows[1]]


#: One in which a copy of 128 KiB is faster over gpu1.
RELAY = [
    *("path host gpu0 by gpu0", "method default", "row 131072 1:1000000"),
    *("method relay via=gpu1 piece=16384 depth=2", "row 131072 1:500000+ parts=500000,500000"),
]
BY_METHOD = {"batch": leading("batch"), "kernel": leading("kernel"), "bulk": leading("bulk"), "relay": RELAY}


class Copy:
    """Pinned memory with a pattern, device memory, and how a method's blocks go from one to the other."""

    def __init__(self, program: Program, method: str) -> None:
        self.program, self.method = program, method
        self.data = random.Random(method).randbytes(SIZE)
        self.source, self.target = program.pinned(SIZE), program.device(SIZE)
        of.write(self.source, self.data)
        of.write(self.target, bytes(SIZE))

    def enqueue(self, plan: int, stream: int) -> int:
        if self.method == "relay":
            return int(self.program.library.bw_copy(self.target, self.source, SIZE, stream, plan))
        places = range(0, 8 * BLOCK, BLOCK)
        to, sources = ([base + at for at in places] for base in (self.target, self.source))
        return self.program.copy_uniform(to, sources, BLOCK, stream, plan)

    @property
    def bytes(self) -> int:
        return SIZE if self.method == "relay" else 8 * BLOCK

    @property
    def right(self) -> bool:
        return of.read(self.target, SIZE) == self.data[: self.bytes] + bytes(SIZE - self.bytes)

    def calls(self, plan: int) -> int:
        return int(self.program.statistics(plan).calls[getattr(of, self.method.upper())])


def opened(program: Program, method: str) -> int:
    plan = program.open(*BY_METHOD[method])
    if method == "relay":
        program.allow(plan, 1)
    assert program.warning(plan) == ""
    return plan


def call_of(scene: Callable[[], Any], program: Program) -> int:
    """How many calls of the driver's the action makes."""
    program.driver.bwsim_calls.restype = ctypes.c_uint64
    program.driver.bwsim_fail_call(ctypes.c_uint64(0), 0)
    scene()
    return int(program.driver.bwsim_calls())


# --- the error that HIP keeps

#: Versions that keep the result of the last call, and the last failure.
HIP_VERSIONS = {"HIP 6": 60_241_134, "HIP 7": 70_100_000}


@pytest.mark.parametrize("version", HIP_VERSIONS)
@pytest.mark.parametrize("method", ["batch", "kernel", "relay"])
def test_failures_that_were_recovered_leave_no_error(version: str, method: str) -> None:
    """Catches an error of the library's own that the program finds after its next launch.

    Each call of the driver's within a copy fails once: a batch, a launch, the record of an event, a look-up.
    """

    def scene(program: Program) -> Any:
        plan, stream, copy = opened(program, method), program.stream(), Copy(program, method)
        calls = call_of(lambda: copy.enqueue(plan, stream), program)
        left, recovered = [], 0
        for number in range(1, calls + 1):
            program.synchronize(stream)
            of.write(copy.target, bytes(SIZE))
            program.driver.bwsim_fail_call(ctypes.c_uint64(number), UNSUPPORTED)
            code = copy.enqueue(plan, stream)
            program.driver.bwsim_fail_call(ctypes.c_uint64(0), 0)
            error = program.driver.hipGetLastError()
            program.synchronize(stream)
            recovered += code == 0
            if code == 0 and (error != 0 or not copy.right):
                left.append([number, error, copy.right])
            if code == UNSUPPORTED and method == "relay":  # its relay is not used again
                program.allow(plan, 1)
        return left, recovered >= 3

    machine = toy.amd(runtime_version=HIP_VERSIONS[version])
    assert of.run(scene, machine, "hip") == [[], True]


@pytest.mark.parametrize("version", HIP_VERSIONS)
def test_memory_that_hip_does_not_know_leaves_no_error(version: str) -> None:
    """Catches the failed look-up of pageable memory, which is an error only to HIP."""

    def scene(program: Program) -> Any:
        plan, stream, copy = opened(program, "kernel"), program.stream(), Copy(program, "kernel")
        copy.source = program.pageable(SIZE)
        of.write(copy.source, copy.data)
        found = [
            program.driver.hipGetLastError(),
            copy.enqueue(plan, stream),
            program.driver.hipGetLastError(),
        ]
        program.synchronize(stream)
        return found, copy.right, program.fallbacks(plan)

    machine = toy.amd(runtime_version=HIP_VERSIONS[version])
    assert of.run(scene, machine, "hip") == [[0, 0, 0], True, {str(of.MEMORY): 1}]


@pytest.mark.parametrize("entry", ["open", "prepare", "allow", "copy", "choose", "close"])
def test_the_programs_own_error_is_left(entry: str) -> None:
    """Catches an error of the program's own that the library reads, so that the program never sees it."""

    def scene(program: Program) -> Any:
        plan, stream, copy = opened(program, "kernel"), program.stream(), Copy(program, "kernel")
        actions: dict[str, Callable[[], Any]] = {
            "open": lambda: program.open(*BY_METHOD["batch"]),
            "prepare": lambda: program.library.bw_plan_prepare(plan),
            "allow": lambda: program.allow(plan, 1),
            "copy": lambda: copy.enqueue(plan, stream),
            "choose": lambda: program.choose([copy.target], [copy.source], BLOCK, stream, plan),
            "close": lambda: program.library.bw_plan_close(plan),
        }
        own = program.driver.hipSetDevice(99)
        actions[entry]()
        return own, program.driver.hipPeekAtLastError(), program.driver.hipGetLastError()

    found = of.run(scene, toy.amd(runtime_version=HIP_VERSIONS["HIP 7"]), "hip")
    assert found == [INVALID_DEVICE] * 3


def test_a_failure_that_is_told_is_the_drivers() -> None:
    """Catches a copy that failed, and of which the program then finds no error in HIP either."""

    def scene(program: Program) -> Any:
        target = program.device(BLOCK)
        code = program.library.bw_copy(target, target + (1 << 40), 64, None, None)
        return code, program.driver.hipGetLastError()

    assert of.run(scene, toy.amd(runtime_version=HIP_VERSIONS["HIP 7"]), "hip") == [INVALID_VALUE] * 2


def test_the_simulated_hip_keeps_errors_as_hip_does() -> None:
    """Catches a simulator in which the tests above could not fail."""

    def scene(program: Program) -> Any:
        hip = program.driver
        found = [hip.hipSetDevice(99), hip.hipPeekAtLastError(), hip.hipPeekAtLastError()]
        hip.hipSetDevice(0)
        found += [hip.hipPeekAtLastError(), hip.hipGetLastError(), hip.hipGetLastError()]
        event, stream = ctypes.c_void_p(), program.stream()
        program.call("", "hipEventCreateWithFlags", ctypes.byref(event), 0)
        data = program.device(1 << 30), program.pinned(1 << 30)
        program.library.bw_copy(*data, 1 << 30, stream, None)
        program.call("", "hipEventRecord", event, ctypes.c_void_p(stream))
        return [*found, hip.hipEventQuery(event), hip.hipGetLastError()]

    results = {
        name: of.run(scene, toy.amd(runtime_version=HIP_VERSIONS[name]), "hip") for name in HIP_VERSIONS
    }
    assert results["HIP 6"] == [101, 101, 101, 0, 0, 0, 600, 600]
    assert results["HIP 7"] == [101, 101, 101, 101, 101, 0, 600, 0]


# --- streams that are several under one handle


def in_thread(action: Callable[[], Any]) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(action()))
    thread.start()
    thread.join()
    return found[0]


@BOTH
def test_each_thread_has_a_stream_of_its_own(vendor: str) -> None:
    """Catches a piece behind that of another thread, whose stream has the same handle: it may never end."""

    def scene(program: Program) -> Any:
        plan = opened(program, "relay")
        copies = [Copy(program, "relay") for _ in range(3)]

        def other() -> int:
            program.gpu(0)
            code = copies[1].enqueue(plan, PER_THREAD)
            program.synchronize(PER_THREAD)
            return code

        codes = [copies[0].enqueue(plan, PER_THREAD), in_thread(other), copies[2].enqueue(plan, PER_THREAD)]
        program.synchronize(PER_THREAD)
        return codes, [copy.right for copy in copies], copies[0].calls(plan), program.fallbacks(plan)

    assert of.run(scene, vendor=vendor) == [[0] * 3, [True] * 3, 2, {str(of.BUSY): 1}]


@BOTH
@pytest.mark.parametrize("stream", [0, 1, PER_THREAD])
def test_default_streams_of_two_gpus_are_two(vendor: str, stream: int) -> None:
    """Catches a piece behind that of another GPU's default stream, which has the same handle."""
    lines = [*RELAY, RELAY[0].replace("by gpu0", "by gpu1"), *RELAY[1:]]

    def scene(program: Program) -> Any:
        plan = program.open(*lines)
        copies = [Copy(program, "relay") for _ in range(2)]
        program.gpu(1)
        assert program.library.bw_plan_prepare(plan) == 0
        program.allow(plan, 1)
        codes = []
        for gpu in (0, 1):
            program.gpu(gpu)
            codes.append(copies[gpu].enqueue(plan, stream))
        for gpu in (0, 1):
            program.gpu(gpu)
            program.synchronize(stream)
        return codes, [copy.right for copy in copies], copies[0].calls(plan), program.fallbacks(plan)

    assert of.run(scene, vendor=vendor) == [[0, 0], [True, True], 1, {str(of.BUSY): 1}]


# --- resets


@BOTH
@pytest.mark.parametrize("method", ["batch", "kernel", "bulk", "relay"])
def test_after_a_reset_copies_are_the_drivers_until_prepared_again(vendor: str, method: str) -> None:
    """Catches lists, events and kernels of a context that is gone, with which the simulator aborts."""
    if (vendor, method) == ("hip", "bulk"):
        return

    def scene(program: Program) -> Any:
        plan, stream, copy = opened(program, method), program.stream(), Copy(program, method)
        codes, right = [copy.enqueue(plan, stream)], []
        program.synchronize(stream)
        assert program.driver.bwsim_reset_gpu(0) == 0
        program.gpu(0)
        copy, stream = Copy(program, method), program.stream()
        for again in (False, True):
            if again:
                codes.append(program.library.bw_plan_prepare(plan))
            of.write(copy.target, bytes(SIZE))
            codes.append(copy.enqueue(plan, stream))
            program.synchronize(stream)
            right.append(copy.right)
        found = copy.calls(plan), program.fallbacks(plan), program.warning(plan)
        program.library.bw_plan_close(plan)
        return codes, right, *found

    assert of.run(scene, vendor=vendor) == [[0] * 4, [True] * 2, 2, {str(of.NOT_PREPARED): 1}, ""]


@BOTH
def test_a_relay_that_was_reset(vendor: str) -> None:
    """Catches pieces for the staging memory of a GPU that the program has reset."""

    def scene(program: Program) -> Any:
        plan, stream, copy = opened(program, "relay"), program.stream(), Copy(program, "relay")
        codes = [copy.enqueue(plan, stream)]
        program.synchronize(stream)
        assert program.driver.bwsim_reset_gpu(1) == 0
        codes.append(copy.enqueue(plan, stream))
        codes += [program.library.bw_plan_prepare(plan), copy.enqueue(plan, stream)]
        program.synchronize(stream)
        staging = program.statistics(plan).staging_bytes
        assert program.driver.bwsim_reset_gpu(1) == 0
        program.library.bw_plan_close(plan)
        return codes, copy.right, staging

    assert of.run(scene, vendor=vendor) == [[0] * 4, True, 32 * KIB]


def test_memory_of_a_peer_that_was_reset() -> None:
    """Catches a kernel that follows addresses into another GPU, to whose new memory it has no access."""
    lines = [line.replace("path host", "path gpu1") for line in leading("kernel")]

    def scene(program: Program) -> Any:
        program.gpu(1)
        program.gpu(0)
        plan, stream = program.open(*lines), program.stream()
        methods = []
        for reset, again in ((False, False), (True, False), (False, True)):
            if reset:
                assert program.driver.bwsim_reset_gpu(1) == 0
            if again:
                assert program.library.bw_plan_prepare(plan) == 0
            program.gpu(1)
            source = program.device(8 * BLOCK)
            program.gpu(0)
            target = program.device(8 * BLOCK)
            places = range(0, 8 * BLOCK, BLOCK)
            choice = program.choose(
                [target + at for at in places], [source + at for at in places], BLOCK, stream, plan
            )
            assert not isinstance(choice, int)
            methods.append([choice.method, choice.fallback])
        return methods

    assert of.run(scene) == [[of.KERNEL, of.NONE], [of.DEFAULT, of.MEMORY], [of.KERNEL, of.NONE]]


# --- captures


@BOTH
@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL, RELAXED])
@pytest.mark.parametrize("method", ["batch", "kernel", "bulk", "relay"])
def test_a_copy_in_a_capture_plays_again(vendor: str, mode: int, method: str) -> None:
    """Catches a call that ends the program's capture, in any mode, and a graph with other bytes."""
    if (vendor, method) == ("hip", "bulk"):
        return

    def scene(program: Program) -> Any:
        plan, stream, copy = opened(program, method), program.stream(), Copy(program, method)
        graph, ready = ctypes.c_void_p(), ctypes.c_void_p()
        captured = ctypes.c_void_p(stream)
        program.call("cuStreamBeginCapture_v2", "hipStreamBeginCapture", captured, mode)
        code = copy.enqueue(plan, stream)
        program.call("cuStreamEndCapture", "hipStreamEndCapture", captured, ctypes.byref(graph))
        before = of.read(copy.target, SIZE) == bytes(SIZE)
        names = "cuGraphInstantiateWithFlags", "hipGraphInstantiateWithFlags"
        program.call(*names, ctypes.byref(ready), graph, ctypes.c_uint64(0))
        right = []
        for _ in range(2):
            of.write(copy.target, bytes(SIZE))
            program.call("cuGraphLaunch", "hipGraphLaunch", ready, captured)
            program.synchronize(stream)
            right.append(copy.right)
        return code, before, right, copy.calls(plan)

    by_method = 1 if method in ("kernel", "bulk") else 0
    assert of.run(scene, vendor=vendor) == [0, True, [True, True], by_method]


@BOTH
@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL, RELAXED])
@pytest.mark.parametrize("where", ["own thread", "another thread"])
def test_no_call_ends_a_capture_of_the_program(vendor: str, mode: int, where: str) -> None:
    """Catches an allocation, a query or a load of the library's own while the program captures."""

    def scene(program: Program) -> Any:
        captured, stream, graph = program.stream(), program.stream(), ctypes.c_void_p()
        copies = {method: Copy(program, method) for method in ("kernel", "relay")}

        def library() -> list[int]:
            program.gpu(0)
            codes = []
            for method, copy in copies.items():
                plan = program.open(*BY_METHOD[method])
                codes += [program.allow(plan, 1), program.library.bw_plan_prepare(plan)]
                codes += [copy.enqueue(plan, stream) for _ in range(70)]
                with program.relaxed():
                    program.synchronize(stream)
                program.library.bw_plan_close(plan)
            return codes

        handle = ctypes.c_void_p(captured)
        program.call("cuStreamBeginCapture_v2", "hipStreamBeginCapture", handle, mode)
        codes = library() if where == "own thread" else in_thread(library)
        program.call("cuStreamEndCapture", "hipStreamEndCapture", handle, ctypes.byref(graph))
        return set(codes) == {0}, [copy.right for copy in copies.values()]

    assert of.run(scene, vendor=vendor) == [True, [True, True]]


@BOTH
def test_the_simulator_ends_a_capture_as_drivers_do(vendor: str) -> None:
    """Catches a simulator in which the tests above could not fail."""

    def scene(program: Program) -> Any:
        captured, graph, data = ctypes.c_void_p(program.stream()), ctypes.c_void_p(), ctypes.c_void_p()
        cuda = program.vendor == "cuda"
        allocate = program.driver.cuMemAlloc_v2 if cuda else program.driver.hipMalloc
        end = program.driver.cuStreamEndCapture if cuda else program.driver.hipStreamEndCapture

        def allocated() -> int:
            program.gpu(0)
            return int(allocate(ctypes.byref(data), ctypes.c_size_t(64)))

        found = []
        for mode in (GLOBAL, THREAD_LOCAL, RELAXED):
            for run in (lambda: allocated(), lambda: in_thread(allocated)):
                program.call("cuStreamBeginCapture_v2", "hipStreamBeginCapture", captured, mode)
                found.append([run(), end(captured, ctypes.byref(graph))])
        return found

    refused, fine = [900, 901], [0, 0]
    assert of.run(scene, vendor=vendor) == [refused, refused, refused, fine, fine, fine]
