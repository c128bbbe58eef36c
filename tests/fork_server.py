"""A small process that forks in place of pytest's, whose heap makes each fork many times slower.

A fork copies the page tables of the whole process, and a process that has collected all tests has hundreds of
MiB. The server is forked before the collection. A function reaches it as its code and what its closure holds.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import marshal
import os
import pickle
import signal
import socket
import struct
import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Any

#: What pickle raises for an object that it cannot send.
_UNSENDABLE = (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError)
_HEADER = struct.Struct("=iq")


def _rebuilt(code: bytes, module: str, name: str, defaults: tuple[Any, Any], cells: tuple[Any, ...]) -> Any:
    """A function again; `defaults` are those of positions and of keywords."""
    scope = vars(importlib.import_module(module))
    closure = tuple(types.CellType(content) for content in cells)
    made = types.FunctionType(marshal.loads(code), scope, name, defaults[0], closure)
    made.__kwdefaults__ = defaults[1]
    return made


class _Pickler(pickle.Pickler):
    """Sends functions that no module has under their name, such as lambdas, and modules."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.modules: list[str] = []

    def reducer_override(self, found: Any) -> Any:
        if isinstance(found, types.ModuleType):
            return importlib.import_module, (found.__name__,)
        if not isinstance(found, types.FunctionType):
            return NotImplemented
        self.modules.append(found.__module__)
        if "<" not in found.__qualname__:
            return NotImplemented
        cells = tuple(cell.cell_contents for cell in found.__closure__ or ())
        code, defaults = marshal.dumps(found.__code__), (found.__defaults__, found.__kwdefaults__)
        return _rebuilt, (code, found.__module__, found.__name__, defaults, cells)


def pickled(function: Callable[[], Any]) -> tuple[bytes, list[str]] | None:
    """The function, and the modules that it is from; None where its closure holds what cannot be sent."""
    file = io.BytesIO()
    pickler = _Pickler(file)
    try:
        pickler.dump(function)
    except _UNSENDABLE:
        return None
    return file.getvalue(), list(dict.fromkeys(pickler.modules))


def _send(stream: IO[bytes], status: int, data: bytes) -> None:
    stream.write(_HEADER.pack(status, len(data)) + data)
    stream.flush()


def _receive(stream: IO[bytes]) -> tuple[int, bytes] | None:
    """None at the end of the stream."""
    header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    status, size = _HEADER.unpack(header)
    return status, stream.read(size)


#: Does an action in a forked process, writes its answer to a descriptor, and ends the process.
Child = Callable[[Callable[[], Any], int], None]


class ForkServer:
    """Forked from the process that makes it."""

    def __init__(self, child: Child) -> None:
        own, other = socket.socketpair()
        self._pid = os.fork()
        if self._pid == 0:
            own.close()
            try:
                _serve(other.makefile("rwb"), child)
            finally:
                os._exit(0)
        other.close()
        self._stream = own.makefile("rwb")
        own.close()  # with the stream

    def call(self, action: Callable[[], Any]) -> tuple[int, str] | None:
        """Status of the process that did it, and what it wrote; None where the action cannot be sent."""
        if (sent := pickled(action)) is None:
            return None
        _send(self._stream, 0, pickle.dumps((*sent, dict(os.environ), Path.cwd())))
        answer = _receive(self._stream)
        assert answer is not None, "the fork server has ended"
        return answer[0], answer[1].decode()

    def end(self) -> None:
        """Waits for it, so that its processor time counts as that of a child."""
        self._stream.close()
        os.waitpid(self._pid, 0)


def _serve(stream: IO[bytes], child: Child) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # pytest ends it
    while (received := _receive(stream)) is not None:
        action, modules, variables, folder = pickle.loads(received[1])
        with contextlib.suppress(Exception):  # the fork fails by the same, and says so
            for name in modules:  # once, for all forks
                importlib.import_module(name)
        reader, writer = os.pipe()
        gc.freeze()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(variables)
            child(partial(_called, action), writer)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            data = pipe.read()
        _, status = os.waitpid(pid, 0)
        _send(stream, status, data)


def _called(action: bytes) -> Any:
    return pickle.loads(action)()
