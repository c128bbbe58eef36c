"""The hosts of a run that names none, inside an allocation of Slurm: its nodes, if the suite is for them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping

from byteways.base.errors import BytewaysError
from byteways.console.terminal import say
from byteways.measuring.hosts.launchers import HOST_FILE, HOST_LIST
from byteways.measuring.shared.allocation import ON_A_NODE, Allocation
from byteways.plan.hosts.templates import is_for_hosts
from byteways.plan.suite_types import Suite


def allocated_hosts(
    suite: Suite,
    launcher: str | None,
    within_a_host: bool,
    environment: Mapping[str, str] = os.environ,
) -> str | None:
    """Returns the nodes of the allocation as `--hosts` takes them, and says so; None: the run is of one host.

    Args:
        suite: The suite to run.
        launcher: The user's command that starts the ranks.
        within_a_host: Whether an option was given that only a run on one host has.
        environment: Variables of this process.

    Raises:
        BytewaysError: The list of nodes is malformed.
    """
    allocation = Allocation.of(environment)
    if allocation is None or within_a_host or not _spans_hosts(launcher) or not is_for_hosts(suite):
        return None
    nodes = allocation.nodes()
    if len(nodes) < 2:
        return None
    say(
        f"measuring between the {len(nodes)} nodes of Slurm job {allocation.job}, {allocation.listed}; "
        "--ranks 2 measures within this one"
    )
    return ",".join(nodes)


def check_started_on_one_host(environment: Mapping[str, str] = os.environ) -> None:
    """Raises BytewaysError if srun started byteways several times: each would start ranks on all hosts."""
    allocation = Allocation.of(environment)
    if allocation and allocation.tasks > 1:
        raise BytewaysError(
            f"srun has started byteways {allocation.tasks} times, and each would measure between all hosts",
            cause=f"SLURM_STEP_NUM_TASKS is {allocation.tasks}",
            hint=f"start it once; it starts ranks itself: {ON_A_NODE}; or within each host: --ranks 2",
        )


def doubt_about_this_host(environment: Mapping[str, str] = os.environ) -> str | None:
    """Returns that a run would measure a host that is no node of the allocation, such as the login node where
    `salloc` was typed; None if it would not.
    """
    allocation = Allocation.of(environment)
    if allocation is None or allocation.own_node() is not None:
        return None
    return (
        f"this host is no node of Slurm job {allocation.job} ({allocation.listed}), and it is measured; "
        f"to measure a node: {ON_A_NODE}"
    )


def _spans_hosts(launcher: str | None) -> bool:
    """Whether a launcher can start ranks on several hosts: byteways adds their names, or the user did."""
    if launcher is None:
        return True
    try:
        words = shlex.split(launcher)
    except ValueError:
        return False
    one_word = len(words) == 1 and words[0] != "local"
    return one_word or any(HOST_FILE in word or HOST_LIST in word for word in words)
