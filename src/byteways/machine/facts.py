"""Facts of a node that publications state in a sentence: numbers of devices and links, their nominal rates.

Every fact is a number of the Topology, so that it is checked on any machine without a measurement. None means
that this machine does not tell it, or tells different numbers for devices of one kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from byteways.machine.model import Cache, Device, Link, Topology
from byteways.machine.packages import package_of
from byteways.machine.routes import FABRICS, route


@dataclass(frozen=True)
class NodeFact:
    """A number of a node. `unit` is one of UNITS; `says` is a phrase for messages."""

    unit: str
    says: str
    of: Callable[[Topology], float | None] | None = None
    #: The same for the devices at a place; `of` is then None.
    between: Callable[[Topology, str, str], float | None] | None = None


#: Units: a plain number, bytes, 10⁹ bytes/s, watts and 10¹² operations/s.
NUMBER_UNIT, BYTES_UNIT, RATE_UNIT, POWER_UNIT, OPERATIONS_UNIT = "", "bytes", "GB/s", "W", "TFLOP/s"
#: Operations in double precision of a compute unit's matrix units in a clock; a multiply-add is two.
#: AMD CDNA 2 and CDNA 3 white papers (MI250X: 220 × 256 × 1.7 GHz = 95.7 TFLOP/s).
_MATRIX_FP64_A_CLOCK = {"gfx90a": 256, "gfx942": 256}


def _same(numbers: Iterable[float | None]) -> float | None:
    """Returns the number that all have; None if it is unknown or differs."""
    found = set(numbers)
    return found.pop() if len(found) == 1 else None


def _of_each(kind: str, get: Callable[[Device], float | None]) -> Callable[[Topology], float | None]:
    return lambda topology: _same(get(topology.device(name)) for name in topology.names(kind))


def _cache(level: int) -> Callable[[Device], float | None]:
    def bytes_of(device: Device) -> float | None:
        return _same(
            one.size_bytes for one in device.caches if one.level == level and one.kind != "instruction"
        )

    return bytes_of


def _sharing(level: int) -> Callable[[Device], float | None]:
    return lambda device: _same(one.shared_by_cores for one in device.caches if one.level == level)


def _gigabytes(rate: float | None) -> float | None:
    return None if rate is None else rate / 1e9


def _direct(topology: Topology) -> list[Link]:
    """Returns the bundles of links that join two GPUs without a switch."""
    gpus = set(topology.names("gpu"))
    return [link for link in topology.links if {link.a, link.b} <= gpus and link.kind in FABRICS]


def _classes(topology: Topology) -> float | None:
    """Returns the number of classes of direct links between GPUs."""
    return len({link.link_class for link in _direct(topology)}) or None


def _most_hops(topology: Topology) -> float | None:
    """Returns how many links the most distant two GPUs need: of the shortest ways, not of those taken."""
    peers: dict[str, set[str]] = {gpu: set() for gpu in topology.names("gpu")}
    for link in _direct(topology):
        peers[link.a].add(link.b)
        peers[link.b].add(link.a)
    most = 0
    for gpu in peers:
        reached, hops, found = {gpu}, 0, peers[gpu]
        while found - reached:
            reached, hops = reached | found, hops + 1
            found = {peer for each in found for peer in peers[each]}
        if len(reached) < len(peers):
            return None
        most = max(most, hops)
    return most or None


def _links_of_a_gpu(topology: Topology) -> float | None:
    """Returns the number of links from each GPU to its peers."""
    direct = _direct(topology)
    counts = (sum(link.count for link in direct if gpu in (link.a, link.b)) for gpu in topology.names("gpu"))
    return _same(counts) or None


def _links(topology: Topology, one: str, other: str) -> float | None:
    way = route(topology, one, other)
    return way[0].count if len(way) == 1 else None


def _peak(topology: Topology, one: str, other: str) -> float | None:
    known = [link.peak_bytes_per_s for link in route(topology, one, other)]
    rates = [rate for rate in known if rate is not None]
    return _gigabytes(min(rates)) if rates and len(rates) == len(known) else None


def _peak_of_one(topology: Topology, one: str, other: str) -> float | None:
    peak, count = _peak(topology, one, other), _links(topology, one, other)
    return None if peak is None or not count else peak / count


def _by_package(topology: Topology) -> Mapping[str, list[Device]]:
    found: dict[str, list[Device]] = {}
    for gpu, package in package_of(topology).items():
        found.setdefault(package, []).append(topology.device(gpu))
    return found


def _package_power(topology: Topology) -> float | None:
    """Returns the power limit of a package with GPUs, in watts; one of its GPUs tells it."""
    return _same(
        _same({gpu.power_limit_watts for gpu in gpus if gpu.power_limit_watts is not None})
        for gpus in _by_package(topology).values()
    )


def _gpu_power(topology: Topology) -> float | None:
    """Returns the part of a package's power limit that each of its GPUs has, in watts."""
    power, gpus = _package_power(topology), _same(map(len, _by_package(topology).values()))
    return None if power is None or not gpus else power / gpus


