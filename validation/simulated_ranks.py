"""Ranks of a simulated machine that call MPI, NCCL or RCCL, and the GPU runtime.

Ranks are threads of this process, each with the GPU of its number and a core beside it; their calls are those
of the simulated MPI (native/runtimes/mpi/table.hpp), NCCL or RCCL, and the GPU runtime.
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable, Mapping
from ctypes import byref, c_int, c_int64, c_uint64, c_void_p
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulated_runtime import CallError, Runtime

if TYPE_CHECKING:
    from simulated_programs import Operation

#: MPI's number for bytes here (native/runtimes/mpi/table.hpp).
BYTE = 0
_HEADER = (Path(__file__).parents[1] / "native" / "runtimes" / "mpi" / "table.hpp").read_text("utf-8")
#: Members of BytewaysMpi in their order; those that are not called here only hold their places.
_MEMBERS = re.findall(r"\(\*(\w+)\)\(", _HEADER)
#: The version of which they are.
TABLE_VERSION = int(re.findall(r"kMpiTableVersion = (\d+)", _HEADER)[0])
_P, _L, _U = c_void_p, c_int64, c_uint64
_BUFFERS = (_P, _P, _L, c_int, _U)
_ARGUMENTS: Mapping[str, tuple[Any, ...]] = {
    "start_send": (_P, _L, c_int, c_int, c_int, _U, ctypes.POINTER(_U)),
    "start_receive": (_P, _L, c_int, c_int, c_int, _U, ctypes.POINTER(_U)),
    "send": (_P, _L, c_int, c_int, c_int, _U),
    "receive": (_P, _L, c_int, c_int, c_int, _U),
    "wait_all": (c_int, _P),
    "barrier": (_U,),
    "broadcast": (_P, _L, c_int, c_int, _U),
    "allreduce": _BUFFERS,
    "allgather": _BUFFERS,
    "alltoall": _BUFFERS,
}


class _Table(ctypes.Structure):
    _fields_ = [("version", c_int), ("request_bytes", c_int), *((name, c_void_p) for name in _MEMBERS)]


class _UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 128)]


class World:
    """The ranks of one operation, and the calls that each makes."""

    def __init__(self, runtime: Runtime, operation: Operation) -> None:
        self.runtime, self.operation = runtime, operation
        self.library = runtime.library
        self.size = 1 if operation.message == "one_process" else operation.ranks
        self.library.byteways_mpi_table.restype = ctypes.POINTER(_Table)
        self._table = self.library.byteways_mpi_table().contents
        if self._table.version != TABLE_VERSION:
            raise CallError(f"the table of MPI has version {self._table.version}, not {TABLE_VERSION}")
        self.world = ctypes.CFUNCTYPE(_U)(self._table.world)()
        self.id = _UniqueId()
        self.xccl("GetUniqueId", byref(self.id))

    def run(self, program: Callable[[Rank], float]) -> float:
        """The mean over ranks of what the program gives; ranks that give 0 took no time.

        Raises:
            CallError: a call of a rank failed.
        """
        results: list[float | BaseException] = [0.0] * self.size

        def body(number: int) -> None:
            self.runtime.host("join", number, self.size)
            try:
                rank = Rank(self, number)
                with rank.runtime.scope():
                    results[number] = program(rank)
            except BaseException as error:  # of a thread: told below
                results[number] = error
            finally:
                self.library.bwsim_leave()

        threads = [threading.Thread(target=body, args=(number,)) for number in range(self.size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        times = [result for result in results if not isinstance(result, BaseException)]
        for result in results:
            if isinstance(result, BaseException):
                raise CallError(str(result))
        timed = [time for time in times if time > 0]
        return sum(timed) / len(timed)

    def xccl(self, name: str, *arguments: Any) -> None:
        if (code := getattr(self.library, "nccl" + name)(*arguments)) != 0:
            raise CallError(f"nccl{name} returned {code}")

    def mpi(self, name: str, *arguments: Any) -> None:
        if (ctypes.CFUNCTYPE(c_int, *_ARGUMENTS[name])(getattr(self._table, name))(*arguments)) != 0:
            raise CallError(f"MPI's {name} failed")


class Rank:
    """One rank: its buffers, a stream, a communicator, and calls by short names."""

    def __init__(self, world: World, number: int) -> None:
        self.world, self.number = world, number
        ends = (world.operation.source, world.operation.destination)
        self.end = ends[min(number, 1)] if world.size == 2 else f"gpu{number}:device"
        device, index = self.end[:3], int(self.end[3 : self.end.index(":")])
        self.gpu = index if device == "gpu" else number
        self.runtime = world.runtime.beside(self.gpu)
        domain = index if device == "cpu" else self.runtime.domains[self.gpu]
        world.library.bwsim_bind_thread(domain)
        world.library.bwsim_set_thread_domain(domain)

    @property
    def size_bytes(self) -> int:
        return self.world.operation.size_bytes

    def buffer(self, size: int) -> int:
        """Memory of the kind that this rank's end of the operation names."""
        return self.runtime.allocate(self.end, max(size, 8))

    def now(self) -> int:
        return self.runtime.now_ns()

    def barrier(self) -> None:
        self.world.mpi("barrier", self.world.world)

    # --- MPI

    def send(self, data: int, size: int, to: int) -> None:
        self.world.mpi("send", data, size, BYTE, to, 0, self.world.world)

    def receive(self, data: int, size: int, source: int) -> None:
        self.world.mpi("receive", data, size, BYTE, source, 0, self.world.world)

    def start(self, name: str, data: int, size: int, other: int, requests: Any, index: int) -> None:
        handle = ctypes.cast(byref(requests, 8 * index), ctypes.POINTER(_U))
        self.world.mpi(name, data, size, BYTE, other, 1, self.world.world, handle)

    # --- NCCL, RCCL

    def join(self) -> tuple[c_void_p, c_void_p]:
        """This rank's communicator and stream."""
        comm = c_void_p()
        self.world.xccl("CommInitRank", byref(comm), self.world.size, self.world.id, self.number)
        return comm, c_void_p(self.runtime.stream())
