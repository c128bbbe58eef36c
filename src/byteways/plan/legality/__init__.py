"""What may run where: tables of what a device can execute and reach, and rules, each refusal in a sentence.

Pure: it judges from a Topology and from what the runtimes were found to offer, and opens nothing. `rules.py`
is the place to begin: the table of all rules, with what each is about.
"""

from __future__ import annotations

from byteways.plan.legality.executors import executes, interface_offer
from byteways.plan.legality.reach import OWNERS, PLACED_BY_TOUCH, TABLE, Reach, kind_of, memory_offer
from byteways.plan.legality.request import Mistake, Request, mistake
from byteways.plan.legality.rules import RULES, refusal

__all__ = (
    "OWNERS",
    "PLACED_BY_TOUCH",
    "RULES",
    "TABLE",
    "Mistake",
    "Reach",
    "Request",
    "executes",
    "interface_offer",
    "kind_of",
    "memory_offer",
    "mistake",
    "refusal",
)
