"""What NCCL or RCCL chooses, asked by a process of its own: once, apart from what is timed, and no loss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from byteways.cases.case import Buffer, Case, Flow, PlannedCase
from byteways.record.record import Record

Conduct = Callable[..., list[Record]]


def planned(size: int, environment: dict[str, str] | None = None) -> PlannedCase:
    ends = [(Buffer(f"gpu{rank}", "device", rank=rank),) * 2 for rank in (0, 1)]
    flow = Flow(*ends[0], "gpu0", others=(ends[1],))
    case = Case("xccl", "allreduce", (flow,), size, "warm", {"launch": "thread"}, environment or {})
    return PlannedCase(case, "faults", 0, 0.01, 0.01, None)


def test_each_environment_is_asked_once(
    conduct: Conduct, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Catches a probe for each case, records without the choice, and a log while cases are timed."""
    monkeypatch.setenv("BYTEWAYS_FAKE_EVENTS", str(tmp_path / "events"))
    set_apart = {"NCCL_ALGO": "Ring"}
    records = conduct([planned(4096), planned(8192), planned(4096, set_apart)])
    assert [record.status for record in records] == ["measured"] * 3
    assert all((record.library_choice or {})["channels"] == 2 for record in records)
    asked = (tmp_path / "events").read_text().splitlines()
    assert asked == ["asked for 2 choices, TUNING", "asked for 1 choices, TUNING"]


def test_a_probe_that_dies_costs_nothing_else(conduct: Conduct) -> None:
    """Catches a GPU given up, or cases lost, for a library that dies while it writes its log."""
    environment = {"NCCL_PLANTED": "segfault"}
    records = conduct([planned(4096, environment), planned(8192, environment), planned(4096)])
    assert [record.status for record in records] == ["measured"] * 3
    for record in records[:2]:
        choice = record.library_choice or {}
        assert choice["algorithm"] is None and "the probe failed: worker ended by SIGSEGV" in choice["reason"]
    assert (records[2].library_choice or {})["algorithm"] == "Ring"
