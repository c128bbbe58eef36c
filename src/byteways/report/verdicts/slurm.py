"""The command that takes a node that failed a check out of Slurm's schedule."""

from __future__ import annotations

import shlex

from byteways.verdicts.checks.verdict import CheckedCases
from byteways.verdicts.checks.wording_check import drain_reason


def drain_line(check: CheckedCases, node: str) -> str:
    """Returns the command for a shell; '' if the check did not fail.

    Args:
        check: The verdicts.
        node: The node's name in Slurm.
    """
    if not check.failed:
        return ""
    words = ["scontrol", "update", f"nodename={node}", "state=drain", f"reason={drain_reason(check)}"]
    return shlex.join(words)
