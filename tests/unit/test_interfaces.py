"""An interface is named in several tables; one that lacks it is found here and not by a user."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways.plan import estimate, legality
from byteways.plan.interfaces import INTERFACES

NATIVE = Path(__file__).parents[2] / "native"


@pytest.mark.parametrize("interface", INTERFACES)
def test_every_interface_is_in_every_table(interface: str) -> None:
    """Catches a new interface that is refused, or crashes, because one of its tables does not have it."""
    on = [kind for kind in ("cpu", "gpu") if legality.executes(interface, kind)]
    assert on
    if "cpu" in on and INTERFACES[interface].figure == "bandwidth":
        assert interface in estimate.CPU_COPY_BYTES_PER_S
    if INTERFACES[interface].worker == "native":
        movers = "".join(path.read_text() for path in (NATIVE / "movers").glob("*.cpp"))
        assert f'"{interface}"' in movers


@pytest.mark.parametrize("interface", [name for name, row in INTERFACES.items() if "cpu" in row.kernels])
def test_host_kernels_exist(interface: str) -> None:
    """Catches a kernel that the host's table does not have: the interface would be skipped everywhere."""
    table = (NATIVE / "runtimes/host/host_kernels.cpp").read_text()
    for kernel in INTERFACES[interface].kernels["cpu"]:
        assert f'{{"{kernel}",' in table


@pytest.mark.parametrize("interface", [name for name, row in INTERFACES.items() if "gpu" in row.kernels])
def test_gpu_kernels_exist(interface: str) -> None:
    """Catches a kernel that no source file has."""
    sources = "".join(path.read_text() for path in (NATIVE / "kernels").glob("*.cu"))
    for kernel in INTERFACES[interface].kernels["gpu"]:
        assert f"byteways_{kernel}(" in sources or f" {kernel}(" in sources
