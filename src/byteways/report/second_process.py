"""Computes texts in a second process while the first goes on: for the report and tables of a large run."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Texts = TypeVar("Texts")

#: From this number of records on, a second process saves time.
MANY_RECORDS = 5_000


@contextmanager
def computed_in_second_process(compute: Callable[[], Texts]) -> Iterator[Callable[[], Texts]]:
    """Starts a computation in a forked process, and yields a function that waits for its texts.

    The process sees all objects as they are now, and only the texts come back. If it fails or cannot be
    started, the function computes them here; without a second processor, or with other threads, which a fork
    would cut off, there is no second process.
    """
    if len(os.sched_getaffinity(0)) < 2 or threading.active_count() > 1:
        yield compute
        return
    import multiprocessing  # loaded here only: small runs do not need it

    forked = multiprocessing.get_context("fork")
    here, there = forked.Pipe(duplex=False)
    process = forked.Process(target=_send, args=(there, compute), daemon=True)
    try:
        process.start()
    except OSError:  # no further process, or no memory for one
        here.close()
        there.close()
        yield compute
        return
    there.close()

    def wait() -> Texts:
        try:
            texts: Texts = here.recv()
        except (EOFError, OSError):  # it ended before the texts, or within
            return compute()
        return texts

    try:
        yield wait
    finally:
        here.close()
        process.kill()
        process.join()


def _send(there: Connection, compute: Callable[[], Texts]) -> None:
    import gc

    gc.disable()  # it would copy what both processes share
    with suppress(Exception):  # the first process computes it, and says what is wrong
        there.send(compute())
