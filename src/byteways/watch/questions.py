"""The questions that a program's operations are: which method is best between such ends, at such a size?"""

from __future__ import annotations

import re

from byteways.plan.interfaces import COLLECTIVES
from byteways.plan.question import PROCESS, RANKS, Question
from byteways.watch.bins import Bin, End, Watched

#: Kinds of operations that are no transfer between two ends.
_NO_TRANSFER = ("synchronisation", "fault", "link", "set", "allocation", "release")
#: Memory of the host, whichever NUMA domain has it.
_OF_HOST = ("pageable", "hugepage", "pinned", "registered")
#: Questions of a suite: those with the longest times of a program.
MOST_QUESTIONS = 48


def question_of(each: Bin) -> Question | str:
    """Returns the question of a bin, or why it is none: a key of `explain.watched.advice.NO_GAIN`."""
    if each.what in _NO_TRANSFER or not each.bytes:
        return "no-bytes"
    size = round(each.bytes / each.count)
    if each.what == "collective":
        pattern = collective_of(each.method)
        return Question("", "", size, RANKS, None, pattern) if pattern else "not-in-run"
    source, destination = _device(each.source), _device(each.destination)
    if source is None or destination is None:
        return "devices-unknown"
    return Question(source, destination, size, PROCESS if each.what == "copy" else RANKS)


def questions_of(watched: Watched) -> list[Question]:
    """Returns the questions of a program, that with the longest time first."""
    times: dict[Question, float] = {}
    for each in watched.bins:
        question = question_of(each)
        if isinstance(question, Question):
            times[question] = times.get(question, 0.0) + (time_of(each) or 0.0)
    return sorted(times, key=lambda question: -times[question])[:MOST_QUESTIONS]


def time_of(each: Bin) -> float | None:
    """Returns the time of a bin in ns: on the device, or else of the calls with what they waited for."""
    if each.time_ns is not None:
        return float(each.time_ns)
    return None if each.call_ns is None else float(each.call_ns + (each.waiting_ns or 0))


def collective_of(method: str) -> str:
    """Returns the pattern of a collective's call, such as `MPI_Ireduce_scatter`; empty: none."""
    name = re.sub("^(?:mpi_i?|nccl)|[_-]", "", method.casefold())
    return next((one for one in COLLECTIVES if one.replace("-", "") == name), "")


def _device(end: End) -> str | None:
    """Returns the device of an end; `host` for host memory of an unknown NUMA domain."""
    return end.device or ("host" if end.memory in _OF_HOST else None)
