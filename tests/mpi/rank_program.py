"""One rank of a job in Python, started as `python -m tests.mpi.rank_program VERB FOLDER ARGUMENTS`.

team FOLDER BODY ARGUMENTS    plays a body of team_contract.py and writes what came of it
threads FOLDER -               writes the thread level that MPI says it has
end FOLDER HOW                rank 1 "fails", "exits" or is "killed"; the others wait for it
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from byteways import _core
from byteways.measuring.shared.mpi_library import open_mpi
from tests.native import team_contract


def attempt(action: Any) -> Any:
    """What it returns, or what it raised as JSON."""
    try:
        return {"returned": action()}
    except Exception as failure:
        return {"kind": type(failure).__name__, "text": str(failure)}


def play(ranks: _core.Communicator, body: str, arguments: list[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def run(team: _core.Team) -> None:
        try:
            found["body"] = {"returned": getattr(team_contract, body)(team, *arguments)}
        except Exception as failure:
            found["body"] = {"kind": type(failure).__name__, "text": str(failure)}
            raise

    found["team"] = attempt(lambda: _core.run_rank_team(ranks, run))
    return found


def end(ranks: _core.Communicator, how: str) -> None:
    ranks.barrier()
    if ranks.rank == 1:
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "exits":
            os._exit(0)
        raise ValueError("this rank fails")
    ranks.barrier()


def main() -> None:
    verb, folder, what = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    mpi = open_mpi()
    rank = mpi.world.rank
    if verb == "team":
        found = play(mpi.world, what, json.loads(sys.argv[4]))
        (folder / f"{rank}.json").write_text(json.dumps(found), encoding="utf-8")
    elif verb == "threads":
        level = ctypes.c_int(-1)
        ctypes.CDLL(mpi.report.path).MPI_Query_thread(ctypes.byref(level))
        (folder / f"{rank}.json").write_text(json.dumps(level.value), encoding="utf-8")
    else:
        (folder / f"{rank}.pid").write_text(str(os.getpid()), encoding="utf-8")
        end(mpi.world, what)
        (folder / f"{rank}.done").touch()
    mpi.finalize()


if __name__ == "__main__":
    main()
