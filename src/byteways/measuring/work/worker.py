"""A worker: opens the runtimes and measures. Started by start.py as `byteways.measuring.work.worker --socket PATH
--parent PID [--machine SHEET] [--kind torch]`.

Uses only the standard library and the native core, to start fast on a compute node. It dies with its
conductor, and is the kernel's first choice when memory runs out.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import faulthandler
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from byteways.measuring.shared.health_host import HostMonitor
from byteways.measuring.shared.protocol import CLOCK, Channel, ConnectionClosed
from byteways.measuring.shared.request import CaseRequest
from byteways.measuring.shared.simulator import simulator_path
from byteways.measuring.shared.worker_clock import clock_answer, clock_step_ns
from byteways.measuring.work.answer import WorkerAnswer, guarded, watched

if TYPE_CHECKING:
    from byteways.measuring.work.measurer import Measurer
    from byteways.measuring.work.measuring import NativeMeasurer
    from byteways.measuring.work.rank_threads import RankThreads
    from byteways.measuring.work.simulated_ranks import SimulatedRanks
    from byteways.measuring.work.torch_measuring import TorchMeasurer

#: What a worker measures with: runtimes, PyTorch, or ranks that are threads of this process.
WORKER_KINDS = ("native", "torch", "threads")

#: linux/prctl.h
PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Makes the kernel kill this process when the conductor's main thread ends; exits if it already has.

    Must come first: a conductor killed before this call would leave the worker running.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(1)


def offer_to_oom_killer() -> None:
    """Makes the kernel's out-of-memory killer choose the worker, which uses the memory, not the conductor."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


class Worker:
    """Answers requests; opens the runtimes at the first request that needs them.

    Args:
        channel: Connection to the conductor.
        machine: Sheet of the simulated machine; '' for a real one.
        kind: What the worker measures with, see plan.interfaces.Interface.worker.
    """

    def __init__(self, channel: Channel, machine: str = "", kind: str = "native") -> None:
        self._channel = channel
        self._machine = machine
        self._kind = kind
        self._native: NativeMeasurer | None = None
        self._torch: TorchMeasurer | None = None
        self._ranks: RankThreads | None = None
        #: None on a simulated machine, which the host's load does not affect.
        self._host = None if machine else HostMonitor()

    def serve(self) -> None:
        """Serves until told to stop, the conductor is gone, or a runtime is unusable."""
        step = {} if self._machine else {"clock_step_ns": clock_step_ns()}
        self._channel.send({"did": "hello", "pid": os.getpid(), **step})
        while True:
            request = self._channel.receive()
            if request["do"] == "stop":
                return
            answer = self._answer(request)
            self._channel.send(answer)
            if answer.get("leaving"):
                return

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["do"] == CLOCK:
            return clock_answer()
        if request["do"] == "devices":
            return self._devices()
        if request["do"] == "probe":
            return self._probe(request)
        if request["do"] == "choices":
            return {"did": "choices", "choices": self._open_ranks().choices(request)}
        return self._measure(request)

    def _devices(self) -> dict[str, Any]:
        from byteways.measuring.work.capabilities import list_devices

        try:
            return {"did": "devices", "devices": list_devices(self._open().devices)}
        except Exception as error:
            return {"did": "devices", **refused(error)}

    def _probe(self, request: dict[str, Any]) -> dict[str, Any]:
        from byteways.measuring.work.capabilities import Asked, describe

        try:
            measurer, asked = self._open(), Asked.of(request)
            found = describe(measurer.session, measurer.devices, measurer.host_bytes, asked)
            # What proves peer access may ruin a GPU of this process: a new worker measures the others.
            leaving = {"leaving": True} if measurer.broken(asked.gpus) else {}
            return {"did": "probe", **found, **leaving}
        except Exception as error:
            return {"did": "probe", **refused(error)}

    def _measure(self, message: dict[str, Any]) -> dict[str, Any]:
        def measure() -> WorkerAnswer:
            request = CaseRequest.from_json(message)
            return self._measurer_for(request).measure(request)

        return watched(self._host, lambda: guarded(measure)).to_json()

    def _measurer_for(self, request: CaseRequest) -> Measurer:
        if self._kind == "torch":
            return self._open_torch()
        if request.case.ranks:
            return self._simulated_ranks() if self._machine else self._open_ranks()
        return self._opened_anew(request.key)

    def _open_torch(self) -> TorchMeasurer:
        if self._torch is None:
            from byteways.measuring.work.torch_measuring import TorchMeasurer

            self._torch = TorchMeasurer.open()
        return self._torch

    def _open_ranks(self) -> RankThreads:
        """Returns the ranks in this process; those of MPI are processes (rank_worker.py)."""
        if self._ranks is None:
            from byteways.measuring.work.rank_threads import RankThreads

            self._ranks = RankThreads()
        return self._ranks

    def _simulated_ranks(self) -> SimulatedRanks:
        """Returns the ranks of the simulated machine."""
        from byteways.measuring.work.simulated_ranks import SimulatedRanks

        self._native = None  # its session would prevent a restart of the machine
        gc.collect()
        return SimulatedRanks(simulator_path(), self._machine)

    def _opened_anew(self, key: int) -> NativeMeasurer:
        """Returns the measurer; a simulated machine is restarted with this key's noise."""
        measurer = self._open()
        self._native = None  # unusable if the restart fails
        measurer.restart(key)
        self._native = measurer
        return measurer

    def _open(self) -> NativeMeasurer:
        if self._native is None:
            from byteways.measuring.work.measuring import NativeMeasurer

            self._native = NativeMeasurer.open(self._machine)
        return self._native


def refused(error: Exception) -> dict[str, str]:
    """Returns why a probe failed: in words, and what is missing here."""
    lacks = {"lacks": "simulator"} if getattr(error, "code", "") == "simulator" else {}
    return {"error": f"{type(error).__name__}: {error}", **lacks}


def arguments_of(description: str) -> argparse.ArgumentParser:
    """Returns a parser of what every worker is told."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--socket", required=True, help="the conductor's socket")
    parser.add_argument("--parent", required=True, type=int, help="the conductor's process id")
    return parser


def connected(path: str) -> Channel:
    """Connects to the conductor. Raises OSError."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return Channel(connection)


def run_process(serve: Callable[[], None]) -> NoReturn:
    """Serves until the conductor is gone, and ends this process."""
    offer_to_oom_killer()
    faulthandler.enable()  # a crash leaves its Python frames in the worker's log
    with contextlib.suppress(ConnectionClosed):
        serve()
    # Freeing gigabytes of pinned memory buffer by buffer takes seconds; the kernel does it at once.
    os._exit(0)


def main() -> None:
    parser = arguments_of("Measures for a byteways conductor.")
    parser.add_argument("--machine", help="file with the machine model to simulate", type=Path)
    parser.add_argument("--kind", help="what to measure with", choices=WORKER_KINDS, default="native")
    arguments = parser.parse_args()
    machine = arguments.machine.read_text(encoding="utf-8") if arguments.machine else ""
    run_process(lambda: Worker(connected(arguments.socket), machine, arguments.kind).serve())


def expected_parent(arguments: list[str]) -> int:
    """Returns the value of --parent, parsed before anything slow."""
    return int(arguments[arguments.index("--parent") + 1]) if "--parent" in arguments[:-1] else -1


if __name__ == "__main__":
    if (parent := expected_parent(sys.argv)) > 0:
        die_with_parent(parent)
    main()
