"""Requests that are invalid on every machine: sizes, pitches, pieces and options that never combine.

If a value of a sweep has no valid combination, the suite is rejected. If some combinations of a product are
valid, the invalid ones are skipped with the same message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from byteways.base.text import Sentence
from byteways.cases.block_layout import blocks_of_options, moves_blocks
from byteways.cases.interfaces import (
    COLLECTIVES,
    INTERFACES,
    OPTIONS,
    SENT_AS_MESSAGES,
    WORD_BYTES,
    is_memory_step,
)
from byteways.cases.options import (
    ACCESS_BYTES,
    CALL,
    CALLS_THAT_WAIT,
    LAUNCH,
    LAYOUT,
    MOST_ACCESSES,
    MOST_BLOCK_THREADS,
    PEER_CALLS,
    SUBMIT,
)
from byteways.cases.pieces import pieces_of_options
from byteways.cases.relays import via_mistake


@dataclass(frozen=True)
class Request:
    """The machine-independent part of a flow."""

    interface: str
    pattern: str
    cache: str
    size_bytes: int
    options: Mapping[str, int | str | bool]


@dataclass(frozen=True)
class Mistake:
    """`key` of the suite at fault (an option or `size`), the reason, and a valid value."""

    key: str
    reason: Sentence
    hint: Sentence | None = None


def mistake(request: Request) -> Mistake | None:
    """Returns why no machine can run it; None if one might."""
    return (
        _pieces_mistake(request)
        or _layout_mistake(request)
        or _number_mistake(request)
        or _size_mistake(request)
        or _threads_mistake(request)
        or _via_mistake(request)
        or _engine_mistake(request)
        or _pace_mistake(request)
        or _submit_mistake(request)
        or _call_mistake(request)
        or _in_place_mistake(request)
        or _calls_mistake(request)
        or _registration_mistake(request)
        or _staging_mistake(request)
        or _osu_mistake(request)
        or _direct_mistake(request)
        or _access_mistake(request)
    )


def _number_mistake(request: Request) -> Mistake | None:
    for name, value in request.options.items():
        span = OPTIONS[name].span if name in OPTIONS else None
        if span is not None and (reason := span.wrong(name, int(value))):
            return Mistake(name, reason)
    return None


def _size_mistake(request: Request) -> Mistake | None:
    interface, size = request.interface, request.size_bytes
    row = INTERFACES[interface]
    if size <= 0:
        return Mistake("size", f"a size of {size} bytes moves nothing")
    if row.power_of_two_from:
        if size & (size - 1) or size < row.power_of_two_from:
            least = row.power_of_two_from
            what = "a pointer chase" if row.walks else interface
            reason = f"{what} needs a power of two of at least {least} bytes, not {size}"
            return Mistake("size", reason, 'for example "64KiB..1GiB x4"')
        return None
    if is_memory_step(interface) and size % row.granularity_bytes:
        reason = f"memory is allocated in pages of {row.granularity_bytes} bytes; {size} is not a multiple"
        return Mistake("size", reason, 'for example "4KiB..1GiB x16"')
    if row.one_word and size != WORD_BYTES:
        what = "sends one word" if row.partner else "moves no data: its buffer is one word"
        reason = f"{interface} {what} of {WORD_BYTES} bytes, not {size}"
        return Mistake("size", reason, f"size = {WORD_BYTES}")
    if size % row.granularity_bytes:
        return Mistake(
            "size", f"{interface} moves multiples of {row.granularity_bytes} bytes; {size} is not a multiple"
        )
    return None


def _pieces_mistake(request: Request) -> Mistake | None:
    """Rows and blocks must not overlap, and fill the size."""
    pieces = pieces_of_options(request.interface, request.options, request.size_bytes)
    wrong = pieces.wrong() if pieces else None
    return Mistake(*wrong) if wrong else None


def _layout_mistake(request: Request) -> Mistake | None:
    """Random places have no pitch, and every block begins where its interface can move one."""
    interface, options = request.interface, request.options
    if not moves_blocks(interface):
        return None
    if "pitch_bytes" in options and options.get("layout", LAYOUT.default) != "strided":
        return Mistake("pitch_bytes", "blocks at random places have no pitch", 'layout = "strided"')
    if "block_bytes" in options and "block_sizes" in options:
        return Mistake("block_bytes", "block_sizes has the sizes of all blocks", "leave one of them out")
    grain = INTERFACES[interface].granularity_bytes
    blocks = blocks_of_options(options, request.size_bytes)
    key = "block_sizes" if blocks.mixed else "block_bytes"
    for name, value in (*((key, size) for _, size in blocks.sizes), ("pitch_bytes", blocks.pitch_bytes)):
        if value % grain:
            reason = f"{interface} moves multiples of {grain} bytes, and {value} of {name} is not"
            return Mistake(name, reason, 'interface = "kernel-blocks"')
    return None


def _threads_mistake(request: Request) -> Mistake | None:
    """For interfaces that only GPUs execute; otherwise it depends on the executor (executors.py)."""
    threads = int(request.options.get("threads", 1))
    if threads <= MOST_BLOCK_THREADS or INTERFACES[request.interface].executed_by("cpu"):
        return None
    return Mistake("threads", too_many_threads(threads), f"from 1 to {MOST_BLOCK_THREADS}")


def too_many_threads(threads: int) -> str:
    return f"{threads} threads exceed the largest GPU block: {MOST_BLOCK_THREADS}"


def _via_mistake(request: Request) -> Mistake | None:
    if request.interface != "route":
        return None
    reason = via_mistake(request.options)
    return Mistake("via", reason, 'for example via = "gpu1,gpu2"') if reason else None


def _engine_mistake(request: Request) -> Mistake | None:
    """The engine-specific call bypasses the runtime's streams, so each copy must be waited for."""
    if "copy_engine" not in request.options or request.pattern == "unidirectional":
        return None
    pattern = request.pattern
    reason = f"a copy on a chosen engine is synchronous: {pattern} flows would be serialised"
    return Mistake("copy_engine", reason, 'pattern = "unidirectional"')


