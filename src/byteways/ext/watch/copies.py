"""What the copies of a program with `--try copies` were: files that watch/hook leaves, one a process."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec

from byteways.base.decoding import decoded
from byteways.base.files import read_bytes
from byteways.ext.watch.problems import Problem

#: In the folder of the watch.
COPIES_FOLDER = "copies"
#: A file has some hundred bytes.
_MOST_BYTES = 1 << 20
#: The driver's own call, in the statistics of the copy library.
_DRIVERS_CALL = "default"


class CopiesOfProcess(msgspec.Struct, frozen=True):
    """What a process left."""

    failure: str = ""  # why it copied by no plan
    warnings: list[str] = []
    calls: dict[str, int] = {}  # by method


def problems_of_copies(folder: Path) -> list[Problem]:
    """Returns why copies were not made by the plan, of all processes together."""
    problems: list[Problem] = []
    calls: Counter[str] = Counter()
    for file in sorted((folder / COPIES_FOLDER).glob("*.json")):
        try:
            found: CopiesOfProcess = decoded(read_bytes(file, _MOST_BYTES), CopiesOfProcess)
        except (OSError, ValueError):
            problems.append(Problem("damaged-snapshot", file.name))
            continue
        if found.failure:
            problems.append(Problem("copies-failed", found.failure))
        problems += [Problem("copies-doubt", text) for text in found.warnings]
        calls.update(found.calls)
    kept = calls.pop(_DRIVERS_CALL, 0)
    if not calls.total():
        problems.append(Problem("copies-kept", str(kept)) if kept else Problem("copies-unused"))
    return [*dict.fromkeys(problems)]
