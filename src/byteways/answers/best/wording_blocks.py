"""Words crossovers of block copies: sentences of findings, and the constants of other programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log

from byteways.answers.best.block_advice import KIB, BlockAdvice
from byteways.answers.best.crossovers import ComparedBlocks, Crossover, Crossovers, sizes_of
from byteways.answers.claims.phrases import percent
from byteways.answers.claims.wording import faster
from byteways.answers.results.selection import PAIR_KINDS
from byteways.base.units import format_size, size_and_unit
from byteways.cases.options import BLOCK_BYTES

#: Below it a loss is not mentioned.
LEAST_LOSS = 0.005


def where(found: Crossovers) -> str:
    """'From host to GPU (cpu0>gpu0), pinned memory'."""
    paths = found.paths[0] if len(found.paths) == 1 else f"{len(found.paths)} paths"
    parts = f"{PAIR_KINDS[found.place.kind]} ({paths})", f"{found.memory} memory" if found.memory else ""
    return ", ".join(filter(None, parts))


def faster_up_to(one: Crossover, calls: str) -> str:
    """'kernel-blocks is 7.0 times as fast as copy-blocks (submit=batch) for 1,024 blocks of 16 KiB, and leads
    up to 32–64 KiB a block'. Raises ValueError if it leads at no size.
    """
    if not one.leading:
        raise ValueError("the kernel leads at no size")
    usual = usual_example(one)
    said = f"kernel-blocks is {faster(usual.claim)} {calls} for {usual.blocks}"
    return f"{said}, and leads {up_to(one)}"


def usual_example(one: Crossover) -> ComparedBlocks:
    """Returns the comparison nearest to the usual size of a block, of those at which the kernel leads."""
    sizes = one.leading or one.compared
    return min(sizes, key=lambda each: abs(log(each.blocks.block_bytes / BLOCK_BYTES.usual)))


def never_faster(one: Crossover, calls: str) -> str:
    """'kernel-blocks is not faster than …'. Raises ValueError if it leads at a size."""
    if one.leading or any(each.claim.leads for each in one.compared):
        raise ValueError("the kernel leads at a size")
    return f"kernel-blocks is at none of these sizes faster than {calls} for {one.count:,} blocks"


def up_to(one: Crossover) -> str:
    """'up to 16–32 KiB a block', 'at all sizes, up to 256 KiB'; of one that leads at some size."""
    if one.between is not None:
        return f"up to {_span(*one.between)} a block"
    largest = format_size(one.leading[-1].blocks.block_bytes)
    return f"at all sizes, up to {largest}" if one.leads_at_all else f"up to {largest} a block or more"


def in_short(one: Crossover) -> str:
    """'16–32 KiB', 'over 256 KiB', 'none': for a table or a list."""
    if one.between is not None:
        return _span(*one.between)
    return f"over {format_size(one.leading[-1].blocks.block_bytes)}" if one.leading else "none"


def _span(low: int, high: int) -> str:
    low_said, low_unit = size_and_unit(low)
    high_said, high_unit = size_and_unit(high)
    return f"{low_said}{f' {low_unit}' if low_unit != high_unit else ''}–{high_said} {high_unit}"


def vllm_lines(advice: Sequence[BlockAdvice], about: str, mark: str) -> Iterator[str]:
    """Yields the constants as a Python module.

    Args:
        advice: Of each kind of pair.
        about: The machine and the run.
        mark: Of a simulated run; '' if it was measured.
    """
    yield f"# {about}" + (f"; {mark}" if mark else "")
    yield "# vLLM, swap_blocks_triton.py (vllm-project/vllm#57555): the gather kernel copies N blocks if"
    yield "# a block has fewer than THRESHOLD_BYTES bytes and N is at least MIN_N, else one batched call."
    for one in (each for each in advice if each.of.place.kind in _PREFIXES):
        prefix = _PREFIXES[one.of.place.kind]
        of_memory = one.of.memory if one.of.memory not in ("", "pinned") else ""
        prefix = "_".join(filter(None, (prefix, of_memory.upper().replace("-", "_").replace(" > ", "_"))))
        yield ""
        yield f"# {where(one.of)}, beside {one.of.calls}: {costs(one)}"
        yield f"{_name(prefix, 'THRESHOLD_BYTES')} = {_bytes(one.threshold_bytes)}"
        yield f"{_name(prefix, 'MIN_N')} = {one.least_blocks}"
        yield "# The block sizes between which the lead of the kernel ends, by N: " + "; ".join(
            f"{each.count}: {in_short(each)}" for each in one.of.counts
        )
        by_count = ", ".join(f"{each.count}: {_bytes(threshold_of(each))}" for each in one.of.counts)
        yield f"{_name(prefix, 'THRESHOLD_BYTES_BY_N')} = {{{by_count}}}"


#: vLLM's own constants are for the direction to the GPU; the others begin with a word.
_PREFIXES = {"cpu-gpu": "", "gpu-cpu": "STORE"}


def threshold_of(one: Crossover) -> int:
    """Returns the bytes below which the kernel leads for this number of blocks; 0 if it leads nowhere."""
    if not one.leading:
        return 0
    largest = one.leading[-1].blocks.block_bytes
    equal = int(one.equal_at) // KIB * KIB if one.equal_at else 0
    return max(equal, largest + 1)


def _name(prefix: str, name: str) -> str:
    return f"{prefix}_{name}" if prefix else name


def _bytes(size: int) -> str:
    return f"{size // KIB} * 1024" if size and size % KIB == 0 else str(size)


def limit_said(one: BlockAdvice) -> str:
    """'under 36 KiB', '256 KiB or less', 'none': the blocks that the constants give to the kernel."""
    if not one.threshold_bytes:
        return "none"
    largest = sizes_of(one.of)[-1]
    return (
        f"under {format_size(one.threshold_bytes)}"
        if one.threshold_bytes <= largest
        else f"{format_size(largest)} or less"
    )


def costs(one: BlockAdvice) -> str:
    """'0.4 % more time than the better of both on average over 29 cells, at most 6 % (16 blocks of …)'."""
    cells = len(one.of.compared)
    if one.most_loss < LEAST_LOSS:
        return f"no more time than the better of both in {cells} cells"
    return (
        f"{percent(one.mean_loss)} more time than the better of both on average over {cells} cells, "
        f"at most {percent(one.most_loss)} ({one.worst})"
    )
