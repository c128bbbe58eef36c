"""Builds xGMI links from KFD's data: between GPUs, within a package, and to CPUs.

GPU pairs that KFD reaches over others get no link here; routes.py routes them over existing links.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from byteways.machine import link_rates
from byteways.machine.kfd import PACKAGE_WEIGHT, PARTITION_WEIGHT, XGMI_WEIGHT, KfdLink
from byteways.machine.link_rates import Rate
from byteways.machine.links import Gpu, Graph
from byteways.machine.model import Link

SAME_PACKAGE = "same package"
#: KFD reports 819200 MB/s for every link within a package, a placeholder.
_PACKAGE_RATE = Rate(None, None, "no nominal rate within a package: the kernel driver reports a placeholder")
_ACROSS_RATE = Rate(None, None, "the kernel driver reports no links between packages of partitioned devices")


def xgmi_link(a: str, b: str, count: int, rate: Rate, link_class: str) -> Link:
    """Returns the link of a bundle."""
    return Link(
        a,
        b,
        kind="xgmi",
        count=count,
        generation=None,
        peak_bytes_per_s=rate.data_bytes_per_s,
        signalling_bytes_per_s=rate.signalling_bytes_per_s,
        source=rate.source,
        link_class=link_class,
    )


def cpu_link(gpu: Gpu, cpu_nodes: Sequence[int]) -> KfdLink | None:
    """Returns the GPU's link to the nearest CPU node; None unless that is an xGMI link."""
    if gpu.node is None:
        return None
    near = sorted(
        (link for link in gpu.node.links if link.to_node in cpu_nodes), key=lambda link: link.weight
    )
    return near[0] if near and near[0].kind == "xgmi" else None


def shares_memory(gpu: Gpu, cpu_nodes: Sequence[int]) -> bool:
    """Whether GPU and CPU are one package with one memory, as on MI300A."""
    link = cpu_link(gpu, cpu_nodes)
    if gpu.node is not None and gpu.node.node in cpu_nodes:
        return True  # one node with cores and compute units
    return link is not None and link.weight == PACKAGE_WEIGHT


def add_cpu_links(graph: Graph, gpus: Sequence[Gpu], cpu_nodes: Sequence[int]) -> set[str]:
    """Adds xGMI links from GPUs to their CPU devices.

    Returns:
        Names of the GPUs without a PCIe link: they reach their CPU by xGMI or share its package.
    """
    done = set()
    for gpu in gpus:
        link = cpu_link(gpu, cpu_nodes)
        if gpu.home is None or gpu.node is None:
            continue
        if shares_memory(gpu, cpu_nodes):
            graph.links.append(xgmi_link(gpu.name, gpu.home, 1, _PACKAGE_RATE, SAME_PACKAGE))
        elif link is not None:
            count, told = max(1, link.count), link.one_link_bytes_per_s
            rate = link_rates.xgmi(count, gpu.node.architecture, to_cpu=True, driver_bytes_per_s=told)
            graph.links.append(xgmi_link(gpu.name, gpu.home, count, rate, f"xGMI to CPU ×{count}"))
        else:
            continue
        done.add(gpu.name)
    return done


def add_peer_links(graph: Graph, gpus: Sequence[Gpu], packages: Mapping[str, str], hidden: int = 0) -> None:
    """Adds bundles between GPUs.

    Args:
        graph: Receives the links.
        gpus: The visible GPUs.
        packages: From add_packages().
        hidden: Number of invisible GPUs of the machine.
    """
    known = [gpu for gpu in gpus if gpu.node is not None]
    routed = False
    for a, b in combinations(known, 2):
        ends = [link for link in (_between(a, b), _between(b, a)) if link is not None]
        if a.name in packages and b.name in packages:
            continue
        if not ends:
            continue
        direct = min(ends, key=lambda link: link.count)
        if direct.count or direct.weight <= XGMI_WEIGHT:
            graph.links.append(_bundle(a, b, direct))
        else:
            routed = True
        if len({link.count for link in ends}) > 1:
            counts = " and ".join(str(link.count) for link in ends)
            graph.notes.append(
                f"{a.name}<>{b.name}: the ends report {counts} xGMI links; the smaller number is drawn"
            )
    if routed and hidden:
        graph.notes.append(
            f"{hidden} more GPUs are not visible here; pairs may be reached over their xGMI links"
        )


def _between(a: Gpu, b: Gpu) -> KfdLink | None:
    if a.node is None or b.node is None:
        return None
    return next((link for link in a.node.links if link.to_node == b.node.node and link.kind == "xgmi"), None)


def _bundle(a: Gpu, b: Gpu, link: KfdLink) -> Link:
    count = max(1, link.count)
    architecture = a.node.architecture if a.node else None
    rate = link_rates.xgmi(count, architecture, driver_bytes_per_s=link.one_link_bytes_per_s)
    if not link.count:
        rate = Rate(
            rate.data_bytes_per_s, None, f"{rate.source}; the driver reports no width; one link is assumed"
        )
    return xgmi_link(a.name, b.name, count, rate, f"xGMI ×{count}")


def add_packages(graph: Graph, gpus: Sequence[Gpu]) -> dict[str, str]:
    """Adds nodes for packages of partitioned devices, linked if KFD links their partitions.

    Returns:
        Names of the nodes, by name of the GPUs that are partitions.
    """
    packages: dict[str, str] = {}  # by PCI address
    of_gpu: dict[str, str] = {}
    for gpu in gpus:
        weights = {link.weight for other in gpus if (link := _between(gpu, other))}
        if gpu.node and gpu.node.device_address and weights & {PACKAGE_WEIGHT, PARTITION_WEIGHT}:
            address = gpu.node.device_address
            of_gpu[gpu.name] = packages.setdefault(address, f"package{len(packages)}")
            graph.links.append(xgmi_link(gpu.name, of_gpu[gpu.name], 1, _PACKAGE_RATE, SAME_PACKAGE))
    graph.switches.extend(packages.values())
    joined = set()
    for a, b in combinations([gpu for gpu in gpus if gpu.name in of_gpu], 2):
        ends = of_gpu[a.name], of_gpu[b.name]
        link = _between(a, b)
        if link is not None and link.weight == PARTITION_WEIGHT and ends not in joined:
            joined.add(ends)
            graph.links.append(xgmi_link(*ends, 1, _ACROSS_RATE, "xGMI of unknown width"))
    graph.notes.extend(
        f"{name}: a partition; the driver reports the memory peak of the whole device" for name in of_gpu
    )
    return of_gpu


def on_pcie(gpus: Sequence[Gpu], packages: Mapping[str, str]) -> list[Gpu]:
    """Returns the GPUs with one representative per package, as its partitions share one PCIe link."""
    found: dict[str, Gpu] = {}
    for gpu in gpus:
        name = packages.get(gpu.name, gpu.name)
        found.setdefault(name, replace(gpu, name=name))
    return list(found.values())
