"""Selects comparable results: kinds of pair, plain transfers, common sizes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from byteways.answers.results.summary import Result, group_by
from byteways.answers.results.variants import Variant
from byteways.cases.block_layout import moves_blocks
from byteways.cases.interfaces import INTERFACES, metric_of
from byteways.cases.options import SUBMIT
from byteways.machine import routes
from byteways.machine.model import Topology

#: Kinds of pair in order of interest, as sentences name them.
PAIR_KINDS = {
    "gpu-gpu": "Between GPUs",
    "cpu-gpu": "From host to GPU",
    "gpu-cpu": "From GPU to host",
    "gpu": "Inside a GPU",
    "cpu-cpu": "Between NUMA domains",
    "cpu": "In host memory",
}


def kind(cell: Result) -> str:
    return cell.kind


def link_class(topology: Topology, cell: Result) -> str:
    """Returns the class of the links on the cell's first path; empty within one device."""
    return class_between(topology, cell.source.device, cell.destination.device)


def class_between(topology: Topology, source: str, destination: str) -> str:
    """Returns the class of the links between two devices; empty within one.

    Routes over other GPUs with equal narrowest links are alike: `routed, 50 GB/s`.
    """
    if source == destination:
        return ""
    class_name = routes.link_class(topology, source, destination)
    if class_name != "routed":
        return class_name
    narrowest = min(link.peak_bytes_per_s or 0 for link in routes.route(topology, source, destination))
    return f"{class_name}, {narrowest / 1e9:g} GB/s" if narrowest else class_name


def limited_by_link(topology: Topology, cell: Result) -> bool:
    """Whether the peak is that of a link on the way.

    A copy within one memory, even of a package that a CPU and a GPU share, has a peak that no link explains.
    """
    ends = cell.source.device, cell.destination.device
    if cell.source.host != cell.destination.host or not {*ends} <= {*topology.names()}:  # between hosts
        return cell.peak is not None
    return cell.peak is not None and any(
        link.peak_bytes_per_s == cell.peak for link in routes.route(topology, *ends)
    )


#: Interfaces with their own tables, charts and findings for unidirectional results.
WITH_OWN_TABLES = ("route",)


def variant(cell: Result) -> Variant:
    """Returns the key that groups cells regardless of path and size."""
    return cell.variant


def between_ranks(cell: Result) -> bool:
    """Whether several ranks took part: no alternative for a single process."""
    return cell.between_ranks


def uses_ipc(cell: Result) -> bool:
    """Whether a buffer is another process's: no alternative for a single process."""
    return cell.by_ipc


def within_a_process(cell: Result) -> bool:
    """Whether one process measured it on memory of its own."""
    return cell.within_a_process


def unidirectional(results: Iterable[Result]) -> list[Result]:
    """Returns bandwidth of single flows, for curves, matrices and the best-interface map.

    All count arriving bytes. Excluded, with their own tables: STREAM kernels, which count reads and writes,
    pitched rows, which are different work, messages between ranks, and memory of other processes.
    """
    return [cell for cell in results if cell.arrives and cell.within_a_process]


def does_the_job(cell: Result) -> bool:
    """Whether it moves contiguous bytes from one buffer to another, back to back, each counted once."""
    known = INTERFACES[cell.record.interface]
    if known.counts != "per-direction" or known.buffers != "pair" or known.in_pieces:
        return False
    return "pace" not in cell.record.options  # isolated operations measure launch overhead, not the path


def submits_many(cell: Result) -> bool:
    """Whether many operations are submitted together: no alternative for a single transfer.

    The blocks of a block copy are one operation, however they are submitted.
    """
    if moves_blocks(cell.record.interface):
        return False
    return str(cell.record.options.get(SUBMIT.name, SUBMIT.usual_word)) != SUBMIT.usual_word


def by_nearest(cell: Result, topology: Topology) -> bool:
    """Whether host memory is that of the NUMA domain nearest to the GPU; true for paths of other kinds."""
    ends = cell.source.device, cell.destination.device
    gpus = [end for end in ends if end.startswith("gpu")]
    if len(gpus) == 1 and gpus[0] in topology.names():
        return topology.nearest_cpu(gpus[0]) in ends
    return True