def _matrix_fp64(topology: Topology) -> float | None:
    """Returns the peak of a package's matrix units in double precision, in 10¹² operations/s."""

    def peak(gpu: Device) -> float | None:
        each = _MATRIX_FP64_A_CLOCK.get((gpu.architecture or "").partition(":")[0])
        if each is None or not gpu.multiprocessors or not gpu.clock_mhz:
            return None
        return gpu.multiprocessors * gpu.clock_mhz * 1e6 * each / 1e12

    totals = []
    for gpus in _by_package(topology).values():
        peaks = [peak(gpu) for gpu in gpus]
        totals.append(None if None in peaks else sum(one for one in peaks if one is not None))
    return _same(totals)


def _gpu_l1(kind: str, of: Callable[[Cache], float | None]) -> Callable[[Topology], float | None]:
    return _of_each(
        "gpu", lambda gpu: _same(of(one) for one in gpu.caches if (one.level, one.kind) == (1, kind))
    )


def _nic_peak(topology: Topology) -> float | None:
    """Returns the nominal peak of the link between a NIC and the node."""
    names = {nic.name for nic in topology.nics}
    return _same(_gigabytes(link.peak_bytes_per_s) for link in topology.links if link.a in names)


def _nics_of_packages(topology: Topology) -> float | None:
    """Returns the number of NICs nearest to each package with GPUs."""
    near = [{*nic.nearest_gpus} for nic in topology.nics]
    if not near:
        return None
    packages = _by_package(topology).values()
    return _same(sum(bool(one & {gpu.name for gpu in gpus}) for one in near) for gpus in packages)


