"""Words the answer to "how long does a load take?": its table, and what shortens it."""

from __future__ import annotations

from collections.abc import Iterator

from byteways.answers.best.load import (
    COPY_DATA,
    GPU_MEMORY,
    HOST_MEMORY,
    READ_DATA,
    REGISTER_PAGES,
    LoadAnswer,
    LoadMethod,
    LoadPart,
)
from byteways.answers.claims.claim import Claim
from byteways.answers.claims.phrases import percent, supported
from byteways.answers.claims.wording import faster, no_difference
from byteways.answers.results.repeatability import LEAST_ROUNDS
from byteways.answers.results.summary import Result
from byteways.base.units import format_size, short_time
from byteways.record.simulation_mark import MEASURED, SIMULATED

#: What each part is called.
LOAD_PARTS = {
    GPU_MEMORY: "allocate GPU memory",
    HOST_MEMORY: "allocate host memory",
    REGISTER_PAGES: "register",
    READ_DATA: "read",
    COPY_DATA: "copy",
}
_SECOND_NS = 1e9


def load_title(answer: LoadAnswer) -> str:
    return f"Load {format_size(answer.question.size_bytes)} into {answer.gpu}"


def load_table(answer: LoadAnswer) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Returns headings and a row for each kind of host memory: the time of each part, and their sum."""
    columns = [
        what for what in LOAD_PARTS if any(one.part(what) or what in one.missing for one in answer.methods)
    ]
    rows = tuple(
        (
            one.memory,
            *(_cell(one, what) for what in columns),
            time_of(one.time) if one.time else "–",
            f"{seconds(one.time.low)}–{seconds(one.time.high)}" if one.time else "",
        )
        for one in answer.methods
    )
    headings = ("host memory", *(LOAD_PARTS[what] for what in columns), "sum", "95 % interval")
    return headings, rows


def load_lines(answer: LoadAnswer) -> list[str]:
    """Returns the answer in lines: the fastest, what dominates, what to prepare ahead, how it was checked."""
    return [
        *_fastest(answer),
        *_ahead(answer),
        *_together(answer),
        *_checked(answer),
        *_limits(answer),
    ]


def time_of(time: Result) -> str:
    """'22.1 s', '312 ms', with the digits that the interval supports."""
    scale, unit = (_SECOND_NS, "s") if time.value >= _SECOND_NS else (1e6, "ms")
    return f"{supported(time.value / scale, time.low / scale, time.high / scale)} {unit}"


def seconds(time_ns: float) -> str:
    return short_time(time_ns)


def _cell(one: LoadMethod, what: str) -> str:
    part = one.part(what)
    if part:
        return time_of(part.time)
    return ("–" if one.refusal else "?") if what in one.missing else ""


def _fastest(answer: LoadAnswer) -> Iterator[str]:
    best = answer.best
    if best is None or best.time is None:
        missing = {
            LOAD_PARTS[what]: None for one in answer.methods if not one.refusal for what in one.missing
        }
        rounds = f"in {LEAST_ROUNDS} rounds or more"
        yield f"no sum, because the run lacks {rounds} what is marked ?: {', '.join(missing)}"
        return
    said = f"through {best.memory} memory: {time_of(best.time)}"
    if answer.claims:
        said += f", {_compared(answer, answer.claims[0])}"
    longest = best.longest
    share = longest.time.value / best.time.value
    yield f"{said}; {percent(share)} of it: {LOAD_PARTS[longest.what]}{_by(longest)}"
    if answer.faults:
        yield f"page faults of pageable memory, a part of its allocation: {time_of(answer.faults.time)}"


def _compared(answer: LoadAnswer, claim: Claim) -> str:
    following = [one for one in answer.methods if one.time][1]
    assert following.time is not None
    name = f"{following.memory} memory ({time_of(following.time)})"
    if claim.leads:
        return f"{faster(claim)} through {name}"
    return no_difference([answer.methods[0].memory, following.memory], [claim])


def _by(part: LoadPart) -> str:
    return f" by {part.method}" if part.method else ""


def _ahead(answer: LoadAnswer) -> Iterator[str]:
    """Yields what is left if memory is prepared ahead, and if the data are kept there."""
    pinned, best = answer.by("pinned"), answer.best
    prepared, kept = pinned.only(READ_DATA, COPY_DATA), pinned.only(COPY_DATA)
    if prepared.time and best and best.time:
        saved = best.time.value - prepared.time.value
        gain = f", {short_time(saved)} less" if prepared.time.high < best.time.low else ""
        time = time_of(prepared.time)
        yield f"with GPU memory and pinned memory prepared ahead: {time}{gain} (read and copy)"
    if prepared.time and len(prepared.parts) == 2:
        longer = prepared.longest
        yield (
            "read and copied in pieces through a small pinned buffer, at best as long as the longer part: "
            f"{time_of(longer.time)} ({LOAD_PARTS[longer.what]})"
        )
    if kept.time:
        yield f"with the data already in pinned memory: {time_of(kept.time)} (copy{_by(kept.parts[0])})"
    if kept.time and answer.relayed:
        relayed = answer.relayed.time
        less = short_time(kept.time.value - relayed.value)
        yield f"over other GPUs' links besides ({answer.relayed.method}): {time_of(relayed)}, {less} less"


def _together(answer: LoadAnswer) -> Iterator[str]:
    if not answer.all_at_once:
        return
    gpus, copy = answer.all_at_once
    size = format_size(answer.question.size_bytes)
    alone = answer.by("pinned").part(COPY_DATA)
    said = f"the copies of all {gpus} GPUs at once, {size} each: {time_of(copy.time)}"
    if alone and copy.time.low > alone.time.high:
        said += f" instead of {time_of(alone.time)} alone"
    yield said + ("; no GPU's link is then left for a relay" if answer.relayed else "")


def _checked(answer: LoadAnswer) -> Iterator[str]:
    """Yields the loads as a whole beside the sums of their parts."""
    voice = SIMULATED if answer.simulated else MEASURED
    for one in answer.trials:
        yield (
            f"checked by a load of {format_size(one.size_bytes)} through {one.memory} memory as a whole: "
            f"{time_of(one.whole)} {voice.measured}, {time_of(one.parts)} as the sum ({percent(one.ratio)})"
        )


def _limits(answer: LoadAnswer) -> Iterator[str]:
    """Yields what cannot run, where the sum is extrapolated, and what it leaves out."""
    voice = SIMULATED if answer.simulated else MEASURED
    for one in answer.methods:
        if one.refusal:
            yield f"{one.memory} memory: {voice.quote(one.refusal.reason or '')}"
    sizes = sorted({part.measured.size_bytes for one in answer.methods for part in one.parts})
    size = answer.question.size_bytes
    if sizes and sizes[-1] < size:
        span = format_size(sizes[0])
        if sizes[0] != sizes[-1]:
            span += f" to {format_size(sizes[-1])}"
        yield f"{voice.measured} at {span}, and taken to grow in proportion"
    if answer.host_bytes and answer.host_bytes < size:
        yield f"{answer.cpu} has {format_size(answer.host_bytes)}: host memory for all of it is not there"
    yield "reading is from the page cache; from a slower disk or network it takes the size by its rate"