def _pace_mistake(request: Request) -> Mistake | None:
    """Isolated operations cannot run concurrently with others."""
    if request.options.get("pace") != "one-at-a-time":
        return None
    if request.pattern != "unidirectional":
        reason = f"pace one-at-a-time runs alone: {request.pattern} flows would be serialised"
        return Mistake("pace", reason, 'pattern = "unidirectional"')
    if "copy_engine" in request.options:
        return Mistake("pace", "a copy on a chosen engine is always synchronous: leave 'pace' out")
    return None


def _call_mistake(request: Request) -> Mistake | None:
    """Calls other than the asynchronous one: those that wait run alone and use no stream of ours."""
    options, call = request.options, request.options.get(CALL.name, CALL.default)
    if call == CALL.default:
        return None
    if request.interface == "memset" and call in PEER_CALLS:
        return Mistake(CALL.name, "setting bytes concerns one GPU, and not two peers", 'call = "blocking"')
    if options.get("submit", "calls") != "calls":
        reason = f"a {options['submit']} takes the asynchronous call, not call {call}"
        return Mistake(CALL.name, reason, 'submit = "calls"')
    if "copy_engine" in options:
        return Mistake(CALL.name, "a chosen engine has a call of its own", "leave one of them out")
    if call not in CALLS_THAT_WAIT:
        return None
    for name in ("pace", "pause_ns", "stream"):
        if name in options:
            reason = f"call {call} waits for its operation, in no stream of ours: it has no {name}"
            return Mistake(name, reason, f"leave '{name}' out")
    if request.pattern != "unidirectional":
        reason = f"call {call} runs alone: {request.pattern} flows would be serialised"
        return Mistake(CALL.name, reason, 'pattern = "unidirectional"')
    return None


def _submit_mistake(request: Request) -> Mistake | None:
    """Graphs and batches contain a single flow; a batched call for the blocks of one operation is a call."""
    options, how = request.options, request.options.get("submit", "calls")
    if how == "calls":
        return None
    if how == "persistent" and INTERFACES[request.interface].library != "direct":
        return Mistake("submit", "a persistent kernel carries out direct collectives", 'submit = "graph"')
    if INTERFACES[request.interface].between_ranks:
        return _submit_between_ranks(how, options)
    call_each = how == "batch" and moves_blocks(request.interface)
    if request.pattern != "unidirectional" and not call_each:
        reason = f"a {how} covers one flow, not {request.pattern}"
        return Mistake("submit", reason, 'pattern = "unidirectional"')
    for name in ("copy_engine", "pause_ns"):
        if name in options:
            return Mistake(name, f"a {how} has no option {name}", "leave one of them out")
    if options.get("pace") == "one-at-a-time":
        return Mistake("pace", f"a {how} cannot wait for each operation", "leave one of them out")
    if how == "batch" and not INTERFACES[request.interface].batched:
        return Mistake("submit", "a batched call takes copies, not kernels", 'submit = "graph"')
    if how == "batch" and request.cache == "warm" and not moves_blocks(request.interface):
        reason = "copies of a batch are unordered, so warm ones would overwrite each other"
        return Mistake("submit", reason, 'cache = "cold"')
    return None


def _submit_between_ranks(how: object, options: Mapping[str, int | str | bool]) -> Mistake | None:
    if how == "batch":
        return Mistake("submit", "a batched call takes copies, and a library between ranks makes none")
    if how == "graph" and options.get("launch") == "single":
        reason = "a graph belongs to one GPU, and here one thread submits for all GPUs"
        return Mistake("launch", reason, 'launch = "thread"')
    return None


