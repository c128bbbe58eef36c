"""Sizes that `--size` names and that no selected case of a suite has: its sweeps measure them, too. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from byteways.cases.case import Case
from byteways.cases.sizes import single_sizes
from byteways.plan.filters import Filter
from byteways.plan.suite_types import Sweep
from byteways.plan.suite_values import Sizes


def sweeps_of_requested_sizes(
    sizes: str | None, expanded: Iterable[tuple[Sweep, Sequence[Case]]], lets_through: Filter
) -> dict[int, Sweep]:
    """Returns sweeps of the missing sizes, by the index of the sweep that each is like.

    Args:
        sizes: `--size`; its ranges only select.
        expanded: The sweeps of the suite with their cases.
        lets_through: `--only`; sweeps of which it selects no case stay as they are.
    """
    asked = single_sizes(sizes)
    if not asked:
        return {}
    selected = {
        index: (sweep, {case.size_bytes for case in cases if lets_through(case, sweep.name)})
        for index, (sweep, cases) in enumerate(expanded)
    }
    there = {size for _, of_sweep in selected.values() for size in of_sweep}
    missing = tuple(size for size in asked if size not in there)
    if not missing:
        return {}
    return {
        index: sweep.replaced(sizes=missing, counts=Sizes())
        for index, (sweep, own) in selected.items()
        if own
    }
