"""The protocol of conductor and worker: one JSON object per line over a Unix socket.

Standard output is not used because vendor libraries print there. The worker connects, sends `hello`, then
answers one request at a time. Requests have the key `do`, answers `did`.

    worker     {"did": "hello", "pid": 4711, "clock_step_ns": 41}
    conductor  {"do": "probe", "launcher": null, "gpus": ["gpu0"], "interfaces": ["copy"], "granted": []}
    worker     {"did": "probe", "capabilities": {…}, "libraries": [{…}, …], "method_version": 1}
    conductor  {"do": "measure", "case": {…identity…}, "budget_s": 0.5, "precision": 0.01, "rounds": 3,
                "key": 12, "fresh": false, "uuids": {"gpu0": "GPU-…"}}
    worker     {"did": "measure", "outcome": {"status": "measured", "reason": null, …record fields…}}
    conductor  {"do": "places", "cores": [[0, 1], [2, 3]], "gpus": true}
    worker     {"did": "places", "places": [{"gpus": {"gpu0": "GPU-…"}}, {"gpus": {…}, "allowed": [0]}]}
    conductor  {"do": "clock"}
    worker     {"did": "clock", "clock_ns": 81723423423}
    conductor  {"do": "stop"}

A probe tries what the request names, and everything where it lacks a list (work/capabilities.py, Asked).
A request to measure is a `CaseRequest` (request.py), which says what its fields mean.
`clock` asks what the clock shows that measurements read (worker_clock.py).
`places`, of ranks alone, tells what each can use (rank_places.py): `allowed` has the cores of a rank that
cannot be bound to its own.
`outcome` holds those fields of record.record.Record that only the worker knows; the conductor adds the
request, peaks and the rest. `samples` in it is the data kept per sample besides `samples_ns`
(work/outcome.py); both go into the run's samples file, not into the record. A failed probe has only `error`.
An answer with `"leaving": true` is the worker's last: one of its runtimes is unusable.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from typing import Any

#: The request for the worker's clock.
CLOCK = "clock"


class Unavailable(Exception):  # noqa: N818 - a reason, told as such
    """Something that the case requires is not available here: it is skipped with this reason."""


class ConnectionClosed(Exception):  # noqa: N818 - a state, not a mistake
    """The other side closed the connection."""


class Channel:
    """JSON lines over a connected stream socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._unread = b""

    def send(self, message: Mapping[str, Any]) -> None:
        """Sends a message. Raises ConnectionClosed if the other side is gone."""
        try:
            self._connection.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        except OSError as error:
            raise ConnectionClosed(str(error)) from error

    def receive(self, timeout_s: float | None = None) -> dict[str, Any]:
        """Returns the next message.

        Raises:
            TimeoutError: No complete message arrived in time; the partial one is kept.
            ConnectionClosed: The other side is gone.
            ValueError: The message is not JSON.
            RecursionError: The message is nested too deeply.
        """
        message: dict[str, Any] = json.loads(self.receive_line(timeout_s))
        return message

    def receive_line(self, timeout_s: float | None = None) -> bytes:
        """Returns the next message as it was sent, see receive()."""
        self._connection.settimeout(timeout_s)
        while b"\n" not in self._unread:
            try:
                received = self._connection.recv(65536)
            except TimeoutError:
                raise
            except OSError as error:
                raise ConnectionClosed(str(error)) from error
            if not received:
                raise ConnectionClosed("end of stream")
            self._unread += received
        line, self._unread = self._unread.split(b"\n", 1)
        return line

    def fileno(self) -> int:
        return self._connection.fileno()

    def close(self) -> None:
        self._connection.close()
