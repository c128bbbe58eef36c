"""The plan in a run folder: read back as it was written, grown by rounds, and never guessed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byteways.base.errors import BytewaysError
from byteways.cases.case import Buffer, Case, Flow, PlannedCase
from byteways.measuring.conduct import plan_file
from byteways.plan.planner import Plan
from byteways.plan.suite import load
from byteways.record.run_folder import PLAN

SUITE = load("quick")


def planned(number: int, **changes: object) -> PlannedCase:
    buffer = Buffer("cpu0", "pageable")
    case = Case("memcpy", "unidirectional", (Flow(buffer, buffer, "cpu0"),), 8 * (number + 1), "warm")
    return replace(PlannedCase(case, "sweep", 0, 1.0, 0.01), **changes)  # type: ignore[arg-type]


PLAN_OF_THREE = Plan(
    SUITE,
    (
        planned(0, estimated_s=0.25),
        planned(0, round=1),
        planned(1, reason="no room, really", spare=True, budget_s=0.5, precision=0.05),
    ),
    ("a sweep has fewer cases",),
    1.5,
    60.0,
)


def test_plan_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    """Would catch a round, budget, reason, estimate or note that is lost between a run and its resumption."""
    plan_file.write(tmp_path, PLAN_OF_THREE)
    assert plan_file.read(tmp_path, SUITE) == PLAN_OF_THREE
    assert [path.name for path in tmp_path.iterdir()] == [PLAN]
    lines = [json.loads(line) for line in (tmp_path / PLAN).read_text().splitlines()]
    assert ["case" in line for line in lines] == [False, True, False, True]


def test_rounds_are_appended_and_withdrawn(tmp_path: Path) -> None:
    """Would catch a round of a repeated suite that is lost, or one planned that there was no time for."""
    plan_file.write(tmp_path, PLAN_OF_THREE)
    more = [planned(0, round=2), planned(1, round=2)]
    with (tmp_path / PLAN).open("ab") as file:
        file.write(b'{"case_id": "cut o')  # a kill in the middle of an earlier attempt
    plan_file.append(tmp_path, more)
    assert plan_file.read(tmp_path, SUITE).cases == (*PLAN_OF_THREE.cases, *more)
    plan_file.withdraw(tmp_path, [more[1].key])
    assert plan_file.read(tmp_path, SUITE).cases == (*PLAN_OF_THREE.cases, more[0])
    assert (tmp_path / plan_file.PLAN_CUT_OFF).read_bytes() == b'{"case_id": "cut o\n'


def test_no_half_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch half a plan that a later resume takes for all that was planned."""

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(BytewaysError, match=r"cannot write .*plan\.jsonl"):
        plan_file.write(tmp_path, PLAN_OF_THREE)
    assert list(tmp_path.iterdir()) == []


def spoilt(tmp_path: Path, change: str) -> None:
    lines = (tmp_path / PLAN).read_bytes().splitlines(keepends=True)
    if change == "gone":
        (tmp_path / PLAN).unlink()
        return
    if change == "short":
        lines = lines[:-1]
    elif change == "headless":
        lines = lines[1:]
    elif change == "garbage":
        lines[2] = b"garbage\n"
    elif change == "twice":
        lines.append(lines[2])
    elif change == "another case":
        lines[1] = lines[1].replace(b'"size_bytes":8', b'"size_bytes":16')
    elif change == "wrong type":
        lines[2] = lines[2].replace(b'"round":1', b'"round":"1"')
    (tmp_path / PLAN).write_bytes(b"".join(lines))


@pytest.mark.parametrize(
    "change", ["gone", "short", "headless", "garbage", "twice", "another case", "wrong type"]
)
def test_damaged_plan_is_refused(tmp_path: Path, change: str) -> None:
    """Would catch a resume that measures what nobody planned, or leaves out what was."""
    plan_file.write(tmp_path, PLAN_OF_THREE)
    spoilt(tmp_path, change)
    with pytest.raises(BytewaysError) as caught:
        plan_file.read(tmp_path, SUITE)
    assert PLAN in f"{caught.value.what} {caught.value.cause}"
    assert caught.value.hint == "start a new run: byteways run"


@settings(max_examples=50)
@given(st.data())
def test_any_truncation_is_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Would catch a plan cut off anywhere that is taken for a whole one, or a traceback."""
    folder = tmp_path_factory.mktemp("cut")
    plan_file.write(folder, PLAN_OF_THREE)
    content = (folder / PLAN).read_bytes()
    (folder / PLAN).write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
    with pytest.raises(BytewaysError):
        plan_file.read(folder, SUITE)
