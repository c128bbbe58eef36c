"""An interface is named in several tables; one that lacks it is found here and not by a user."""

from __future__ import annotations


import pytest

from byteways.plan import estimate, legality
from byteways.plan.interfaces import INTERFACES


@pytest.mark.parametrize("interface", INTERFACES)
def test_every_interface_is_in_every_table(interface: str) -> None:
    """Catches a new interface that is refused, or crashes, because one of its tables does not have it."""
    on = [kind for kind in ("cpu", "gpu") if legality.executes(interface, kind)]
    assert on
    if "cpu" in on and INTERFACES[interface].figure == "bandwidth":
        assert interface in estimate.CPU_COPY_BYTES_PER_S
