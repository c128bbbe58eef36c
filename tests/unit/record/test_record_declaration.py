"""A record is declared once, in `record.record.Record`. What cannot be derived from it is compared here: the
worker's outcome, which has the standard library only, the checked parts, the native struct and its stub.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import byteways
from byteways import _core
from byteways.cases.case import IDENTITY_FIELDS, Case
from byteways.measuring.work.outcome_fields import Outcome
from byteways.record import columns
from byteways.record.record import DEFINITION_FIELDS, RECORD_FIELDS, Record
from byteways.record.record_parts import TYPES_OF_PARTS

ROOT = Path(__file__).parents[3]
STUB = ast.parse((Path(byteways.__file__).parent / "_core.pyi").read_text("utf-8"))
HEADER = ROOT / "native" / "timing" / "measure.hpp"
#: Fields of a record that no worker knows: those of the plan and of the conductor.
OF_CONDUCTOR = {
    *(*DEFINITION_FIELDS, "round", "method_version", "started_at", "wall_s", "worker"),
    *("peak_bytes_per_s", "peak_source", "fraction_of_peak", "limit_bytes_per_s", "limit_source"),
    *("simulated", "rests_on", "imported", "tournament"),
}
#: Tables of a record that no reader computes with: any content can be shown.
UNCHECKED = {
    *("flows", "options", "environment"),  # record_check reads them as a case
    *("reason_fields", "imported", "directions", "end_to_end_bytes_per_s", "launch", "parts", "samples_ns"),
    *("distinct_bytes", "page_bytes", "placement", "first_touch", "residency", "start_skew_ns", "link_bytes"),
    *("rests_on", "warnings"),
}


def plain(kind: Any) -> str:
    """Returns a type without None; a struct or a dictionary of known keys as what it is in JSON."""
    inner = [one for one in get_args(kind) if one is not NoneType]
    if NoneType in get_args(kind):
        return plain(inner[0]) if len(inner) == 1 else str(kind)
    if get_origin(kind) in (list, dict):
        return f"{get_origin(kind).__name__}[{', '.join(map(plain, get_args(kind)))}]"
    if kind is Any or kind in (str, int, float, bool):
        return str(getattr(kind, "__name__", kind))
    return "dict[str, Any]"


def test_the_fields_of_a_case_are_those_of_its_class() -> None:
    """Catches a field of a case that does not identify it, or that a record lacks."""
    ends = {"source": "cpu0:pageable", "destination": "cpu0:pageable", "executor": "cpu0"}
    told = {
        "interface": "memcpy",
        "pattern": "unidirectional",
        "flows": [ends],
        "size_bytes": 8,
        "cache": "cold",
    }
    case = Case.from_json({**told, "options": {}, "environment": {}})
    assert tuple(case.identity()) == IDENTITY_FIELDS
    assert set(IDENTITY_FIELDS) < set(DEFINITION_FIELDS) < set(RECORD_FIELDS)
    assert set(DEFINITION_FIELDS) == columns.DEFINITION  # each is a column


def test_an_outcome_is_a_record_without_what_the_conductor_knows() -> None:
    """Catches a field of a worker's answer that the record lacks or has with another type, or the reverse."""
    ours, theirs = get_type_hints(Outcome), get_type_hints(Record)
    assert ours.pop("samples")  # a file of its own
    assert set(theirs) - set(ours) == OF_CONDUCTOR
    differing = {name: (plain(kind), plain(theirs[name])) for name, kind in ours.items()}
    assert {name: kinds for name, kinds in differing.items() if kinds[0] != kinds[1]} == {}


def test_each_table_of_a_record_is_checked_or_named() -> None:
    """Catches a table in which a damaged run has text where a sum is computed."""
    kinds = {name: plain(kind) for name, kind in get_type_hints(Record).items()}
    typed = {"time_ns", "evidence", "blame"}  # structs
    tables = {name for name, kind in kinds.items() if kind.startswith(("dict", "list"))} - typed
    assert tables == set(TYPES_OF_PARTS) | UNCHECKED


def stub_classes() -> dict[str, dict[str, str]]:
    """Returns the fields of each class of the stub, with their types as they are written."""
    found: dict[str, dict[str, str]] = {}
    for node in (one for one in STUB.body if isinstance(one, ast.ClassDef)):
        own = found[node.name] = {}
        for one in node.body:
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                own[one.target.id] = ast.unparse(one.annotation)
            elif isinstance(one, ast.FunctionDef) and "property" in map(ast.unparse, one.decorator_list):
                own[one.name] = ast.unparse(one.returns) if one.returns else ""
    return found


def bound(kind: type) -> dict[str, str]:
    """Returns the fields of a class of the native core, with the type of each."""
    found = {}
    for name, one in vars(kind).items():
        signature = getattr(getattr(one, "fget", None), "__nb_signature__", None)
        if signature:
            found[name] = signature[0][0].partition(" -> ")[2].replace("byteways._core.", "")
    return found


def test_the_stub_has_the_fields_of_the_native_core() -> None:
    """Catches a field that either lacks, or that has another type: mypy would accept code that fails."""
    assert len(bound(_core.Measurement)) > 20
    differing = {}
    for name, told in stub_classes().items():
        kind = getattr(_core, name)
        if is_error(kind):
            continue
        found = bound(kind)
        wrong = {one for one in {*found, *told} if written(found.get(one)) != written(told.get(one))}
        if wrong:
            differing[name] = {one: (found.get(one), told.get(one)) for one in wrong}
    assert differing == {}


def is_error(kind: object) -> bool:
    """Whether it is an exception, whose fields nanobind does not describe."""
    return isinstance(kind, type) and issubclass(kind, BaseException)


def written(kind: str | None) -> str | None:
    return None if kind is None else re.sub(r"\bcollections\.abc\.", "", kind)


def test_the_native_struct_is_bound_as_a_whole() -> None:
    """Catches a figure that the core measures and that no record can have."""
    body = HEADER.read_text("utf-8").partition("struct Measurement {")[2].partition("\n};")[0]
    body = re.sub(r"//[^\n]*", "", body)
    declared = {
        re.sub(r"=.*", "", name).strip().rpartition(" ")[2].strip()
        for statement in body.split(";")
        for name in re.sub(r"<[^;]*>", "", statement).split(",")
        if name.strip()
    }
    assert declared == set(bound(_core.Measurement))
