"""Ordinary loads of a chase on real GPUs: a small working set is nearer than by loads of system scope."""

from __future__ import annotations

import pytest

from byteways import _core

pytestmark = pytest.mark.gpu

KIB, MIB = 2**10, 2**20


@pytest.mark.parametrize("size", [16 * KIB, 256 * MIB])
def test_loads_of_both_kinds(session: _core.Session, size: int) -> None:
    """Catches ordinary loads that miss the multiprocessor's own cache, or end elsewhere."""
    buffer = session.allocate("gpu0", "device", size, "gpu0")
    options = _core.MeasureOptions()
    options.budget_s = 0.2
    found = {
        loads: session.measure(
            [_core.Flow(buffer, buffer, "gpu0", "pointer-chase", size, loads=loads)], options
        )
        for loads in ("system", "ordinary")
    }
    assert all(measured.verified for measured in found.values())
    assert {loads: one.evidence.own_caches for loads, one in found.items()} == {
        "system": False,
        "ordinary": True,
    }
    if size < MIB:  # which one multiprocessor holds: no figure, only an order
        assert found["ordinary"].time_ns.median < found["system"].time_ns.median
