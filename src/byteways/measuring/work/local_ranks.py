"""Starts ranks on this host without MPI, launcher `local`.

    byteways.measuring.work.local_ranks --ranks N -- PROGRAM …

Each rank gets its number and a private folder where all of them meet (native/runtimes/process_ranks.hpp).
When one ends other than by leaving, all are ended, as by the launchers of MPI.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from byteways.base.private_folder import private_folder


def run(program: Sequence[str], ranks: int, folder: Path) -> int:
    """Runs the ranks until all have ended; returns the exit status of the first that failed, or 0.

    A signal's number is told as 128 more, as shells do.
    """
    processes = [
        subprocess.Popen([*program, "--rank", str(rank), "--folder", str(folder)]) for rank in range(ranks)
    ]
    try:
        while waiting := [process for process in processes if process.returncode is None]:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
            one = first_ended(waiting)
            if status := one.wait():
                told = f"exited on signal {-status}" if status < 0 else f"exited with status {status}"
                number = processes.index(one)
                sys.stderr.write(f"process rank {number} with PID {one.pid} {told}\n")
                return 128 - status if status < 0 else status
        return 0
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()


def first_ended(waiting: Sequence[subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """Returns the rank that ended, of several the one that a signal ended.

    On a busy host others, which fail because that one left, may have ended before this process looks.

    Raises:
        ChildProcessError: None has ended.
    """
    ended = {}
    for process in waiting:
        if how := os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
            ended[process] = how.si_code
    if not ended:
        raise ChildProcessError("a process that is not a rank ended")
    return min(ended, key=lambda process: ended[process] == os.CLD_EXITED)


def _stop(number: int, frame: object) -> None:
    sys.exit(128 + number)


def main() -> None:
    words = sys.argv[1:]
    at = words.index("--")
    signal.signal(signal.SIGTERM, _stop)  # which ends the ranks and removes the folder
    with private_folder() as folder:
        status = run(words[at + 1 :], int(words[words.index("--ranks") + 1]), folder)
    sys.exit(status)


if __name__ == "__main__":
    main()
