"""The allocation of Slurm in which byteways runs: its nodes, which of them this host is, and what started
byteways there.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from byteways.base.errors import BytewaysError
from byteways.base.safe_folders import folder_of_children
from byteways.plan.hosts.names import expand

#: Seconds for scontrol to expand a list, which asks no server.
SCONTROL_S = 20
#: What starts byteways once on a node of the allocation, from a host that is none or from a step.
ON_A_NODE = "srun --overlap -N 1 -n 1 byteways run …"


@dataclass(frozen=True)
class Allocation:
    """A job of Slurm, from the variables that Slurm sets (srun(1), OUTPUT ENVIRONMENT VARIABLES)."""

    job: str  # `12`, or `12_3` for the element 3 of an array, as squeue prints it
    listed: str  # its nodes as Slurm compresses them: `n[1-2]`
    tasks: int  # of the step in which byteways runs; 1 if it runs in none
    node_name: str  # what slurmd calls this node; '' outside of what slurmd started

    @classmethod
    def of(cls, environment: Mapping[str, str] = os.environ) -> Allocation | None:
        """Returns the allocation; None outside of one."""
        job, listed = environment.get("SLURM_JOB_ID"), environment.get("SLURM_JOB_NODELIST")
        if not job or not listed:
            return None
        array, element = (environment.get(f"SLURM_ARRAY_{name}_ID") for name in ("JOB", "TASK"))
        tasks = environment.get("SLURM_STEP_NUM_TASKS", "")
        return cls(
            f"{array}_{element}" if array and element else job,
            listed,
            int(tasks) if tasks.isdecimal() else 1,
            environment.get("SLURMD_NODENAME", ""),
        )

    def nodes(self) -> tuple[str, ...]:
        """Returns the names of the nodes, expanded by scontrol, or without it by byteways.

        Raises:
            BytewaysError: The list is malformed.
        """
        if names := _expanded_by_slurm(self.listed):
            return names
        try:
            return tuple(expand(self.listed))
        except ValueError as error:
            raise BytewaysError(
                f"cannot read the nodes of Slurm job {self.job}",
                cause=f"SLURM_JOB_NODELIST: {error}",
                hint="--hosts FILE names them, one a line",
            ) from error

    def own_node(self) -> str | None:
        """Returns the name of this host in the allocation; None if it is none of its nodes."""
        nodes = self.nodes()
        host = platform.node()
        for name in (self.node_name, host, host.partition(".")[0]):
            if name and name in nodes:
                return name
        return None

    def required_node(self) -> str:
        """Returns the name of this host in the allocation.

        Raises:
            BytewaysError: It is none of the nodes: srun would start the ranks on another host than the one
                whose devices are planned.
        """
        name = self.own_node()
        if name is None:
            raise BytewaysError(
                f"this host is no node of Slurm job {self.job}, and srun starts ranks on its nodes",
                cause=f"this is {platform.node()}, the nodes are {self.listed}",
                hint=f"start byteways on a node: {ON_A_NODE}",
            )
        return name


def _expanded_by_slurm(listed: str) -> tuple[str, ...]:
    """Returns what `scontrol show hostnames` prints; nothing if it is missing or fails."""
    program = shutil.which("scontrol")
    if program is None:
        return ()
    try:
        done = subprocess.run(
            [program, "show", "hostnames", listed],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SCONTROL_S,
            check=False,
            cwd=folder_of_children(),
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ()
    return tuple(done.stdout.split()) if done.returncode == 0 else ()
