"""The one table of warnings: what each id means and what to do about it.

A warning never hides a figure: it stands beside it with what was observed and what was required. Where these
are sentences, `fields` says the same for programs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict, overload

from byteways.base.text import Sentence

#: Bits of `throttle_reasons` in a record's health (as in nvmlClocksEventReasons) that mean reduced speed.
THROTTLE_REASONS = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}
#: A memory clock never drops on its own under load; 2 % exceeds the rounding of NVML's values.
CLOCK_DROP = 0.02

#: Fraction of the cores' time that others may use. A tenth of the cores can use a tenth of the memory
#: bandwidth, and with few cores, threads of byteways wait for one.
BUSY_SHARE = 0.1
#: Fraction of the cores' time that the hypervisor may take: two kernel ticks on two cores in the shortest
#: judged interval (measuring/shared/health_host.py).
STEAL_SHARE = 0.02
#: Fraction of the time in which a GPU may run kernels before this run uses it: a desktop draws occasionally.
UTILISATION_SHARE = 0.1

#: Meaning and advice by id; printed after the observed and required values.
ADVICE = {
    "beyond-limit": (
        "No link or memory on the path can be this fast: the result is wrong and void. Please report it with "
        "its record."
    ),
    "noisy": (
        "The interval of the median is wider than requested: allow more time (--budget) or reduce other load "
        "on the machine."
    ),
    "few-samples": (
        "All rounds together have fewer than six samples, which a 95 % interval needs. Their range is given "
        "instead; it contains the median with a probability of 75 % (3 samples), 88 % (4) or 94 % (5): "
        "measure more rounds."
    ),
    "few-operations": (
        "Too few operations lie in the common window of the flows. The rate of a flow under background load "
        "then covers its whole run, start included; the sum of serialised flows may be off by part of a time "
        "slice (a fifth with 4 operations). Larger buffers, a smaller size or more time help."
    ),
    "short-window": (
        "In this share of the samples the flows overlapped for less than half of the shortest flow's time; "
        "these samples count whole runs, with start and end. Compare window_ns with end_to_end_ns."
    ),
    "oversubscribed": (
        "There are more ranks than cores, so ranks wait for each other's time slices: the result measures "
        "the operating system's scheduler. Start fewer ranks (--ranks)."
    ),
    "no-peer-access": (
        "The ranks exchanged through page-locked host memory: the result does not measure the GPU links. "
        "NCCL, RCCL and MPI may use other paths: compare with them."
    ),
    "no-gpu-support": (
        "Cray MPICH treats memory of GPUs as host memory: a CPU that reaches this memory copied it, and the "
        "result is not that of GPU-aware MPI. Set MPICH_GPU_SUPPORT_ENABLED=1 before the run."
    ),
    "staged-messages": (
        "Cray MPICH stages messages between GPUs in host memory: the result does not measure the GPU links. "
        "Unset MPICH_GPU_IPC_ENABLED before the run, or compare both with the suite mpi-settings."
    ),
    "copied-by-cores": (
        "CPUs reach this memory of GPUs, and messages of it are hardly faster than those of host memory "
        "(bytes/s): a core copies them, or MPI stages them, and the result is not that of a GPU. Check that "
        "MPI was built for these GPUs and that its variables leave GPU support on."
    ),
    "two-runtimes": (
        "The process has loaded two copies of a GPU runtime, and neither knows the other's memory: MPI or "
        "PyTorch may take memory of the GPU for host memory. Unset BYTEWAYS_LIBHIP, or let it name the copy "
        "that they use."
    ),
    "straggler": (
        "The other ranks wait for this one, so the result includes its delay: check what else runs on its "
        "core, and the clocks of its core and GPU (byteways doctor)."
    ),
    "drift": (
        "The samples increase or decrease over the series: check for clocks that still settle and for other "
        "work on the machine."
    ),
    "quantised": (
        "The timer's resolution is as coarse as the interval: differences below one tick cannot be resolved. "
        "A larger batch helps."
    ),
    "many-discarded": (
        "More than a tenth of the samples contradicted their own times (see discarded_samples), so all of "
        "them were kept: check for other work on the machine."
    ),
    "clocks-disagree": (
        "The host waited much longer than the device events report: they may cover only part of the work. "
        "Compare host_ns with the result."
    ),
    "clock-step": (
        "The clocks of the two hosts drifted apart by more than oscillators do: one host was paused or "
        "migrated. Do not trust delays between their ranks; times within one host are not affected."
    ),
    "one-machine": (
        "The two hosts are parts of one machine, such as network namespaces: the result measures its "
        "operating system, not a network."
    ),
    "bimodal": "The samples are bimodal, so the median represents neither group: look at samples_ns.",
    "correlated": (
        "The samples are autocorrelated over too long a range for so few of them, so the interval may cover "
        "less than 95 %: allow more time (--budget) or repeat the run."
    ),
    "ungated": "Start gate timed out or unused: the result may include launch overhead.",
    "gate-slows": (
        "Operations are slower when the queue is held until all are enqueued, so this result is from a "
        "running queue, as in applications, and may include launch overhead."
    ),
    "short-batch": (
        "The queue holds only batches that are short compared with the timer's resolution: the true "
        "uncertainty is larger than the interval."
    ),
    "serialised": "Flows that should overlap ran one after another: compare window_ns with end_to_end_ns.",
    "placement": (
        "Pages are not where they were requested: free memory on that NUMA domain, or check the limits of "
        "numactl and cpuset."
    ),
    "page-size": (
        "The memory does not have pages of the size that its kind requires, so the result is not ranked as "
        "that kind: enable transparent huge pages (byteways doctor), or free memory, which may be too "
        "fragmented."
    ),
    "residency": (
        "The residency of the managed pages could not be confirmed: see residency in the record, and do not "
        "assume that pages migrated."
    ),
    "host-busy": (
        "Other processes used the host's cores: wait for them to end, or request an exclusive node from the "
        "batch system."
    ),
    "steal": (
        "The hypervisor gave CPU time to other virtual machines: use dedicated cores, or repeat when the "
        "hypervisor's host is quiet."
    ),
    "cpu-throttled": (
        "The control group throttled threads because its CPU quota was used up: raise the container's CPU "
        "limit."
    ),
    "gpu-shared": (
        "Another process used the GPU and took bandwidth and power. Wait for it to end, or exclude the GPU "
        "(CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES)."
    ),
    "throttled": (
        "The GPU throttled its clocks: check power and cooling (nvidia-smi -q -d PERFORMANCE, rocm-smi -a)."
    ),
    "clock-drop": "A clock was lower after the case than before: check power and cooling, then repeat.",
    "pcie-replays": (
        "PCIe packets were replayed during the measurement: reseat the card or cable, and watch the counter."
    ),
    "link-errors": (
        "Error counters of GPU links increased during the measurement: run the vendor's link diagnostics."
    ),
    "unexpected-path": (
        "Link counters do not match the bytes of the case: the traffic took another path than the topology "
        "says."
    ),
}


class WarningFields(TypedDict, total=False):
    """What warnings in words say, for programs; each has those that apply."""

    bytes_per_s: float  # beyond-limit: the void value, and …
    limit_bytes_per_s: float  # … the most that …
    resource: str  # … this link or memory carries
    ranks: int  # oversubscribed
    used: str  # no-peer-access: `host-memory` carried the messages
    variable: str  # no-gpu-support, staged-messages
    value: str  # of the variable
    files: list[str]  # two-runtimes: the copies
    rank: int  # straggler: of the world
    late_ns: float  # it begins after the first rank, or …
    no_cpu: float  # … is without a CPU for this part of the time
    drift_ns: float  # clock-step: between the two hosts' clocks, and …
    allowed_ns: float  # … the most that oscillators drift
    hosts: int  # one-machine: so many hosts have …
    kernels: int  # … so many kernels
    buffer: str  # page-size
    page_bytes: int | None  # None: several sizes
    base_page_bytes: int
    device: str  # residency: where the pages should be; gpu-shared: the GPU
    when: str  # residency: `before` or `after` an operation, or `timed`: after the timed ones
    pages: dict[str, int]  # sampled, by place
    unknown_pages: int
    processes: list[int]  # gpu-shared: their numbers; absent: the driver lists none
    utilisation: float  # of the GPU before this run used it
    throttle_reasons: int  # throttled: bits of THROTTLE_REASONS


@dataclass(frozen=True, slots=True)
class Warning:
    """One warning: id, observed and required value, what to do, and in fields what the words say."""

    id: str
    observed: float | Sentence | None
    required: float | Sentence | None
    advice: Sentence
    fields: WarningFields | None = None

    def to_json(self) -> dict[str, Any]:
        """Returns the data in a record; without `fields` where there are none."""
        told = {"id": self.id, "observed": self.observed, "required": self.required, "advice": self.advice}
        return told if self.fields is None else {**told, "fields": self.fields}


@overload
def make(id: str, observed: float | None, required: float | None) -> Warning: ...


@overload
def make(
    id: str, observed: float | Sentence | None, required: float | Sentence | None, fields: WarningFields
) -> Warning: ...


def make(
    id: str,
    observed: float | Sentence | None,
    required: float | Sentence | None,
    fields: WarningFields | None = None,
) -> Warning:
    """Returns a warning with its advice; for an unknown id, the advice says that it is unknown.

    Args:
        id: Of ADVICE.
        observed: In base units, or in words.
        required: The same of what was required.
        fields: What the words say, in fields. A warning in words has them.
    """
    return Warning(id, observed, required, ADVICE.get(id, "No advice for this warning."), fields)
