"""A worker: the process that opens the runtimes and measures. Started by start.py as `byteways.run.worker
--socket PATH --parent PID [--machine SHEET] [--kind torch]`

Standard library and native core only, so that it starts fast on a compute node. It dies with its conductor,
and the kernel takes it first when memory runs out.
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
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from byteways.run.health_host import HostMonitor
from byteways.run.protocol import Channel, ConnectionClosed, Unavailable
from byteways.run.simulator import simulator_path

if TYPE_CHECKING:
    from byteways.run.measuring import Measurer
    from byteways.run.simulated_ranks import SimulatedRanks
    from byteways.run.torch_measuring import TorchMeasurer

#: linux/prctl.h
PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Asks the kernel to kill this process when the conductor's main thread ends; leaves when it has already.

    Must be the first act: what happens before it can outlive a conductor that is killed at that moment.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(1)


def offer_to_oom_killer() -> None:
    """The worker is what memory runs out for, and the run must go on: let the kernel kill it, not the
    conductor.
    """
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


class Worker:
    """Answers requests, opening the runtimes when the first one needs them.

    Args:
        channel: To the conductor.
        machine: Sheet of the machine that is simulated; '' on a real one.
        kind: Of plan.interfaces.Interface.worker: what the worker measures with.
    """

    def __init__(self, channel: Channel, machine: str = "", kind: str = "native") -> None:
        self._channel = channel
        self._machine = machine
        self._kind = kind
        self._measurer: Measurer | None = None
        self._torch: TorchMeasurer | None = None
        #: Of a simulated machine nothing here says anything.
        self._host = None if machine else HostMonitor()

    def serve(self) -> None:
        """Until told to stop, the conductor is gone, or the runtimes are broken for good."""
        self._channel.send({"did": "hello", "pid": os.getpid()})
        while True:
            request = self._channel.receive()
            if request["do"] == "stop":
                return
            answer = self._probe() if request["do"] == "probe" else self._measure(request)
            self._channel.send(answer)
            if answer.get("leaving"):
                return

    def _probe(self) -> dict[str, Any]:
        from byteways.run.capabilities import describe

        try:
            measurer = self._open()
            return {"did": "probe", **describe(measurer.core, measurer.session, measurer.host_bytes)}
        except Exception as error:
            return {"did": "probe", "error": f"{type(error).__name__}: {error}"}

    def _measure(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._host is not None:
            self._host.begin()
        try:
            if self._kind == "torch":
                outcome, broken = self._open_torch().measure(request)
            elif "ranks" in request:
                outcome, broken = self._simulated_ranks().measure(request), False
            else:
                outcome, broken = self._opened_anew(request["key"]).measure(request)
        except Unavailable as reason:
            outcome, broken = {"status": "skipped", "reason": str(reason)}, False
        except Exception as error:  # whatever it is, it is this case's, and the next one may be fine
            outcome, broken = {"status": "failed", "reason": f"{type(error).__name__}: {error}"}, False
        if self._host is not None and outcome["status"] != "skipped":
            load = self._host.end()
            outcome["health"] = {**(outcome.get("health") or {}), "host": load.to_json()}
            outcome["warnings"] = [*outcome.get("warnings", ()), *(asdict(one) for one in load.warnings())]
        answer = {"did": "measure", "outcome": outcome}
        return {**answer, "leaving": True} if broken else answer

    def _open_torch(self) -> TorchMeasurer:
        if self._torch is None:
            from byteways.run.torch_measuring import TorchMeasurer

            self._torch = TorchMeasurer.open()
        return self._torch

    def _simulated_ranks(self) -> SimulatedRanks:
        """Ranks of the machine that is simulated; real ones are processes of their own (rank_worker.py)."""
        from byteways import _core
        from byteways.run.simulated_ranks import SimulatedRanks

        self._measurer = None  # its session would keep the machine from being restarted
        gc.collect()
        return SimulatedRanks(_core, simulator_path(), self._machine)

    def _opened_anew(self, key: int) -> Measurer:
        """The measurer; of a simulated machine at its beginning, with the noise of this key."""
        measurer = self._open()
        self._measurer = None  # one that could not be restarted is of no use
        measurer.restart(key)
        self._measurer = measurer
        return measurer

    def _open(self) -> Measurer:
        if self._measurer is None:
            from byteways.run.measuring import Measurer

            self._measurer = Measurer.open(self._machine)
        return self._measurer


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures for a byteways conductor.")
    parser.add_argument("--socket", required=True, help="the conductor's socket")
    parser.add_argument("--parent", required=True, type=int, help="the conductor's process id")
    parser.add_argument("--machine", help="file with the machine model to simulate", type=Path)
    parser.add_argument("--kind", help="what to measure with", choices=("native", "torch"), default="native")
    arguments = parser.parse_args()
    machine = arguments.machine.read_text(encoding="utf-8") if arguments.machine else ""
    offer_to_oom_killer()
    faulthandler.enable()  # a crash leaves its Python frames in the worker's log
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(arguments.socket)
    with contextlib.suppress(ConnectionClosed):
        Worker(Channel(connection), machine, arguments.kind).serve()
    # Freeing gigabytes of pinned memory buffer by buffer takes seconds; the kernel does it at once.
    os._exit(0)


def expected_parent(arguments: list[str]) -> int:
    """The value of --parent, read before anything that takes time."""
    return int(arguments[arguments.index("--parent") + 1]) if "--parent" in arguments[:-1] else -1


if __name__ == "__main__":
    if (parent := expected_parent(sys.argv)) > 0:
        die_with_parent(parent)
    main()
