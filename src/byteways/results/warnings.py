"""The one table of warnings: what each id means and what to do about it.

A warning never hides a figure: it stands beside it with what was observed and what was required.
"""

from __future__ import annotations

from byteways.results.record import Warning

#: Bits of `throttle_reasons` in the health of a record (as of nvmlClocksEventReasons) that mean that a GPU
#: could not run as fast as it should.
THROTTLE_REASONS = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}
#: A memory clock never drops on its own under load; 2 % is above the rounding of what NVML tells.
CLOCK_DROP = 0.02

#: Share of the cores' time that others may use. A tenth of the cores can draw a tenth of the memory
#: bandwidth, and where there are few cores, threads of byteways wait for one.
BUSY_SHARE = 0.1
#: Share of the cores' time that the hypervisor may give to others: two ticks of the kernel's clock on two
#: cores in the least time that is judged (run/health_host.py).
STEAL_SHARE = 0.02
#: Share of the time for which a GPU may run kernels before this run uses it: a desktop draws now and then.
UTILISATION_SHARE = 0.1

#: id -> what it means and what to do, as printed after observed and required.
ADVICE = {
    "beyond-limit": "No link or memory of the path can carry so much: the figure is wrong and counts for "
    "nothing; please report it with its record.",
    "noisy": "The interval of the median is wider than wanted: "
    "give it more time (--budget) or quieten the machine.",
    "few-samples": "The time was spent before there were samples enough for an interval of 95 %; what is "
    "given is their range, which holds the median in 75 % (3 samples), 88 % (4) or 94 % (5): give it more "
    "time (--budget).",
    "few-operations": "Too few operations lie in the common window of the flows. Of one that is measured "
    "beside a load, the figure is of its whole time, with its start; of flows that take turns, the sum "
    "may be off by a part of a turn (a fifth with 4 operations): larger buffers, a smaller size or more "
    "time help.",
    "short-window": "In this part of the samples the flows had less than half of the shortest one's time "
    "in common: those count whole runs, with starts and ends; compare window_ns with end_to_end_ns.",
    "drift": "The samples grow or shrink along the series: look for clocks settling or other work on the "
    "machine.",
    "quantised": "The timer's steps are as wide as the interval: what differs by less than a step cannot "
    "be told apart; a larger batch helps.",
    "many-discarded": "More than a tenth of the samples contradicted their own times (see "
    "discarded_samples), so all of them count: look for other work on the machine.",
    "clocks-disagree": "The host waited much longer than the device says it worked: device events may see "
    "a part of the work only; compare host_ns with the figure.",
    "bimodal": "The samples fall into two groups, so the median stands for neither: look at samples_ns.",
    "correlated": "The samples depend on each other for longer than so few of them can tell, so the "
    "interval may cover less than 95 %: give it more time (--budget) or repeat the run.",
    "ungated": "The gate was opened by its watchdog or not used, so launch cost may be in the figure.",
    "gate-slows": "Operations take longer when the queue is held until all are enqueued: the figure is "
    "of a running queue, as programs have it, and may include launch cost.",
    "short-batch": "The queue has room for batches that are short beside the steps of the timer: "
    "the figure is uncertain by more than its interval says.",
    "serialised": "Flows that should overlap ran one after another: compare window_ns with end_to_end_ns.",
    "placement": "Pages are not where they were asked for: free memory on that NUMA domain, "
    "or look at the limits of numactl and cpuset.",
    "residency": "Nobody could confirm that managed pages were where the case says: "
    "look at residency in the record, and do not take the figure for one of pages that moved.",
    "host-busy": "Other processes used the time of the host's cores: "
    "wait for them to end, or ask the batch system for the whole node.",
    "steal": "The hypervisor gave the time of the cores to other virtual machines: "
    "ask for dedicated cores, or repeat when the host of this virtual machine is quiet.",
    "cpu-throttled": "The control group stopped threads, as its quota of processor time was used up: "
    "raise the container's CPU limit.",
    "gpu-shared": "Another process used the GPU: its work takes bandwidth and power from this one. "
    "Wait for it to end, or leave the GPU out (CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES).",
    "throttled": "The GPU held its clocks back: look at power and cooling "
    "(nvidia-smi -q -d PERFORMANCE, rocm-smi -a).",
    "clock-drop": "A clock was lower after the case than before it: look at power and cooling, then repeat.",
    "pcie-replays": "PCIe packets were sent again while this was measured: "
    "reseat the card or cable, and watch the counter.",
    "link-errors": "Error counters of GPU links rose while this was measured: "
    "run the vendor's link diagnostics.",
    "unexpected-path": "Link counters do not match the bytes of the case: "
    "they went another way than the topology says.",
}


def make(id: str, observed: float | str | None, required: float | str | None) -> Warning:
    """A warning with its advice. An id that the table does not know keeps its figures and says so."""
    return Warning(id, observed, required, ADVICE.get(id, "No advice is known for this warning."))
