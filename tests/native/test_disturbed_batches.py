"""The length of a batch on a real host, beside a second rank that tells of a disturbance."""

from __future__ import annotations

import pytest

from byteways import _core
from tests.native.test_team_decisions import KIB, Peer, at


@pytest.mark.parametrize("size", [16 * KIB, 256 * KIB])
def test_a_disturbed_batch_is_not_long_enough(size: int) -> None:
    """Catches a batch of one operation that another program lengthened on a real host, and that stays so
    short: with a slope, the longer of the first two.
    """
    session = _core.Session(gpus=False)
    ends = [session.allocate("cpu0", "pageable", size, "cpu0") for _ in range(2)]
    options = _core.MeasureOptions()
    options.budget_s = 0.05
    flow = _core.Flow(*ends, "cpu0", "memcpy", size, cold=False)
    measured = session.measure([flow], options, Peer({"time of a batch": at(0, 1e7)}))
    assert measured.verified and measured.slope == (size < 64 * KIB)
    assert measured.batch > 8