def _in_place_mistake(request: Request) -> Mistake | None:
    """Repeated operations must leave a result that is known, so that every sample can be verified."""
    if request.options.get("in_place") != "yes":
        return None
    allowed = INTERFACES[request.interface].in_place
    if request.pattern in allowed:
        return None
    reason = f"{request.interface} in place does {', '.join(allowed)}, and not {request.pattern}"
    return Mistake("in_place", reason, f'pattern = "{allowed[0]}"')


def _calls_mistake(request: Request) -> Mistake | None:
    if request.options.get("calls") != "messages" or request.pattern in SENT_AS_MESSAGES:
        return None
    reason = f"{', '.join(SENT_AS_MESSAGES)} can be sent as messages, and {request.pattern} cannot"
    return Mistake("calls", reason, f'pattern = "{SENT_AS_MESSAGES[0]}"')


def _registration_mistake(request: Request) -> Mistake | None:
    if request.options.get("registration") != "window" or request.options.get("launch") != "single":
        return None
    reason = "all ranks register a window at once, and here one thread calls for one after another"
    return Mistake("launch", reason, 'launch = "thread"')


def _staging_mistake(request: Request) -> Mistake | None:
    """Our copies are part of a message; a collective would need other ranks' data in between."""
    if request.options.get("staging") != "pinned" or request.pattern not in COLLECTIVES:
        return None
    reason = f"staging in pinned memory is for messages, and {request.pattern} is a collective"
    return Mistake("staging", reason, 'pattern = "unidirectional"')


def _osu_mistake(request: Request) -> Mistake | None:
    """What OSU's programs do not do is not timed as theirs."""
    options = request.options
    if options.get("timing") != "osu":
        return None
    if request.cache == "cold" and INTERFACES[request.interface].figure == "bandwidth":
        return Mistake("cache", "OSU's programs reuse one buffer", 'cache = "warm"')
    if options.get("staging") == "pinned":
        reason = "OSU's programs pass device memory to the library"
        return Mistake("staging", reason, 'staging = "library"')
    if not (library := INTERFACES[request.interface].library):
        return None
    windows = request.pattern not in COLLECTIVES and INTERFACES[request.interface].figure == "bandwidth"
    if library == "direct":
        return Mistake("timing", "OSU's programs have no collectives over peer memory", 'interface = "mpi"')
    if windows:
        return Mistake("timing", "OSU's windows of messages exist for MPI only", 'interface = "mpi"')
    for option, usual in ((LAUNCH, "process"), (SUBMIT, "calls")):
        if (word := options.get(option.name, usual)) in ("single", "graph"):
            reason = f"OSU's programs wait for each call, and {option.name} {word} cannot"
            return Mistake("timing", reason, f'{option.name} = "{usual}"')
    return None


def _direct_mistake(request: Request) -> Mistake | None:
    """Algorithms, protocols and mechanisms of direct collectives that never combine."""
    if INTERFACES[request.interface].library != "direct":
        return None
    options, pattern = request.options, request.pattern
    two_shot, copies = options.get("algorithm") == "two-shot", options.get("mechanism") == "copy"
    if two_shot and pattern != "allreduce":
        return Mistake("algorithm", f"two-shot is an algorithm of allreduce, and not of {pattern}")
    if two_shot and options.get("protocol") == "LL":
        return Mistake("protocol", "two-shot has protocol simple alone", "leave 'protocol' out")
    if not copies:
        return None
    if pattern not in ("allgather", "alltoall"):
        return Mistake("mechanism", f"copy engines do not add, and {pattern} does", 'pattern = "allgather"')
    for name in ("algorithm", "protocol", "blocks", "threads"):
        if name in options and options[name] != "auto":
            return Mistake(name, f"copies have no {name}", f"leave '{name}' out")
    if options.get("submit") == "persistent":
        return Mistake("submit", "copies are host calls and cannot be part of a kernel", 'submit = "graph"')
    return None


def _access_mistake(request: Request) -> Mistake | None:
    """Elements of random access: powers of two; updates need whole words, which alone tell their number."""
    if not INTERFACES[request.interface].scattered:
        return None
    access = int(request.options.get(ACCESS_BYTES.name, ACCESS_BYTES.usual))
    hint = "4, 8, 16, 32, 64 or 128"
    if access & (access - 1):
        return Mistake(ACCESS_BYTES.name, f"access_bytes must be a power of two, not {access}", hint)
    if request.interface == "random-update" and access < WORD_BYTES:
        reason = f"updates are of whole words of {WORD_BYTES} bytes, not of {access}"
        return Mistake(ACCESS_BYTES.name, reason, "access_bytes = 8, as HPCC RandomAccess has it")
    if request.size_bytes // access > MOST_ACCESSES:
        reason = f"an operation has at most 2^32 accesses; {request.size_bytes} bytes have more of {access}"
        return Mistake("size", reason, "a smaller size, or larger access_bytes")
    return None
