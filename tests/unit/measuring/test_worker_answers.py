"""What a worker answers to each request, with measurers that are made up."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.shared.protocol import ConnectionClosed, Unavailable
from byteways.measuring.shared.request import CaseRequest
from byteways.measuring.work import capabilities, measuring, worker
from byteways.measuring.work.answer import WorkerAnswer
from byteways.measuring.work.worker import Worker
from byteways.record.warnings import Warning
from tests.asked import asked

BUSY = Warning("host-busy", 0.5, 0.1, "wait")


class Conversation:
    """A channel with these requests; keeps the answers."""

    def __init__(self, *requests: dict[str, Any]) -> None:
        self.left, self.sent = list(requests), []  # type: ignore[var-annotated]

    def receive(self) -> dict[str, Any]:
        if not self.left:
            raise ConnectionClosed
        return self.left.pop(0)

    def send(self, answer: dict[str, Any]) -> None:
        self.sent.append(answer)


#: What describe() is given for a probe of everything.
EVERYTHING = ("session", "devices", 7, capabilities.Asked())


class Measurer:
    """Answers what it is told to, and notes how it was opened and restarted."""

    session, devices, host_bytes = "session", "devices", 7

    def __init__(self, outcome: Any) -> None:
        self.outcome, self.did = outcome, []  # type: ignore[var-annotated]
        self.tried: Any = None

    def open(self, machine: str = "") -> Measurer:
        self.did.append(f"open {machine}".strip())
        return self

    def broken(self, devices: Any = None) -> bool:
        self.tried = devices
        return self.outcome.get("status") == "ruined"

    def restart(self, key: int) -> None:
        self.did.append(f"restart {key}")

    def measure(self, request: CaseRequest) -> WorkerAnswer:
        outcome = self.outcome
        if isinstance(outcome, Exception):
            raise outcome
        return WorkerAnswer(dict(outcome), leaving=request.key == BREAKS)


class Host:
    """A host that is busy."""

    def __init__(self) -> None:
        self.did: list[str] = []

    def begin(self) -> None:
        self.did.append("begin")

    def end(self) -> Any:
        self.did.append("end")
        return SimpleNamespace(to_json=lambda: {"others": 0.5}, warnings=lambda: [BUSY])


def ask(
    monkeypatch: pytest.MonkeyPatch,
    outcome: Any,
    *requests: dict[str, Any],
    machine: str = "",
    kind: str = "native",
) -> tuple[list[dict[str, Any]], Measurer, Any]:
    """The answers after the greeting, the measurer and the host."""
    host, measurer, channel = Host(), Measurer(outcome), Conversation(*requests)
    monkeypatch.setattr(worker, "HostMonitor", lambda: host)
    monkeypatch.setattr(measuring, "NativeMeasurer", measurer)
    made = Worker(channel, machine, kind)  # type: ignore[arg-type]
    monkeypatch.setattr(made, "_open_torch", lambda: measurer.open("torch"))
    monkeypatch.setattr(made, "_simulated_ranks", lambda: measurer.open("simulated ranks"))
    monkeypatch.setattr(made, "_open_ranks", lambda: measurer.open("ranks"))
    try:
        made.serve()
    except ConnectionClosed:
        channel.sent.append({"did": "lost"})
    greeting = channel.sent[0]
    step = {} if machine else {"clock_step_ns": greeting["clock_step_ns"]}
    assert greeting == {"did": "hello", "pid": os.getpid(), **step}
    assert all(isinstance(one, int) and one > 0 for one in step.values())
    return channel.sent[1:], measurer, host


def message(rank: int | None = None, key: int = 9) -> dict[str, Any]:
    ends = Buffer("cpu0", "pageable", rank=rank), Buffer("cpu0", "pageable", rank=rank and rank + 1)
    return asked(Case("copy", "unidirectional", (Flow(*ends, "cpu0"),), 8), key=key).to_json()


#: The key of a case that breaks its runtime.
BREAKS = 66
MEASURE, BETWEEN_RANKS = message(), message(rank=1)
STOP = {"do": "stop"}
MEASURED = {"status": "measured", "health": {"gpu0": 1}, "warnings": ["noisy"]}


def test_the_load_of_the_host_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches figures taken on a busy host that say nothing of it, and what GPUs tell replaced by it."""
    answers, measurer, host = ask(monkeypatch, MEASURED, MEASURE, MEASURE, STOP, STOP)
    outcome = answers[0]["outcome"]
    assert answers[0]["did"] == "measure" and "leaving" not in answers[0]
    assert outcome["health"] == {"gpu0": 1, "host": {"others": 0.5}}
    assert outcome["warnings"] == ["noisy", BUSY.to_json()]
    assert measurer.did == ["open", "restart 9", "restart 9"] and host.did == ["begin", "end"] * 2
    assert len(answers) == 2
    (bare,), *_ = ask(monkeypatch, {"status": "corrupt"}, MEASURE, STOP)
    assert bare["outcome"] == {
        "status": "corrupt",
        "health": {"host": {"others": 0.5}},
        "warnings": [BUSY.to_json()],
    }


