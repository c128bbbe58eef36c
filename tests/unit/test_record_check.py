"""Records that somebody else wrote: which sizes of flows are taken."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from byteways.plan.case import Case
from byteways.results.record_check import wrong
from tests.report.few_records import GB, flow, record


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (1, ""),
        (0, ""),
        (None, ""),
        (-1, "the size of a flow is not positive"),
        (1.5, "the size of a flow is not positive"),
        (True, "the size of a flow is not positive"),
    ],
)
def test_sizes_of_flows(size: Any, said: str) -> None:
    """Catches a flow of less than nothing, and a boolean or a part of a byte taken for a size."""
    own = {} if size is None else {"size_bytes": size}
    one = record("copy", [flow("gpu0:device", "gpu1:device", "gpu0", **own)], 100 * GB)
    case = Case.from_json(vars(one))
    for name in ("category", "path", "access"):
        object.__setattr__(one, name, getattr(case, name))
    assert wrong(one) == said


@pytest.mark.parametrize(
    ("median", "plausible"), [(0.009, False), (0.011, True), (0.9e14, True), (1.1e14, False), (0.0, False)]
)
def test_times_are_from_a_part_of_a_cycle_to_a_day(median: float, plausible: bool) -> None:
    """Catches times that no operation has, whose squares overflow."""
    one = record("copy", [flow("gpu0:device", "gpu1:device", "gpu0")], 100 * GB)
    times = replace(one.time_ns, median=median, min=median, max=median, mean=median, ci95=(median, median))
    object.__setattr__(one, "time_ns", times)
    case = Case.from_json(vars(one))
    for name in ("category", "path", "access"):
        object.__setattr__(one, name, getattr(case, name))
    assert ("time" in wrong(one)) != plausible, wrong(one)
