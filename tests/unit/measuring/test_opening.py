"""Probing and opening the machine of a run: what is asked, and what is told of a worker that is lost."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.base.errors import BytewaysError
from byteways.machine.nvml import Nvml
from byteways.measuring.conduct import opening, probe
from byteways.measuring.conduct.opening import open_machine, topology_of
from byteways.measuring.conduct.probe import LIST, PROBE_TIMEOUT_S, Probe, lost_probe, probe_with
from byteways.measuring.conduct.process import WorkerLost
from byteways.plan.probe_scope import ProbeScope
from tests.unit import machines

CAPABILITIES = machines.two_cores()[1]
ANSWER = {"capabilities": CAPABILITIES.to_json(), "libraries": [{"library": "cuda"}], "method_version": 9}


@pytest.fixture(autouse=True)
def without_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYTEWAYS_NVML", "0")


class Worker:
    """Answers a probe, or is lost."""

    def __init__(self, told: Any = ANSWER) -> None:
        self.told, self.did = told, []  # type: ignore[var-annotated]

    def send(self, message: Any) -> None:
        self.did.append(message)

    def answer(self, timeout_s: float) -> Any:
        assert timeout_s == PROBE_TIMEOUT_S
        told = {"devices": CAPABILITIES.devices} if self.did[-1] == LIST else self.told
        if isinstance(told, BaseException):
            raise told
        return told

    def kill(self) -> None:
        self.did.append("kill")

    def stop(self) -> None:
        self.did.append("stop")


def test_what_a_probe_finds() -> None:
    """Catches libraries or a version that a run does not record."""
    worker = Worker()
    found = probe_with(worker)  # type: ignore[arg-type]
    assert found == Probe(CAPABILITIES, [{"library": "cuda"}], 9)
    assert worker.did == [{"do": "probe", "launcher": None}]
    assert Probe(CAPABILITIES) == Probe(CAPABILITIES, [], 0)


def test_a_worker_that_leaves_after_its_probe() -> None:
    """Catches a process that has ruined a GPU and goes on to measure with it."""
    assert probe_with(Worker({**ANSWER, "leaving": True})).leaving  # type: ignore[arg-type]
    assert not probe_with(Worker()).leaving  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"error": "Error: no driver"}, "^Error: no driver$"),
        ({**ANSWER, "capabilities": {**CAPABILITIES.to_json(), "devices": {}}}, "^worker found no device$"),
        ({"capabilities": CAPABILITIES.to_json()}, "invalid probe: KeyError"),
        ({**ANSWER, "method_version": "new"}, "invalid probe: ValueError"),
        ({**ANSWER, "capabilities": 3}, "invalid probe"),
    ],
)
def test_a_probe_that_is_none(answer: dict[str, Any], said: str) -> None:
    """Catches a traceback because of a worker's answer."""
    with pytest.raises(WorkerLost, match=said):
        probe_with(Worker(answer))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reason", "model", "gpus", "what", "hint"),
    [
        ("it died", "", None, "this machine could not be probed", "BYTEWAYS_GPUS=0 byteways run"),
        ("it died", "", "1", "this machine could not be probed", "BYTEWAYS_GPUS=0 byteways run"),
        ("it died", "", "0", "this machine could not be probed", "byteways doctor"),
        ("it died", "h200", None, "the simulated h200 could not be probed", "leave --fault out"),
    ],
)
def test_what_is_said_of_a_lost_probe(
    reason: str, model: str, gpus: str | None, what: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches advice about GPUs that are excluded, or about a model where the simulator is missing."""
    monkeypatch.delenv("BYTEWAYS_GPUS", raising=False)
    if gpus is not None:
        monkeypatch.setenv("BYTEWAYS_GPUS", gpus)
    error = lost_probe(WorkerLost(reason), model)
    assert (str(error).splitlines()[0], error.cause) == (what, reason)
    assert hint in (error.hint or "")
    assert error.hint == "byteways doctor" or "doctor" not in (error.hint or "")


@pytest.mark.parametrize("lost", ["never", "at the start", "while it probes"])
def test_a_short_probe(lost: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Catches a worker that stays after the probe, and a loss without its explanation."""
    worker = Worker(WorkerLost("it died") if lost == "while it probes" else ANSWER)

    def start(log: Path, command: Any, tick: Any) -> Worker:
        assert log.parent == tmp_path and command == ["mine"]
        if lost == "at the start":
            raise WorkerLost("no memory")
        return worker

    @contextmanager
    def folder() -> Any:
        yield tmp_path

    monkeypatch.setattr(probe, "WorkerProcess", start)
    monkeypatch.setattr(probe, "private_folder", folder)
    if lost == "never":
        assert probe.probe(["mine"]).method_version == 9
    else:
        with pytest.raises(BytewaysError, match="the simulated m could not be probed"):
            probe.probe(["mine"], "m")
    assert ("stop" in worker.did) == (lost != "at the start")


def test_a_probe_that_nobody_waits_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Catches ten seconds for a worker that hangs in a driver, after the time for it is over."""
    worker = Worker(KeyboardInterrupt())
    monkeypatch.setattr(probe, "WorkerProcess", lambda log, command, tick: worker)
    with pytest.raises(KeyboardInterrupt):
        probe.probe(["mine"])
    assert worker.did[-2:] == ["kill", "stop"]


class Simulation:
    model = SimpleNamespace(name="m")

    def command(self, sheet: str, command: Any) -> list[str]:
        return [*(command or ["worker"]), sheet]

    def write_sheet(self, folder: Path) -> str:
        return f"{folder}/sheet"

    def topology(self, devices: Any) -> Any:
        return f"simulated {', '.join(devices)}"


@pytest.mark.parametrize(
    ("simulated", "command", "used"),
    [
        (False, None, None),
        (False, ["mine"], ["mine"]),
        (True, None, ["worker", "/runs/a/sheet"]),
        (True, ["mine"], ["mine", "/runs/a/sheet"]),
    ],
)
def test_an_opened_machine(simulated: bool, command: Any, used: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a simulated run whose further workers measure this machine, and output that no log has."""
    worker, started = Worker(), []

    def start(log: Path, command: Any, tick: Any) -> Worker:
        started.append((log, command, tick))
        return worker

    monkeypatch.setattr(opening, "WorkerProcess", start)
    monkeypatch.setattr(opening, "discover", lambda devices, management: f"discovered {', '.join(devices)}")
    simulation: Any = Simulation() if simulated else None
    found = open_machine(Path("/runs/a"), print, command, simulation, "mpirun")
    assert worker.did == [{"do": "probe", "launcher": "mpirun"}]
    assert started == [(Path("/runs/a/workers.log"), used, print)]
    assert found.command == used and found.worker is worker and "kill" not in worker.did  # type: ignore[comparison-overlap]
    assert found.topology == ("simulated cpu0" if simulated else "discovered cpu0")  # type: ignore[comparison-overlap]
    assert topology_of(found.probed, simulation) == found.topology


def test_a_worker_that_has_ruined_a_gpu_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a run that asks a process that has left, and one that is never reaped."""
    worker = Worker({**ANSWER, "leaving": True})
    monkeypatch.setattr(opening, "WorkerProcess", lambda log, command, tick: worker)
    monkeypatch.setattr(opening, "discover", lambda devices, management: "discovered")
    found = open_machine(Path("/runs/a"), print, None, None)
    assert found.worker is None and worker.did[-1] == "stop"


@pytest.mark.parametrize("error", [WorkerLost("it died"), KeyboardInterrupt(), OSError("disk")])
@pytest.mark.parametrize("started", [True, False])
@pytest.mark.parametrize("simulated", [True, False])
def test_a_machine_that_is_not_opened(
    error: BaseException, started: bool, simulated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a worker that nobody ends, and the name of another machine in the message."""
    worker = Worker()

    def fail(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(opening, "WorkerProcess", (lambda *_, **__: worker) if started else fail)
    monkeypatch.setattr(opening, "probe_with", fail)
    monkeypatch.setattr(opening, "answered_probe", fail)
    told = "the simulated m" if simulated else "this machine"
    expected = BytewaysError if isinstance(error, WorkerLost) else type(error)
    with pytest.raises(expected) as caught:
        open_machine(Path("/runs/a"), print, None, Simulation() if simulated else None)  # type: ignore[arg-type]
    assert not isinstance(error, WorkerLost) or str(caught.value).startswith(f"{told} could not be probed")
    assert [one for one in worker.did if one == "kill"] == ["kill"] * started


def test_what_is_tried_may_depend_on_the_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a question that opens every GPU of the machine to measure between two."""
    worker, seen = Worker(), []
    monkeypatch.setattr(opening, "WorkerProcess", lambda log, command, tick: worker)
    monkeypatch.setattr(opening, "discover", lambda devices, management: f"discovered {', '.join(devices)}")

    def scope(topology: Any) -> ProbeScope:
        seen.append(topology)
        return ProbeScope(("gpu1",), ("copy",), ())

    open_machine(Path("/runs/a"), print, None, None, None, scope)
    asked = {"do": "probe", "launcher": None, "interfaces": ["copy"], "granted": [], "gpus": ["gpu1"]}
    assert worker.did == [LIST, asked] and seen == ["discovered cpu0"]


@pytest.mark.parametrize("hangs", [False, True])
def test_nvml_is_asked_while_a_worker_starts(hangs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches two waits for the same drivers, one after the other, and a worker that waits for ever for what
    did not answer another process.
    """
    did: list[str] = []
    workers: list[Worker] = []

    def start() -> Any:
        did.append(f"start {len(workers)}")
        workers.append(Worker())
        return workers[-1]

    def finish(asked: Any) -> Nvml:
        did.append(f"answer of {asked}")
        return Nvml(reason="no answer" if hangs else "")

    monkeypatch.setattr(probe.nvml, "begin_if_wanted", lambda: did.append("ask") or "NVML")
    monkeypatch.setattr(probe.nvml, "finish", finish)
    monkeypatch.setattr(probe, "timed_out", lambda module: hangs and "answer of NVML" in did)
    worker, management = probe.started_beside_management(start, LIST)
    assert did == ["ask", "start 0", "answer of NVML", *["start 1"] * hangs]
    assert worker is workers[-1] and management.reason == "no answer" * hangs
    assert [one.did for one in workers] == [[LIST, *["kill"] * hangs], *[[LIST]] * hangs]


def test_a_worker_that_does_not_start_ends_the_question_to_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a child that stays, and one that waits for a driver, after a run has ended."""
    did: list[str] = []
    asked = SimpleNamespace(end=lambda: did.append("end"))
    monkeypatch.setattr(probe.nvml, "begin_if_wanted", lambda: asked)

    def start() -> Any:
        raise WorkerLost("no memory")

    with pytest.raises(WorkerLost, match="no memory"):
        probe.started_beside_management(start, LIST)
    assert did == ["end"]
