"""The buffers at the ends of a case that one rank has."""

from __future__ import annotations

from byteways.cases.case import OF_ALL_RANKS, Buffer, Case
from byteways.cases.interfaces import INTERFACES

#: A rank's send buffer and receive buffer; None if it does not send or receive.
RankEnds = tuple[Buffer | None, Buffer | None]


def device_of(ends: RankEnds) -> str:
    end = ends[0] or ends[1]
    assert end is not None
    return end.device


def own_ends(case: Case, rank: int) -> RankEnds:
    """Returns this rank's send buffer and receive buffer; None if it does not send or receive.

    The reply of a ping-pong is sent from the receive buffer of the first message back to its send buffer, so
    both directions use the memories of the case.
    """
    flow = case.flows[0]
    if case.pattern in OF_ALL_RANKS:
        return next(pair for pair in flow.pairs if pair[0].rank == rank)
    if case.pattern == "bidirectional":
        there, back = case.flows
        first = rank == there.source.rank
        return (there.source, back.destination) if first else (back.source, there.destination)
    both = INTERFACES[case.interface].figure != "bandwidth"
    if rank == flow.source.rank:
        return flow.source, flow.source if both else None
    return flow.destination if both else None, flow.destination
