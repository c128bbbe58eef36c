"""What AMD's kernel driver (KFD) would say of a machine that is described: the nodes and their links.

Links over PCI Express are left out: they follow from the paths of the devices.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from byteways.base.devices import device_number, is_cpu, is_gpu
from byteways.machine.kfd import (
    PACKAGE_WEIGHT,
    PARTITION_WEIGHT,
    XGMI_WEIGHT,
    Kfd,
    KfdGpu,
    KfdLink,
    page_faults,
)

#: Bytes/s that KFD reports for a link within a package (kfd_crat.c), and for one xGMI link in kernels that
#: treat every GPU as gfx90a (amdgpu_amdkfd.c).
_PACKAGE_BYTES_PER_S, _XGMI_BYTES_PER_S = 819200e6, 50000e6
#: The parameter `noretry` where nobody sets it.
_DRIVERS_CHOICE = "-1"

#: Links in each bundle by its ends, two device names.
Bundles = Mapping[frozenset[str], int]


def described(gpus: Sequence[KfdGpu], domains: int, bundles: Bundles, packaged: Sequence[int] = ()) -> Kfd:
    """Returns the driver's data.

    Args:
        gpus: `gpu0` and the following, without links; their nodes come after those of the NUMA domains.
        domains: Number of NUMA domains.
        bundles: xGMI links.
        packaged: The NUMA domain whose memory each GPU shares; empty: none does.
    """
    peers = {ends: width for ends, width in bundles.items() if all(map(is_gpu, ends))}
    linked = []
    for index, gpu in enumerate(gpus):
        to_cpu = _cpu_link(index, bundles, packaged)
        links = [*([to_cpu] if to_cpu else []), *_peer_links(index, gpus, peers)]
        linked.append(replace(gpu, links=tuple(links)))
    numbers = tuple(range(domains))
    faults = {gpu.architecture: page_faults(gpu, _DRIVERS_CHOICE) for gpu in gpus if gpu.architecture}
    return Kfd(tuple(linked), numbers, numbers, faults)


def _cpu_link(index: int, bundles: Bundles, packaged: Sequence[int]) -> KfdLink | None:
    """Returns the only link to a CPU node that KFD shows, unless that is over PCI Express."""
    for ends, width in bundles.items():
        if f"gpu{index}" in ends and any(map(is_cpu, ends)):
            (cpu,) = ends - {f"gpu{index}"}
            return _bundle(device_number(cpu), width)
    return _package_link(packaged[index]) if packaged else None


def _peer_links(index: int, gpus: Sequence[KfdGpu], bundles: Bundles) -> Iterator[KfdLink]:
    """Yields a link to each peer that xGMI reaches; one without a rate if over other GPUs."""
    devices = [gpu.device_address for gpu in gpus]
    own, hops = f"gpu{index}", _hops(f"gpu{index}", bundles)
    for other, gpu in enumerate(gpus):
        peer = f"gpu{other}"
        if other == index:
            continue
        if devices[other] == devices[index]:
            yield _package_link(gpu.node)
        elif bundles and max(devices.count(devices[other]), devices.count(devices[index])) > 1:
            yield KfdLink(gpu.node, "xgmi", PARTITION_WEIGHT, None, None)
        elif width := bundles.get(frozenset((own, peer))):
            yield _bundle(gpu.node, width)
        elif peer in hops:
            yield KfdLink(gpu.node, "xgmi", XGMI_WEIGHT * hops[peer], None, None)


def _bundle(node: int, width: int) -> KfdLink:
    return KfdLink(node, "xgmi", XGMI_WEIGHT, _XGMI_BYTES_PER_S, _XGMI_BYTES_PER_S * width)


def _package_link(node: int) -> KfdLink:
    return KfdLink(node, "xgmi", PACKAGE_WEIGHT, _PACKAGE_BYTES_PER_S, _PACKAGE_BYTES_PER_S)


def _hops(start: str, bundles: Bundles) -> dict[str, int]:
    """Returns the number of links on the shortest way to each GPU that the bundles reach."""
    hops, queue = {start: 0}, deque([start])
    while queue:
        here = queue.popleft()
        for there in sorted({end for ends in bundles if here in ends for end in ends} - set(hops)):
            hops[there] = hops[here] + 1
            queue.append(there)
    return hops
