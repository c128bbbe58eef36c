"""Other users of GPUs: process lists of a driver of our own making, and what becomes a warning."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from byteways.cases.case import Buffer, Case, Flow
from byteways.machine.sysfs_health import SysfsReading
from byteways.measuring.shared.health_users import GpuProcess, GpuUse, GpuUsers
from byteways.measuring.work.health import HealthMonitor
from tests.machines.synthetic import write
from tests.unit.measuring.test_limit import Clock

CORE = SimpleNamespace(Error=RuntimeError)


@dataclass
class Management:
    """NVML of one GPU: (process id, kind) of each process, and utilisation in percent."""

    listed: list[tuple[int, str]] = field(default_factory=list)
    percent: int = 0
    known: bool = True
    asked: list[bool] = field(default_factory=list)  # of each query: whether with utilisation

    def use(self, uuid: str, with_utilisation: bool = True) -> SimpleNamespace:
        self.asked.append(with_utilisation)
        processes = [SimpleNamespace(pid=pid, kind=kind, memory_bytes=2**30) for pid, kind in self.listed]
        return SimpleNamespace(
            processes=processes, processes_known=self.known, utilisation_percent=self.percent
        )


def process(root: Path, pid: int, name: str, parent: int = 1) -> None:
    write(root / f"proc/{pid}/comm", name)
    write(root / f"proc/{pid}/stat", f"{pid} ({name}) S {parent} 0")


def users(root: Path, management: Management, clock: Clock | None = None) -> GpuUsers:
    process(root, os.getpid(), "worker", os.getppid())
    return GpuUsers(CORE, management, {"gpu0": "GPU-1"}, {}, root, clock or Clock(), began_s=99.5)  # type: ignore[arg-type]


def test_another_process_is_named_and_ours_are_not(tmp_path: Path) -> None:
    """Catches the worker, its siblings or its children told as other users, and a user without a name."""
    process(tmp_path, 4711, "train.py")
    process(tmp_path, 4712, "exporter", os.getpid())
    process(tmp_path, 4713, "rank", os.getppid())
    management = Management([(pid, "compute") for pid in (os.getpid(), 4711, 4712, 4713)])
    asked = users(tmp_path, management)
    use = asked.after(asked.before(["cpu0", "gpu0"]))["gpu0"]
    assert use.processes == (GpuProcess(4711, "train.py", "compute", 2**30),)
    warning = use.warning("gpu0")
    assert warning is not None and warning.id == "gpu-shared"
    assert (warning.observed, warning.required) == ("gpu0: train.py (pid 4711)", "no other process")
    assert warning.fields is not None
    assert (warning.fields["device"], warning.fields["processes"]) == ("gpu0", [4711])
    assert use.to_json()["other_processes"] == [
        {"pid": 4711, "name": "train.py", "kind": "compute", "memory_bytes": 2**30}
    ]


def test_one_that_comes_or_goes_is_told(tmp_path: Path) -> None:
    """Catches a user that was there for the first or for the last half of a case only."""
    management = Management([(os.getpid(), "compute"), (4711, "compute")])
    process(tmp_path, 4711, "early")
    process(tmp_path, 4712, "late")
    asked = users(tmp_path, management)
    before = asked.before(["gpu0"])
    management.listed = [(os.getpid(), "compute"), (4712, "compute")]
    told = asked.after(before)["gpu0"].processes
    assert [one.name for one in told or ()] == ["early", "late"]


def test_a_container_that_numbers_processes_otherwise(tmp_path: Path) -> None:
    """Catches this very process told as another user, where the driver lists it by the host's number."""
    management, clock = Management([(900_001, "compute")]), Clock()
    asked = users(tmp_path, management, clock)
    assert asked.after(asked.before(["gpu0"]))["gpu0"].processes == ()
    management.listed.append((900_002, "compute"))
    clock.now_s += 1.0
    process(tmp_path, 900_002, "unrelated")  # of this namespace, while the driver means the host's
    told = asked.before(["gpu0"])["gpu0"].processes or ()
    assert [str(one) for one in told] == ["a process (pid 900002)"]
    management.listed = [(900_002, "compute")]
    assert asked.before(["gpu0"])["gpu0"].processes == (), "it may as well be this process"


