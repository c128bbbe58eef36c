"""Memory kinds that other memory stands in for where a machine has none of them. Pure.

A suite asks for huge pages so that address translation does not add to a latency or a rate. On a machine
without them, common among database servers and clusters, base pages still answer the question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from byteways.plan.case import Buffer, Case, Flow
from byteways.plan.legality import memory_offer
from byteways.topology.model import Capabilities

#: The kind that is measured instead, by the kind that was asked for.
INSTEAD: Mapping[str, str] = {"hugepage": "pageable"}


def instead(case: Case, capabilities: Capabilities) -> tuple[Case, str] | None:
    """Returns the case in memory that the machine has, and why; None if it has what the case asks for."""
    reasons = [
        offer.reason
        for flow in case.flows
        for buffer in flow.buffers
        if buffer.memory in INSTEAD
        and not (offer := memory_offer(buffer.memory, buffer.device, capabilities)).available
    ]
    if not reasons:
        return None
    return replace(case, flows=tuple(_flow(flow, capabilities) for flow in case.flows)), reasons[0]


def _flow(flow: Flow, capabilities: Capabilities) -> Flow:
    def other(buffer: Buffer) -> Buffer:
        if buffer.memory not in INSTEAD or memory_offer(buffer.memory, buffer.device, capabilities).available:
            return buffer
        return replace(buffer, memory=INSTEAD[buffer.memory])

    return replace(
        flow,
        source=other(flow.source),
        destination=other(flow.destination),
        second_source=other(flow.second_source) if flow.second_source else None,
        others=tuple((other(sends), other(receives)) for sends, receives in flow.others),
    )
