"""`byteways best` without a run: what it asks of the machine before it measures."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.cli import best, measure_now
from byteways.plan.question import question
from byteways.run.conduct import plan_file
from byteways.run.conduct.time_limit import TimeLimit
from byteways.topology import discovery, nvml
from byteways.topology.nvml import Nvml
from tests.unit.legality import H200X4


def test_nvml_is_asked_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Catches a question that waits twice while a driver initialises every GPU of the node."""
    asked: list[Nvml] = []

    def read() -> Nvml:
        asked.append(Nvml(reason=f"answer {len(asked)}"))
        return asked[-1]

    def discovered(*, management: Nvml | None = None) -> Any:
        assert (management or read()).reason == "answer 0"
        return H200X4[0]

    def measured(*_: Any, management: Nvml | None = None) -> Any:
        assert (management or read()).reason == "answer 0"
        return "run"

    monkeypatch.setattr(nvml, "read", read)
    monkeypatch.setattr(discovery, "discover", discovered)
    monkeypatch.setattr(measure_now, "measure_from_python", measured)
    monkeypatch.setattr(plan_file, "read", lambda *_: SimpleNamespace(cases=[]))
    limit = TimeLimit(None, 0.0)
    assert best._measured(question("gpu0", "gpu1", "1MiB"), None, tmp_path, limit) == ("run", [])
    assert len(asked) == 1
