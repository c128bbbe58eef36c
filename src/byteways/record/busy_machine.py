"""What a run says first if other work used the machine while it measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from byteways.record.record import Record
from byteways.record.simulation_mark import voice_of
from byteways.record.unusable_gpus import verdict_on_gpus

#: Share of the measurements from which on a run is said to be disturbed.
LEAST_SHARE = 0.25
#: Warnings of other work, with what they observed in words; a share of CPU time, or none.
OTHER_WORK = {
    "host-busy": "other processes used {} of the cores' time",
    "steal": "the hypervisor gave {} of the CPU time to other virtual machines",
    "gpu-shared": "other processes used a GPU",
}


def verdict_on_load(records: Iterable[Record], measurement: str) -> str:
    """Returns what other work disturbed and how much, in one line; '' if few measurements were disturbed.

    Args:
        records: Of a run.
        measurement: What the run calls one of them.
    """
    measured = [record for record in records if record.status == "measured"]
    found: dict[str, list[float]] = {}
    disturbed = 0
    for record in measured:
        warned = {warning.id: warning.observed for warning in record.warnings}
        here = [name for name in OTHER_WORK if name in warned]
        disturbed += bool(here)
        for name in here:
            observed = warned[name]
            found.setdefault(name, []).append(observed if isinstance(observed, float) else 0.0)
    if not measured or disturbed < LEAST_SHARE * len(measured):
        return ""
    causes = [
        OTHER_WORK[name].format(f"{100 * median(found[name]):.0f} %") for name in OTHER_WORK if name in found
    ]
    return f"BUSY MACHINE during {disturbed} of {len(measured)} {measurement}s: {'; '.join(causes)} (medians)"


def verdict_of(manifest: Mapping[str, Any], records: Sequence[Record]) -> str:
    """Returns what to read before any figure of a run: unusable GPUs, and other work; '' if nothing."""
    load = verdict_on_load(records, voice_of(manifest).measurement)
    return "; ".join(filter(None, (verdict_on_gpus(manifest), load)))
