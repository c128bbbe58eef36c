"""What a program would gain by other ways to move its bytes: each of its bins beside a run of the machine.

The time that a bin took is compared with the time at the best method that the run measured between the same
devices at the same size, and with the program's own method there. A gain is stated only if the run decides on
it: the best method leads the one that the program uses, and the program's time lies outside the best one's
interval. What the bin took beyond its own method's time in the run is waiting or contention: another method
does not take it away, and no gain has it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from byteways.answers.best.answers import Answer
from byteways.answers.results.index import Index
from byteways.answers.results.summary import Part
from byteways.cases.memory import is_plain
from byteways.cases.option_set import OptionSet
from byteways.cases.options import IN_PLACE, SUBMIT, WINDOW
from byteways.ext.watch.advice.figures import Figures, interface_of
from byteways.ext.watch.bins import Bin, Watched
from byteways.ext.watch.questions import is_in_place
from byteways.record.simulation_mark import mark_of

#: Why a bin has no gain, by code; the sentence completes "no gain is stated: …".
NO_GAIN = {
    "no-bytes": "it moves no bytes between two ends",
    "devices-unknown": "the devices at its ends are not known",
    "not-in-run": "the run has no result between these devices near this size",
    "no-time": "its time was not observed",
    "best-already": "the program uses the best method of the run",
    "slower-than-run": "the program uses the best method, but its operations take longer than the run's",
    "tie": "the run does not decide between the program's method and the best one",
    "within-interval": "it takes as long as the best method",
    "faster": "it takes less time than the best method of the run",
}
#: What a program would use instead, by code.
CHANGES = {
    "pinned": "pinned host memory",
    "memory": "other memory",
    "method": "another method",
    "batch": "transfers submitted together",
    "setting": "variables of the environment",
    "buffers": "another buffer for the result than for the data",
}
#: Bins below this share of the whole time of a program are not looked at, for one question takes some 60 ms.
LEAST_BIN_SHARE = 1e-3
#: Options that a program has for reasons of its own: messages at once, a sum in place of what was added.
_OWN = (WINDOW.name, IN_PLACE.name)
_IN_PLACE = OptionSet({IN_PLACE.name: "yes"})


@dataclass(frozen=True)
class Gain:
    """What a bin would gain by a change, in ns over all its operations."""

    change: str  # a key of CHANGES
    answer: Answer
    low_ns: float  # interval of what the program gains: less, where it already waits for kernels meanwhile
    high_ns: float

    def to_json(self) -> dict[str, Any]:
        return {
            "change": self.change,
            "method": self.answer.method,
            "interface": self.answer.interface,
            "gain_ns_interval": [self.low_ns, self.high_ns],
            "sure": self.answer.sure,
        }


@dataclass(frozen=True)
class AdvisedBin:
    """A bin with what the run says of it."""

    bin: Bin
    taken_ns: float | None
    best: Answer | None = None  # of the run, for its ends and size
    best_ns: Part | None = None  # all its operations at that method, with the interval
    own_ns: Part | None = None  # the same at the method that the program uses
    gain: Gain | None = None
    no_gain: str | None = None  # a key of NO_GAIN; None: there is one

    @property
    def excess_ns(self) -> float | None:
        """What it took beyond the time of its own method in the run; None: that is unknown."""
        return None if self.own_ns is None else max(0.0, (self.taken_ns or 0.0) - self.own_ns.high)

    def to_json(self) -> dict[str, Any]:
        return {
            "bin": msgspec.to_builtins(self.bin),
            "taken_ns": self.taken_ns,
            "best": self.best.to_json() if self.best else None,
            "best_ns": asdict(self.best_ns) if self.best_ns else None,
            "own_ns": asdict(self.own_ns) if self.own_ns else None,
            "excess_ns": self.excess_ns,
            "gain": self.gain.to_json() if self.gain else None,
            "no_gain": self.no_gain,
        }


@dataclass(frozen=True)
class Advice:
    """The bins of a program beside a run, the largest gain first, then the longest time."""

    bins: tuple[AdvisedBin, ...]
    simulated: str  # the mark of a simulated run; empty: measured

    @property
    def taken_ns(self) -> float:
        """The time of all bins that move bytes, added up; they may run beside each other."""
        return sum(one.taken_ns or 0.0 for one in self.bins)

    @property
    def gains(self) -> tuple[AdvisedBin, ...]:
        return tuple(one for one in self.bins if one.gain)

    def to_json(self) -> dict[str, Any]:
        return {
            "taken_ns": self.taken_ns,
            "simulated": bool(self.simulated),
            "bins": [one.to_json() for one in self.bins],
        }


def advice(watched: Watched, run: Index, name: str = "RUN") -> Advice:
    """Compares the bins of a program with a run of its machine.

    Args:
        watched: What the program moved.
        run: The results; answers come from explain/best alone.
        name: The run's folder, for hints.
    """
    figures = Figures(watched, run, name)
    moving = [
        (each, taken)
        for each, taken in zip(watched.bins, figures.taken_ns(watched), strict=True)
        if each.bytes > 0 and each.what not in ("allocation", "release")
    ]
    whole = sum(taken or 0.0 for _, taken in moving)
    looked = [(each, taken) for each, taken in moving if (taken or 0.0) >= LEAST_BIN_SHARE * whole]
    found = [_advised(each, taken, figures) for each, taken in looked]
    order = sorted(found, key=lambda one: (-(one.gain.low_ns if one.gain else 0.0), -(one.taken_ns or 0.0)))
    return Advice(tuple(order), mark_of(run.manifest))


def _advised(each: Bin, taken: float | None, figures: Figures) -> AdvisedBin:
    if not taken:
        return AdvisedBin(each, None, no_gain="no-time")
    asked = figures.question(each)
    if isinstance(asked, str):
        return AdvisedBin(each, taken, no_gain=asked)
    best = figures.best(asked)
    time = None if best is None else figures.all_ns(each, best.ranking.group)
    if best is None or time is None:
        return AdvisedBin(each, taken, no_gain="not-in-run")
    own = figures.own_ns(each)
    gain = _gain(each, taken, time, own, best)
    if isinstance(gain, str):
        return AdvisedBin(each, taken, best, time, own, no_gain=gain)
    return AdvisedBin(each, taken, best, time, own, gain)


def _gain(each: Bin, taken: float, time: Part, own: Part | None, best: Answer) -> Gain | str:
    """Returns what a bin gains by the best method, or a key of NO_GAIN.

    Args:
        each: The bin.
        taken: Its time in ns.
        time: The time of all its operations at the best method.
        own: The same at the program's method; None: the run lacks it.
        best: The best method.
    """
    change = _change(each, best)
    if taken < time.low:
        return "faster"
    if change is None:
        return "slower-than-run" if taken > time.high else "best-already"
    if change in ("method", "setting", "buffers") and not _leads(each, best, change):
        return "tie"
    if taken <= time.high:
        return "within-interval"
    least, most = (taken, taken) if own is None else (min(taken, own.low), min(taken, own.high))
    if most <= time.high:
        return "tie"
    # What runs beside kernels may gain the program nothing.
    return Gain(change, best, max(0.0, least - time.high - (each.overlap_ns or 0)), most - time.low)


def _change(each: Bin, best: Answer) -> str | None:
    """Returns what a program would change to use the best method; None: nothing."""
    plain = [end for end in (each.source, each.destination) if end.memory and is_plain(end.memory)]
    memories = {best.ranking.variant.source, best.ranking.variant.destination}
    if plain and not any(memory and is_plain(memory) for memory in memories):
        return "pinned" if memories & {"pinned", "registered"} else "memory"
    if "hugepage" in memories and any(end.memory == "pageable" for end in plain):
        return "memory"
    if interface_of(each) != best.interface:
        return "method"
    if best.environment:
        return "setting"
    if not best.options and is_in_place(each):
        return "buffers"
    if not (others := best.options.without(*_OWN)):
        return None
    return "batch" if SUBMIT.name in others else "method"


def _leads(each: Bin, best: Answer, change: str) -> bool:
    """Whether the best method is decidedly faster than the program's, as far as the run measured that.

    That other buffers are faster is said only where both were measured.
    """
    own = [
        one
        for one in best.ranking.rivals
        if one.variant.interface == interface_of(each) and not one.variant.environment
    ]
    if change == "buffers":
        return any(one.claim.leads for one in own if one.variant.options == _IN_PLACE)
    return not own or any(one.claim.leads for one in own)
