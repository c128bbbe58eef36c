"""Other users of a case's GPUs: processes listed by the drivers, and utilisation before the case.

NVML lists the processes of an NVIDIA GPU. AMD's compute driver has a folder per process with the memory that
the process holds on each GPU.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from byteways.base.text import Sentence
from byteways.record import warnings
from byteways.record.warnings import UTILISATION_SHARE, Warning, WarningFields

if TYPE_CHECKING:
    from byteways._core import Management
    from byteways.machine.nvml import Nvml

#: Drivers report utilisation averaged over up to this time (nvmlDeviceGetUtilizationRates: 1/6 s to 1 s).
#: Until it has passed, the value includes the previous case.
SAMPLING_PERIOD_S = 1.0
#: Age up to which what was read after one case holds before the next: each query of a driver takes
#: milliseconds.
FRESH_S = 0.5
#: Number of ancestors of a process that are checked: a launcher and its daemons.
GENERATIONS = 8


class HealthCore(Protocol):
    """The part of the native module that reads the state of GPUs."""

    @property
    def Error(self) -> type[Exception]: ...  # noqa: N802 - as in the module
    @property
    def Management(self) -> type[Management]: ...  # noqa: N802


@dataclass(frozen=True)
class GpuProcess:
    """A process with a context on a GPU."""

    pid: int
    name: str  # '' if it belongs to another process namespace
    kind: str = "compute"  # or "graphics"
    memory_bytes: int | None = None

    def __str__(self) -> str:
        return f"{self.name or 'a process'} (pid {self.pid})"


@dataclass(frozen=True)
class GpuUse:
    """Other use of a GPU; `processes` is None if unknown, `utilisation_before` a fraction."""

    processes: tuple[GpuProcess, ...] | None = None
    utilisation_before: float | None = None

    def joined(self, later: GpuUse) -> GpuUse:
        """Returns this use combined with a later observation."""
        if self.processes is None or later.processes is None:
            return replace(self, processes=self.processes or later.processes)
        seen = {process.pid: process for process in (*self.processes, *later.processes)}
        return replace(self, processes=tuple(seen.values()))

    def to_json(self) -> dict[str, Any]:
        """Returns the fields of a GPU's `health`, without unknown ones."""
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
        """Returns a warning if others used the GPU (others())."""
        others = self.others()
        if others is None:
            return None
        fields: WarningFields = {"device": device}
        if others:
            fields["processes"] = [process.pid for process in others]
        if self.utilisation_before is not None:
            fields["utilisation"] = self.utilisation_before
        most = "no other process" if others else f"{100 * UTILISATION_SHARE:.0f} % at most"
        return warnings.make("gpu-shared", f"{device}: {self.told(others)}", most, fields)

    def told(self, others: Sequence[GpuProcess]) -> Sentence:
        """Says who uses the GPU, as others() returns it; without its name."""
        if others:
            return ", ".join(map(str, others))
        return f"{100 * (self.utilisation_before or 0):.0f} % busy before this run used it"

    def others(self) -> Sequence[GpuProcess] | None:
        """Returns the processes that disturb this run, none listed where only the GPU's load shows them; None
        if nobody does.

        A compute process always counts, as it may compute at any time. A graphics process (a desktop), or
        use that no process list shows (in a container that sees only its own processes), counts if the GPU
        is busy.
        """
        computing = [process for process in self.processes or () if process.kind == "compute"]
        busy = (self.utilisation_before or 0) > UTILISATION_SHARE
        named = computing or (list(self.processes or ()) if busy else [])
        return named if named or (busy and self.processes is None) else None


