"""An interface is named in several tables; one that lacks it is found here and not by a user."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest

from byteways.plan import estimate, legality, suite_check, vocabulary
from byteways.plan.case import CATEGORY
from byteways.run import capabilities

NATIVE = Path(__file__).parents[2] / "native"


@pytest.mark.parametrize("interface", CATEGORY)
def test_every_interface_is_in_every_table(interface: str) -> None:
    """Catches a new interface that is refused, or crashes, because one of its tables does not have it."""
    assert interface in suite_check.OPTIONS
    assert interface in vocabulary.INTERFACES
    on = [kind for kind in ("cpu", "gpu") if legality.executes(interface, kind)]
    assert on
    assert (interface in capabilities._HOST_KERNELS) == ("cpu" in on)
    assert (interface in capabilities._GPU_KERNELS) == ("gpu" in on)
    if "cpu" in on and interface != "chase":
        assert interface in estimate.CPU_COPY_BYTES_PER_S
    movers = "".join(path.read_text() for path in (NATIVE / "movers").glob("*.cpp"))
    assert f'"{interface}"' in movers
    page = resources.files("byteways.report").joinpath("assets/report.html.j2").read_text(encoding="utf-8")
    assert f"<code>{interface}</code>" in page.partition("How to read it")[2]


@pytest.mark.parametrize(("interface", "kernels"), capabilities._HOST_KERNELS.items())
def test_host_kernels_exist(interface: str, kernels: tuple[str, ...]) -> None:
    """Catches a kernel that the host's table does not have: the interface would be skipped everywhere."""
    table = (NATIVE / "runtimes/host/host_kernels.cpp").read_text()
    for kernel in kernels:
        assert f'{{"{kernel}",' in table, interface


@pytest.mark.parametrize(("interface", "kernels"), capabilities._GPU_KERNELS.items())
def test_gpu_kernels_exist(interface: str, kernels: tuple[str, ...]) -> None:
    """Catches a kernel that no source file has."""
    sources = "".join(path.read_text() for path in (NATIVE / "kernels").glob("*.cu"))
    for kernel in kernels:
        assert f"byteways_{kernel}(" in sources or f" {kernel}(" in sources, interface


def test_an_interface_without_kernels_is_not_put_down_to_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Catches a refusal that sends the author of an interface to look for a GPU."""
    monkeypatch.setattr(capabilities, "CATEGORY", {"new-copy": "explicit", "copy": "explicit"})

    class Agent:
        agent, runtime = "cpu0", "host"

    offers = capabilities._interfaces(None, Agent())  # type: ignore[arg-type]
    assert offers["new-copy"]["reason"] == "byteways does not say which kernels new-copy needs"
    assert offers["copy"]["reason"] == "copy is executed by a GPU"
