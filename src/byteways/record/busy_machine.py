"""What a run says first if other work used the machine while it measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
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


@dataclass(frozen=True)
class OtherWork:
    """Other work during a run: the disturbed measurements of all, and what was observed by warning (median
    over those that have it; a share of CPU time, or None).
    """

    disturbed: int
    measured: int
    observed: Mapping[str, float | None]

    def sentence(self, measurement: str) -> str:
        """Returns it in one line; `measurement`: what the run calls one of them."""
        causes = "; ".join(
            OTHER_WORK[name].format(f"{100 * (share or 0.0):.0f} %") for name, share in self.observed.items()
        )
        return f"BUSY MACHINE during {self.disturbed} of {self.measured} {measurement}s: {causes} (medians)"

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def other_work(records: Iterable[Record]) -> OtherWork | None:
    """Returns the other work on the machine; None if it disturbed few measurements."""
    measured = [record for record in records if record.status == "measured"]
    disturbed = [record for record in measured if any(one.id in OTHER_WORK for one in record.warnings)]
    if not measured or len(disturbed) < LEAST_SHARE * len(measured):
        return None
    observed = {name: _median(disturbed, name) for name in OTHER_WORK if _warned(disturbed, name)}
    return OtherWork(len(disturbed), len(measured), observed)


def _warned(records: Sequence[Record], name: str) -> list[object]:
    return [warning.observed for record in records for warning in record.warnings if warning.id == name]


def _median(records: Sequence[Record], name: str) -> float | None:
    shares = [share for share in _warned(records, name) if isinstance(share, float)]
    return median(shares) if shares else None


def verdict_of(manifest: Mapping[str, Any], records: Sequence[Record]) -> str:
    """Returns what to read before any figure of a run: unusable GPUs, and other work; '' if nothing."""
    work = other_work(records)
    load = work.sentence(voice_of(manifest).measurement) if work else ""
    return "; ".join(filter(None, (verdict_on_gpus(manifest), load)))
