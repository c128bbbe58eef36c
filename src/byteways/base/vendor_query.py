"""Queries a vendor's library in a child process, where a call that hangs or crashes costs a limited time.

A lost GPU or a failed driver can block any call for ever, in a state that ignores signals. Workers have such
a limit already (measuring/conduct/process.py); every other process queries libraries through query().
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from byteways.base.settings import SETTINGS, module_command

#: Seconds that one call may take. NVML needs about a second for each GPU when no other process uses it.
CALL_LIMIT_S = 20.0
#: Seconds until the child's first call: Python starts and loads the native module, perhaps from a slow disk.
CHILD_START_S = 60.0
#: Seconds that a killed child may take to exit. In an uninterruptible call of the driver it never does.
EXIT_S = 1.0


@dataclass(frozen=True)
class Reply:
    """What a child answered, or why it did not."""

    answer: Any = None  # JSON data
    failure: str = ""  # one sentence without full stop; empty if there is an answer
    call: str = ""  # the call in which the child was when it failed
    timed_out: bool = False
    waited_s: float = 0.0  # for that call


#: Variables of workers if a module's call timed out: each worker would wait for it, too.
_LEFT_OUT = {"byteways.machine.nvml": {"BYTEWAYS_NVML": "0"}}

#: Replies that timed out, by module and libraries: a driver that hangs once hangs again.
_timed_out: dict[tuple[str, ...], Reply] = {}


class Query:
    """A module of byteways that runs in a child process, and calls answer(), while the caller does something
    else.

    A module whose call did not return is not queried again by this process.

    Args:
        module: Its full name.
        arguments: Its command-line arguments.
    """

    def __init__(self, module: str, *arguments: str) -> None:
        self._key = _key(module)
        self._child: subprocess.Popen[bytes] | None = None
        self._reply = _timed_out.get(self._key)
        if self._reply is None:
            self._start([*module_command(module), *arguments])

    def _start(self, command: list[str]) -> None:
        self._reader, writer = os.pipe()
        try:
            self._child = subprocess.Popen(
                [*command, str(writer)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # vendor libraries print there
                stderr=subprocess.DEVNULL,
                pass_fds=(writer,),
                start_new_session=True,
            )
        except OSError as error:
            os.close(self._reader)
            self._reply = Reply(failure=f"the process that asks it does not start: {error.strerror}")
        finally:
            os.close(writer)

    def reply(self) -> Reply:
        """Waits for the answer and ends the child."""
        if self._reply is None and self._child is not None:
            try:
                self._reply = _receive(self._reader, self._child)
            finally:  # on Ctrl-C, too
                self.end()
            if self._reply.timed_out:
                _timed_out[self._key] = self._reply
        assert self._reply is not None
        return self._reply

    def end(self) -> None:
        """Ends the child, whether it has answered or not."""
        if self._child is not None:
            os.close(self._reader)
            _end(self._child)
            self._child = None


def query(module: str, *arguments: str) -> Reply:
    """Runs a module of byteways in a child process and waits for its answer, see Query."""
    return Query(module, *arguments).reply()


def timed_out(module: str) -> bool:
    """Whether a call of the module did not return in this process."""
    return _key(module) in _timed_out


def worker_environment() -> dict[str, str]:
    """Returns the variables with which workers leave out what did not answer this process."""
    return {
        name: value
        for module, variables in _LEFT_OUT.items()
        if timed_out(module)
        for name, value in variables.items()
    }


def _key(module: str) -> tuple[str, ...]:
    libraries = (os.environ.get(setting.name, "") for setting in SETTINGS if setting.names_library)
    return (module, *libraries)


class Calls:
    """Tells the waiting process of each vendor call before it begins.

    Args:
        channel: File descriptor for a line `{"call": "nvmlInit_v2"}` for each call, to which native code may
            write, too; -1: nobody waits.
    """

    def __init__(self, channel: int = -1) -> None:
        self.channel = channel

    def __call__(self, call: str) -> None:
        self.send({"call": call})

    def send(self, message: dict[str, Any]) -> None:
        if self.channel >= 0:
            data = (json.dumps(message) + "\n").encode()
            while data:
                data = data[os.write(self.channel, data) :]


def answer(function: Callable[[Calls], Any]) -> None:
    """Sends what a function returns to the process that waits in query().

    Args:
        function: Returns JSON data; calls its argument with the name of each vendor call before it.
    """
    calls = Calls(int(sys.argv[-1]))
    calls.send({"answer": function(calls)})


def _receive(reader: int, child: subprocess.Popen[bytes]) -> Reply:
    """Returns the answer; the limit begins anew with each call that the child names."""
    call, received, began_s, limit_s = "", b"", time.monotonic(), CHILD_START_S
    while True:
        left_s = began_s + limit_s - time.monotonic()
        if left_s <= 0 or not select.select([reader], [], [], left_s)[0]:
            what = call or "the process that asks it"
            failure = f"{what} did not answer within {limit_s:g} s"
            return Reply(failure=failure, call=call, timed_out=True, waited_s=limit_s)
        part = os.read(reader, 1 << 16)
        if not part:
            return _died(child, call, time.monotonic() - began_s)
        received += part
        *lines, received = received.split(b"\n")
        for line in lines:
            message = json.loads(line)
            if "answer" in message:
                return Reply(message["answer"])
            call, began_s, limit_s = message["call"], time.monotonic(), CALL_LIMIT_S


def _died(child: subprocess.Popen[bytes], call: str, waited_s: float) -> Reply:
    try:
        status = child.wait(EXIT_S)
    except subprocess.TimeoutExpired:
        status = 0
    name = f"signal {-status}"
    if status < 0 and -status in {int(one) for one in signal.Signals}:
        name = signal.Signals(-status).name
    how = name if status < 0 else f"exit status {status}"
    where = f" in {call}" if call else ""
    return Reply(failure=f"the process that asks it ended by {how}{where}", call=call, waited_s=waited_s)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kills the child and its children. One that does not exit is left: waiting for it would hang, too."""
    with contextlib.suppress(OSError):  # it has ended
        os.killpg(child.pid, signal.SIGKILL)
    try:
        child.wait(EXIT_S)
    except subprocess.TimeoutExpired:
        child.returncode = 0  # Popen's destructor would warn that it still runs
