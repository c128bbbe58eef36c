"""Ranks of a simulated machine as threads of this process, and the simulated MPI through its table."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from byteways.measuring.shared.simulator import simulator_path

_P, _I, _L, _U = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_uint64
_REF = ctypes.POINTER
#: Member -> arguments, in the order of native/runtimes/mpi/table.hpp.
_MEMBERS: dict[str, tuple[Any, ...]] = {
    "init": (),
    "finalize": (),
    "abort": (_I,),
    "library_version": (_P, _I),
    "describe": (_I, _P, _I),
    "device_support": (ctypes.c_char_p, _REF(_I)),
    "world": (),
    "plain_world": (),
    "rank": (_U, _REF(_I)),
    "size": (_U, _REF(_I)),
    "split": (_U, _I, _I, _REF(_U)),
    "split_by_host": (_U, _REF(_U)),
    "free_comm": (_U,),
    "send": (_P, _L, _I, _I, _I, _U),
    "receive": (_P, _L, _I, _I, _I, _U),
    "start_send": (_P, _L, _I, _I, _I, _U, _REF(_U)),
    "start_receive": (_P, _L, _I, _I, _I, _U, _REF(_U)),
    "wait_all": (_I, _P),
    "test_all": (_I, _P, _REF(_I)),
    "unfinished": (_I, _P),
    "barrier": (_U,),
    "broadcast": (_P, _L, _I, _I, _U),
    "reduce": (_P, _P, _L, _I, _I, _U),
    "allreduce": (_P, _P, _L, _I, _U),
    "reduce_scatter": (_P, _P, _L, _I, _U),
    "allgather": (_P, _P, _L, _I, _U),
    "gather": (_P, _P, _L, _I, _I, _U),
    "scatter": (_P, _P, _L, _I, _I, _U),
    "alltoall": (_P, _P, _L, _I, _U),
    "create_window": (_P, _L, _U, _REF(_U)),
    "free_window": (_U,),
    "put": (_P, _L, _I, _I, _L, _U),
    "get": (_P, _L, _I, _I, _L, _U),
    "lock_all": (_U,),
    "unlock_all": (_U,),
    "flush": (_I, _U),
    "sync": (_U,),
    "fence": (_U,),
}
BYTE, FLOAT, UNSIGNED64 = 0, 1, 2
#: ctypes of an element.
ELEMENTS = {BYTE: ctypes.c_ubyte, FLOAT: ctypes.c_float, UNSIGNED64: ctypes.c_uint64}


class _Table(ctypes.Structure):
    _fields_ = [("version", _I), ("request_bytes", _I), *((name, _P) for name in _MEMBERS)]


class MpiError(Exception):
    """A function of the table answered an error; the text is describe()'s."""


class Machine:
    """The machine of this process, with its MPI. Methods are the calls of whichever thread makes them."""

    def __init__(self, sheet: str) -> None:
        self.library: Any = ctypes.CDLL(simulator_path())
        self.library.bwsim_last_error.restype = ctypes.c_char_p
        self.library.bwsim_now.restype = ctypes.c_int64
        self.check(self.library.bwsim_load(sheet.encode()))
        self.library.byteways_mpi_table.restype = _REF(_Table)
        self._table = self.library.byteways_mpi_table().contents
        self.world = ctypes.CFUNCTYPE(_U)(self._table.world)()

    def check(self, answer: int) -> None:
        assert answer == 0, self.library.bwsim_last_error().decode()

    def now(self) -> int:
        """The clock of this thread's rank, in nanoseconds; reading it takes time."""
        return int(self.library.bwsim_now())

    def restart(self, key: int = 0) -> None:
        self.check(self.library.bwsim_restart(ctypes.c_uint64(key)))

    def call(self, name: str, *arguments: Any) -> None:
        """A function of the table. Raises MpiError."""
        function = ctypes.CFUNCTYPE(_I, *_MEMBERS[name])(getattr(self._table, name))
        if answer := function(*arguments):
            text = ctypes.create_string_buffer(4096)
            ctypes.CFUNCTYPE(_I, *_MEMBERS["describe"])(self._table.describe)(answer, text, len(text))
            raise MpiError(text.value.decode())

    def ranks(self, size: int, body: Callable[[int], Any], leave: bool = True) -> list[Any]:
        """What `body` returns for each rank, or the text of its MpiError; all run at once."""
        results: list[Any] = [None] * size

        def run(rank: int) -> None:
            self.check(self.library.bwsim_join(rank, size))
            try:
                results[rank] = body(rank)
            except MpiError as error:
                results[rank] = str(error)
            except BaseException as error:
                results[rank] = f"{type(error).__name__}: {error}"
            finally:
                if leave:
                    self.library.bwsim_leave()

        threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results

    def send(self, data: Any, size: int, to: int, tag: int = 0) -> None:
        self.call("send", data, size, BYTE, to, tag, self.world)

    def receive(self, data: Any, size: int, source: int, tag: int = 0) -> None:
        self.call("receive", data, size, BYTE, source, tag, self.world)

    def barrier(self) -> None:
        self.call("barrier", self.world)

    def window(self, data: Any, size: int) -> int:
        """A window of all ranks, over this memory of the calling one."""
        made = _U()
        self.call("create_window", data, size, self.world, ctypes.byref(made))
        return int(made.value)

    def host(self, size: int, domain: int = 0) -> int:
        """Address of pageable memory of a domain; below 1 MiB it may be touched."""
        data, pageable = _P(), 0
        self.check(self.library.bwsim_allocate(domain, pageable, ctypes.c_uint64(size), ctypes.byref(data)))
        return int(data.value or 0)

    def device(self, gpu: int, size: int) -> int:
        """Address of memory of an AMD GPU; below 1 MiB it may be touched."""
        data = _P()
        assert self.library.hipInit(0) == 0
        assert self.library.hipSetDevice(gpu) == 0
        assert self.library.hipMalloc(ctypes.byref(data), ctypes.c_size_t(size)) == 0
        return int(data.value or 0)

    def copy(self, to: int, source: int, size: int) -> None:
        """By the runtime, between any two kinds of memory."""
        default = 4
        assert self.library.hipMemcpyAsync(_P(to), _P(source), ctypes.c_size_t(size), default, None) == 0
        assert self.library.hipStreamSynchronize(None) == 0