class GpuUsers:
    """Queries the drivers for GPU users other than this process, its children and its siblings.

    Args:
        core: The native module.
        management: NVML, or what it said once; None if unavailable.
        uuids: UUID by device.
        addresses: PCI address by device.
        root: Root of the file system with /proc and /sys.
        clock: Monotonic seconds.
        began_s: Time on that clock when this process began to open the GPUs; before, another worker of the
            run may have used them.
        holding: Whether this process has a context on each GPU, so that a complete list shows it.
    """

    def __init__(
        self,
        core: HealthCore,
        management: Management | Nvml | None,
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
        self._used_at: dict[str, float] = {}  # time of this process's last use of a device
        self._busy: dict[str, float] = {}  # utilisation, sampled while this run did not use the device
        self._latest: dict[str, tuple[GpuProcess, ...] | None] = {}  # other processes after the last case

    def before(self, devices: Sequence[str]) -> dict[str, GpuUse]:
        """Call before a case; returns the use of each of its GPUs.

        The users after one case are those before the next, if that follows at once. The utilisation is asked
        for only where it does not include a case of this run.
        """
        now = self._clock()
        found = {}
        for device in self._gpus(devices):
            if device in self._latest and now - self._used_at[device] <= FRESH_S:
                found[device] = GpuUse(self._latest[device], self._busy.get(device))
                continue
            idle = now - self._used_at.get(device, self._began_s) >= SAMPLING_PERIOD_S
            processes, busy = self._ask(device, with_utilisation=idle)
            if busy is not None and idle:
                self._busy[device] = busy
            found[device] = GpuUse(self._others(processes), self._busy.get(device))
        return found

    def after(self, before: Mapping[str, GpuUse]) -> dict[str, GpuUse]:
        """Call after the case; returns the use including processes that appeared meanwhile."""
        found = {}
        for device, use in before.items():
            processes, _ = self._ask(device, with_utilisation=False)
            self._latest[device] = self._others(processes)
            found[device] = use.joined(GpuUse(self._latest[device]))
            self._used_at[device] = self._clock()
        return found

    def _gpus(self, devices: Iterable[str]) -> list[str]:
        return [device for device in devices if device in self._uuids or device in self._identifiers]

    def _ask(self, device: str, with_utilisation: bool) -> tuple[list[GpuProcess] | None, float | None]:
        """Returns (processes of a GPU including ours, utilisation); None if unknown."""
        if device in self._identifiers:
            function = self._root / "sys/bus/pci/devices" / self._addresses[device]
            percent = _number(function / "gpu_busy_percent")
            return self._of_driver(self._identifiers[device]), None if percent is None else percent / 100
        if self._management is not None and device in self._uuids:
            with contextlib.suppress(self._core.Error, KeyError):
                use = self._management.use(self._uuids[device], with_utilisation)
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
        """Returns the processes with memory on the GPU that has this driver identifier."""
        found = []
        for place in (self._root / "sys/class/kfd/kfd/proc").glob("[0-9]*"):
            held = _number(place / f"vram_{identifier}")
            if held or self._ours(int(place.name)):
                found.append(GpuProcess(int(place.name), self._name(int(place.name)), "compute", held))
        return found

    def _others(self, processes: Sequence[GpuProcess] | None) -> tuple[GpuProcess, ...] | None:
        """Removes this run's processes.

        In a container the driver may list host process ids. Then none of them matches this process, although
        it has
        a context: one entry must be this process, the names looked up for such ids are wrong, and an empty
        list is incomplete.
        """
        if processes is None:
            return None
        others = sorted((one for one in processes if not self._ours(one.pid)), key=lambda one: one.pid)
        if len(others) < len(processes) or not self._holding:
            return tuple(others)
        others.sort(key=lambda one: bool(one.name))  # an entry without a local name is likelier this process
        return tuple(replace(one, name="") for one in others[1:]) if others else None

    def _ours(self, pid: int) -> bool:
        """Whether a process is this one, its conductor, or a descendant of either."""
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
    """Returns the identifier of AMD's compute driver in file names, by device."""
    if not nodes.exists():
        return {}
    from byteways.machine.kfd import pci_address, read_properties  # only workers with AMD GPUs load it

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
