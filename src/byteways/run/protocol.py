"""What conductor and worker say to each other: one JSON object a line over a Unix socket, never stdout.

Standard output is not used because vendor libraries print there. The worker connects, says `hello`, then
answers one request at a time. Requests carry `do`, answers `did`.

    worker     {"did": "hello", "pid": 4711}
    conductor  {"do": "probe"}
    worker     {"did": "probe", "capabilities": {…}, "libraries": [{…}, …], "method_version": 1}
    conductor  {"do": "measure", "case": {…identity…}, "budget_s": 0.5, "precision": 0.01, "rounds": 3,
                "key": 12, "fresh": false, "uuids": {"gpu0": "GPU-…"}}
    worker     {"did": "measure", "outcome": {"status": "measured", "reason": null, …record fields…}}
    conductor  {"do": "stop"}

`rounds` is how often the case is measured in all (1 when it is not said): `budget_s` is for this round,
and the samples that `precision` needs count over all of them. `fresh` drops the buffers kept from earlier
cases first, but for locked host memory. `uuids` names the GPUs to workers that count them in another way.
`outcome` holds the "what happened", "how it was timed", "figures" and "how it is known" fields of
results.record.Record that only the worker can know; the conductor adds what was asked, peaks and the
rest. `samples` in it is what is kept of
each sample beside `samples_ns` (run/outcome.py); both go into the run's file of samples, not into the
record. A probe that failed has `error` alone. An answer with `"leaving": true` is the worker's last: a
runtime of its is broken for good.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from typing import Any


class Unavailable(Exception):  # noqa: N818 - a reason, told as such
    """What a case asks for cannot be had here: it is skipped with this reason, and nothing has failed."""


class ConnectionClosed(Exception):  # noqa: N818 - a state, not a mistake
    """The other side has gone away."""


class Channel:
    """Lines of JSON over a connected stream socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._unread = b""

    def send(self, message: Mapping[str, Any]) -> None:
        """Raises ConnectionClosed when the other side is gone."""
        try:
            self._connection.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        except OSError as error:
            raise ConnectionClosed(str(error)) from error

    def receive(self, timeout_s: float | None = None) -> dict[str, Any]:
        """The next message.

        Raises:
            TimeoutError: Nothing complete arrived in time; what arrived is kept.
            ConnectionClosed: The other side is gone.
            ValueError: It is no JSON.
            RecursionError: It is nested beyond measure.
        """
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
        message: dict[str, Any] = json.loads(line)
        return message

    def fileno(self) -> int:
        return self._connection.fileno()

    def close(self) -> None:
        self._connection.close()
