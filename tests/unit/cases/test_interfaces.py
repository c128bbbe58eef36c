"""The table of interfaces against what the native core has; what lacks here is found before a user does."""

from __future__ import annotations

import pytest

from byteways import _core
from byteways.cases.interfaces import INTERFACES


def test_every_row_has_a_mover_and_every_mover_a_row() -> None:
    """Catches an interface that is planned and cannot be measured, or has a mover and is never planned."""
    moved = (name for name, row in INTERFACES.items() if row.worker in ("native", "ranks"))
    assert _core.interfaces() == sorted(moved)


@pytest.mark.parametrize("interface", INTERFACES)
def test_a_row_has_what_planning_and_the_core_need(interface: str) -> None:
    """Catches a kernel that nothing registers, which would be skipped everywhere, and a row without a rate,
    at which every plan with such a case would fail.
    """
    row = INTERFACES[interface]
    assert row.kernels
    assert set(row.kernels.get("cpu", ())) <= set(_core.host_kernels())
    assert set(row.kernels.get("gpu", ())) <= set(_core.device_kernels())
    if row.executed_by("cpu") and row.figure == "bandwidth":
        assert row.cpu_bytes_per_s > 0
