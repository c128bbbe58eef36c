"""Starts a launcher that dies with the conductor.

    start.py byteways.measuring.work.launched --parent PID -- COMMAND

A launcher that outlives a killed conductor keeps its ranks alive, and with them their GPUs. The kernel
preserves the parent-death signal across exec (prctl(2), PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import os
import sys

from byteways.measuring.work.worker import die_with_parent, expected_parent


def main() -> None:
    arguments = sys.argv[1:]
    command = arguments[arguments.index("--") + 1 :]
    die_with_parent(expected_parent(arguments))
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
