"""The simulator's entry points by ctypes: HIP or CUDA for GPUs, the simulator's own for the host.

Nothing of byteways is between: they are called as the programs behind the published values call real ones.
Declarations: native/runtimes/*/*.def and native/simulator/vendors/host.def; numbers of the vendors'
enumerations: native/runtimes/{hip,cuda}/driver.hpp.
"""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import byref, c_double, c_float, c_int, c_int64, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any, ClassVar

from kernel_arguments import arguments

#: A device or host address, or a handle.
Address = int
_PAGEABLE = 0  # number of a Kind (world.hpp)
_CPU = -1  # hipCpuDeviceId, CU_DEVICE_CPU
_COARSE_GRAIN = 100  # hipMemAdviseSetCoarseGrain
_FINE_GRAINED = 1  # hipDeviceMallocFinegrained
_NUMA_USER, _NON_COHERENT = 0x20000000, 0x80000000  # hipHostMalloc*
_COPY_DEFAULT = 4  # hipMemcpyDefault
_THREADS = 1024
_CHUNK_BYTES, _STAGES = 16384, 13  # of a bulk copy
_KERNELS = ("gate", "fill", "poison", "check", "copy", "copy_bulk", "chase_build", "chase")
#: What the simulator takes for a compiled module (native/simulator/vendors/kernels.cpp).
_IMAGE = "byteways simulated kernels\n" + "".join(f"{_THREADS} {name}\n" for name in _KERNELS)


class CallError(RuntimeError):
    """A function of the simulated machine refused."""


_Gate = arguments("service", "GateArguments")
_Pattern = arguments("service", "PatternArguments")
_Copy = arguments("kernel_copy", "CopyArguments")


def _copying(source: Address, destination: Address, size: int, **ring: int) -> ctypes.Structure:
    slots = {"source_slots": 1, "source_stride": size, "destination_slots": 1, "destination_stride": size}
    return _Copy(source, destination, size, operations=1, **slots, **ring)


_Chase = arguments("pointer_chase", "ChaseArguments")


