"""Checks of the host: limits of this process, and kernel settings that affect memory and cores."""

from __future__ import annotations

import os
import resource
from collections.abc import Collection
from pathlib import Path

from byteways.base.units import format_size
from byteways.machine.model import Topology
from byteways.machine.sysfs_cpu import parse_cpu_list, read_text
from byteways.measuring.conduct.skipped_cases import HUGE_PAGES_ON
from byteways.measuring.doctor.check import Diagnosis
from byteways.measuring.shared.health_host import HostLoad, control_groups
from byteways.measuring.shared.host_memory import host_memory_bytes
from byteways.plan.footprint import ROTATED_CACHES

#: Cold buffers are larger than half as many last-level caches, at the source and at the destination.
CACHES_NEEDED = ROTATED_CACHES


def check_host(
    topology: Topology, load: HostLoad, sysfs: Path = Path("/sys"), proc: Path = Path("/proc")
) -> list[Diagnosis]:
    """Returns all checks of the host.

    Args:
        topology: Of this machine.
        load: Of the last second.
        sysfs: Where sysfs is mounted.
        proc: Where procfs is mounted.
    """
    cpus = [device for device in topology.devices if device.kind == "cpu"]
    cores = [core for device in cpus for core in device.cores]
    cache = max((cache.size_bytes for device in cpus for cache in device.caches), default=0)
    return [
        check_cores(cores, sysfs),
        check_load(load),
        check_cpu_quota(len(cores), sysfs, proc),
        check_memory(host_memory_bytes(proc, sysfs / "fs/cgroup"), _physical(proc), cache),
        check_locked_memory(resource.getrlimit(resource.RLIMIT_MEMLOCK)[0], sysfs),
        check_huge_pages(sysfs),
        check_numa_balancing(len(cpus), proc),
        check_governor(cores, sysfs),
    ]


def check_cores(cores: Collection[int], sysfs: Path) -> Diagnosis:
    """Checks affinity and cpuset: few cores make host copies slow."""
    online = len(parse_cpu_list(read_text(sysfs / "devices/system/cpu/online") or "")) or len(cores)
    text = f"{len(cores)} of {online} are usable"
    if len(cores) == online:
        return Diagnosis("host", "cores", "ok", text)
    advice = "ask the batch system for all cores, or start byteways outside taskset; host copies need them"
    return Diagnosis("host", "cores", "warning", text, advice)


def check_load(load: HostLoad) -> Diagnosis:
    """Reports the CPU time used by other processes and the hypervisor, now and over the last minute."""
    if load.others is None and load.load_1min is None:
        return Diagnosis("host", "load", "ok", "not reported by the kernel")
    told = [] if load.load_1min is None else [f"load average {load.load_1min:g} on {load.cores} cores"]
    if load.others is not None:
        told.append(f"other processes use {100 * load.others:.0f} % of the cores' time")
    if (load.steal or 0) >= 0.005:  # displayed without decimals
        told.append(f"the hypervisor steals {100 * (load.steal or 0):.0f} %")
    if load.throttled_s:
        told.append(f"the control group's quota throttled threads for {load.throttled_s:.2g} s")
    advice = [warning.advice for warning in load.warnings()]
    if not advice and (load.load_1min or 0) > load.cores:
        advice = ["more tasks than cores in the last minute: wait until they end"]
    return Diagnosis("host", "load", "warning" if advice else "ok", "; ".join(told), " ".join(advice) or None)


def check_cpu_quota(cores: int, sysfs: Path, proc: Path) -> Diagnosis:
    """Checks the control group's CPU quota, which stops threads within a sample once used up."""
    quotas = [quota for place in control_groups("cpu", sysfs, proc) if (quota := _quota(place)) is not None]
    if not quotas or min(quotas) >= cores:
        return Diagnosis(
            "host", "CPU quota", "ok", "none" if not quotas else f"{min(quotas):g} cores, enough"
        )
    text = f"the control group's quota is {min(quotas):g} cores of CPU time on {cores} cores"
    return Diagnosis(
        "host",
        "CPU quota",
        "warning",
        text,
        "raise the container's CPU limit: threads are throttled mid-sample",
    )


