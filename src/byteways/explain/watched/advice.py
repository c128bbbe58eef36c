"""What a program would gain by other ways to move its bytes: each of its bins beside a run of the machine.

The time that a bin took is compared with the time at the best method that the run measured between the same
devices at the same size. A gain is stated only if the run decides on it: the best method leads the one that
the program uses, and the program's time lies outside the best one's interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import msgspec

from byteways.errors import BytewaysError
from byteways.explain.best.answers import Answer, answers
from byteways.explain.claims.phrases import times_of
from byteways.explain.results.index import Index
from byteways.explain.results.summary import Part
from byteways.plan.interfaces import INTERFACES
from byteways.plan.memory import is_plain
from byteways.plan.question import Question
from byteways.record.simulation_mark import mark_of
from byteways.watch.bins import Bin, Watched
from byteways.watch.questions import question_of, time_of

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
}
#: Interfaces by the beginning of the name of the call, in lower case.
_INTERFACES = (
    ("mpi_put", "mpi-put"),
    ("mpi_get", "mpi-get"),
    ("mpi_", "mpi"),
    ("nccl", "xccl"),
    ("memcpy ", "copy"),  # `Memcpy DtoH`: as CUPTI's tools name copies of GPUs
    ("memcpy", "memcpy"),
    ("memmove", "memcpy"),
    ("cumemcpy", "copy"),
    ("cudamemcpy", "copy"),
    ("hipmemcpy", "copy"),
)
#: Bins below this share of the whole time of a program are not looked at, for one question takes some 60 ms.
LEAST_BIN_SHARE = 1e-3


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
    gain: Gain | None = None
    no_gain: str | None = None  # a key of NO_GAIN; None: there is one

    def to_json(self) -> dict[str, Any]:
        return {
            "bin": msgspec.to_builtins(self.bin),
            "taken_ns": self.taken_ns,
            "best": self.best.to_json() if self.best else None,
            "best_ns": asdict(self.best_ns) if self.best_ns else None,
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
    asked = _Asked(run, name)
    moving = [each for each in watched.bins if each.bytes > 0 and each.what not in ("allocation", "release")]
    whole = sum(time_of(each) or 0.0 for each in moving)
    looked = [each for each in moving if (time_of(each) or 0.0) >= LEAST_BIN_SHARE * whole]
    found = [_advised(each, asked) for each in looked]
    order = sorted(found, key=lambda one: (-(one.gain.low_ns if one.gain else 0.0), -(one.taken_ns or 0.0)))
    return Advice(tuple(order), mark_of(run.manifest))


class _Asked:
    """The answers of a run, each looked for once."""

    def __init__(self, run: Index, name: str) -> None:
        self.run, self._name = run, name
        self._known: dict[Question, tuple[Answer, ...]] = {}

    def best(self, question: Question) -> Answer | None:
        """Returns the best measured answer; None if the run has none."""
        if question not in self._known:
            self._known[question] = tuple(self._answers(question))
        found = self._known[question]
        return max(found, key=lambda one: one.bandwidth_bytes_per_s) if found else None

    def _answers(self, question: Question) -> Iterator[Answer]:
        try:
            yield from (one for one in answers(self.run, question, self._name) if isinstance(one, Answer))
        except BytewaysError:  # nothing was measured there
            return


def _advised(each: Bin, asked: _Asked) -> AdvisedBin:
    taken = time_of(each)
    if not taken:
        return AdvisedBin(each, None, no_gain="no-time")
    question = question_of(each)
    if isinstance(question, str):
        return AdvisedBin(each, taken, no_gain=question)
    if not {*asked.run.topology.names(), "host", ""}.issuperset((question.source, question.destination)):
        return AdvisedBin(each, taken, no_gain="devices-unknown")
    best = asked.best(question)
    time = None if best is None else _time_of_all(each, best)
    if best is None or time is None:
        return AdvisedBin(each, taken, no_gain="not-in-run")
    gain = _gain(each, taken, time, best)
    if isinstance(gain, str):
        return AdvisedBin(each, taken, best, time, no_gain=gain)
    return AdvisedBin(each, taken, best, time, gain)


def _gain(each: Bin, taken: float, time: Part, best: Answer) -> Gain | str:
    """Returns what a bin gains by the best method, or a key of NO_GAIN."""
    change = _change(each, best)
    if taken < time.low:
        return "faster"
    if change is None:
        return "slower-than-run" if taken > time.high else "best-already"
    if change == "method" and not _leads(each, best):
        return "tie"
    if taken <= time.high:
        return "within-interval"
    # What runs beside kernels may gain the program nothing.
    return Gain(change, best, max(0.0, taken - time.high - (each.overlap_ns or 0)), taken - time.low)


def _time_of_all(each: Bin, best: Answer) -> Part | None:
    """Returns the time of a bin at a method in ns, of the median path; None: unknown."""
    times = times_of(best.ranking.group)
    if not times:
        return None
    low, value, high = (
        each.count * median(ends)
        for ends in zip(*((one.low, one.value, one.high) for one in times), strict=True)
    )
    return Part(value, low, high)


def _change(each: Bin, best: Answer) -> str | None:
    """Returns what a program would change to use the best method; None: nothing."""
    plain = [end for end in (each.source, each.destination) if end.memory and is_plain(end.memory)]
    memories = {best.ranking.variant.source, best.ranking.variant.destination}
    if plain and not any(memory and is_plain(memory) for memory in memories):
        return "pinned" if memories & {"pinned", "registered"} else "memory"
    if _interface(each) == best.interface and not best.options:
        return None
    return "batch" if "submit=" in best.options else "method"


def _leads(each: Bin, best: Answer) -> bool:
    """Whether the best method is decidedly faster than the program's, as far as the run measured that."""
    own = [one for one in best.ranking.rivals if one.variant.interface == _interface(each)]
    return not own or any(one.claim.leads for one in own)


def _interface(each: Bin) -> str:
    """Returns the interface that a call is for us; empty: none."""
    name = each.method.casefold()
    return next((interface for beginning, interface in _INTERFACES if name.startswith(beginning)), "")


assert {interface for _, interface in _INTERFACES} <= INTERFACES.keys()