def test_a_process_without_a_context_is_in_no_list(tmp_path: Path) -> None:
    """Catches a doctor who takes the only user of a GPU for himself."""
    process(tmp_path, 4711, "train.py")
    management = Management([(4711, "compute")])
    doctor = GpuUsers(CORE, management, {"gpu0": "GPU-1"}, {}, tmp_path, Clock(), holding=False)  # type: ignore[arg-type]
    assert [str(one) for one in doctor.before(["gpu0"])["gpu0"].processes or ()] == ["train.py (pid 4711)"]
    management.listed = []
    assert doctor.before(["gpu0"])["gpu0"].processes == ()


@pytest.mark.parametrize("management", [Management(), Management(known=False)])
def test_a_list_that_does_not_show_us_shows_nobody(management: Management, tmp_path: Path) -> None:
    """Catches an empty list of a container taken for a GPU that is ours alone."""
    asked = users(tmp_path, management)
    assert asked.after(asked.before(["gpu0"]))["gpu0"].processes is None


def test_utilisation_of_before_our_work(tmp_path: Path) -> None:
    """Catches the utilisation of our own last case told as another's, and another's that is forgotten."""
    clock, management = Clock(), Management(percent=90, known=False)
    asked = users(tmp_path, management, clock)
    assert asked.before(["gpu0"])["gpu0"].utilisation_before is None, "another worker of the run may have"
    clock.now_s += 1
    before = asked.before(["gpu0"])
    assert before["gpu0"].utilisation_before == 0.9
    warning = before["gpu0"].warning("gpu0")
    assert warning is not None and warning.observed == "gpu0: 90 % busy before this run used it"
    asked.after(before)
    management.percent = 100
    assert asked.before(["gpu0"])["gpu0"].utilisation_before == 0.9, "100 % was ours"
    clock.now_s, management.percent = clock.now_s + 1, 0
    assert asked.before(["gpu0"])["gpu0"].utilisation_before == 0


@pytest.mark.parametrize(
    ("use", "warned"),
    [
        (GpuUse(), False),
        (GpuUse((), 0.9), False),  # who made it busy has ended
        (GpuUse(None, 0.05), False),
        (GpuUse((GpuProcess(1, "Xorg", "graphics"),), 0.02), False),
        (GpuUse((GpuProcess(1, "Xorg", "graphics"),), 0.5), True),
        (GpuUse((GpuProcess(1, "python"),), 0.0), True),
    ],
)
def test_who_is_warned_of(use: GpuUse, warned: bool) -> None:
    """Catches an alarm for every desktop, and silence where one computes."""
    assert (use.warning("gpu0") is not None) == warned


def test_throttling_names_who_shares_the_gpu() -> None:
    """Catches a power cap told of as a fault of cooling where another process drew the power."""
    reading = SysfsReading(throttle_reasons=0x04)
    buffers = Buffer("gpu0", "device"), Buffer("gpu1", "device")
    case = Case("copy", "unidirectional", (Flow(*buffers, "gpu0"),), 2**30)
    use = {"gpu0": GpuUse((GpuProcess(7, "python"),), 0.97), "gpu1": GpuUse(())}
    readings = {"gpu0": reading, "gpu1": reading}
    changes = HealthMonitor.compare(case, readings, readings, 100, use)
    told = [(warning.id, warning.observed) for warning in changes.warnings]
    assert told == [
        ("gpu-shared", "gpu0: python (pid 7)"),
        ("throttled", "power cap; shared, gpu0: python (pid 7)"),
        ("throttled", "power cap"),
    ]
    assert changes.health["gpu0"]["other_processes"][0]["pid"] == 7
    assert changes.health["gpu0"]["utilisation_before"] == 0.97
    assert changes.health["gpu1"]["other_processes"] == [] and "after" in changes.health["gpu1"]


