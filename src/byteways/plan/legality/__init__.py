"""What can run where: tables of what a device can execute and access, and rules, each with its refusal
message.

Pure: judges from a Topology and the runtimes' probed capabilities, and opens nothing. Start with `rules.py`,
the table of all rules.
"""

from __future__ import annotations

from byteways.plan.legality.executors import executes, interface_offer
from byteways.plan.legality.reach import PLACED_BY_TOUCH, REACH_TABLE, Reach, kind_of, memory_offer
from byteways.plan.legality.request import Mistake, Request, mistake
from byteways.plan.legality.rules import RULES, broken_rule, refusal

__all__ = (
    "PLACED_BY_TOUCH",
    "REACH_TABLE",
    "RULES",
    "Mistake",
    "Reach",
    "Request",
    "broken_rule",
    "executes",
    "interface_offer",
    "kind_of",
    "memory_offer",
    "mistake",
    "refusal",
)