class Runtime:
    """One GPU runtime and the host; the subclasses hold what HIP and CUDA write differently."""

    prefix = ""
    names: ClassVar[dict[str, str]] = {}

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = self._library = library
        self.domains: Sequence[int] = ()  # of the GPUs
        library.bwsim_now.restype = c_int64
        library.bwsim_last_error.restype = ctypes.c_char_p
        self._undo: list[Callable[[], None]] = []
        self._kernels: dict[tuple[int, str], c_void_p] = {}
        self._gpu = 0
        self._multiprocessors = 1
        self._result: Address = 0  # what kernels that read leave; had before anything is timed
        self.start()

    # --- what the vendors write differently

    def start(self) -> None:
        raise NotImplementedError

    def bind(self, gpu: int) -> None:
        raise NotImplementedError

    def enable_peer(self, peer: int) -> None:
        raise NotImplementedError

    def allocate_gpu(self, gpu: int, memory: str, size: int) -> Address:
        raise NotImplementedError

    def allocate_pinned(self, memory: str, size: int) -> Address:
        raise NotImplementedError

    def copy(self, destination: Address, source: Address, size: int, stream: Address) -> None:
        raise NotImplementedError

    # --- calls

    def call(self, name: str, *arguments: Any) -> None:
        """A vendor's function by its name without prefix. Raises CallError when it returns no 0."""
        symbol = self.prefix + self.names.get(name, name)
        code = getattr(self._library, symbol)(*arguments)
        if code != 0:
            raise CallError(f"{symbol} returned {code}")

    def host(self, name: str, *arguments: Any) -> None:
        """A function of the simulator's own."""
        if getattr(self._library, f"bwsim_{name}")(*arguments) != 0:
            raise CallError(f"bwsim_{name}: {self._library.bwsim_last_error().decode()}")

    def created(self, name: str, *arguments: Any) -> Address:
        """The handle or address that a function stores through its first argument."""
        made = c_void_p()
        self.call(name, byref(made), *arguments)
        return made.value or 0

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is made within is released at its end, the last first."""
        try:
            yield
        finally:
            self._result = 0
            while self._undo:
                self._undo.pop()()

    def later(self, name: str, handle: Address) -> None:
        self._undo.append(lambda: self.call(name, c_void_p(handle)))

    def beside(self, gpu: int) -> Runtime:
        """The same for another thread, whose calls are for one GPU."""
        other = copy.copy(self)
        other._undo, other._kernels, other._result = [], {}, 0
        other.select(gpu)
        return other

    # --- memory, streams, events

    def select(self, gpu: int) -> None:
        """The GPU of the calls that follow, with access to every other."""
        self.bind(gpu)
        self._gpu = gpu

    def allocate(self, buffer: str, size: int) -> Address:
        """`gpu0:device`, `cpu0:pinned`, …: memory of that kind there."""
        device, memory = buffer.split(":")
        index = int(device[3:])
        if memory.startswith("managed"):
            return self._allocate_managed(memory, size)
        if device.startswith("gpu"):
            address = self.allocate_gpu(index, memory, size)
            self.later("Free", address)
            return address
        self._library.bwsim_set_thread_domain(index)
        if memory == "pageable":
            made = c_void_p()
            self.host("allocate", index, _PAGEABLE, c_uint64(size), byref(made))
            self._undo.append(lambda: self.host("release", made))
            return made.value or 0
        address = self.allocate_pinned(memory, size)
        self.later("HostFree", address)
        return address

    def _allocate_managed(self, memory: str, size: int) -> Address:
        self._library.bwsim_set_thread_domain(0)
        address = self.created("MallocManaged", c_size_t(size), c_uint(1))
        if memory == "managed-coarse":
            self.call("MemAdvise", c_void_p(address), c_size_t(size), _COARSE_GRAIN, self._gpu)
        self.later("Free", address)
        return address

    def prefetch(self, data: Address, size: int, gpu: int | None, stream: Address) -> None:
        target = _CPU if gpu is None else gpu
        self.call("MemPrefetchAsync", c_void_p(data), c_size_t(size), target, c_void_p(stream))

    def stream(self) -> Address:
        if not self._result:
            self._result = self.allocate("cpu0:pinned", 4 * ctypes.sizeof(c_uint64))
        stream = self.created("StreamCreate", c_uint(1))
        self.later("StreamDestroy", stream)
        return stream

    def event(self) -> Address:
        event = self.created("EventCreate", c_uint(0))
        self.later("EventDestroy", event)
        return event

    def record(self, event: Address, stream: Address) -> None:
        self.call("EventRecord", c_void_p(event), c_void_p(stream))

    def synchronize(self, stream: Address) -> None:
        self.call("StreamSynchronize", c_void_p(stream))

    def elapsed_ns(self, begin: Address, end: Address) -> float:
        milliseconds = c_float()
        self.call("EventElapsedTime", byref(milliseconds), c_void_p(begin), c_void_p(end))
        return 1e6 * milliseconds.value

    def now_ns(self) -> int:
        return int(self._library.bwsim_now())

    # --- kernels

    def word(self) -> Address:
        """A word in pinned memory that a gate looks at; it holds 0."""
        address = self.allocate("cpu0:pinned", ctypes.sizeof(c_uint))
        self.write_word(address, 0)
        return address

    def write_word(self, word: Address, value: int) -> None:
        c_uint.from_address(word).value = value

    def launch_gate(self, word: Address, target: int, stream: Address) -> None:
        self.launch("gate", _Gate(word, target), 1, 1, stream)

    def launch_copy(
        self, destination: Address, source: Address, size: int, blocks: int, stream: Address
    ) -> None:
        block = _copying(source, destination, size)
        self.launch("copy", block, blocks or self._multiprocessors, _THREADS, stream)

    def launch_bulk_copy(self, destination: Address, source: Address, size: int, stream: Address) -> None:
        block = _copying(
            source,
            destination,
            size,
            chunk_bytes=_CHUNK_BYTES,
            stages=_STAGES,
            chunks=-(-size // _CHUNK_BYTES),
        )
        self.launch("copy_bulk", block, self._multiprocessors, _THREADS, stream)

    def launch_touch(self, access: str, data: Address, size: int, stream: Address) -> None:
        """Stores or loads every word once."""
        result = self._result if access == "read" else 0
        block = _Pattern(data, size // ctypes.sizeof(c_uint64), 0, 0, 1, result)
        name = "check" if access == "read" else "poison"
        self.launch(name, block, self._multiprocessors, _THREADS, stream)

    def launch(self, name: str, block: ctypes.Structure, blocks: int, threads: int, stream: Address) -> None:
        parameters = (c_void_p * 1)(ctypes.addressof(block))
        one = c_uint(1)
        grid = (c_uint(blocks), one, one, c_uint(threads), one, one, c_uint(0))
        self.call("LaunchKernel", self._kernel(name), *grid, c_void_p(stream), parameters, None)

    def _kernel(self, name: str) -> c_void_p:
        known = self._kernels.get((self._gpu, name))
        if known is None:
            module = self.created("ModuleLoadData", ctypes.c_char_p(_IMAGE.encode()))
            known = c_void_p(self.created("ModuleGetFunction", c_void_p(module), name.encode()))
            self._kernels[self._gpu, name] = known
        return known

    def chase_ns(self, executor: str, data: Address, lines: int, line_bytes: int, steps: int) -> float:
        """Time of a walk of `steps` loads through a random cycle that the same device wrote before."""
        end = self.allocate("cpu0:pinned", ctypes.sizeof(c_uint64))
        block = _Chase(data, lines, line_bytes, 1, 0, steps, end)
        if executor.startswith("cpu"):
            return self._host_chase_ns(int(executor[3:]), block)
        self.select(int(executor[3:]))
        stream, begin, finish = self.stream(), self.event(), self.event()
        self.launch("chase_build", block, self._multiprocessors, _THREADS, stream)
        self.record(begin, stream)
        self.launch("chase", block, 1, 1, stream)
        self.record(finish, stream)
        self.synchronize(stream)
        return self.elapsed_ns(begin, finish)

    def _host_handle(self, kind: str, domain: int) -> c_void_p:
        made = c_void_p()
        self.host(f"create_{kind}", domain, byref(made))
        self._undo.append(lambda: self.host(f"destroy_{kind}", made))
        return made

    def _host_chase_ns(self, domain: int, block: ctypes.Structure) -> float:
        stream, begin, finish = (self._host_handle(kind, domain) for kind in ("stream", "event", "event"))
        size = c_size_t(ctypes.sizeof(block))
        for name in ("chase_build", "chase"):
            self.host("record", begin, stream)
            self.host("launch", name.encode(), 1, byref(block), size, stream)
            self.host("record", finish, stream)
            self.host("synchronize_stream", stream)
        elapsed = c_double()
        self.host("elapsed", begin, finish, byref(elapsed))
        return elapsed.value


class Hip(Runtime):
    prefix = "hip"
    names: ClassVar[dict[str, str]] = {
        "StreamCreate": "StreamCreateWithFlags",
        "EventCreate": "EventCreateWithFlags",
        "LaunchKernel": "ModuleLaunchKernel",
    }
    _MULTIPROCESSORS = 63  # hipDeviceAttributeMultiprocessorCount

    def start(self) -> None:
        count = c_int()
        self.call("GetDeviceCount", byref(count))
        self._count = count.value
        for gpu in range(self._count):
            self.bind(gpu)
            for peer in range(self._count):
                if peer != gpu and self._reaches(gpu, peer):
                    self.enable_peer(peer)
        value = c_int()
        self.call("DeviceGetAttribute", byref(value), self._MULTIPROCESSORS, 0)
        self._multiprocessors = value.value

    def _reaches(self, gpu: int, peer: int) -> bool:
        possible = c_int()
        self.call("DeviceCanAccessPeer", byref(possible), gpu, peer)
        return possible.value == 1

    def bind(self, gpu: int) -> None:
        self.call("SetDevice", gpu)

    def enable_peer(self, peer: int) -> None:
        self.call("DeviceEnablePeerAccess", peer, c_uint(0))

    def allocate_gpu(self, gpu: int, memory: str, size: int) -> Address:
        self.bind(gpu)
        if memory == "device":
            address = self.created("Malloc", c_size_t(size))
        else:
            address = self.created("ExtMallocWithFlags", c_size_t(size), c_uint(_FINE_GRAINED))
        self.bind(self._gpu)
        return address

    def allocate_pinned(self, memory: str, size: int) -> Address:
        flags = _NUMA_USER | (_NON_COHERENT if memory == "pinned-noncoherent" else 0)
        return self.created("HostMalloc", c_size_t(size), c_uint(flags))

    def copy(self, destination: Address, source: Address, size: int, stream: Address) -> None:
        ends = (c_void_p(destination), c_void_p(source), c_size_t(size))
        self.call("MemcpyAsync", *ends, _COPY_DEFAULT, c_void_p(stream))


class Cuda(Runtime):
    prefix = "cu"
    names: ClassVar[dict[str, str]] = {
        "Free": "MemFree_v2",
        "HostFree": "MemFreeHost",
        "MallocManaged": "MemAllocManaged",
        "StreamDestroy": "StreamDestroy_v2",
        "EventDestroy": "EventDestroy_v2",
    }
    _MULTIPROCESSORS = 16  # CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT

    def start(self) -> None:
        self.call("Init", c_uint(0))
        count, value = c_int(), c_int()
        self.call("DeviceGetCount", byref(count))
        self._contexts: Sequence[Address] = [
            self.created("DevicePrimaryCtxRetain", gpu) for gpu in range(count.value)
        ]
        for gpu in range(count.value):
            self.bind(gpu)
            for peer in range(count.value):
                if peer != gpu:
                    self.enable_peer(peer)
        self.call("DeviceGetAttribute", byref(value), self._MULTIPROCESSORS, 0)
        self._multiprocessors = value.value

    def bind(self, gpu: int) -> None:
        self.call("CtxSetCurrent", c_void_p(self._contexts[gpu]))

    def enable_peer(self, peer: int) -> None:
        self.call("CtxEnablePeerAccess", c_void_p(self._contexts[peer]), c_uint(0))

    def allocate_gpu(self, gpu: int, memory: str, size: int) -> Address:
        self.bind(gpu)
        address = self.created("MemAlloc_v2", c_size_t(size))
        self.bind(self._gpu)
        return address

    def allocate_pinned(self, memory: str, size: int) -> Address:
        return self.created("MemHostAlloc", c_size_t(size), c_uint(0))

    def copy(self, destination: Address, source: Address, size: int, stream: Address) -> None:
        self.call("MemcpyAsync", c_void_p(destination), c_void_p(source), c_size_t(size), c_void_p(stream))


def open_runtime(library: str, sheet: str) -> Runtime:
    """The GPU runtime of the machine in the sheet, loaded into this process.

    Raises:
        CallError: the simulator refuses the sheet, or the runtime does not start.
    """
    loaded = ctypes.CDLL(library)
    loaded.bwsim_last_error.restype = ctypes.c_char_p
    if loaded.bwsim_load(sheet.encode()) != 0:
        raise CallError(f"bwsim_load: {loaded.bwsim_last_error().decode()}")
    facts = dict(line.split("\t", 1) for line in sheet.splitlines())
    runtime = Hip(loaded) if facts["vendor"] == "amd" else Cuda(loaded)
    runtime.domains = [int(facts[f"gpu.domains.{gpu}"]) for gpu in range(int(facts["gpu.count"]))]
    return runtime
