"""Memory kinds that other memory stands in for where a machine has none of them. Pure.

A suite asks for huge pages so that address translation does not add to a latency or a rate. On a machine
without them, common among database servers and clusters, base pages still answer the question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from byteways.cases.case import Buffer, Case, Flow
from byteways.machine.model import Capabilities
from byteways.plan.legality import memory_offer

#: The kind that is measured instead, by the kind that was asked for.
INSTEAD: Mapping[str, str] = {"hugepage": "pageable"}


def instead(case: Case, capabilities: Capabilities) -> tuple[Case, str] | None:
    """Returns the case in memory that the machine has, and why; None if nothing needs to stand in, or can."""
    reasons = [
        memory_offer(buffer.memory, buffer.device, capabilities).reason
        for flow in case.flows
        for buffer in flow.buffers
        if _stand_in(buffer, capabilities) is not buffer
    ]
    if not reasons:
        return None
    return replace(case, flows=tuple(_flow(flow, capabilities) for flow in case.flows)), reasons[0]


def _stand_in(buffer: Buffer, capabilities: Capabilities) -> Buffer:
    """Returns the buffer, or one of the same device in memory that this has in place of the buffer's."""
    other = INSTEAD.get(buffer.memory)
    if other is None or memory_offer(buffer.memory, buffer.device, capabilities).available:
        return buffer
    if not memory_offer(other, buffer.device, capabilities).available:
        return buffer
    return replace(buffer, memory=other)


def _flow(flow: Flow, capabilities: Capabilities) -> Flow:
    def other(buffer: Buffer) -> Buffer:
        return _stand_in(buffer, capabilities)

    return replace(
        flow,
        source=other(flow.source),
        destination=other(flow.destination),
        second_source=other(flow.second_source) if flow.second_source else None,
        others=tuple((other(sends), other(receives)) for sends, receives in flow.others),
    )