def is_plain(topology: Topology, cell: Result) -> bool:
    """Whether it stands for its path: a plain job over cold caches, not split over other routes.

    The memories stay where they are, and the host's is nearest to the GPU.
    """
    return cell.record.cache == "cold" and is_plain_job(cell) and by_nearest(cell, topology)


def is_plain_job(cell: Result) -> bool:
    """Whether it is a plain job, not split over other routes, on memories that stay where they are.

    Operations are submitted one at a time.
    """
    if cell.record.interface in WITH_OWN_TABLES or submits_many(cell):
        return False
    return cell.stays and does_the_job(cell)


def ipc_results(results: Iterable[Result]) -> list[Result]:
    """Returns the same of memory of another process."""
    return [cell for cell in results if cell.arrives and cell.by_ipc]


def chases(results: Iterable[Result]) -> list[Result]:
    """Returns pointer chases without load through memory of this process."""
    return [
        cell
        for cell in results
        if cell.record.interface == "pointer-chase"
        and cell.record.pattern == "unidirectional"
        and not uses_ipc(cell)
    ]


def by_own_caches(cell: Result) -> bool:
    """Whether a GPU's own caches may have served its loads, whoever owns the memory."""
    return bool(cell.record.evidence and cell.record.evidence.own_caches)


def concurrent(results: Iterable[Result]) -> list[Result]:
    """Returns bandwidth of concurrent flows, or of one with background load, within one process."""
    return [
        cell
        for cell in results
        if cell.record.pattern != "unidirectional"
        and metric_of(cell.record.interface) == "bandwidth"
        and within_a_process(cell)
    ]


#: A size represents the largest if it is smaller by at most this factor: transfers are long enough there.
REPRESENTS_LARGEST_FACTOR = 8


def broadest_size(results: Sequence[Result]) -> int:
    """Returns, among sizes near the largest, the one with most paths; the larger of equals.

    Raises:
        ValueError: There are no cells.
    """
    sizes = group_by(results, lambda cell: cell.size_bytes)
    least = max(sizes) / REPRESENTS_LARGEST_FACTOR
    return max((size for size in sizes if size >= least), key=lambda size: (_paths(sizes[size]), size))


def _paths(results: Iterable[Result]) -> int:
    return len({cell.record.path for cell in results})


def at_largest(results: Iterable[Result], size_bytes: int | None = None) -> list[Result]:
    """Returns the cells of each variant and pattern at their `broadest_size`.

    Args:
        size_bytes: Use this size instead.
    """
    chosen = []
    for members in group_by(results, lambda cell: (variant(cell), cell.record.pattern, kind(cell))).values():
        wanted = size_bytes if size_bytes is not None else broadest_size(members)
        chosen += [cell for cell in members if cell.size_bytes == wanted]
    return chosen


def largest_common_size(results: Iterable[Result]) -> int | None:
    """Returns the broadest of the sizes that most interfaces of these cells share, to compare at one size."""
    sizes = group_by(results, lambda cell: cell.size_bytes)
    if not sizes:
        return None
    interfaces = {size: len({cell.record.interface for cell in members}) for size, members in sizes.items()}
    most = max(interfaces.values())
    return broadest_size(
        [cell for size, members in sizes.items() if interfaces[size] == most for cell in members]
    )


def device_order(name: str) -> tuple[str, int]:
    """Sort key in natural order: cpu0, cpu1, gpu0 … gpu10."""
    stem = name.rstrip("0123456789")
    return stem, int(name[len(stem) :] or 0)


#: What separates names and options in a label.
_BETWEEN_NAMES = re.compile("[>:(), ]")


def label_order(label: str) -> tuple[object, ...]:
    """Sort key for `gpu2>gpu10` and other labels, by their devices."""
    parts: list[object] = []
    for name in _BETWEEN_NAMES.split(label):
        stem, number = device_order(name) if name[-1:].isdigit() and name[:1].isalpha() else (name, 0)
        parts += [stem, number]
    return tuple(parts)
