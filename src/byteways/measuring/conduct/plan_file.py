"""The plan of a run in its folder, `plan.jsonl`: written once, before the first measurement.

A resumed run reads it: a new plan would depend on conditions that change, such as free memory. The first line
summarises the plan. One line for every planned case and round follows; the first line of a case has its
definition.

    {"schema_version": 2, "cases": 3, "budget_s": 60.0, "estimated_s": 41.5, "notes": []}
    {"case_id": "9f2c…", "round": 0, "sweep": "copies", "budget_s": 1.0, "precision": 0.01, …, "case": {…}}
    {"case_id": "9f2c…", "round": 1, …}

A repeated suite appends its rounds one by one. A last line withdraws cases that were not reached in time:
`{"withdrawn": [["9f2c…", 7], …]}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

from byteways.base.decoding import converted, decoded
from byteways.base.errors import BytewaysError
from byteways.base.files import MOST_LINES_BYTES, read_bytes
from byteways.base.json_text import json_line
from byteways.base.system_errors import cannot_write
from byteways.base.writing import replacing
from byteways.cases.case import Case, PlannedCase
from byteways.measuring.conduct.append_only_file import Appended, explained
from byteways.plan.planner import Plan
from byteways.plan.suite_types import Suite
from byteways.plan.variables import refusal
from byteways.record.record import SCHEMA_VERSION
from byteways.record.run_folder import PLAN

#: On resuming, a partial last line is moved to this file.
PLAN_CUT_OFF = "plan.cut-off"


@dataclass(frozen=True)
class PlanHead:
    """The first line."""

    schema_version: int
    cases: int
    budget_s: float | None
    estimated_s: float
    notes: tuple[str, ...] = ()


#: Fields of a planned case, except its definition.
_FIELDS = {entry.name: entry for entry in fields(PlannedCase) if entry.name != "case"}
_HINTS = get_type_hints(PlannedCase)


def write(folder: Path, plan: Plan) -> None:
    """Writes the plan atomically.

    Raises:
        BytewaysError: The folder cannot be written.
    """
    head = {
        "schema_version": SCHEMA_VERSION,
        "cases": len(plan.cases),
        "budget_s": plan.budget_s,
        "estimated_s": plan.estimated_s,
        "notes": list(plan.notes),
    }
    path = folder / PLAN
    try:
        with replacing(path, durable=True) as file:
            file.write(json_line(head))
            file.writelines(_lines(plan.cases, set()))
    except OSError as error:
        raise cannot_write(path, error, "choose another --out") from error


def append(folder: Path, cases: Sequence[PlannedCase]) -> None:
    """Appends a round of cases that an earlier round defined. Raises BytewaysError like a journal."""
    known = {planned.case.case_id for planned in cases}
    _append(folder, b"".join(_lines(cases, known)))


def withdraw(folder: Path, keys: Iterable[tuple[str, int]]) -> None:
    """Withdraws cases and rounds that were not reached in time. Raises BytewaysError like a journal."""
    _append(folder, json_line({"withdrawn": [list(key) for key in keys]}))


def read(folder: Path, suite: Suite) -> Plan:
    """Reads the plan of a run folder.

    Args:
        folder: The run folder.
        suite: The suite that the plan was made from.

    Raises:
        BytewaysError: The plan is missing or damaged; without all of it, missing cases are unknown.
    """
    path = folder / PLAN
    hint = "start a new run: byteways run"
    try:
        content = read_bytes(path, MOST_LINES_BYTES)
    except OSError as error:
        raise BytewaysError(
            f"{folder} cannot be resumed without its plan", cause=f"{path}: {error.strerror}", hint=hint
        ) from error
    lines = content[: content.rfind(b"\n") + 1].split(b"\n")[:-1]
    try:
        head: PlanHead = decoded(lines[0] if lines else b"", PlanHead)
        if head.schema_version != SCHEMA_VERSION:
            raise ValueError(f"schema version {head.schema_version} is not {SCHEMA_VERSION}")
    except ValueError as error:
        raise BytewaysError(f"{path} is damaged", cause=f"line 1: {error}", hint=hint) from error
    planned: dict[tuple[str, int], PlannedCase] = {}
    cases: dict[str, Case] = {}
    for number, line in enumerate(lines[1:], start=2):
        try:
            _take(decoded(line, dict[str, Any]), planned, cases)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BytewaysError(f"{path} is damaged", cause=f"line {number}: {error}", hint=hint) from error
    if len(lines) - 1 < head.cases:
        cause = f"{len(lines) - 1} of {head.cases} planned cases found"
        raise BytewaysError(f"{path} is damaged", cause=cause, hint=hint)
    return Plan(suite, tuple(planned.values()), head.notes, head.estimated_s, head.budget_s)


def _append(folder: Path, data: bytes) -> None:
    with explained(folder):
        file = Appended(folder / PLAN)
        try:
            file.cut_unfinished(folder / PLAN_CUT_OFF)
            file.write(data)
            file.sync()
        finally:
            file.close()


def _lines(cases: Iterable[PlannedCase], told: set[str]) -> Iterator[bytes]:
    """Yields a line per planned case, without default values; cases in `told` only by their id."""
    for planned in cases:
        case_id = planned.case.case_id
        entry: dict[str, Any] = {"case_id": case_id}
        for name, known in _FIELDS.items():
            value = getattr(planned, name)
            if known.default is MISSING or value != known.default:
                entry[name] = value
        if case_id not in told:
            told.add(case_id)
            entry["case"] = planned.case.identity()
        yield json_line(entry)


def _take(
    data: Mapping[str, Any], planned: dict[tuple[str, int], PlannedCase], cases: dict[str, Case]
) -> None:
    """Adds a line. Raises ValueError, KeyError, TypeError or AttributeError if it is invalid."""
    if "withdrawn" in data:
        for key in converted(data["withdrawn"], list[tuple[str, int]]):
            planned.pop(key, None)
        return
    case_id = converted(data["case_id"], str)
    if "case" in data:
        case = Case.from_json(data["case"])
        if case.case_id != case_id:
            raise ValueError(f"its case is not {case_id}")
        for name, value in converted(case.environment, dict[str, str]).items():
            if wrong := refusal(name, value):
                raise ValueError(f"{name} is {wrong}")
        cases[case_id] = case
    values = {name: converted(data[name], _HINTS[name]) for name in _FIELDS if name in data}
    one = PlannedCase(cases[case_id], **values)
    if one.key in planned:
        raise ValueError(f"{case_id}, round {one.round}, appears twice")
    planned[one.key] = one
