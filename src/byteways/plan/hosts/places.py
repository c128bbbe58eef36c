"""The places that a template has for hosts, and the same case within one host (pure)."""

from __future__ import annotations

from dataclasses import replace

from byteways.plan.case import Case, on_hosts

#: Names that stand for the two hosts of a pair, or for the first and any other host of many.
FIRST, SECOND = "first", "second"


def within_one_host(case: Case) -> Case:
    """Returns the same case between ranks of one host, which estimates are made for."""
    flows = tuple(on_hosts(flow, lambda end: replace(end, host=None)) for flow in case.flows)
    return replace(case, flows=flows)
