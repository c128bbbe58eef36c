"""The corpus: a folder a format, its files, and in expected.json what comes out of each.

    python -m tests.watched.traces.corpus    # prints what comes out now, to compare with expected.json

A database is kept as SQL, so that it can be read; files that a reader takes from beside a trace are not
listed.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import msgspec

from byteways.ext.watch.traces.collecting import TraceRead
from byteways.ext.watch.traces.scan import watched_of_trace

FOLDER = Path(__file__).parent
EXPECTED = "expected.json"
#: Beside a file of copies, read with it.
_BESIDE = ("_agent_info.csv", "_kernel_trace.csv", "_hip_api_trace.csv", "_memory_allocation_trace.csv")


def formats() -> list[str]:
    """Returns the folders of formats."""
    return sorted(
        path.name for path in FOLDER.iterdir() if (path / EXPECTED).is_file() or path.name in _folders()
    )


def _folders() -> set[str]:
    return {path.name for path in FOLDER.iterdir() if path.is_dir() and not path.name.startswith("_")}


def variants(name: str) -> list[str]:
    """Returns the files of a format."""
    files = (path.name for path in (FOLDER / name).iterdir())
    return sorted(file for file in files if file != EXPECTED and not file.endswith(_BESIDE))


def trace_file(name: str, file: str, folder: Path) -> Path:
    """Returns the path of a trace; a database is made in a folder."""
    path = FOLDER / name / file
    if path.suffix != ".sql":
        return path
    made = folder / f"{path.stem}.sqlite"
    database = sqlite3.connect(made)
    database.executescript(path.read_text(encoding="utf-8"))
    database.close()
    return made


def as_expected(read: TraceRead) -> dict[str, Any]:
    """Returns what came out of a trace as expected.json has it: mistakes by their lines or places."""
    places = [each.what.partition(":")[0] if each.line is None else each.line for each in read.mistakes]
    watched = msgspec.to_builtins(read.watched)
    return {"format": read.format, "mistakes": places, "unread": read.unread, **watched}


def _print() -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for name in formats():
            for file in variants(name):
                read = watched_of_trace(trace_file(name, file, Path(folder)))
                print(f"== {name}/{file}")
                for key, value in as_expected(read).items():
                    if key == "timeline" and value:
                        value = {
                            **value,
                            "series": [{**s, "bytes": str(s["bytes"])[:60]} for s in value["series"]],
                        }
                    if key in ("bins", "processes"):
                        for each in value:
                            print("  ", key, json.dumps(each))
                    else:
                        print("  ", key, json.dumps(value))


if __name__ == "__main__":
    _print()
