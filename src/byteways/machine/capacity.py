"""Nominal and maximum capacity of links and memories, and the maximum flow through them.

The nominal rate is the vendor's data rate. The physical limit cannot be exceeded: a link's raw signalling
rate, the transfer rate of a memory's pins. Unknown values are None with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from byteways.base.units import format_bandwidth
from byteways.machine.cached import cached
from byteways.machine.model import Device, Link, Topology
from byteways.machine.routes import FABRICS, nodes_of, route

#: Values below this in the simplex tableau, whose entries are of the order of 1, are rounding errors.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Arc:
    """One direction of a link, or a memory."""

    name: str  # `gpu0>nvswitch`, `gpu0 memory`
    capacity: float | None  # nominal, bytes/s
    kind: str  # common name of equal arcs
    source: str  # of the capacity, or why it is unknown
    limit: float | None = None  # physical, bytes/s
    limit_source: str = "the physical limit is unknown"


@cached
def links_between(topology: Topology, begin: str, end: str) -> tuple[Arc, ...] | None:
    """Returns the links from one device to another in route order; None without a route."""
    way = route(topology, begin, end)
    if not way:
        return None
    hidden = _hidden_links(topology, begin, end, way)
    arcs = []
    for link, (one, other) in zip(way, pairwise(nodes_of(begin, way)), strict=True):
        limit, source = (None, hidden) if hidden else _signalling(link)
        name = f"{one}>{other}"
        arcs.append(Arc(name, link.peak_bytes_per_s, link.link_class, link.source, limit, source))
    return tuple(arcs)


def _hidden_links(topology: Topology, begin: str, end: str, way: Sequence[Link]) -> str:
    """Returns why traffic between two devices may use unknown links; empty if it cannot."""
    if any(link.kind in FABRICS for link in way):
        return ""
    ends = topology.device(begin), topology.device(end)
    gpus = [device for device in ends if device.kind == "gpu"]
    if len(gpus) == 2:
        return "; ".join(sorted({device.hidden_links for device in gpus if device.hidden_links}))
    on_arm = any(device.architecture == "aarch64" for device in ends)
    if gpus and on_arm and (gpus[0].architecture or "").startswith("sm_"):
        return "no source reports NVLink-C2C between this GPU and the CPU"
    return ""


def _signalling(link: Link) -> tuple[float | None, str]:
    rate = link.signalling_bytes_per_s
    if rate is None:
        return None, f"the raw signalling rate is unknown: {link.source}"
    return rate, f"{link.link_class}: raw signalling rate of {format_bandwidth(rate)}"


def memory_of(topology: Topology, name: str) -> Arc:
    """Returns the memory of a device; for a CPU that shares a GPU's memory in its package, the GPU's."""
    device = topology.device(name)
    if device.kind == "cpu":
        device = package_gpu(topology, name) or device
    peak, reason = device.memory_peak_bytes_per_s, device.memory_peak_source or "no source reports it"
    # The peak is clock × width of the memory's pins, so it is also the physical limit.
    return Arc(f"{device.name} memory", peak, "memory", reason, peak, reason)


def host_memory(topology: Topology) -> Arc:
    """Returns the memory of all NUMA domains without GPU memory: firmware lists no modules by domain."""
    limit, source = topology.host_memory_limit_bytes_per_s, topology.host_memory_limit_source
    return Arc("host memory", None, "memory", source, limit, source)


def package_gpu(topology: Topology, cpu: str) -> Device | None:
    """Returns the GPU that shares the CPU device's memory; None if there is none."""
    return next((device for device in topology.devices if device.shares_memory_with == cpu), None)


def one_memory(topology: Topology, a: str, b: str) -> Device | None:
    """Returns the GPU whose memory (of known nominal rate) two devices share; None without one."""
    for gpu, cpu in ((topology.device(a), b), (topology.device(b), a)):
        if gpu.shares_memory_with == cpu:
            return gpu
    return None


def maximum_flow(
    uses: Sequence[Mapping[str, int]], capacities: Mapping[str, float]
) -> tuple[float, list[str]]:
    """Returns the largest sum of flows on fixed routes: max Σ_f r_f with Σ_f uses[f][a] · r_f ≤
    capacities[a] for all a.

    Dantzig's simplex method; r = 0 is feasible, as this is a packing problem. Bland's rule prevents cycling
    (R. G. Bland, Mathematics of Operations Research 2, 1977).

    Args:
        uses: How often each flow crosses each arc; each flow crosses at least one arc with a capacity.
        capacities: bytes/s by arc.

    Returns:
        The sum in bytes/s and the limiting arcs (whose capacities prove that no sum is larger).
    """
    names = _that_may_limit(uses, capacities)
    scale = max(capacities[name] for name in names)
    rows = []
    for name in names:
        slack = [float(other == name) for other in names]
        rows.append([*(float(use.get(name, 0)) for use in uses), *slack, capacities[name] / scale])
    gain = [1.0] * len(uses) + [0.0] * (len(names) + 1)
    basis = [len(uses) + index for index in range(len(names))]  # the variable of each row
    while True:
        entering = next((column for column, value in enumerate(gain[:-1]) if value > _ROUNDING), None)
        if entering is None:
            break
        _pivot(rows, gain, basis, entering)
    limits = [name for index, name in enumerate(names) if gain[len(uses) + index] < -_ROUNDING]
    return -gain[-1] * scale, limits


def _that_may_limit(uses: Sequence[Mapping[str, int]], capacities: Mapping[str, float]) -> list[str]:
    """Removes arcs whose capacity exceeds the total that their flows can bring over their narrowest arcs."""
    brought = dict.fromkeys(capacities, 0.0)
    for use in uses:
        alone = min(capacities[name] / times for name, times in use.items() if name in capacities)
        for name, times in use.items():
            if name in capacities:
                brought[name] += times * alone
    return [name for name, most in brought.items() if most and most >= capacities[name] * (1 - _ROUNDING)]


def _pivot(rows: list[list[float]], gain: list[float], basis: list[int], entering: int) -> None:
    """Performs one simplex step: the row with the least ratio leaves; among equals, the first variable's."""
    ratios = {index: row[-1] / row[entering] for index, row in enumerate(rows) if row[entering] > _ROUNDING}
    least = min(ratios.values()) + _ROUNDING
    leaving = min((index for index, ratio in ratios.items() if ratio <= least), key=basis.__getitem__)
    factor = rows[leaving][entering]
    pivot = [value / factor for value in rows[leaving]]
    rows[leaving] = pivot
    basis[leaving] = entering
    for row in (*(row for row in rows if row is not pivot), gain):
        multiple = row[entering]
        if multiple:
            row[:] = [value - multiple * other for value, other in zip(row, pivot, strict=True)]
