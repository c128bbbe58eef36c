"""Who else uses the GPUs of a case: processes that the drivers list, and how busy a GPU was before the case.

NVIDIA's management library lists the processes of a GPU. AMD's compute driver has a folder for each process,
and in it the memory that the process holds on each GPU.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from byteways.results import warnings
from byteways.results.record import Warning
from byteways.results.warnings import UTILISATION_SHARE

if TYPE_CHECKING:
    from byteways._core import Management

#: Drivers tell utilisation over the last second at most (nvmlDeviceGetUtilizationRates: 1/6 s to 1 s). Until
#: that has passed, it is that of the case before.
SAMPLING_PERIOD_S = 1.0
#: How far up the ancestors of a process are followed: a launcher and its daemons.
GENERATIONS = 8


@dataclass(frozen=True)
class GpuProcess:
    """A process that holds a context on a GPU."""

    pid: int
    name: str  # '' when it is of another process namespace
    kind: str = "compute"  # or "graphics"
    memory_bytes: int | None = None

    def __str__(self) -> str:
        return f"{self.name or 'a process'} (pid {self.pid})"


@dataclass(frozen=True)
class GpuUse:
    """What others do on a GPU. `processes` is None where nobody tells; `utilisation_before` is a share."""

    processes: tuple[GpuProcess, ...] | None = None
    utilisation_before: float | None = None

    def joined(self, later: GpuUse) -> GpuUse:
        """With what a later look has seen."""
        if self.processes is None or later.processes is None:
            return replace(self, processes=self.processes or later.processes)
        seen = {process.pid: process for process in (*self.processes, *later.processes)}
        return replace(self, processes=tuple(seen.values()))

    def to_json(self) -> dict[str, Any]:
        """Fields of `health` of a GPU; without what is not known."""
        fields: dict[str, Any] = {}
        if self.processes is not None:
            fields["other_processes"] = [
                {name: value for name, value in asdict(process).items() if value is not None}
                for process in self.processes
            ]
        if self.utilisation_before is not None:
            fields["utilisation_before"] = self.utilisation_before
        return fields

    def warning(self, device: str) -> Warning | None:
        """That the GPU was not this run's alone.

        A process that computes may do so at any time. One that draws (a desktop) counts where it keeps the
        GPU busy; so does what no list shows, as in a container that sees its own processes only.
        """
        computing = [process for process in self.processes or () if process.kind == "compute"]
        busy = (self.utilisation_before or 0) > UTILISATION_SHARE
        named = computing or (list(self.processes or ()) if busy else [])
        if named:
            return warnings.make("gpu-shared", f"{device}: {', '.join(map(str, named))}", "no other process")
        if busy and self.processes is None:
            observed = f"{device}: {100 * (self.utilisation_before or 0):.0f} % busy before this run used it"
            return warnings.make("gpu-shared", observed, f"{100 * UTILISATION_SHARE:.0f} % at most")
        return None


class GpuUsers:
    """Asks the drivers for users of GPUs other than this process, its children and its siblings.

    Args:
        core: The native module.
        management: NVML; None without it.
        uuids: UUID by device.
        addresses: PCI address by device.
        root: Of the file system that has /proc and /sys.
        clock: Seconds, monotonic.
        began_s: On that clock, when this process began to open the GPUs; until then another worker of the run
            may have used them.
        holding: Whether this process holds a context on each GPU, so that a whole list shows it.
    """

    def __init__(
        self,
        core: ModuleType,
        management: Management | None,
        uuids: Mapping[str, str],
        addresses: Mapping[str, str],
        root: Path = Path("/"),
        clock: Callable[[], float] = time.monotonic,
        began_s: float = 0.0,
        holding: bool = True,
    ) -> None:
        self._core = core
        self._management = management
        self._uuids = uuids
        self._addresses = addresses
        self._root = root
        self._clock = clock
        self._identifiers = _driver_identifiers(root / "sys/class/kfd/kfd/topology/nodes", addresses)
        self._began_s, self._holding = began_s, holding
        self._used_at: dict[str, float] = {}  # when this process last used a device
        self._busy: dict[str, float] = {}  # share, when this run had not used it for a sampling period

    def before(self, devices: Sequence[str]) -> dict[str, GpuUse]:
        """Before a case, by GPU of it."""
        now = self._clock()
        found = {}
        for device in self._gpus(devices):
            processes, busy = self._ask(device)
            if busy is not None and now - self._used_at.get(device, self._began_s) >= SAMPLING_PERIOD_S:
                self._busy[device] = busy
            found[device] = GpuUse(self._others(processes), self._busy.get(device))
        return found

    def after(self, before: Mapping[str, GpuUse]) -> dict[str, GpuUse]:
        """After the case: with processes that have come meanwhile."""
        found = {}
        for device, use in before.items():
            processes, _ = self._ask(device)
            found[device] = use.joined(GpuUse(self._others(processes)))
            self._used_at[device] = self._clock()
        return found

    def _gpus(self, devices: Iterable[str]) -> list[str]:
        return [device for device in devices if device in self._uuids or device in self._identifiers]

    def _ask(self, device: str) -> tuple[list[GpuProcess] | None, float | None]:
        """(processes of a GPU, ours too, and its utilisation); None is what nobody tells."""
        if device in self._identifiers:
            function = self._root / "sys/bus/pci/devices" / self._addresses[device]
            percent = _number(function / "gpu_busy_percent")
            return self._of_driver(self._identifiers[device]), None if percent is None else percent / 100
        if self._management is not None and device in self._uuids:
            with contextlib.suppress(self._core.Error):
                use = self._management.use(self._uuids[device])
                share = use.utilisation_percent / 100 if use.utilisation_percent >= 0 else None
                if not use.processes_known:
                    return None, share
                told = [
                    GpuProcess(
                        one.pid,
                        self._name(one.pid),
                        one.kind,
                        one.memory_bytes if one.memory_bytes >= 0 else None,
                    )
                    for one in use.processes
                ]
                return told, share
        return None, None

    def _of_driver(self, identifier: int) -> list[GpuProcess]:
        """Processes with memory on the GPU of this identifier of the driver."""
        found = []
        for place in (self._root / "sys/class/kfd/kfd/proc").glob("[0-9]*"):
            held = _number(place / f"vram_{identifier}")
            if held or self._ours(int(place.name)):
                found.append(GpuProcess(int(place.name), self._name(int(place.name)), "compute", held))
        return found

    def _others(self, processes: Sequence[GpuProcess] | None) -> tuple[GpuProcess, ...] | None:
        """Without ours.

        In a container the driver may list processes by the numbers of the host. Then none is this process's,
        though it holds a context: one of them is this process, and names found by such numbers mean nothing.
        A list that is empty then does not show all.
        """
        if processes is None:
            return None
        others = sorted((one for one in processes if not self._ours(one.pid)), key=lambda one: one.pid)
        if len(others) < len(processes) or not self._holding:
            return tuple(others)
        others.sort(key=lambda one: bool(one.name))  # of those without a name here one is sooner this process
        return tuple(replace(one, name="") for one in others[1:]) if others else None

    def _ours(self, pid: int) -> bool:
        """Whether a process is this one, its conductor, or descends from either."""
        family = {os.getpid(), os.getppid()} - {0, 1}  # everything descends from 1
        for _ in range(GENERATIONS):
            if pid in family:
                return True
            _, _, fields = _text(self._root / f"proc/{pid}/stat").rpartition(") ")
            words = fields.split()
            if len(words) < 2 or int(words[1]) <= 1:
                return False
            pid = int(words[1])
        return False

    def _name(self, pid: int) -> str:
        return _text(self._root / f"proc/{pid}/comm").strip()


def _driver_identifiers(nodes: Path, addresses: Mapping[str, str]) -> dict[str, int]:
    """By device: what AMD's compute driver calls its GPU in file names."""
    if not nodes.exists():
        return {}
    from byteways.topology.kfd import pci_address, read_properties  # not what a worker without them waits for

    by_address = {}
    for node in nodes.glob("[0-9]*"):
        identifier, fields = _number(node / "gpu_id"), read_properties(node / "properties")
        if identifier and "location_id" in fields:
            by_address[pci_address(fields.get("domain", 0), fields["location_id"])] = identifier
    return {device: by_address[address] for device, address in addresses.items() if address in by_address}


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdigit() else None


def _text(path: Path) -> str:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return path.read_text()
    return ""
