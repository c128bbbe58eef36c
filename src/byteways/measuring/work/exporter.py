"""A child process that allocates GPU memory and exports it: drivers refuse to open an IPC handle in the
process that exported it.

The child runs as `byteways.measuring.work.exporter DESCRIPTOR`. It reads requests from its standard input, one per
line, and writes one line per request to the descriptor: `allocate NUMBER DEVICE MEMORY BYTES` is answered by
`handle HEX` or `error REASON`, `free NUMBER` by `freed`. It ends when its standard input ends.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Protocol

from byteways import _core
from byteways.base.settings import module_command

if TYPE_CHECKING:
    from byteways._core import Buffer, Session

#: Opening the runtimes of eight GPUs takes seconds; nothing healthy takes this long.
START_LIMIT_S = 60.0
#: Ending: freeing gigabytes takes a moment.
END_LIMIT_S = 10.0


class ExporterLost(Exception):  # noqa: N818 - a state, not a mistake
    """The exporting process did not start, ended, or returned no handle."""


class Exports(Protocol):
    """Allocations of another process, each known by a number until it is freed."""

    def allocate(self, device: str, memory: str, size_bytes: int) -> tuple[int, str]:
        """Allocates `size_bytes` bytes. Returns the number and the IPC handle (hexadecimal digits).

        Raises ExporterLost when there is no handle. If the process has ended, the next call starts another.
        """

    def free(self, number: int) -> None:
        """Frees an allocation that nothing has open any more. Does nothing when its process has ended."""

    def close(self) -> None:
        """Ends the process, and so frees its memory. Does nothing when none runs."""


class Exporter:
    """Exports of a child, which starts at the first allocation and stays until `close`: opening the GPU
    runtimes takes seconds, a measurement of open-ipc milliseconds.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._reader = -1
        self._last = 0
        self._held: set[int] = set()

    def allocate(self, device: str, memory: str, size_bytes: int) -> tuple[int, str]:
        self._last += 1
        kind, _, text = self._ask(f"allocate {self._last} {device} {memory} {size_bytes}").partition(" ")
        if not kind:
            self.close()
        if kind != "handle":
            raise ExporterLost(f"the exporting process returned no IPC handle: {text or 'it ended'}")
        self._held.add(self._last)
        return self._last, text

    def free(self, number: int) -> None:
        if number in self._held:
            self._held.remove(number)
            if not self._ask(f"free {number}"):
                self.close()

    def close(self) -> None:
        process, self._process = self._process, None
        self._held.clear()
        if process is None:
            return
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        os.close(self._reader)
        try:
            process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(END_LIMIT_S)

    def _ask(self, request: str) -> str:
        """Returns the answer; empty when the child has ended or does not answer in time."""
        requests = self._requests()
        with contextlib.suppress(OSError):  # a child that has ended
            requests.write(f"{request}\n".encode())
            requests.flush()
            return _line_of(self._reader)
        return ""

    def _requests(self) -> IO[bytes]:
        """The standard input of the child, which is started if none runs."""
        if self._process is None:
            reader, writer = os.pipe()
            command = [*module_command("byteways.measuring.work.exporter"), str(writer)]
            try:
                self._process = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=(writer,))
                self._reader = reader
            except OSError:
                os.close(reader)
                raise
            finally:
                os.close(writer)
        assert self._process.stdin is not None
        return self._process.stdin


class SimulatedExporter:
    """Exports of a process that this one plays on a simulated machine.

    Args:
        session: Returns the session on the machine.
        machine: File of the simulator, and the sheet of the machine.
    """

    def __init__(self, session: Callable[[], Session], machine: tuple[str, str]) -> None:
        self._session, self._machine = session, machine
        self._last = 0
        self._held: dict[int, Buffer] = {}

    def allocate(self, device: str, memory: str, size_bytes: int) -> tuple[int, str]:
        _core.act_as_other_process(*self._machine, True)
        try:
            held = self._session().allocate(device, memory, size_bytes, device)
            handle: str = held.handle()
        finally:
            _core.act_as_other_process(*self._machine, False)
        self._last += 1
        self._held[self._last] = held
        return self._last, handle

    def free(self, number: int) -> None:
        self._held.pop(number, None)

    def close(self) -> None:
        self._held.clear()


def _line_of(descriptor: int) -> str:
    """What comes before the line or the pipe ends; empty when nothing comes in time."""
    text = b""
    while not text.endswith(b"\n"):
        ready, _, _ = select.select([descriptor], [], [], START_LIMIT_S)
        part = os.read(descriptor, 4096) if ready else b""
        if not part:
            break
        text += part
    return text.decode(errors="replace").strip()


def main(arguments: list[str]) -> int:
    """Serves requests until standard input ends. Returns the exit status: 1 when the last request failed."""
    from byteways.measuring.work.measurer import open_session

    descriptor, answer = int(arguments[0]), ""
    session: Session | None = None
    held: dict[str, Buffer] = {}
    for line in sys.stdin:
        verb, number, *what = line.split()
        if verb == "free":
            held.pop(number, None)
            answer = "freed"
        else:
            device, memory, size = what
            try:
                session = session or open_session()
                held[number] = session.allocate(device, memory, int(size), device)
                answer = f"handle {held[number].handle()}"
            except _core.Error as error:
                held.pop(number, None)
                answer = f"error {error}".replace("\r", " ").replace("\n", " ")
        os.write(descriptor, f"{answer}\n".encode())
    os.close(descriptor)
    return 1 if answer.startswith("error") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
