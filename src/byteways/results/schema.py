"""JSON Schemas of records, manifests and machine models, generated from the types: they cannot differ.

`python -m byteways.results.schema FOLDER` writes them; a test checks that the ones in `schemas/` are current.
"""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, TypedDict, Union, get_args, get_origin, get_type_hints, is_typeddict

from byteways.machines.schema import machine_schema
from byteways.results.record import STATUSES, Record
from byteways.results.run_folder import SCHEMA_VERSION
from byteways.topology.model import Capabilities, Topology

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


class ManifestHost(TypedDict):
    name: str
    kernel: str
    os: str
    python: str


class ManifestSuite(TypedDict):
    name: str
    title: str
    text: str  # the TOML as read
    rounds: int


class ManifestFingerprint(TypedDict):
    driver: str
    topology: str
    code: str
    method_version: int


class ManifestSource(TypedDict):
    title: str
    address: str


class ManifestFit(TypedDict):
    fitted_values: int
    held_out_values: int
    median_error: float | None
    p90_error: float | None


class ManifestMachineModel(TypedDict):
    name: str
    title: str
    digest: str  # 16 hexadecimal digits over the text
    text: str  # the TOML as read
    faults: list[str]
    sources: dict[str, ManifestSource]
    fit: ManifestFit | None  # None: not checked against published values


class Manifest(TypedDict):
    """`run.json`."""

    schema_version: int
    byteways_version: str
    method_version: int
    run_id: str
    state: str
    started_at: str
    finished_at: str | None
    wall_s: float | None
    simulated: bool
    machine_model: ManifestMachineModel | None  # of a simulated run
    command_line: list[str]
    host: ManifestHost
    suite: ManifestSuite
    options: dict[str, Any]
    planned: int
    topology: Topology
    capabilities: Capabilities
    libraries: list[dict[str, Any]]
    environment: dict[str, str]
    fingerprint: ManifestFingerprint


def schema_of(annotation: Any) -> dict[str, Any]:
    """The schema of a type annotation.

    Raises:
        TypeError: A type that JSON data of this project does not use.
    """
    if annotation is Any:
        return {}
    if annotation in _PLAIN:
        return {"type": _PLAIN[annotation]}
    if is_dataclass(annotation) or is_typeddict(annotation):
        return _object(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return _union([schema_of(argument) for argument in arguments])
    if origin is list or origin is Sequence:
        return {"type": "array", "items": schema_of(arguments[0])}
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return {"type": "array", "items": schema_of(arguments[0])}
        items = [schema_of(argument) for argument in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if origin is dict or origin is Mapping:
        return {"type": "object", "additionalProperties": schema_of(arguments[1])}
    raise TypeError(f"no schema for {annotation}")


def _union(options: list[dict[str, Any]]) -> dict[str, Any]:
    if all(set(option) == {"type"} for option in options):
        return {"type": [option["type"] for option in options]}
    return {"anyOf": options}


def _object(annotation: Any) -> dict[str, Any]:
    hints = get_type_hints(annotation)
    if is_dataclass(annotation):
        required = [
            item.name
            for item in fields(annotation)
            if item.default is MISSING and item.default_factory is MISSING
        ]
    else:
        required = list(hints)
    return {
        "type": "object",
        "properties": {name: schema_of(hint) for name, hint in hints.items()},
        "required": required,
        "additionalProperties": False,
    }


def record_schema() -> dict[str, Any]:
    """Of one line of `measurements.jsonl`."""
    schema = _object(Record)
    schema["properties"]["status"] = {"enum": list(STATUSES)}
    return {"$schema": DIALECT, "title": "A record: one line of measurements.jsonl", **schema}


def run_schema() -> dict[str, Any]:
    """Of `run.json`."""
    schema = _object(Manifest)
    schema["required"].remove("machine_model")  # runs of byteways 0.1 before machine models
    schema["properties"]["schema_version"] = {"const": SCHEMA_VERSION}
    schema["properties"]["state"] = {"enum": ["running", "complete", "interrupted"]}
    return {"$schema": DIALECT, "title": "The manifest of a run: run.json", **schema}


def texts() -> dict[str, str]:
    """File name -> content of every schema."""
    schemas = {
        "machine.schema.json": {"$schema": DIALECT, **machine_schema()},
        "record.schema.json": record_schema(),
        "run.schema.json": run_schema(),
    }
    return {name: json.dumps(schema, indent=1) + "\n" for name, schema in schemas.items()}


def write(folder: Path) -> None:
    """Writes every schema into `folder`."""
    for name, text in texts().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "schemas"))
