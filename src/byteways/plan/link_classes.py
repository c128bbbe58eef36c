"""One group of flows per link class, for `pairs = "per-link-class"` in a sweep (pure)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from byteways.machine.model import Topology
from byteways.plan import flow_sets
from byteways.plan.flow_sets import FlowEnds, FlowGroup
from byteways.plan.legality import kind_of

#: A group of flows with the executor of each.
Assigned = tuple[FlowGroup, tuple[str, ...]]
#: Returns the link class of a path, from source and destination device.
ClassOfPath = Callable[[str, str], str]


def representatives(
    assigned: Sequence[Assigned], link_class: ClassOfPath, shared_on: Topology | None = None
) -> list[Assigned]:
    """Returns the first group (lowest indices) of each class: equal links, memories and roles of devices.

    With `shared_on` (the machine), classes also differ in which links several flows share.
    """

    kept: dict[object, Assigned] = {}
    parts: dict[tuple[FlowEnds, str], _FlowPart] = {}  # there are n² flows, and up to n⁴ groups of them
    for group, executors in assigned:
        order: dict[str, int] = {}  # by first appearance, so that gpu2>gpu3 equals gpu0>gpu1
        signature: list[object] = []
        for flow in zip(group, executors, strict=True):
            part = parts.get(flow)
            if part is None:
                part = parts[flow] = _flow_part(*flow, link_class)
            signature.append((part.kind, *[order.setdefault(device, len(order)) for device in part.devices]))
        shared = flow_sets.common_links(group, shared_on) if shared_on else ()
        kept.setdefault((tuple(signature), shared), (group, executors))
    return list(kept.values())


@dataclass(frozen=True)
class _FlowPart:
    """The part of a flow that determines the class of its group."""

    devices: tuple[str, ...]  # the devices with a role in it
    kind: tuple[str, ...]  # kinds of these devices, of its memories and links


def _flow_part(ends: FlowEnds, executor: str, link_class: ClassOfPath) -> _FlowPart:
    def classes(start: str, end: str) -> str:
        return "own" if start == end else link_class(start, end)

    devices = (*itertools.chain(*((end.device, end.first_touch or end.device) for end in ends)), executor)
    kind = (
        *map(kind_of, devices),
        *(end.memory for end in ends),
        classes(ends[0].device, ends[1].device),
        classes(executor, ends[1].device),
    )
    return _FlowPart(devices, kind)
