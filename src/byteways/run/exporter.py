"""A child process that allocates GPU memory and exports it: drivers refuse to open an IPC handle in the
process that exported it.

The child runs as `byteways.run.exporter DESCRIPTOR`. It reads requests `DEVICE MEMORY BYTES`, one per line,
from its standard input and writes one line per request to the descriptor: `handle HEX` or `error REASON`. It
frees the memory of a request when the next request arrives, and ends when its standard input ends.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
from typing import IO

from byteways.settings import module_command

#: Opening the runtimes of eight GPUs takes seconds; nothing healthy takes this long.
START_LIMIT_S = 60.0
#: Ending: freeing gigabytes takes a moment.
END_LIMIT_S = 10.0


class ExporterLost(Exception):  # noqa: N818 - a state, not a mistake
    """The exporting process did not start, ended, or returned no handle."""


class Exporter:
    """Starts the child at the first request and keeps it until `close`: opening the GPU runtimes takes
    seconds, a measurement of open-ipc milliseconds.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._reader = -1

    def handle(self, device: str, memory: str, size_bytes: int) -> str:
        """The IPC handle (hexadecimal digits) of a new allocation of `size_bytes` bytes. The memory stays
        until the next call or `close`.

        Raises ExporterLost when there is no handle; the next call starts a new child.
        """
        requests = self._requests()
        answer = ""
        with contextlib.suppress(OSError):  # a child that has ended
            requests.write(f"{device} {memory} {size_bytes}\n".encode())
            requests.flush()
            answer = _line_of(self._reader)
        kind, _, text = answer.partition(" ")
        if kind != "handle":
            self.close()
            raise ExporterLost(f"the exporting process returned no IPC handle: {text or 'it ended'}")
        return text

    def close(self) -> None:
        """Ends the child, and so frees its memory. Does nothing when none runs."""
        process, self._process = self._process, None
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

    def _requests(self) -> IO[bytes]:
        """The standard input of the child, which is started if none runs."""
        if self._process is None:
            reader, writer = os.pipe()
            command = [*module_command("byteways.run.exporter"), str(writer)]
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
    from byteways import _core
    from byteways.run.library_paths import library_directories
    from byteways.settings import kernel_cache

    descriptor, held, answer = int(arguments[0]), None, ""
    session = None
    for line in sys.stdin:
        device, memory, size = line.split()
        held = None  # frees the previous allocation first: both may not fit
        try:
            if session is None:
                cache = str(kernel_cache() or "")
                session = _core.Session(library_directories=library_directories(), kernel_cache=cache)
            held = session.allocate(device, memory, int(size), device)
            answer = f"handle {held.handle()}"
        except _core.Error as error:
            answer = f"error {error}".replace("\r", " ").replace("\n", " ")
        os.write(descriptor, f"{answer}\n".encode())
    os.close(descriptor)
    return 1 if answer.startswith("error") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
