"""How the devices of a case are written, as its pattern connects them. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from byteways.cases.case import Buffer, Case, Flow


#: A host's name that ends with a number, which launchers count up: `nid001`.
_NUMBERED = re.compile(r"^(?P<name>.*?)(?P<number>\d+)$")
#: So many hosts with consecutive numbers are written as a range, as Slurm's host lists are.
_FOLDED = 3


def path_of(case: Case, *, of_all_ranks: bool) -> str:
    """Returns the devices as connected by the pattern.

    `gpu0>gpu1`, `gpu0<>gpu1`, `gpu0>gpu1,gpu2`, `gpu1,gpu2>gpu0`, `all:gpu0,gpu1`,
    `gpu0,gpu1 on cpu0` (all arrays there),
    `gpu0>gpu1 beside gpu2>gpu3`; `cpu0<>gpu0,gpu1`, `gpu0>gpu1 and gpu2>gpu3`, `ring:gpu0,gpu1,gpu2`,
    `ring:gpu0,gpu1 and cpu0>gpu0,gpu1`, `gpu0,gpu1<>gpu2,gpu3`; `allreduce:0/gpu0,1/gpu1`.

    Args:
        case: The case.
        of_all_ranks: Whether all ranks take part in its pattern, which then comes first.
    """
    paths = [flow.path for flow in case.flows]
    sources = list(dict.fromkeys(flow.source.device for flow in case.flows))
    destinations = list(dict.fromkeys(flow.destination.device for flow in case.flows))
    if case.pattern == "bidirectional":
        if case.flows[0].source == case.flows[0].destination:  # each device reaches the other's buffer
            return "<>".join(sources)
        return paths[0].replace(">", "<>")
    if case.pattern in ("fan-out", "fan-in") and all(one.source == one.destination for one in case.flows):
        executors = list(dict.fromkeys(flow.executor for flow in case.flows))
        return f"{','.join(executors)} on {','.join(sources)}"
    if case.pattern in ("fan-out", "fan-in"):
        return f"{','.join(sources)}>{','.join(destinations)}"
    if case.pattern in ("fan-bidirectional", "bisection"):
        return _both_ways(case.flows)
    if case.pattern in ("two-pairs", "transfers"):
        return " and ".join(paths)
    if case.pattern in ("ring", "host-and-ring"):
        return _around(case.flows)
    if case.pattern == "all-pairs":
        return "all:" + ",".join(sources)
    if of_all_ranks:
        return f"{case.pattern}:{paths[0]}"
    if case.pattern == "interference":
        return f"{paths[0]} beside {','.join(paths[1:])}"
    return paths[0]


def places(buffers: Sequence[Buffer]) -> str:
    """Formats ranks: `0/gpu0,1/gpu1`, or `0-3/cpu0` for consecutive ranks on one device; of several hosts
    `node1:gpu0,node2:gpu0`, or `node[01-16]:gpu0` for consecutive numbers. Several ranks of a host are
    `node1:gpu[0-3]`, or `node1:0-3/cpu0` on one device.
    """
    if buffers and buffers[0].host is not None:
        by_host = itertools.groupby(buffers, key=lambda buffer: buffer.host or "")
        ends = [(host, _devices([one.device for one in some])) for host, some in by_host]
        return ",".join(_hosts(part) for part in _consecutive(ends))
    parts: list[list[Buffer]] = []
    for buffer in buffers:
        if parts and parts[-1][-1].device == buffer.device:
            parts[-1].append(buffer)
        else:
            parts.append([buffer])
    return ",".join(
        part[0].place if len(part) == 1 else f"{part[0].rank}-{part[-1].rank}/{part[0].device}"
        for part in parts
    )


def _devices(names: Sequence[str]) -> str:
    """Formats the devices of one host's ranks: `gpu0`, `gpu[0-3]`, `0-3/cpu0`, otherwise `cpu0+cpu2`."""
    first, *others = names
    if not others:
        return first
    if set(others) == {first}:
        return f"0-{len(others)}/{first}"
    counted = all(name == _next(before) for before, name in itertools.pairwise(names))
    match = _NUMBERED.match(first)
    if counted and match is not None:
        return f"{match['name']}[{match['number']}-{int(match['number']) + len(others)}]"
    return "+".join(names)


def _consecutive(ends: Sequence[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """Groups ends, (host, devices), on equal devices of hosts whose names count up."""
    parts: list[list[tuple[str, str]]] = []
    for host, devices in ends:
        last = parts[-1][-1] if parts else None
        if last is not None and last[1] == devices and host == _next(last[0]):
            parts[-1].append((host, devices))
        else:
            parts.append([(host, devices)])
    return [one for part in parts for one in ([part] if len(part) >= _FOLDED else [[each] for each in part])]


def _next(host: str) -> str:
    """`node10` of `node09`; the host itself if no number ends its name."""
    match = _NUMBERED.match(host)
    if match is None:
        return host
    return f"{match['name']}{int(match['number']) + 1:0{len(match['number'])}d}"


def _hosts(part: Sequence[tuple[str, str]]) -> str:
    host, devices = part[0]
    first, last = (_NUMBERED.match(part[end][0]) for end in (0, -1))
    if len(part) == 1 or first is None or last is None:
        return f"{host}:{devices}"
    return f"{first['name']}[{first['number']}-{last['number']}]:{devices}"


def _both_ways(flows: Sequence[Flow]) -> str:
    """Formats `cpu0<>gpu0,gpu1` from the forward flows, the first half of all."""
    there = flows[: len(flows) // 2] or flows
    ends = ([flow.source.device for flow in there], [flow.destination.device for flow in there])
    return "<>".join(",".join(dict.fromkeys(side)) for side in ends)


def _around(flows: Sequence[Flow]) -> str:
    """Formats `ring:gpu0,gpu1`, with `and cpu0>gpu0,gpu1` for flows with the host."""
    ring = [flow for flow in flows if "cpu" not in flow.path]
    host = [flow for flow in flows if flow not in ring]
    text = "ring:" + ",".join(flow.source.device for flow in ring)
    if host:
        ends = ([flow.source.device for flow in host], [flow.destination.device for flow in host])
        text += " and " + ">".join(",".join(dict.fromkeys(side)) for side in ends)
    return text