def check_memory(usable_bytes: int, physical_bytes: int, cache_bytes: int) -> Diagnosis:
    """Checks that host memory suffices for buffers larger than the caches.

    For the whole host; `topo` shows each NUMA domain, where the kernel may have reserved some.
    """
    text = f"the whole host has {format_size(physical_bytes)}"
    if usable_bytes < physical_bytes:
        text += f", the control group's limit is {format_size(usable_bytes)}"
    text += f"; a case may use four fifths, {format_size(usable_bytes * 4 // 5)}"  # plan/legality/rooms.py
    needed = CACHES_NEEDED * cache_bytes
    if usable_bytes >= needed:
        return Diagnosis("host", "memory", "ok", text)
    text += f", less than {format_size(needed)}, four times the last-level cache"
    return Diagnosis(
        "host", "memory", "warning", text, "raise the memory limit; cold cases do not fit and are skipped"
    )


def check_locked_memory(limit_bytes: int, sysfs: Path) -> Diagnosis:
    """Checks the limit of locked memory, which MPI and collective libraries need for network buffers."""
    if limit_bytes == resource.RLIM_INFINITY:
        return Diagnosis("host", "locked memory", "ok", "unlimited")
    text = f"limit {format_size(limit_bytes)}"
    if not any((sysfs / "class/infiniband").glob("*")):
        return Diagnosis("host", "locked memory", "ok", f"{text}, no network card needs more")
    advice = (
        "ulimit -l unlimited, or memlock in limits.conf: otherwise the network card cannot register "
        "larger buffers"
    )
    return Diagnosis("host", "locked memory", "warning", text, advice)


def check_huge_pages(sysfs: Path) -> Diagnosis:
    """Checks memory kind `hugepage`: reserved huge pages, or transparent ones on request."""
    modes = (read_text(sysfs / "kernel/mm/transparent_hugepage/enabled") or "").split()
    transparent = next((mode.strip("[]") for mode in modes if mode.startswith("[")), "not in this kernel")
    reserved = [
        f"{int(free)} × {pool.name.removeprefix('hugepages-')}"
        for pool in sorted((sysfs / "kernel/mm/hugepages").glob("hugepages-*"))
        if (free := read_text(pool / "free_hugepages") or "0") != "0"
    ]
    text = f"transparent: {transparent}; reserved and free: {', '.join(reserved) or 'none'}"
    if reserved or transparent in ("always", "madvise"):
        return Diagnosis("host", "huge pages", "ok", text)
    return Diagnosis("host", "huge pages", "warning", text, HUGE_PAGES_ON)


def check_numa_balancing(domains: int, proc: Path) -> Diagnosis:
    """Checks the kernel's NUMA page migration, which moves buffers during measurement."""
    state = read_text(proc / "sys/kernel/numa_balancing")
    if state in (None, "0"):
        return Diagnosis("host", "NUMA balancing", "ok", "off" if state else "not in this kernel")
    if domains < 2:
        return Diagnosis("host", "NUMA balancing", "ok", "on, no effect with a single NUMA domain")
    advice = "sysctl kernel.numa_balancing=0 (administrator): it migrates pages during measurements"
    return Diagnosis("host", "NUMA balancing", "warning", "on", advice)


def check_governor(cores: Collection[int], sysfs: Path) -> Diagnosis:
    """Checks frequency governors: cores that clock down between samples scatter results."""
    paths = [sysfs / f"devices/system/cpu/cpu{core}/cpufreq/scaling_governor" for core in cores]
    governors = sorted({governor for path in paths if (governor := read_text(path))})
    if not governors:
        return Diagnosis("host", "CPU governor", "ok", "unknown, as in most virtual machines")
    if governors == ["performance"]:
        return Diagnosis("host", "CPU governor", "ok", "performance")
    advice = "cpupower frequency-set -g performance (administrator)"
    return Diagnosis("host", "CPU governor", "warning", ", ".join(governors), advice)


def _physical(proc: Path) -> int:
    for line in (read_text(proc / "meminfo") or "").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _quota(place: Path) -> float | None:
    """Returns the CPU quota of a control group in cores; None without a limit."""
    limit, _, period = (read_text(place / "cpu.max") or "").partition(" ")
    if not limit:
        limit = read_text(place / "cpu.cfs_quota_us") or ""
        period = read_text(place / "cpu.cfs_period_us") or ""
    return int(limit) / int(period) if limit.isdigit() and period.isdigit() and int(period) else None
