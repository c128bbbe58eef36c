"""Records that somebody else wrote: which sizes of flows are taken."""

from __future__ import annotations

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
