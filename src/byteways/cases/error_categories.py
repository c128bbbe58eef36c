"""Categories of cases in which a machine model may be good or bad independently. Pure."""

from __future__ import annotations

from byteways.cases.interfaces import INTERFACES, is_memory_step, metric_of, moves_pages

#: In the order in which they are shown.
ERROR_CATEGORIES = (
    *("copies", "kernels", "cores", "prefetches", "latencies", "calls", "MPI", "UCX", "NCCL and RCCL"),
    *("direct collectives", "applications"),
)
_OF_LIBRARIES = {"mpi": "MPI", "ucx": "UCX", "xccl": "NCCL and RCCL", "direct": "direct collectives"}


def error_category(interface: str, executor: str) -> str:
    """Returns the category of a case or of a published value; `executor`: the device that moves the bytes."""
    row = INTERFACES[interface]
    if row.category == "application":
        return "applications"
    if row.between:
        return _OF_LIBRARIES[row.between]
    if metric_of(interface) == "latency":
        return "latencies"
    if is_memory_step(interface) or metric_of(interface) == "time":
        return "calls"
    if executor.startswith("cpu"):
        return "cores"
    if moves_pages(interface):
        return "prefetches"
    return "copies" if row.by_call else "kernels"
