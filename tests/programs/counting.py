"""Whether a watch has counted the calls and bytes of MPI that an independent counter has counted."""

from __future__ import annotations

from pathlib import Path

from byteways.ext.watch.folder import read_watch_folder
from tests.mpi.counting import Rows, counter_rows, watch_rows

#: Of differing functions so many are named.
SHOWN = 4


def counted_unlike(base: Path, watched: Path) -> list[str]:
    """Compares files of the counter with the folder of a watch; returns what differs, a line a function."""
    return unlike(counter_rows(base), watch_rows(read_watch_folder(watched).watched.bins))


def unlike(counter: Rows, watch: Rows) -> list[str]:
    """Returns what differs: of each function the numbers of the counter and of the watch."""
    if not counter:
        return ["the counter has counted nothing"]
    named = [
        f"{name} {_text(counter.get(name))} -> {_text(watch.get(name))}"
        for name in sorted({*counter, *watch})
        if counter.get(name) != watch.get(name)
    ]
    return [*named[:SHOWN], f"and {len(named) - SHOWN} functions"] if len(named) > SHOWN else named


def _text(row: tuple[int, int] | None) -> str:
    return "none" if row is None else f"{row[0]} calls {row[1]} B"
