"""A small process that allocates GPU memory and names it to this one: opening memory that one's own process
exported is refused by drivers.

Run as `byteways.run.exporter DESCRIPTOR DEVICE MEMORY BYTES` by start.py: it writes the handle, one line, to
the descriptor, and keeps the memory until its standard input ends.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
from types import TracebackType

from byteways.settings import module_command

#: Opening the runtimes of eight GPUs takes seconds; nothing healthy takes this long.
START_LIMIT_S = 60.0
#: Ending: freeing gigabytes takes a moment.
END_LIMIT_S = 10.0


class ExporterLost(Exception):  # noqa: N818 - a state, not a mistake
    """The process could not be had, or gave no handle."""


class Exporter:
    """While it is entered, the memory is there. Entering answers the handle, in hexadecimal digits."""

    def __init__(self, device: str, memory: str, size_bytes: int) -> None:
        self._arguments = [device, memory, str(size_bytes)]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> str:
        reader, writer = os.pipe()
        command = [*module_command("byteways.run.exporter"), str(writer), *self._arguments]
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=(writer,))
        finally:
            os.close(writer)
        try:
            answer = _line_of(reader)
        finally:
            os.close(reader)
        kind, _, text = answer.partition(" ")
        if kind != "handle":
            self._end()
            raise ExporterLost(f"the exporting process returned no IPC handle: {text or 'it ended'}")
        return text

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        try:
            process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(END_LIMIT_S)
        self._process = None


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
    """The exporting process. Answers its exit status."""
    from byteways import _core
    from byteways.run.library_paths import library_directories
    from byteways.settings import kernel_cache

    descriptor, device, memory, size = int(arguments[0]), arguments[1], arguments[2], int(arguments[3])
    try:
        cache = str(kernel_cache() or "")
        session = _core.Session(library_directories=library_directories(), kernel_cache=cache)
        buffer = session.allocate(device, memory, size, device)
        answer = f"handle {buffer.handle()}"
    except _core.Error as error:
        answer = f"error {error}"
    os.write(descriptor, f"{answer}\n".replace("\r", " ").encode())
    os.close(descriptor)
    sys.stdin.buffer.read()  # ends when the other process closes it, or ends
    return 0 if answer.startswith("handle") else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
