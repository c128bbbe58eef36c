"""Estimates the duration of a case, for planning only.

These numbers are not measurements and never shown as such: they decide which cases fit a time budget. They
are round, conservative values for such paths; links with a known peak use that.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from byteways.cases.case import Buffer, Case, Flow
from byteways.cases.interface_rows import COLD_LOAD
from byteways.cases.interfaces import (
    APPLICATIONS,
    INTERFACES,
    counts_as_stream,
    is_memory_step,
    metric_of,
    moves_pages,
)
from byteways.cases.memory import LOCKED, is_device, is_managed, is_plain
from byteways.cases.memory_steps import held_bytes
from byteways.cases.osu import is_osu, loop_of
from byteways.machine.model import Capabilities, Topology
from byteways.plan.footprint import buffers
from byteways.plan.legality import kind_of

#: More cores than this hardly increase the throughput of a NUMA domain.
CORES_THAT_HELP = 16
#: GPU transfers: within one, between two over an unknown link, to or from the host, and total per host.
GPU_LOCAL_BYTES_PER_S = 1000e9
GPU_PAIR_BYTES_PER_S = 20e9
HOST_LINK_BYTES_PER_S = 20e9
HOST_TOTAL_BYTES_PER_S = 100e9
#: The driver stages copies from and to pageable memory.
STAGED_BYTES_PER_S = 5e9
#: Page migration by faults or prefetch, and the cost of one call: the slow end of what was observed.
MOVED_BYTES_PER_S = 5e9
MOVED_FIXED_S = 50e-6
#: Achieved fraction of a link's nominal rate.
LINK_EFFICIENCY = 0.8
#: Filling, poisoning and checking of buffers by one core of the owning CPU, by all its cores, or by the GPU.
PATTERN_BYTES_PER_S = {"core": 10e9, "cpu": 48e9, "gpu": 1000e9}
#: One core reading write-combined memory: every load waits for memory.
WRITE_COMBINED_BYTES_PER_S = 0.2e9
#: Allocation and first touch by memory kind, at the slow end of runs on two and four H100 and H200 (virtual
#: machines): 1.3 to 14 GB/s of pageable memory, 1.9 to 10 GB/s of registered memory, and 1 GB/s, in later
#: rounds, too, of managed memory that a GPU owns. CPUs touch their own managed memory like pageable memory.
ALLOCATION_BYTES_PER_S = {
    "pageable": 2e9,
    "hugepage": 1e9,
    "pinned": 2e9,
    "pinned-noncoherent": 2e9,
    "write-combined": 2e9,
    "registered": 1.5e9,
    "managed": 1e9,
    "managed-coarse": 1e9,
    "device": 1000e9,
    "device-fine": 1000e9,
    "device-uncached": 1000e9,
    "pool": 1000e9,
    "vmm": 1000e9,
    "ipc": 1000e9,
    "xccl": 1000e9,
}
#: Latency of one dependent load: in a CPU's caches, in local memory, and over a link.
STEP_S = {"cached": 5e-9, "own": 0.3e-6, "far": 1.2e-6}
#: Round trip of a word between two polling devices, by the kinds of both; and round trips per sample.
ROUND_TRIP_S = {"cpu": 0.5e-6, "gpu": 4e-6}
LEAST_ROUND_TRIPS = 1000
#: Allocating or locking host pages again, after the first time; plain pages were at 3.3 to 15 GB/s.
PAGES_BYTES_PER_S, PLAIN_PAGES_BYTES_PER_S = 2e9, 3.3e9
#: One call without data, or one small isolated operation.
CALL_S = 10e-6
#: Passes over the data of an application pattern, by kind of executor, and calls of an iteration.
APPLICATION_BYTES_PER_S = {"cpu": 2e9, "gpu": 1000e9}
APPLICATION_CALLS = 10
#: A small message or collective in the loop of OSU's program, with the barrier between.
LOOPED_S = {"message": 1e-6, "collective": 5e-6}
#: Working set that fits in the private caches of one CPU core.
CACHED_BYTES = 2**20
#: Loads of a whole chase, by kind of executor; rate at which a GPU builds the cycle, by memory owner.
CHASE_STEPS = {"cpu": 1e6, "gpu": 1e5}
CHASE_BUILD_BYTES_PER_S = {"cpu": 1.7e9, "gpu": 5e9}
#: Dispatch to the worker, warm-up, engine detection and journal; by kind of executor, and per additional
#: flow.
FIXED_S = {"cpu": 0.01, "gpu": 0.02}
FLOW_S = 0.01
#: Untimed work of a case in another process, which exports memory: a rough value, from the time by which a
#: run of 36 such cases on 2 H200 was longer than planned.
SETUP_S = {"open-ipc": 1.0}
#: Least duration of a batch (native/timing/single_sampler.cpp), by kind of executor.
LEAST_SAMPLE_S = {"cpu": 50e-6, "gpu": 2.5e-3}
#: Least duration of the common window of concurrent flows, and least operations (native/timing/window.cpp).
COMMON_WINDOW_S = 2e-3
LEAST_OPERATIONS = 4
#: Samples before the first check of the stopping rule with one round, and per round with several.
FIRST_LOOK, LEAST_LOOK = 20, 7
#: Samples needed, in multiples of the first check (one half more to confirm; CPUs are noisier).
LOOKS = {"cpu": 3.0, "gpu": 1.6}
ESTIMATED_SAMPLES = 3
WARM_UP_OPERATIONS = 8
#: Every sample is verified if that takes less than this fraction of a case's budget (rule of the native
#: core).
VERIFICATION_SHARE = 0.4
#: Window of a pointer chase (native/timing/window.cpp), and the factor by which load may lengthen it.
CHASE_WINDOW_S = 20e-3
#: Sustained load of an energy measurement (measuring/work/energy.py).
SUSTAINED_LOAD_S = 3.0
#: Start of a worker including the probe, and context and kernels per GPU.
WORKER_START_S, START_GPU_S = 0.5, 0.9
#: What a further worker takes beside its start, if it uses GPUs: the one before it leaves, and the driver is
#: opened again; and for each GPU. Medians of recorded runs: 2.9 s with two H100, 3.8 s with four.
DRIVER_START_S, FURTHER_GPU_S = 1.5, 0.45
#: What each rank on a GPU adds before a run's first case of a library between them: the library is read and
#: connects, and kernels are compiled. It took 0.2 to 4.5 s for each (median 1.35 s of 15, on two and on four
#: H100 and H200: examples/h100x2-ranks, h100x4, h200x2-ranks); the next process of the run starts as any.
RANK_START_S = 1.5
#: What ranks add to the fixed time of a case, which they agree on step by step: by MPI, or within a host.
RANKS_FIXED_S = {"mpi": 0.05, "ucx": 0.05, "xccl": 0.03, "direct": 0.03}


def library_of_gpu_ranks(case: Case) -> str:
    """Returns what carries the bytes between the GPUs of a case's ranks; empty if it has none."""
    if not case.ranks or not any(kind_of(device) == "gpu" for device in case.devices):
        return ""
    return "xccl" if case.by_xccl else INTERFACES[case.interface].between


