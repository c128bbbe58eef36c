"""The devices of a worker's own host.

A simulated machine of several hosts numbers the devices of all of them in one row, host after host. A process
measures the devices of its own host; only ranks of several hosts (simulated_ranks.py) use the whole row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from byteways.measuring.shared.sheet_numbers import number_of

if TYPE_CHECKING:
    from byteways._core import Device, Session


def devices_of_own_host(session: Session, sheet: str) -> list[Device]:
    """Returns the devices of the first host of the simulated machine, where a process without ranks runs; on
    a real machine, which has no sheet, all devices.

    Args:
        session: Has every runtime of the machine.
        sheet: The machine's description; '' on a real machine.
    """
    devices = [*session.devices]
    hosts = int(number_of(sheet, "hosts") or 0)  # 0 in models of one host
    if hosts < 2:
        return devices
    on_host = [device for device in devices if device.runtime == "host"]
    gpus = [device for device in devices if device.runtime != "host"]
    return [*on_host[: len(on_host) // hosts], *gpus[: len(gpus) // hosts]]
