"""What a run gives the conductor: the time that is left of its budget, and the deadlines of its machine."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from byteways.measuring.conduct import execution
from byteways.measuring.conduct.conductor import Interrupted, deadline_s
from byteways.measuring.conduct.execution import Execution
from byteways.measuring.conduct.simulation import simulated_deadline_s


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the conductor was given; it measures nothing."""
    found: dict[str, Any] = {}

    class Recorder:
        memory_trials: ClassVar[list[Any]] = []

        def __init__(self, *arguments: Any, **named: Any) -> None:
            found.update(named)

        def run(self, cases: Any) -> None:
            found["cases"] = cases
            if found.get("interrupt"):
                raise Interrupted

    monkeypatch.setattr(execution, "Conductor", Recorder)
    monkeypatch.setattr(execution, "job_for", lambda *_, simulated: f"simulated {simulated}")
    monkeypatch.setattr(execution, "recorded_simulation", lambda *_: found.get("simulation"))
    monkeypatch.setattr(execution.time, "monotonic", lambda: 105.0)
    monkeypatch.setattr(execution.manifests, "write", lambda *_: None)
    return found


def cases(*seconds: float) -> list[Any]:
    return [SimpleNamespace(estimated_s=each, reason=None) for each in seconds]


def run(budget_s: float | None, spent_s: float = 0.0, remaining: int = 2, **more: Any) -> Execution:
    """Began 5 s ago; the plan is of 10 s and of 30 s."""
    planned = cases(10.0, 30.0)
    machine = SimpleNamespace(
        topology=None, probed=SimpleNamespace(method_version=9, capabilities=None), command=["worker"]
    )
    made = Execution(
        folder=Path("/nonexistent"),
        journal=SimpleNamespace(sync=lambda: None),  # type: ignore[arg-type]
        manifest={"state": "running", "options": {"budget_s": more.pop("asked", None)}, **more},
        machine=machine,  # type: ignore[arg-type]
        planned=planned,
        remaining=planned[:remaining],
        budget_s=budget_s,
        started=100.0,
        worker=None,
        **({"spent_s": spent_s} if spent_s else {}),  # a new run names none
    )
    made.measure(SimpleNamespace())  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize(
    ("budget_s", "spent_s", "remaining", "total_s"),
    [
        (None, 0.0, 2, None),
        (100.0, 0.0, 2, 100.0 - 3.0 - 5.0),
        (10.0, 0.0, 2, 10.0 - 1.5 - 5.0),  # a part of a small budget is kept for the report
        (100.0, 40.0, 1, 60.0 - 3.0 - 5.0),  # what is left of the time
        (100.0, 90.0, 1, 25.0 - 3.0 - 5.0),  # a quarter of the plan has at least a quarter of the time
        (4.0, 0.0, 2, 1.0),  # the time is over: what was begun is measured
    ],
)
def test_what_is_left_of_a_budget(
    given: dict[str, Any], budget_s: float | None, spent_s: float, remaining: int, total_s: float | None
) -> None:
    """Catches a run that takes its budget again after it was cut short, or leaves no time for its report."""
    run(budget_s, spent_s, remaining)
    assert given["total_s"] == (None if total_s is None else pytest.approx(total_s))
    assert len(given["cases"]) == remaining


def test_a_simulated_run_keeps_to_its_plan(given: dict[str, Any]) -> None:
    """Catches figures of a simulation that depend on how fast this machine is."""
    run(100.0)
    assert (given["deadline"], given["model"], given["job"]) == (deadline_s, None, "simulated False")
    given["simulation"] = SimpleNamespace(model="a model")
    run(100.0)
    assert (given["total_s"], given["deadline"]) == (None, simulated_deadline_s)
    assert (given["model"], given["job"]) == ("a model", "simulated True")


def test_a_budget_that_was_asked_for_is_used(given: dict[str, Any]) -> None:
    """Catches a suite's own budget that is used up, and one of the user's that is not."""
    run(100.0)
    assert given["given"] is False
    run(100.0, asked=100.0)
    assert given["given"] is True


def test_how_a_run_ended(given: dict[str, Any]) -> None:
    """Catches an interrupted run that is complete, and a complete one that is measured again."""
    done = run(None)
    assert (done.state, done.manifest["state"], done.manifest["wall_s"]) == ("complete", "complete", 5.0)
    given["interrupt"] = True
    assert run(None).manifest["state"] == "interrupted"
    given.clear()
    again = run(None, remaining=0, state="complete")
    assert again.state == "complete" and not given
