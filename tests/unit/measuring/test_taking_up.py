"""Resuming a run: what is missing of it, and what must not have changed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.base.errors import BytewaysError
from byteways.measuring.conduct import resume
from byteways.measuring.shared.options import RunOptions
from byteways.plan.suite import load
from byteways.record.record import SCHEMA_VERSION

SUITE = load("quick")
FOLDER = Path("/runs/a")


def manifest(**more: Any) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "suite": {"text": SUITE.text},
        "options": {},
        "planned": 3,
        "fingerprint": {"driver": "a", "code": "b", "method_version": 3, "host_loops": "l", "topology": "t"},
        "topology": {"host": "h"},
        **more,
    }


def missing(
    recorded: str, *, cases: str = "a0 a1 b0", planned: int = 3, for_s: float | None = None
) -> list[str]:
    """Keys of the cases without a record; a letter and a digit are a case and a round."""
    plan = SimpleNamespace(cases=[SimpleNamespace(key=(name[0], int(name[1]))) for name in cases.split()])
    records: Any = [SimpleNamespace(case_id=name[0], round=int(name[1])) for name in recorded.split()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resume.plan_file, "read", lambda folder, suite: plan)
        _, left = resume._missing(FOLDER, manifest(planned=planned), RunOptions(for_s=for_s), records)
    return [f"{case.key[0]}{case.key[1]}" for case in left]


def test_what_is_missing_is_measured() -> None:
    """Catches a case measured again in a round that it has, and a round taken for another."""
    assert missing("a0") == ["a1", "b0"]
    assert missing("") == ["a0", "a1", "b0"]
    assert missing("b0 a1 a0") == []


@pytest.mark.parametrize(
    ("recorded", "planned", "for_s", "said"),
    [
        ("a0 c0", 3, None, "plan: 3 cases became 3, 1 records match no case"),
        ("a0 a2 c0", 3, None, "plan: 3 cases became 3, 2 records match no case"),
        ("a0", 4, None, "plan: 4 cases became 3, 0 records match no case"),
        ("a0", 2, None, "plan: 2 cases became 3, 0 records match no case"),
        ("a0", 4, 60.0, "plan: 4 cases became 3, 0 records match no case"),
        ("c0", 2, 60.0, "plan: 2 cases became 3, 1 records match no case"),
    ],
)
def test_a_plan_that_is_another(recorded: str, planned: int, for_s: float | None, said: str) -> None:
    """Catches records of two plans in one run."""
    with pytest.raises(BytewaysError, match="cannot be resumed") as caught:
        missing(recorded, planned=planned, for_s=for_s)
    assert caught.value.cause == said


@pytest.mark.parametrize("planned", [2, 3])
def test_a_repeated_suite_may_have_grown(planned: int) -> None:
    """Catches a run that cannot be resumed because it ended between its plan and its manifest."""
    assert missing("a0 a1", planned=planned, for_s=60.0) == ["b0"]


def test_options_are_those_of_the_run() -> None:
    """Catches a run of another version, another suite or damaged options that is continued."""
    twice = manifest(options={"rounds": 2})
    assert resume._recorded_options(FOLDER, twice, None, None) == RunOptions(rounds=2)
    assert resume._recorded_options(FOLDER, manifest(), SUITE, None) == RunOptions()
    for told, suite, said in (
        (manifest(schema_version=1), None, "was written by an earlier version"),
        (manifest(suite={"text": "other"}), SUITE, "cannot be resumed"),
        (manifest(options={"colour": 3}), None, "is damaged"),
    ):
        with pytest.raises(BytewaysError, match=said):
            resume._recorded_options(FOLDER, told, suite, None)


def test_what_changed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches figures of two drivers, versions or machines in one run, and a change that is not named."""
    now = {"driver": "a", "code": "b", "method_version": 3, "host_loops": "l", "topology": "t"}
    monkeypatch.setattr(resume.manifests, "fingerprint", lambda *_: now)
    monkeypatch.setattr(resume.manifests, "topology_changes", lambda *_: ["gpu1 is new", "cpu0: cores"])
    topology: Any = SimpleNamespace(to_json=dict)
    probed: Any = SimpleNamespace(capabilities=None, method_version=3)
    assert resume._changes(manifest(), topology, probed) == []
    for name in ("driver", "code", "method_version", "host_loops"):
        monkeypatch.setitem(now, name, "new")
        assert resume._changes(manifest(), topology, probed) == [
            f"{name}: {manifest()['fingerprint'][name]} became new"
        ]
        monkeypatch.undo()
        monkeypatch.setattr(resume.manifests, "fingerprint", lambda *_: now)
        monkeypatch.setattr(resume.manifests, "topology_changes", lambda *_: ["gpu1 is new", "cpu0: cores"])
    monkeypatch.setitem(now, "topology", "u")
    assert resume._changes(manifest(), topology, probed) == ["topology: gpu1 is new; cpu0: cores"]


def test_another_simulation_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a run continued on another machine model."""
    monkeypatch.setattr(resume, "recorded_simulation", lambda *_: "recorded")
    monkeypatch.setattr(resume, "simulation_changes", lambda own, asked: [f"{own}, {asked}"] if asked else [])
    assert resume._recorded(FOLDER, manifest(), None) == "recorded"  # type: ignore[comparison-overlap]
    with pytest.raises(BytewaysError) as caught:
        resume._recorded(FOLDER, manifest(), "other")  # type: ignore[arg-type]
    assert caught.value.cause == "recorded, other"