def test_processes_of_amds_driver(tmp_path: Path) -> None:
    """Catches a GPU of AMD in use that is called free, and a process that uses another GPU only."""
    kfd = tmp_path / "sys/class/kfd/kfd"
    for node, (identifier, location) in enumerate([(51201, 0xC100), (0, 0xC100), (51202, 0xC600)]):
        write(kfd / f"topology/nodes/{node}/gpu_id", str(identifier))  # 0: a CPU
        write(kfd / f"topology/nodes/{node}/properties", f"location_id {location}\ndomain 0")
    write(kfd / "topology/nodes/3/gpu_id", "51203")
    write(kfd / "topology/nodes/3/properties", "domain 0")  # it tells no place
    addresses = {"gpu0": "0000:c1:00.0", "gpu1": "0000:c6:00.0"}
    write(tmp_path / "sys/bus/pci/devices/0000:c1:00.0/gpu_busy_percent", "85")
    process(tmp_path, os.getpid(), "worker")
    process(tmp_path, 4711, "hipblas")
    for pid, first, second in ((os.getpid(), 4096, 4096), (4711, 2**30, 0)):
        write(kfd / f"proc/{pid}/vram_51201", str(first))
        write(kfd / f"proc/{pid}/vram_51202", str(second))
    found = GpuUsers(CORE, None, {}, addresses, tmp_path, Clock()).before(["gpu0", "gpu1"])  # type: ignore[arg-type]
    assert found["gpu0"] == GpuUse((GpuProcess(4711, "hipblas", "compute", 2**30),), 0.85)
    assert found["gpu1"] == GpuUse((), None)


@pytest.mark.parametrize(
    ("own", "parent", "foreign"),
    [
        (50, 40, {2, 30, 60, 61}),
        (50, 1, {2, 30, 40, 60, 61}),  # its conductor has ended
        (2, 40, {30, 60, 61}),
    ],
    ids=["a worker", "an orphan", "an early number"],
)
def test_whose_processes_are_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: int, parent: int, foreign: set[int]
) -> None:
    """Catches every process of the machine taken for ours because all descend from 1, a grandchild told as
    another user, and a conductor's other children told so.
    """
    monkeypatch.setattr(os, "getpid", lambda: own)
    monkeypatch.setattr(os, "getppid", lambda: parent)
    tree = {2: 1, 30: 1, 40: 30, 50: 40, 51: 50, 52: 51, 60: 1, 61: 60}
    for pid, above in tree.items():
        process(tmp_path, pid, f"p{pid}", above)
    listed = Management([(pid, "compute") for pid in tree])
    asked = GpuUsers(CORE, listed, {"gpu0": "GPU-1"}, {}, tmp_path, Clock(), began_s=99.5)  # type: ignore[arg-type]
    told = asked.before(["gpu0"])["gpu0"].processes or ()
    assert {one.pid for one in told} == foreign


@pytest.mark.parametrize(("told", "kept"), [(-1, None), (0, 0), (2**20, 2**20)])
def test_memory_of_a_process_may_be_unknown(told: int, kept: int | None, tmp_path: Path) -> None:
    """Catches NVML's "not available" as a number of bytes, and none at all as unknown."""
    management = Management([(os.getpid(), "compute"), (4711, "compute")])
    use = management.use("")
    use.processes[1].memory_bytes = told
    management.use = lambda *_: use  # type: ignore[method-assign]
    process(tmp_path, 4711, "train.py")
    (found,) = users(tmp_path, management).before(["gpu0"])["gpu0"].processes or ()
    assert found.memory_bytes == kept


def test_users_after_a_case_are_those_before_the_next(tmp_path: Path) -> None:
    """Catches a driver that is asked twice between two cases, and a user who is missed because of that."""
    process(tmp_path, 4711, "train.py")
    management, clock = Management([(os.getpid(), "compute")]), Clock()
    asked = users(tmp_path, management, clock)
    first = asked.before(["gpu0"])
    management.listed.append((4711, "compute"))
    assert [one.pid for one in asked.after(first)["gpu0"].processes or ()] == [4711]
    clock.now_s += 0.1
    assert [one.pid for one in asked.before(["gpu0"])["gpu0"].processes or ()] == [4711]
    assert management.asked == [False, False]  # within the sampling period of utilisation
    clock.now_s += 1.0
    management.listed.pop()
    assert asked.before(["gpu0"])["gpu0"].processes == ()
    assert management.asked == [False, False, True]
