"""The JSON Schemas: current, and true of what is written."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from byteways.cli import schema
from byteways.machine.model import Capabilities, Offer
from byteways.record import manifest
from byteways.record.samples import Samples
from tests.report import sample_run

SCHEMAS = Path(__file__).parents[3] / "docs" / "reference" / "schemas"


def validator(rules: Mapping[str, Any]) -> jsonschema.Draft202012Validator:
    jsonschema.Draft202012Validator.check_schema(rules)
    return jsonschema.Draft202012Validator(rules)


def validate(data: Any, rules: Mapping[str, Any]) -> None:
    validator(rules).validate(json.loads(json.dumps(data)))


def test_current() -> None:
    """Would catch a field that is in a type but not in the published schema, and a schema of no type."""
    published = {path.name: path.read_text(encoding="utf-8") for path in SCHEMAS.iterdir()}
    assert published == schema.texts(), "run: .venv/bin/python scripts/write_tables.py"


@pytest.mark.parametrize(
    "build", [sample_run.h200x4, lambda: sample_run.cpu_only(cpus=2)], ids=["gpu", "cpu"]
)
def test_every_line_of_a_run_validates(build: Callable[[], sample_run.Builder], tmp_path: Path) -> None:
    """Would catch a record or manifest that a reader of the schema could not read."""
    folder = build().write(tmp_path)
    records = validator(schema.record_schema())
    for line in (folder / "measurements.jsonl").read_text().splitlines():
        records.validate(json.loads(line))
    validate(json.loads((folder / "run.json").read_text()), schema.run_schema())


def test_manifest_of_a_real_run_validates() -> None:
    """Would catch run.json gaining or losing a key that the schema does not know."""
    made = manifest.build(
        command_line=["byteways", "run"],
        suite={"name": "quick", "title": "Quick", "text": "", "rounds": 1},
        options={"only": [], "sizes": None, "budget_s": 60.0},
        planned=3,
        topology=sample_run.topology(2),
        capabilities=Capabilities(memory={"gpu0": {"device": Offer(True)}}, host_memory_bytes=1),
        libraries=[{"library": "cuda", "usable": False}],
        method_version=1,
    )
    validate(made, schema.run_schema())
    validate(manifest.finish(made, "complete", 1.5), schema.run_schema())


@pytest.mark.parametrize(
    "change",
    [
        {"status": "fine"},
        {"size_bytes": "1GiB"},
        {"bandwidth_bytes_per_s": "394"},
        {"time_ns": {"median": 1.0}},
        {"time_ns": {"median": 1, "ci95": [1], "min": 1, "max": 1, "mean": 1, "sd": 0, "n": 1}},
    ],
)
def test_wrong_lines_are_refused(change: dict[str, Any]) -> None:
    """Would catch a schema that lets everything through (numbers as text, missing fields)."""
    line = sample_run.cpu_only().records[0].to_json()
    validate(line, schema.record_schema())
    with pytest.raises(jsonschema.ValidationError):
        validate({**line, **change}, schema.record_schema())


def test_missing_fields_are_refused() -> None:
    """Would catch required fields becoming optional."""
    line = sample_run.cpu_only().records[0].to_json()
    del line["case_id"]
    with pytest.raises(jsonschema.ValidationError):
        validate(line, schema.record_schema())


def test_newer_minor_versions_validate() -> None:
    """Would catch a schema that refuses a record for a field that a later minor version has added."""
    line = sample_run.cpu_only().records[0].to_json()
    validate({**line, "colour": "blue"}, schema.record_schema())


def test_lines_of_samples_validate() -> None:
    """Would catch samples that a reader of their schema could not read."""
    one = Samples("9f2c", 0, [1.0], flows=[{"path": "gpu0>gpu1"}])
    validate(one.to_json(), schema.samples_schema())
    with pytest.raises(jsonschema.ValidationError):
        validate({**one.to_json(), "samples_ns": ["1"]}, schema.samples_schema())


def test_write(tmp_path: Path) -> None:
    """Would catch the command named in the failing test above not doing what it says."""
    schema.write(tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == schema.texts()


def test_the_module_writes_every_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches the command of the documentation that writes nothing, or elsewhere."""
    monkeypatch.setattr(sys, "argv", ["schema", str(tmp_path), str(tmp_path / "nowhere")])
    monkeypatch.delitem(sys.modules, "byteways.cli.schema")
    runpy.run_module("byteways.cli.schema", run_name="__main__")
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == schema.texts()