def test_a_simulated_machine_has_no_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches simulated figures that depend on what else runs here."""
    (answer,), measurer, host = ask(monkeypatch, MEASURED, MEASURE, STOP, machine="sheet")
    assert answer["outcome"] == MEASURED and host.did == [] and measurer.did == ["open sheet", "restart 9"]


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (Unavailable("no PyTorch"), "skipped", "no PyTorch"),
        (ValueError("odd"), "failed", "ValueError: odd"),
    ],
)
def test_an_error_costs_one_case(
    error: Exception, status: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a worker that ends with a case, and the load of the host told of a case that did not run."""
    answers, _, host = ask(monkeypatch, error, MEASURE, MEASURE, STOP)
    assert [(one["outcome"]["status"], one["outcome"]["reason"]) for one in answers] == [(status, reason)] * 2
    assert ("health" in answers[0]["outcome"]) == (status == "failed")
    assert host.did == (["begin", "end"] * 2 if status == "failed" else ["begin"] * 2)


@pytest.mark.parametrize(
    ("request_", "machine", "kind", "did"),
    [
        (MEASURE, "", "torch", ["open torch"]),
        (BETWEEN_RANKS, "", "native", ["open ranks"]),
        (BETWEEN_RANKS, "sheet", "native", ["open simulated ranks"]),
        (BETWEEN_RANKS, "", "torch", ["open torch"]),
        (MEASURE, "", "native", ["open", "restart 9"]),
        (MEASURE, "sheet", "native", ["open sheet", "restart 9"]),
    ],
)
def test_who_measures(
    request_: dict[str, Any], machine: str, kind: str, did: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a case measured by another library than its interface's, or on this machine for another."""
    _, measurer, _ = ask(monkeypatch, MEASURED, request_, STOP, machine=machine, kind=kind)
    assert measurer.did == did


def test_a_ruined_worker_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches cases that are measured with a broken runtime."""
    answers, *_ = ask(monkeypatch, MEASURED, message(key=BREAKS), MEASURE)
    assert len(answers) == 1 and answers[0]["leaving"] is True


def test_a_measurer_that_cannot_restart_is_opened_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches all further cases lost to a session that is half closed."""
    host, measurer = Host(), Measurer(MEASURED)
    monkeypatch.setattr(worker, "HostMonitor", lambda: host)
    monkeypatch.setattr(measuring, "NativeMeasurer", measurer)
    made = Worker(Conversation())  # type: ignore[arg-type]

    def fail(key: int) -> None:
        raise RuntimeError("busy")

    monkeypatch.setattr(measurer, "restart", fail)
    assert made._measure(MEASURE)["outcome"]["reason"] == "RuntimeError: busy"
    monkeypatch.undo()
    monkeypatch.setattr(measuring, "NativeMeasurer", measurer)
    assert made._measure(MEASURE)["outcome"]["status"] == "measured"
    assert measurer.did == ["open", "open", "restart 9"]


def test_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a machine that is asked for twice, and an error of the driver that ends the worker."""
    monkeypatch.setattr(capabilities, "describe", lambda *told: {"told": told})
    answers, measurer, host = ask(monkeypatch, MEASURED, {"do": "probe"}, {"do": "probe"}, MEASURE)
    assert answers[0] == {"did": "probe", "told": EVERYTHING} == answers[1]
    assert measurer.did == ["open", "restart 9"] and host.did == ["begin", "end"]
    assert answers[-1] == {"did": "lost"}

    (ruined,), measurer, _ = ask(monkeypatch, {"status": "ruined"}, {"do": "probe"}, MEASURE)
    assert ruined == {
        "did": "probe",
        "told": EVERYTHING,
        "leaving": True,
    }
    assert measurer.did == ["open"]

    def fail(*_: Any) -> None:
        raise OSError("no driver")

    monkeypatch.setattr(capabilities, "describe", fail)
    (answer,), *_ = ask(monkeypatch, MEASURED, {"do": "probe"}, STOP)
    assert answer == {"did": "probe", "error": "OSError: no driver"}


def test_devices_are_listed_before_a_probe_of_some(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a probe of some GPUs that tries all, and an error that ends the worker."""
    monkeypatch.setattr(capabilities, "describe", lambda *told: {"told": told})
    monkeypatch.setattr(capabilities, "list_devices", lambda devices: {"gpu0": {"of": devices}})
    wanted = {"launcher": "mpirun -q", "gpus": ["gpu1"], "interfaces": ["copy"], "granted": []}
    some = {"do": "probe", **wanted}
    answers, measurer, _ = ask(monkeypatch, MEASURED, {"do": "devices"}, some, MEASURE)
    assert answers[0] == {"did": "devices", "devices": {"gpu0": {"of": "devices"}}}
    assert answers[1]["told"] == ("session", "devices", 7, capabilities.Asked(**wanted))
    assert measurer.tried == ["gpu1"]

    def fail(session: object) -> object:
        raise RuntimeError("lost")

    monkeypatch.setattr(capabilities, "list_devices", fail)
    (answer, *_), _, _ = ask(monkeypatch, MEASURED, {"do": "devices"}, MEASURE)
    assert answer == {"did": "devices", "error": "RuntimeError: lost"}
