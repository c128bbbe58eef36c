"""Whether a machine model stays within the physical limits that discovery finds on the machine.

A model states rates, and what the kernel shows of memories and links. Where the rates are above the raw
signalling rate of a link or the pin rate of a memory, every record would be beyond its limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from byteways.base.errors import BytewaysError
from byteways.base.units import format_bandwidth
from byteways.machine.model import Topology
from byteways.models.model import MachineModel
from byteways.plan.limits import CLOCK_TOLERANCE

#: Keys of a memory's rates by kind of device.
_MEMORY_KEYS = {"gpu": ("gpu.memory_bytes_per_s",), "cpu": ("cpu.read_bytes_per_s", "cpu.write_bytes_per_s")}


def check_limits(model: MachineModel, topology: Topology) -> None:
    """Checks the rates of a model. Efficiencies are at most 1, so that nominal rates are what counts.

    Args:
        model: The machine model.
        topology: What discovery finds on it.

    Raises:
        BytewaysError: A rate is above its limit; the message has both.
    """
    for key, value, limit, source in _rates(model, topology):
        if limit is not None and value > limit * CLOCK_TOLERANCE:
            raise BytewaysError(
                f"machine {model.name} passes its own limit: {key} is {format_bandwidth(value)}, "
                f"the limit {format_bandwidth(limit)}",
                cause=source,
                hint="correct the rate, or what the limit follows from: width, pcie_*, memory_*",
            )


def _rates(model: MachineModel, topology: Topology) -> Iterator[tuple[str, float, float | None, str]]:
    """Yields each rate of the model with its limit and the limit's source."""
    for device in topology.devices:
        for key in _MEMORY_KEYS[device.kind]:
            source = f"{device.name}: {device.memory_peak_source}"
            yield key, model.number(key), device.memory_peak_bytes_per_s, source
    links = {frozenset((link.a, link.b)): link for link in topology.links}
    for index in range(model.count("links")):
        key = f"links.{index}.peak_bytes_per_s"
        for pair in model.texts(f"links.{index}.pairs"):
            if link := links.get(frozenset(pair.split("-"))):
                yield key, model.number(key), link.signalling_bytes_per_s, f"{pair}: {link.source}"
