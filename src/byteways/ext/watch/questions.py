"""The questions that a program's operations are: which method is best between such ends, at such a size?"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace
from math import log2

from byteways.cases.interfaces import COLLECTIVES, INTERFACES
from byteways.cases.option_set import NO_OPTIONS, OptionSet
from byteways.cases.options import IN_PLACE, WINDOW
from byteways.cases.question import PROCESS, RANKS, Question
from byteways.ext.watch.bins import Bin, End, Watched

#: Kinds of operations that are no transfer between two ends.
_NO_TRANSFER = ("synchronisation", "fault", "link", "set", "allocation", "release", "start", "other")
#: Memory of the host, whichever NUMA domain has it.
_OF_HOST = ("pageable", "hugepage", "pinned", "registered")
#: Questions of a suite: those with the longest times of a program.
MOST_QUESTIONS = 48
#: Sizes of one kind of operation that are measured as they are; of more of them, powers of two, between which
#: answers are interpolated.
MOST_SIZES_ALIKE = 12
#: The call by which a process sends and receives at once.
_BOTH = "MPI_Sendrecv"
#: Kinds of operations that a wait is for, by what the collector says of its requests; of others, of which
#: nothing is known, and of one-sided ones, the wait is no part of another call's time.
_WAITED_FOR: Mapping[str | int, tuple[str, ...]] = {
    "messages": ("message",),
    "collectives": ("collective",),
    "several": ("message", "collective"),
}
#: Calls that wait for requests, and the one that waits for all of them.
_WAITS, _WAITS_FOR_ALL = ("MPI_Wait", "MPI_Test"), "MPI_Waitall"
#: Messages that a run has in flight where nothing else is asked.
MOST_AT_ONCE = 64
BOTH_WAYS = "bidirectional"
#: Variables of one library begin so: by Interface.between of what they may alter.
_OF_LIBRARIES = {
    "xccl": ("NCCL_", "RCCL_"),
    "mpi": ("OMPI_", "PRTE_", "PMIX_", "MPIR_CVAR_", "MPICH_", "I_MPI_", "UCX_"),
}


def question_of(each: Bin, exchanging: Container[int] = ()) -> Question | str:
    """Returns the question of a bin, or why it is none: a key of `explain.watched.advice.NO_GAIN`.

    Args:
        each: Operations of a process.
        exchanging: From exchanging(): their messages go both ways at once.
    """
    if each.what in _NO_TRANSFER or not each.bytes:
        return "no-bytes"
    size = round(each.bytes / each.count)
    if each.what == "collective":
        pattern = collective_of(each.method)
        return Question("", "", size, RANKS, None, pattern) if pattern else "not-in-run"
    source, destination = _device(each.source), _device(each.destination)
    if source is None or destination is None:
        return "devices-unknown"
    if each.what == "message" and is_exchange(each, exchanging):
        return Question(source, destination, size, RANKS, pattern=BOTH_WAYS)
    return Question(source, destination, size, PROCESS if each.what == "copy" else RANKS)


def questions_of(watched: Watched) -> list[Question]:
    """Returns the questions of a program, that with the longest time first."""
    times: dict[Question, float] = defaultdict(float)
    both = exchanging(watched)
    for each, time_ns in zip(watched.bins, with_waits(watched, lambda one: one.bytes), strict=True):
        question = question_of(each, both)
        if isinstance(question, Question):
            times[question] += time_ns or 0.0
    sizes = defaultdict(set)
    for question in times:
        sizes[replace(question, size_bytes=0)].add(question.size_bytes)
    thinned: dict[Question, float] = defaultdict(float)
    for question, time_ns in times.items():
        many = len(sizes[replace(question, size_bytes=0)]) > MOST_SIZES_ALIKE
        for size in _powers(question.size_bytes) if many else {question.size_bytes}:
            thinned[replace(question, size_bytes=size)] += time_ns
    return sorted(thinned, key=lambda question: -thinned[question])[:MOST_QUESTIONS]


def own_options(watched: Watched) -> dict[Question, set[OptionSet]]:
    """Returns the options with which a program makes the calls of each question of questions_of()."""
    together, both = at_once(watched), exchanging(watched)
    found: dict[Question, set[OptionSet]] = defaultdict(set)
    for each in watched.bins:
        question, options = question_of(each, both), options_of(each, together)
        if isinstance(question, Question) and options:
            for size in {question.size_bytes, *_powers(question.size_bytes)}:
                found[replace(question, size_bytes=size)].add(options)
    return found


def at_once(watched: Watched) -> dict[int, int]:
    """Returns how many messages each process sends or receives before it waits for all, as a power of two.

    Processes that wait in other calls than `MPI_Waitall` are left out: how many of these belong together is
    unknown. Runs have MOST_AT_ONCE messages at once, if nothing else is asked.
    """
    sends, receives, waits = Counter[int](), Counter[int](), Counter[int]()
    for_messages = [each for each in watched.bins if "message" in waited_for(each)]
    for each in for_messages:
        waits[each.process] += each.count
    for each in watched.bins:
        if is_nonblocking(each) and each.what == "message":
            (sends if _is_send(each) else receives)[each.process] += each.count
    others = {each.process for each in for_messages if each.method != _WAITS_FOR_ALL}
    return {
        process: min(MOST_AT_ONCE, 1 << max(0, round(log2(count / waits[process]))))
        for process, count in (sends | receives).items()  # the greater one of each process
        if waits[process] and process not in others
    }


def options_of(each: Bin, at_once: Mapping[int, int]) -> OptionSet:
    """Returns the options with which suites measure such calls of MPI; empty: without, or that is unknown.

    Args:
        each: Operations of a process.
        at_once: From at_once().
    """
    if each.what == "collective":
        measured = is_in_place(each) and collective_of(each.method) in INTERFACES["mpi"].in_place
        return OptionSet({IN_PLACE.name: "yes"} if measured else {})
    if each.what != "message":
        return NO_OPTIONS
    both = 1 if each.method.startswith(_BOTH) else None
    window = both or (at_once.get(each.process) if is_nonblocking(each) else None)
    return OptionSet({WINDOW.name: window} if window and window != MOST_AT_ONCE else {})


def _powers(size_bytes: int) -> set[int]:
    """Returns the powers of two at both sides of a size."""
    return {1 << size_bytes.bit_length() - 1, 1 << (size_bytes - 1).bit_length()}


def with_waits(watched: Watched, weight: Callable[[Bin], float]) -> list[float | None]:
    """Returns the time of each bin in ns, with what its process waited for requests of such calls.

    A wait that is shared out has no time of its own left. One for requests that no bin stands for keeps it.

    Args:
        watched: What a program moved.
        weight: A bin's part of the time in MPI_Wait and its like, among the bins of its process whose
            operations are waited for so. Where it is 0 for all of them they share by the calls.
    """
    times = [time_of(each) for each in watched.bins]
    begun: dict[int, list[int]] = defaultdict(list)  # places of bins, by process
    for place, each in enumerate(watched.bins):
        if is_nonblocking(each) and times[place] is not None:
            begun[each.process].append(place)
    waits: dict[tuple[int, tuple[str, ...]], float] = defaultdict(float)
    for place, each in enumerate(watched.bins):
        kinds = waited_for(each)
        if any(watched.bins[one].what in kinds for one in begun[each.process]):
            waits[each.process, kinds] += times[place] or 0.0
            times[place] = 0.0
    for (process, kinds), waited_ns in waits.items():
        sharing = [place for place in begun[process] if watched.bins[place].what in kinds]
        weights = [weight(watched.bins[place]) for place in sharing]
        if not any(weights):
            weights = [float(watched.bins[place].count) for place in sharing]
        for place, part in zip(sharing, weights, strict=True):
            times[place] = (times[place] or 0.0) + waited_ns * part / sum(weights)
    return times


def exchanging(watched: Watched) -> frozenset[int]:
    """Returns the processes that send and receive by calls that return at once, and wait for both."""
    messages = [each for each in watched.bins if is_nonblocking(each) and each.what == "message"]
    sending, receiving = (
        {each.process for each in messages if _is_send(each) == sends} for sends in (True, False)
    )
    return frozenset(sending & receiving)


def is_exchange(each: Bin, exchanging: Container[int]) -> bool:
    """Whether messages of the bin go one way while others come the other way."""
    return each.method.startswith(_BOTH) or (is_nonblocking(each) and each.process in exchanging)


def is_in_place(each: Bin) -> bool:
    """Whether the result of a collective takes the place of what a rank gives."""
    return each.detail.get(IN_PLACE.name) == "yes"


def is_nonblocking(each: Bin) -> bool:
    """Whether what it does ends in a call that waits for its request; persistent requests are `…_init`."""
    begun = each.method.startswith("MPI_I") or (
        each.method.startswith("MPI_") and each.method.endswith("_init")
    )
    return begun and each.what in ("message", "collective")


def is_wait(each: Bin) -> bool:
    """Whether it waits for requests of MPI."""
    return each.what == "synchronisation" and each.method.startswith(_WAITS)


def waited_for(each: Bin) -> tuple[str, ...]:
    """Returns the kinds of operations whose requests a call waits for; empty: it is no wait, or for none.

    Traces do not say what a wait is for: it may be for all that is begun.
    """
    return _WAITED_FOR.get(each.detail.get("requests", "several"), ()) if is_wait(each) else ()


def _is_send(each: Bin) -> bool:
    """Whether messages of a bin are sent, not received, by its process."""
    return each.detail.get("direction", "send" if "send" in each.method.casefold() else "receive") == "send"


def time_of(each: Bin) -> float | None:
    """Returns the time of a bin in ns: on the device, or else of the calls with what they waited for.

    A call that copies pageable memory of a GPU's host does part of the work itself, and returns after it.
    """
    if each.time_ns is not None and each.call_ns is not None and _is_staged(each):
        return float(max(each.time_ns, each.call_ns))
    if each.time_ns is not None:
        return float(each.time_ns)
    return None if each.call_ns is None else float(each.call_ns + (each.waiting_ns or 0))


def _is_staged(each: Bin) -> bool:
    """Whether the driver copies through memory of its own."""
    return each.what == "copy" and "pageable" in (each.source.memory, each.destination.memory)


def may_alter(variables: Iterable[str], interface: str) -> bool:
    """Whether variables may alter what an interface takes: those of a library alter its own alone."""
    between = INTERFACES[interface].between
    libraries = [
        next((library for library, starts in _OF_LIBRARIES.items() if name.startswith(starts)), None)
        for name in variables
    ]
    return any(library is None or library == between for library in libraries)


def collective_of(method: str) -> str:
    """Returns the pattern of a collective's call, such as `MPI_Ireduce_scatter`; empty: none."""
    name = re.sub("^(?:mpi_i?|nccl)|_init$|[_-]", "", method.casefold())
    return next((one for one in COLLECTIVES if one.replace("-", "") == name), "")


def _device(end: End) -> str | None:
    """Returns the device of an end; `host` for host memory of an unknown NUMA domain."""
    return end.device or ("host" if end.memory in _OF_HOST else None)
