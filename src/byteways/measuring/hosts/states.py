"""The states of ranks on all hosts, looked up by a program that the launcher starts beside them:
`byteways.measuring.hosts.states` prints a line for each rank of its host.

A rank that is stopped answers nothing, and the others wait for it: only its host can tell.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from byteways.base.private_folder import private_folder
from byteways.base.settings import module_command
from byteways.measuring.conduct.process import process_state
from byteways.measuring.hosts.launchers import HOSTS_WORKER_MODULE, HostsLauncher, write_host_file
from byteways.measuring.hosts.reach import limit_s, output_of

#: First word of a line that this program prints: launchers put words of their own between them.
LINE_START = "byteways-rank"
_LINE = re.compile(rf"\b{LINE_START} ([\w.-]+) (\d+) (\w)\b")


def states_on(
    launcher: HostsLauncher, hosts: Sequence[str], tick: Callable[[], None] = lambda: None
) -> dict[tuple[str, int], str]:
    """Returns the state letter (proc_pid_stat(5)) of each process by its host, as its kernel knows it, and
    process id; of those hosts on which the launcher starts a program beside the ranks.

    Args:
        launcher: Has started the ranks.
        hosts: That have ranks.
        tick: Called while waiting; may raise.
    """
    one_each = replace(launcher, ranks_per_host=1)
    with private_folder() as folder:
        file = write_host_file(folder, hosts)
        program = module_command("byteways.measuring.hosts.states")
        words = one_each.line(hosts, file, program)
        _, said = output_of(words, launcher.launcher.environment, limit_s(len(hosts)), tick)
    return parsed(said)


def parsed(said: str) -> dict[tuple[str, int], str]:
    """Returns the state of each process that the program's output tells."""
    return {(host, int(pid)): state for host, pid, state in _LINE.findall(said)}


def lines_of(proc: Path, host: str, state_of: Callable[[int], str | None]) -> list[str]:
    """Returns a line for each rank in /proc."""
    found = []
    for folder in sorted(proc.iterdir()):
        if not folder.name.isdecimal():
            continue
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:  # it has ended, or is another user's
            continue
        state = state_of(int(folder.name)) if HOSTS_WORKER_MODULE.encode() in words else None
        if state is not None:
            found.append(f"{LINE_START} {host} {folder.name} {state}")
    return found


def stopped_on(states: Mapping[tuple[str, int], str], host: str, pid: int) -> bool:
    """Whether a process is stopped, by a signal or a debugger."""
    return states.get((host, pid)) in ("T", "t")


def main() -> None:
    lines = lines_of(Path("/proc"), os.uname().nodename, process_state)
    sys.stdout.write("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()
