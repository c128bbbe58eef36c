"""Expands a sweep between ranks to its cases: pairs of ranks for messages, groups for collectives (pure)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from byteways.cases.case import OF_ALL_RANKS, Buffer, Case, Flow
from byteways.cases.interfaces import APPLICATIONS, COLLECTIVES, INTERFACES, MULTI_PAIR
from byteways.cases.memory import MEMORIES, OWNERS
from byteways.cases.options import RANK_ORDER
from byteways.cases.osu import SIZED_BY_BLOCK, is_osu
from byteways.machine.model import Topology
from byteways.plan.legality import kind_of
from byteways.plan.link_classes import ClassOfPath
from byteways.plan.ranks import BY_DEVICE, Rank, layout, order_mistake

if TYPE_CHECKING:
    from byteways.plan.suite_types import Sweep
    from byteways.plan.suite_values import BufferGlob

#: Collectives whose size is divided into one block per rank.
IN_BLOCKS = ("allgather", "reduce-scatter", "alltoall", "gather", "scatter")
#: Bytes of one element of a collective, also the unit of verification; the smallest has half an element.
ELEMENT_BYTES, SMALLEST_COLLECTIVE_BYTES = 8, 4
#: The executors of a sweep that names none.
EITHER_END = ("both",)
#: A barrier moves no data; its cases have the smallest size.
BARRIER_BYTES = ELEMENT_BYTES


def placements(
    sweep: Sweep, topology: Topology, ranks: Sequence[Rank], notes: list[str]
) -> Iterator[tuple[Sequence[Rank], Mapping[str, tuple[int | str | bool, ...]]]]:
    """Yields the ranks as each of the sweep's orders places them, with the options of their cases.

    An order that does not fit this machine, or places the ranks as an earlier one does, gives a note.

    Args:
        sweep: A sweep over ranks.
        topology: The machine.
        ranks: The ranks in their default order; twins keep to it.
        notes: Receives the reasons for fewer cases than expected.
    """
    orders = [str(order) for order in sweep.options.get(RANK_ORDER.name, ())]
    if not orders:
        yield ranks, sweep.options
        return
    count = sum(rank.twin_of is None for rank in ranks)
    known: dict[tuple[tuple[str, str | None], ...], str] = {}
    for order in sorted(orders, key=lambda order: order != BY_DEVICE):
        if mistake := order_mistake(topology, count, order):
            notes.append(mistake)
            continue
        placed = ranks if order == BY_DEVICE else layout(topology, count, order)
        devices = tuple((rank.cpu, rank.gpu) for rank in placed if rank.twin_of is None)
        if devices in known:
            notes.append(f"rank_order '{order}' places the ranks as '{known[devices]}' does here")
            continue
        known[devices] = order
        yield placed, {**sweep.options, RANK_ORDER.name: (order,)}


def rank_flows(
    sweep: Sweep, pattern: str, ranks: Sequence[Rank], link_class: ClassOfPath, notes: list[str]
) -> Iterator[tuple[Flow, ...]]:
    """Returns the flows of each case, before sizes and options.

    Args:
        sweep: A sweep over ranks.
        pattern: `unidirectional`, `bidirectional` or a collective.
        ranks: All ranks of the run.
        link_class: Returns the class of links between two devices.
        notes: Receives the reasons for fewer cases than expected.
    """
    if len(ranks) < 2:
        notes.append("one rank has nobody to send to: --ranks 2")
    elif pattern in OF_ALL_RANKS:
        yield from _collectives(sweep, pattern, ranks, notes)
    else:
        yield from _messages(sweep, pattern, ranks, link_class)


def executed(interface: str, flows: tuple[Flow, ...], ranks: Sequence[Rank]) -> tuple[Flow, ...]:
    """Returns the flows with what executes them: kernels of NCCL and RCCL run on the rank's GPU, also where
    its buffer is in host memory.
    """
    if INTERFACES[interface].library != "xccl":
        return flows
    gpus = {rank.number: rank.gpu for rank in ranks}
    return tuple(replace(flow, executor=gpus.get(flow.source.rank or 0) or flow.executor) for flow in flows)


def size_in_blocks(size_bytes: int, pattern: str, ranks: int) -> int:
    """Returns the nearest valid size: messages have any, collectives 4 bytes or whole elements, with blocks
    as many for each rank.
    """
    if pattern == "barrier":
        return BARRIER_BYTES
    if pattern not in COLLECTIVES:
        return size_bytes
    step = ranks * ELEMENT_BYTES if pattern in IN_BLOCKS else ELEMENT_BYTES
    least = step if pattern in IN_BLOCKS else SMALLEST_COLLECTIVE_BYTES
    return max(least, size_bytes - size_bytes % step)


def _collectives(
    sweep: Sweep, pattern: str, ranks: Sequence[Rank], notes: list[str]
) -> Iterator[tuple[Flow, ...]]:
    """Groups of the ranks that have a buffer for both ends: not every rank need have a GPU. Pairs need an
    even number.
    """
    able = [rank for rank in ranks if rank.twin_of is None and takes_part(sweep, rank)]
    if len(able) == 1:
        notes.append("only one rank has such buffers (one GPU per rank)")
    if len(able) < 2:
        return
    most = len(able) - len(able) % 2 if pattern == MULTI_PAIR else len(able)
    for count in _counts(sweep, most):
        yield from _of_group(sweep, pattern, able[:count])


def takes_part(sweep: Sweep, rank: Rank) -> bool:
    """Whether a rank has a buffer for both ends of an operation of all ranks."""
    return bool(_ends(sweep.sources, rank) and _ends(sweep.destinations, rank))


def flows_of_group(
    sweep: Sweep, pattern: str, interface: str, group: Sequence[Rank]
) -> Iterator[tuple[Flow, ...]]:
    """Yields the flows of an operation of these ranks, with what executes them."""
    for flows in _of_group(sweep, pattern, group):
        yield executed(interface, flows, group)


def _of_group(sweep: Sweep, pattern: str, group: Sequence[Rank]) -> Iterator[tuple[Flow, ...]]:
    ends = [itertools.product(_ends(sweep.sources, rank), _ends(sweep.destinations, rank)) for rank in group]
    for pairs in zip(*ends, strict=False):
        (source, destination), *others = pairs
        executor = source.device
        if pattern in APPLICATIONS:
            executor = _executor(group[0], pairs[0], sweep.executors)
        if executor:
            yield (Flow(source, destination, executor, others=tuple(others)),)


def _executor(rank: Rank, ends: tuple[Buffer, Buffer], wanted: Sequence[str]) -> str:
    """Returns what computes on a rank of an application pattern: what the sweep names, else its GPU if that
    owns a buffer, else its CPU; empty if the rank has none such.
    """
    own = [device for device in (rank.gpu, rank.cpu) if device]
    if wanted == EITHER_END:
        return next(device for device in own if device in (ends[0].device, ends[1].device))
    return next((device for device in own for glob in wanted if fnmatchcase(device, glob)), "")


def _counts(sweep: Sweep, most: int) -> list[int]:
    """Returns the group sizes: all ranks; 2, 4, 8 … and all; or 2, 3, 4 … and all."""
    powers = [2**power for power in range(1, most.bit_length()) if 2**power < most]
    fewer = {"powers": powers, "every": list(range(2, most))}.get(sweep.groups, [])
    return [*fewer, most]


def _messages(
    sweep: Sweep, pattern: str, ranks: Sequence[Rank], link_class: ClassOfPath
) -> Iterator[tuple[Flow, ...]]:
    """Returns one flow between ranks, or both directions; one pair per link class, every ordered pair, or the
    first rank to the second one.
    """
    known: set[tuple[str, str, str]] = set()
    for near, far in _pairs(ranks[:2] if sweep.pairs == "first" else ranks):
        if pattern == "bidirectional" and near.number > far.number:
            continue
        ends = itertools.product(_ends(sweep.sources, near), _ends(sweep.destinations, far))
        for source, destination in ends:
            if far.twin_of is not None and not source.device == destination.device == far.gpu:
                continue  # the twin is there for their GPU alone
            if sweep.pairs == "first" and near.number > far.number:
                continue
            kind = (link_class(source.device, destination.device), source.memory, destination.memory)
            if sweep.pairs == "per-link-class" and kind in known:
                continue
            known.add(kind)
            there = Flow(source, destination, source.device)
            if pattern == "unidirectional":
                yield (there,)
                continue
            back = (replace(source, rank=far.number), replace(destination, rank=near.number))
            devices = [far.device(kind_of(source.device)), near.device(kind_of(destination.device))]
            if None not in devices:
                sends, receives = (
                    replace(end, device=device or "") for end, device in zip(back, devices, strict=True)
                )
                yield there, Flow(sends, receives, sends.device)


def _pairs(ranks: Sequence[Rank]) -> Iterator[tuple[Rank, Rank]]:
    """Returns every ordered pair of different devices' ranks, then each rank with its twin."""
    yield from itertools.permutations([rank for rank in ranks if rank.twin_of is None], 2)
    for twin in ranks:
        if twin.twin_of is not None:
            yield ranks[twin.twin_of], twin


def _ends(globs: Sequence[BufferGlob], rank: Rank) -> list[Buffer]:
    """Returns the matching buffers of a rank, on its NUMA domain and its GPU."""
    found: dict[Buffer, None] = {}
    devices = [device for kind in ("cpu", "gpu") if (device := rank.device(kind))]
    for glob, device in itertools.product(globs, devices):
        for memory in MEMORIES:
            if (
                fnmatchcase(device, glob.device)
                and fnmatchcase(memory, glob.memory)
                and kind_of(device) in OWNERS[memory]
            ):
                found[Buffer(device, memory, rank=rank.number)] = None
    return list(found)


def with_sizes(case: Case, ranks: int | None = None) -> Case:
    """Returns the case with a size valid for its pattern and number of ranks.

    As OSU's programs time it, the size that was asked for is that of one block where there are some.

    Args:
        case: Of any ranks.
        ranks: How many there will be; None: those of the case.
    """
    count = len(case.ranks) if ranks is None else ranks
    blocks = count if is_osu(case) and case.pattern in SIZED_BY_BLOCK else 1
    return replace(case, size_bytes=size_in_blocks(blocks * case.size_bytes, case.pattern, count))
