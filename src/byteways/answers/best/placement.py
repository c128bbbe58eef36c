"""Compares NUMA domains: how much the place of host memory matters for transfers with GPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from byteways.answers.best.decisions import Decision
from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import compare
from byteways.answers.claims.phrases import speed
from byteways.answers.claims.wording import agreement, faster, no_difference
from byteways.answers.results.index import Index
from byteways.answers.results.selection import by_nearest, label_order
from byteways.answers.results.summary import Result, ResultGroup, group_by, pool
from byteways.base.units import format_size
from byteways.cases.question import Question, is_host
from byteways.machine.device_names import devices_named

#: What domains are called where each GPU has another one nearest to it.
_NEAREST, _FARTHER = "the nearest NUMA domain", "the others"


@dataclass(frozen=True)
class Placement:
    """The NUMA domains of a question by the same method, the fastest first."""

    question: Question
    way: str  # the method by which they are compared
    domains: tuple[tuple[str, ResultGroup], ...]
    claims: tuple[Claim, ...]  # the first against each other one

    @property
    def between(self) -> str:
        return "NUMA domains"

    def __str__(self) -> str:
        """`NUMA domains, 1 MiB: cpu0, 55 GB/s, 10 % faster than cpu1 (50 GB/s), by copy with …`."""
        (first, group), *others = self.domains
        alike = [claim for claim in self.claims if not claim.leads]
        said = [
            f"{faster(claim)} {name} ({speed(other)}){agreement(claim)}"
            for (name, other), claim in zip(others, self.claims, strict=True)
            if claim.leads
        ]
        if alike:
            names = [name for (name, _), claim in zip(others, self.claims, strict=True) if not claim.leads]
            said.append(no_difference([first, *names], alike))
        return (
            f"{self.between}, {format_size(self.question.size_bytes)}: {first}, {speed(group)}, "
            f"{', '.join(said)}; by {self.way}"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "between": self.between,
            "size_bytes": self.question.size_bytes,
            "way": self.way,
            "domains": [
                {
                    "name": name,
                    "bandwidth_bytes_per_s": group.value,
                    "bandwidth_bytes_per_s_interval": [group.low, group.high],
                }
                for name, group in self.domains
            ],
            "claims": [claim.to_json() for claim in self.claims],
            "sentence": str(self),
        }


def placements(index: Index, asked: Question, decided: Sequence[Decision]) -> Iterator[Placement]:
    """Yields the comparison of the NUMA domains that a question names, for each direction.

    Args:
        index: The run.
        asked: The question.
        decided: Its decisions, on all domains.
    """
    if asked.is_collective or not any(
        _names_domains(index, word) for word in (asked.source, asked.destination)
    ):
        return
    for same in group_by(decided, lambda one: (one.place.kind, one.place.cold)).values():
        best = next((one for one in same if one.place.nearest and one.ranking), None)
        if best is None or best.place.kind not in ("cpu-gpu", "gpu-cpu"):
            continue
        cells = [cell for one in same for cell in one.cells if cell.variant == best.variant]
        gpus = {_gpu(cell) for cell in cells}
        groups = group_by(cells, _domain if len(gpus) == 1 else _by_distance(index))
        if len(groups) > 1:
            yield _placement(asked, best.variant.name, {name: pool(some) for name, some in groups.items()})


def _placement(asked: Question, method: str, groups: dict[str, ResultGroup]) -> Placement:
    ordered = sorted(groups.items(), key=lambda one: (-one[1].value, label_order(one[0])))
    (name, first), *others = ordered
    claims = tuple(
        compare(first, group, kind="placement", ways=len(groups), match=_gpu, names=(name, other))
        for other, group in others
    )
    return Placement(asked, method, tuple(ordered), claims)


def _names_domains(index: Index, word: str) -> bool:
    """Whether a word stands for several NUMA domains, each asked for by itself."""
    names = () if is_host(word) else devices_named(index.topology, word)
    return len(names) > 1 and all(index.topology.device(name).kind == "cpu" for name in names)


def _ends(cell: Result) -> tuple[str, str]:
    return cell.source.device, cell.destination.device


def _gpu(cell: Result) -> str:
    return next(end for end in _ends(cell) if end.startswith("gpu"))


def _domain(cell: Result) -> str:
    return next(end for end in _ends(cell) if end.startswith("cpu"))


def _by_distance(index: Index) -> Callable[[Result], str]:
    return lambda cell: _NEAREST if by_nearest(cell, index.topology) else _FARTHER