@dataclass(frozen=True)
class Estimator:
    """Estimates for one machine, in seconds."""

    topology: Topology
    capabilities: Capabilities
    gpus: int | None = None  # that workers open; None: all that can be

    def _opened(self) -> int:
        if self.gpus is not None:
            return self.gpus
        # Without those that no runtime opened, that a setting excludes, or that the plan does not need.
        known = self.capabilities.memory or self.capabilities.devices
        return sum(name in known for name in self.topology.names("gpu"))

    def start_s(self) -> float:
        """Seconds before the first case of the run."""
        return WORKER_START_S + START_GPU_S * self._opened()

    def further_start_s(self) -> float:
        """Seconds before the first case of another process environment, in each round."""
        gpus = self._opened()
        return WORKER_START_S + (DRIVER_START_S + FURTHER_GPU_S * gpus if gpus else 0.0)

    @staticmethod
    def library_start_s(case: Case, libraries: Collection[str]) -> float:
        """Seconds before the run's first case by a library between the GPUs of its ranks.

        Args:
            case: The case.
            libraries: Those that cases before it have used, see library_of_gpu_ranks().
        """
        library = library_of_gpu_ranks(case)
        return RANK_START_S * len(case.ranks) if library and library not in libraries else 0.0

    def case_s(self, case: Case, budget_s: float, rounds: int = 1) -> float:
        """Returns the seconds of one round of a case with existing buffers.

        Args:
            case: The case.
            budget_s: Sampling time of all rounds.
            rounds: Number of rounds over which samples are counted.
        """
        kind = "cpu" if all(kind_of(device) == "cpu" for device in case.devices) else "gpu"
        operation_s, preparation_s = self._operation_s(case), self._preparation_s(case)
        if is_osu(case):  # one loop a round
            loop = loop_of(case)
            each_s = operation_s + LOOPED_S["message" if loop.operations > 1 else "collective"]
            return FIXED_S[kind] + 2 * preparation_s + loop.all_operations * each_s
        samples = LOOKS[kind] * max(LEAST_LOOK, math.ceil(FIRST_LOOK / rounds))
        sample_s = max(operation_s, LEAST_SAMPLE_S[kind])
        if len(case.flows) > 1:
            window_s = CHASE_WINDOW_S if INTERFACES[case.interface].walks else COMMON_WINDOW_S
            sample_s = max(LEAST_OPERATIONS * operation_s, window_s)
        elif INTERFACES[case.interface].walks:
            sample_s = max(operation_s * CHASE_STEPS[kind] / (LOOKS[kind] * FIRST_LOOK), LEAST_SAMPLE_S[kind])
        if case.flows[0].partner is not None:
            sample_s = max(LEAST_ROUND_TRIPS * operation_s, LEAST_SAMPLE_S[kind])
        verified_each = preparation_s * samples <= VERIFICATION_SHARE * budget_s / rounds
        prepared_each = verified_each and metric_of(case.interface) == "bandwidth"
        each_s = sample_s + (preparation_s if prepared_each else 0.0)
        if case.interface in APPLICATIONS:  # each sample is checked as a whole
            each_s += preparation_s
        if is_memory_step(case.interface):  # each batch is undone and prepared again, untimed
            each_s += _pages_s(case, held_bytes(case.size_bytes))
        sampling_s = max(min(samples * each_s, budget_s / rounds), ESTIMATED_SAMPLES * each_s)
        warm_up_s = WARM_UP_OPERATIONS * operation_s
        energy_s = SUSTAINED_LOAD_S if case.options.get("energy") else 0.0
        fixed_s = FIXED_S[kind] + FLOW_S * (len(case.flows) - 1) + SETUP_S.get(case.interface, 0.0)
        fixed_s += RANKS_FIXED_S.get(INTERFACES[case.interface].between, 0.0)
        return fixed_s + self._passes(case, rounds) * preparation_s + warm_up_s + sampling_s + energy_s

    @staticmethod
    def _passes(case: Case, rounds: int) -> float:
        """Returns how often a round fills and checks its buffers: at first before and after the warm-up.

        Later rounds do so once, but for ranks and pages that move (native/timing/measure.cpp).
        """
        moving = case.ranks or any(is_managed(end.memory) for flow in case.flows for end in flow.buffers)
        return 2.0 if moving else 1.0 + 1.0 / rounds

    def allocation_s(self, buffer: Buffer, size_bytes: int) -> float:
        """Returns the seconds to allocate and touch a buffer for the first time."""
        return size_bytes / ALLOCATION_BYTES_PER_S["pageable" if _is_paged(buffer) else buffer.memory]

    def again_s(self, buffer: Buffer, size_bytes: int) -> float:
        """Returns the seconds to do so in a later round: locked memory is kept, and freed pages of the host
        come back.
        """
        if buffer.memory in LOCKED:
            return 0.0
        if is_managed(buffer.memory) and not _is_paged(buffer):
            return self.allocation_s(buffer, size_bytes)
        again = PLAIN_PAGES_BYTES_PER_S if _is_paged(buffer) else PAGES_BYTES_PER_S
        return min(self.allocation_s(buffer, size_bytes), size_bytes / again)

    def _preparation_s(self, case: Case) -> float:
        """Returns the seconds to fill the sources, poison the destinations and check them, once."""
        total = 0.0
        if INTERFACES[case.interface].walks and kind_of(case.flows[0].executor) == "gpu":
            return case.size_bytes / CHASE_BUILD_BYTES_PER_S[kind_of(case.flows[0].source.device)] / 2
        for buffer, size in buffers(case, self.capabilities):
            size = size if case.cache == "cold" else case.size_bytes
            passes = 1.5 if metric_of(case.interface) == "bandwidth" else 1.0
            rate = PATTERN_BYTES_PER_S[kind_of(buffer.device)]
            if kind_of(buffer.device) == "cpu":
                combined = buffer.memory == "write-combined"
                core = WRITE_COMBINED_BYTES_PER_S if combined else PATTERN_BYTES_PER_S["core"]
                rate = min(rate, core * self._cores(buffer.device))
            total += passes * size / rate
        return total

    def _cores(self, device: str) -> int:
        """Returns the number of useful cores of a CPU device."""
        return min(max(1, len(self.topology.device(device).cores)), CORES_THAT_HELP)

    def _operation_s(self, case: Case) -> float:
        """Returns the seconds of one operation of every flow concurrently, or of one step of a chase."""
        flow = case.flows[0]
        if flow.partner is not None:
            return ROUND_TRIP_S["gpu" if "gpu" in map(kind_of, (flow.executor, flow.partner)) else "cpu"]
        if is_memory_step(case.interface):
            return CALL_S + _pages_s(case, case.size_bytes)
        if case.interface in APPLICATIONS:
            return self._application_s(case)
        if metric_of(case.interface) == "time":
            return INTERFACES[case.interface].call_s.get(kind_of(flow.executor), CALL_S)
        if INTERFACES[case.interface].walks:
            if flow.executor != flow.source.device:
                return STEP_S["far"]
            cached = kind_of(flow.executor) == "cpu" and case.size_bytes <= CACHED_BYTES
            return STEP_S["cached" if cached else "own"]
        if moves_pages(case.interface):
            return sum(case.size_of(each) / MOVED_BYTES_PER_S + MOVED_FIXED_S for each in case.flows)
        busy: defaultdict[tuple[str, str], float] = defaultdict(float)
        for flow in case.flows:
            size = case.size_of(flow)
            alone_s = self._alone_s(case, flow)
            for device, side in ((flow.source.device, "out"), (flow.destination.device, "in")):
                shared = size / HOST_TOTAL_BYTES_PER_S
                far = kind_of(flow.executor) == "gpu" and kind_of(device) == "cpu"
                before = busy[device, side]
                busy[device, side] = max(before + shared, alone_s) if far else before + alone_s
        return max(busy.values())

    def _application_s(self, case: Case) -> float:
        """Returns the seconds of one iteration: a pass over a rank's data, its messages, and some calls."""
        kind = kind_of(case.flows[0].executor)
        data, messages = (size for _, size in buffers(case, self.capabilities)[:2])
        passes = 0.0 if case.options.get("timed") == "exchange" else data / APPLICATION_BYTES_PER_S[kind]
        return passes + messages / HOST_LINK_BYTES_PER_S + APPLICATION_CALLS * CALL_S

    def _alone_s(self, case: Case, flow: Flow) -> float:
        """Returns the seconds of one operation of a flow without contention."""
        interface, size = case.interface_of(flow), case.size_of(flow)
        if not counts_as_stream(interface):
            return size / self._rate(interface, flow.source, flow.destination, flow.executor)
        own = Buffer(flow.executor, flow.source.memory)
        each = (size / self._rate(interface, end, own, flow.executor) for end in case.buffers_of(flow))
        return sum(each)

    def _rate(self, interface: str, source: Buffer, destination: Buffer, executor: str) -> float:
        """Returns the assumed bytes/s of one flow."""
        if kind_of(executor) == "cpu":
            row = INTERFACES[interface]
            team = self._cores(executor) if row.team else 1
            if source.memory == "write-combined":
                return WRITE_COMBINED_BYTES_PER_S * team
            return row.cpu_bytes_per_s * team
        if is_plain(source.memory) or is_plain(destination.memory):
            return STAGED_BYTES_PER_S
        if source.device == destination.device:
            return GPU_LOCAL_BYTES_PER_S
        kinds = {kind_of(source.device), kind_of(destination.device)}
        if kinds == {"gpu"}:
            ends = [self._link_peak(end.device, ("nvlink", "xgmi")) for end in (source, destination)]
            return LINK_EFFICIENCY * min(peak for peak in ends if peak) if all(ends) else GPU_PAIR_BYTES_PER_S
        gpus = [end.device for end in (source, destination) if kind_of(end.device) == "gpu"]
        peak = self._link_peak(gpus[0], ("pcie", "nvlink", "c2c", "xgmi")) if gpus else None
        return LINK_EFFICIENCY * peak if peak else HOST_LINK_BYTES_PER_S

    def _link_peak(self, device: str, kinds: Sequence[str]) -> float | None:
        """Returns the highest nominal rate of a link bundle of the device, for its preferred kind of link."""
        for kind in kinds:
            peaks = [
                link.peak_bytes_per_s
                for link in self.topology.links
                if link.kind == kind and device in (link.a, link.b) and link.peak_bytes_per_s
            ]
            if peaks:
                return max(peaks)
        return None


def _is_paged(buffer: Buffer) -> bool:
    """Whether CPUs touch its pages one by one: plain host memory, and managed memory of a CPU."""
    on_cpu = is_managed(buffer.memory) and kind_of(buffer.device) == "cpu"
    return is_plain(buffer.memory) or on_cpu


def _pages_s(case: Case, size_bytes: int) -> float:
    """Returns the seconds for the pages of a step; 0 if it reserves addresses only."""
    memory = case.flows[0].source.memory
    if case.interface == COLD_LOAD:  # its pages, the reading and the copy
        return size_bytes * (1 / PAGES_BYTES_PER_S + 2 / HOST_LINK_BYTES_PER_S)
    if is_device(memory):
        return size_bytes / ALLOCATION_BYTES_PER_S[memory]
    own = case.interface in ("allocate", "free")
    if own and (is_plain(memory) or is_managed(memory)) and case.options.get("touched") != "yes":
        return 0.0
    return size_bytes / PAGES_BYTES_PER_S
