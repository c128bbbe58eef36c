"""A process without MPI: `python -m tests.native.process_program OUT WHAT --rank R --folder F`.

team      plays bodies of team_contract.py
words     exchanges words of different lengths, in all ranks and in parts
leave     rank 1 ends in the middle, as WHAT says: "fails", "killed" or "exits"
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from byteways import _core
from tests.native import team_contract

SIZE = 3


def words(ranks: _core.ProcessRanks) -> list[Any]:
    own = bytes([ranks.rank]) * (1 + 300_000 * ranks.rank)
    told = [
        (
            ranks.broadcast(own, root) == bytes([root]) * (1 + 300_000 * root),
            list(map(len, ranks.gather(own))),
        )
        for root in range(ranks.size)
    ]
    backwards, part = ranks.split(0, -ranks.rank), ranks.split(-1 if ranks.rank == 1 else 7, ranks.rank)
    parts = [
        None if one is None else [one.rank, one.size, [int(each[0]) for each in one.gather(own[:1])]]
        for one in (backwards, part)
    ]
    return [told, parts]


def leave(ranks: _core.ProcessRanks, how: str) -> list[Any]:
    if ranks.rank == 1:
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        sys.exit(0 if how == "exits" else 3)
    try:
        ranks.gather(b"")
    except _core.Error as error:
        return [str(error)]
    return []


def team(ranks: _core.ProcessRanks) -> list[Any]:
    found: list[Any] = []

    def run(team: _core.Team) -> None:
        found.extend((team_contract.verbs(team), team_contract.long_votes(team)))

    _core.run_rank_team(ranks, run)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("what")
    parser.add_argument("--rank", type=int)
    parser.add_argument("--folder")
    arguments = parser.parse_args()
    ranks = _core.ProcessRanks.join(arguments.folder, arguments.rank, SIZE, 60.0)
    bodies = {"words": words, "team": team}
    body = bodies.get(arguments.what, lambda ranks: leave(ranks, arguments.what))
    written = arguments.out / f"{ranks.rank}.part"
    written.write_text(json.dumps(body(ranks)))
    written.rename(written.with_suffix(".json"))  # whole, as this process may be ended while it writes


if __name__ == "__main__":
    main()
