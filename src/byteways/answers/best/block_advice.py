"""Thresholds for programs that choose between a kernel and the vendor's call by two constants.

vLLM's KV offloading gives a transfer to a gather kernel if a block has fewer bytes than THRESHOLD_BYTES and
there are MIN_N blocks or more, and to the batched copy call otherwise (swap_blocks_triton.py,
vllm-project/vllm#57555). The constants are those with the least loss against the better of both over all
measured cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import exp, log
from statistics import fmean
from typing import Any

from byteways.answers.best.crossovers import (
    ComparedBlocks,
    Crossover,
    Crossovers,
    crossing,
    crossovers,
    sizes_of,
)
from byteways.answers.results.index import Index
from byteways.cases.block_list import BlockList

KIB = 1024


@dataclass(frozen=True)
class BlockAdvice:
    """The constants for one kind of pair, and what following them costs."""

    of: Crossovers
    threshold_bytes: int  # the kernel copies blocks of fewer bytes; 0: it copies none
    least_blocks: int  # and only from so many blocks on
    mean_loss: float  # of time against the better method, over all measured cells: 0.01 is 1 %
    most_loss: float
    worst: BlockList

    def by_kernel(self, blocks: BlockList) -> bool:
        """Whether the constants give these blocks to the kernel."""
        return blocks.block_bytes < self.threshold_bytes and blocks.count >= self.least_blocks

    def to_json(self) -> dict[str, Any]:
        """Returns plain data in base units, with every crossover and comparison."""
        place = self.of.place
        return {
            "kind": place.kind,
            "link_class": place.link_class,
            "paths": [*self.of.paths],
            "memory": self.of.memory or None,
            "kernel": "kernel-blocks",
            "calls": self.of.calls,
            "threshold_bytes": self.threshold_bytes,
            "min_blocks": self.least_blocks,
            "mean_loss": self.mean_loss,
            "most_loss": self.most_loss,
            "most_loss_at": asdict(self.worst),
            "by_count": [_json_of_count(one) for one in self.of.counts],
        }


def _json_of_count(one: Crossover) -> dict[str, Any]:
    return {
        "count": one.count,
        "leads_between_bytes": [*one.between] if one.between else None,
        "equal_at_bytes": one.equal_at,
        "leads_everywhere": one.leads_at_all,
        "sizes": [
            {
                "block_bytes": each.blocks.block_bytes,
                "kernel_bytes_per_s": each.kernel.value,
                "calls_bytes_per_s": each.calls.value,
                "ratio": each.claim.effect,
                "ratio_interval": [each.claim.low, each.claim.high],
                "verdict": each.claim.verdict,
            }
            for each in one.compared
        ],
    }


def block_advice(index: Index) -> list[BlockAdvice]:
    """Returns the constants for each kind of pair and memory that the run compares."""
    return [_advice(found) for found in crossovers(index)]


def _advice(found: Crossovers) -> BlockAdvice:
    sizes = sizes_of(found)
    limits = [*sizes, sizes[-1] + 1]  # the last one gives all measured sizes to the kernel
    counts = [one.count for one in found.counts]
    limit, least = min(
        ((limit, least) for limit in limits for least in counts),
        key=lambda rule: (fmean(_losses(found.compared, *rule)), rule[0], -rule[1]),
    )
    if limit == sizes[0]:
        limit, least = 0, counts[0]
    limit = _refined(found, limit, least, sizes)
    losses = _losses(found.compared, limit, least)
    worst = max(range(len(losses)), key=losses.__getitem__)
    return BlockAdvice(
        found,
        limit,
        least,
        exp(fmean(losses)) - 1,
        exp(losses[worst]) - 1,
        found.compared[worst].blocks,
    )


def _losses(compared: Sequence[ComparedBlocks], limit: int, least: int) -> list[float]:
    """Returns for each cell the logarithm of the time of the chosen method over that of the better one."""
    losses = []
    for one in compared:
        by_kernel = one.blocks.block_bytes < limit and one.blocks.count >= least
        losses.append(max(-log(one.ratio) if by_kernel else log(one.ratio), 0.0))
    return losses


def _refined(found: Crossovers, limit: int, least: int, sizes: Sequence[int]) -> int:
    """Returns the limit moved to where both take the same time, in whole KiB."""
    if limit not in sizes or limit == sizes[0]:
        return limit
    before = sizes[sizes.index(limit) - 1]
    ratios: dict[int, list[float]] = {before: [], limit: []}
    for one in found.compared:
        if one.blocks.count >= least and one.blocks.block_bytes in ratios:
            ratios[one.blocks.block_bytes].append(one.ratio)
    low, high = ratios[before], ratios[limit]
    if not low or not high or fmean(map(log, low)) <= 0:
        return limit
    equal = int(crossing(low, high, before, limit))
    return max(equal // KIB * KIB, before + 1) if limit >= 2 * KIB else limit