FACTS: Mapping[str, NodeFact] = {
    "gpus": NodeFact(NUMBER_UNIT, "GPUs", lambda topology: len(topology.names("gpu"))),
    "packages": NodeFact(
        NUMBER_UNIT, "packages with GPUs", lambda topology: len(set(package_of(topology).values())) or None
    ),
    "numa-domains": NodeFact(NUMBER_UNIT, "NUMA domains", lambda topology: len(topology.names("cpu"))),
    "shared-memories": NodeFact(
        NUMBER_UNIT,
        "GPUs that share the memory of a NUMA domain",
        lambda topology: sum(
            bool(topology.device(name).shares_memory_with) for name in topology.names("gpu")
        ),
    ),
    "cores": NodeFact(
        NUMBER_UNIT,
        "cores",
        lambda topology: sum(len(topology.device(cpu).cores) for cpu in topology.names("cpu")),
    ),
    "cores-per-domain": NodeFact(
        NUMBER_UNIT, "cores of a NUMA domain", _of_each("cpu", lambda cpu: len(cpu.cores))
    ),
    "l1-bytes": NodeFact(BYTES_UNIT, "L1 data cache of a core", _of_each("cpu", _cache(1))),
    "l2-bytes": NodeFact(BYTES_UNIT, "L2 cache of a core", _of_each("cpu", _cache(2))),
    "l3-bytes": NodeFact(BYTES_UNIT, "L3 cache", _of_each("cpu", _cache(3))),
    "l3-cores": NodeFact(NUMBER_UNIT, "cores that share an L3 cache", _of_each("cpu", _sharing(3))),
    "compute-units": NodeFact(
        NUMBER_UNIT, "processors of a GPU", _of_each("gpu", lambda gpu: gpu.multiprocessors)
    ),
    "gpu-cache-bytes": NodeFact(
        BYTES_UNIT, "last-level cache of a GPU", _of_each("gpu", lambda gpu: gpu.last_level_cache_bytes)
    ),
    "gpu-memory-bytes": NodeFact(
        BYTES_UNIT, "memory of a GPU", _of_each("gpu", lambda gpu: gpu.memory_bytes)
    ),
    "domain-memory-bytes": NodeFact(
        BYTES_UNIT, "memory of a NUMA domain", _of_each("cpu", lambda cpu: cpu.memory_bytes)
    ),
    "gpu-memory-peak": NodeFact(
        RATE_UNIT,
        "nominal peak of a GPU's memory",
        _of_each("gpu", lambda gpu: _gigabytes(gpu.memory_peak_bytes_per_s)),
    ),
    "accelerator-dies": NodeFact(
        NUMBER_UNIT, "accelerator dies of a GPU", _of_each("gpu", lambda gpu: gpu.dies)
    ),
    "partition-modes": NodeFact(
        NUMBER_UNIT,
        "modes of compute partitioning of a GPU",
        _of_each("gpu", lambda gpu: len(gpu.partition_modes) or None),
    ),
    "gpu-l1-bytes": NodeFact(
        BYTES_UNIT, "L1 data cache of a compute unit", _gpu_l1("data", lambda one: one.size_bytes)
    ),
    "gpu-line-bytes": NodeFact(
        BYTES_UNIT,
        "line of the L1 data cache of a compute unit",
        _gpu_l1("data", lambda one: one.line_bytes or None),
    ),
    "gpu-l1-instruction-bytes": NodeFact(
        BYTES_UNIT,
        "L1 instruction cache of compute units",
        _gpu_l1("instruction", lambda one: one.size_bytes),
    ),
    "gpu-l1-instruction-units": NodeFact(
        NUMBER_UNIT,
        "compute units that share an L1 instruction cache",
        _gpu_l1("instruction", lambda one: one.shared_by_cores),
    ),
    "package-power-limit": NodeFact(POWER_UNIT, "default power limit of a package with GPUs", _package_power),
    "gpu-power-limit": NodeFact(POWER_UNIT, "a GPU's part of the power limit of its package", _gpu_power),
    "package-fp64-peak": NodeFact(
        OPERATIONS_UNIT,
        "peak of a package's matrix units in double precision: compute units × clock × operations a clock",
        _matrix_fp64,
    ),
    "nics": NodeFact(NUMBER_UNIT, "NICs", lambda topology: len(topology.nics) or None),
    "nics-of-a-package": NodeFact(NUMBER_UNIT, "NICs nearest to each package with GPUs", _nics_of_packages),
    "nic-link-peak": NodeFact(RATE_UNIT, "nominal peak per direction of a NIC's link to the node", _nic_peak),
    "link-classes": NodeFact(NUMBER_UNIT, "classes of links between GPUs", _classes),
    "most-hops": NodeFact(NUMBER_UNIT, "links between the most distant GPUs", _most_hops),
    "links-of-a-gpu": NodeFact(NUMBER_UNIT, "links from a GPU to its peers", _links_of_a_gpu),
    "links": NodeFact(NUMBER_UNIT, "links", between=_links),
    "link-peak": NodeFact(RATE_UNIT, "nominal peak per direction of all links", between=_peak),
    "peak-of-one-link": NodeFact(RATE_UNIT, "nominal peak per direction of one link", between=_peak_of_one),
}
