"""Whether the best way is the best: no other way of doing the same job is faster, whatever claims compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import Any

from statements.outcome import Statements, check
from statements.records import Case, RunData, scatter

#: Interfaces that move bytes that lie together from one buffer to another, once.
PLAIN = ("copy", "kernel", "kernel-bulk", "memcpy", "memcpy-mt", "memcpy-stream", "torch-copy")
#: A way is faster beyond this, and beyond so many times what the rounds of both scatter.
LEAD, SCATTERS = 0.01, 2.0


def check_fastest(
    run: RunData, best: Sequence[Case], claims: Sequence[Mapping[str, Any]], name: str
) -> Statements:
    """Of a way over some paths; where claims call another one equal, their interval is believed."""
    equal = {one for claim in claims if claim["verdict"] != "leads" for one in claim["second"]["case_ids"]}
    ahead: dict[tuple[str, ...], set[str]] = {}
    rivals = [case for case in run.cases.values() if _is_a_way(run, case) and case.case_id not in equal]
    for case in best:
        for other in rivals:
            beyond = LEAD + SCATTERS * (scatter(case.values) + scatter(other.values))
            if _same_job(case, other) and log(other.value / case.value) > beyond:
                ahead.setdefault(_way(other), set()).add(str(case.trait("path")))
    faster = sorted(" ".join(way) for way, paths in ahead.items() if 2 * len(paths) > len(best))
    yield check("fastest", name, not faster, f"{faster[:3]} on most of {len(best)} paths")


def _same_job(one: Case, other: Case) -> bool:
    return all(one.trait(what) == other.trait(what) for what in ("path", "size", "cache", "pattern"))


def one_at_a_time(case: Case) -> bool:
    """Whether its transfers are submitted one by one: a batch or graph is the answer to another question."""
    return bool(case.record["options"].get("submit", "calls") == "calls")


def _is_a_way(run: RunData, case: Case) -> bool:
    """Whether it can be ranked, does one transfer at a time, and its pages stay where the path says."""
    ends = [flow[end] for flow in case.record["flows"] for end in ("source", "destination")]
    moves = any("managed" in end or "@" in end for end in ends)
    able = case.ranked and one_at_a_time(case) and case.case_id not in run.void
    return able and case.record["interface"] in PLAIN and not moves


def _way(case: Case) -> tuple[str, ...]:
    record = case.record
    memory = (record[end].partition(":")[2] for end in ("source", "destination"))
    settings = (f"{name}={value}" for name, value in {**record["options"], **record["environment"]}.items())
    return (record["interface"], record["access"], *memory, *settings)
