"""How many bytes a case's buffers take: decides what fits, which buffers can be used again, and time."""

from __future__ import annotations

from byteways.plan.case import Buffer, Case
from byteways.topology.model import Capabilities

#: Rotations are rounded up to this much, so that cases of most sizes ask for equal buffers and share them.
ROTATION_UNIT_BYTES = 64 * 2**20


def last_level_cache_bytes(agent: str, capabilities: Capabilities) -> int:
    """What the runtime says of the agent's last-level cache; 0 when it says nothing."""
    return int(capabilities.agents.get(agent, {}).get("last_level_cache_bytes") or 0)


def buffer_bytes(size_bytes: int, cache: str, last_level_cache: int) -> int:
    """Bytes of one buffer: `warm` stays on one operation's, `cold` rotates over more than twice the cache.

    A rotation is a whole number of operations.
    """
    if cache != "cold":
        return size_bytes
    unit = size_bytes if ROTATION_UNIT_BYTES % size_bytes else ROTATION_UNIT_BYTES
    return (2 * last_level_cache // unit + 1) * unit


def buffers(case: Case, capabilities: Capabilities) -> list[tuple[Buffer, int]]:
    """Every buffer of every flow with its bytes; a chase has one a flow.

    Both ends of a flow rotate together, so the larger cache of the two decides.
    """
    needed = []
    for flow in case.flows:
        ends = (flow.source,) if case.interface == "chase" else (flow.source, flow.destination)
        cache = max(last_level_cache_bytes(end.agent, capabilities) for end in ends)
        needed += [(end, buffer_bytes(case.size_bytes, case.cache, cache)) for end in ends]
    return needed


def footprint(case: Case, capabilities: Capabilities) -> dict[str, int]:
    """Bytes by owning agent that the case holds at once; flows do not share buffers."""
    needed: dict[str, int] = {}
    for buffer, size in buffers(case, capabilities):
        needed[buffer.agent] = needed.get(buffer.agent, 0) + size
    return needed
