"""JSON Schemas of records, manifests and machine models, generated from the types.

`python -m byteways.cli.schema FOLDER` writes them. In a checkout they are in docs/reference/schemas,
written by `scripts/write_tables.py`; a test checks that they are current.
"""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from byteways.base.writing import write as write_file
from byteways.models.schema import SourceText, machine_struct
from byteways.record.manifest_types import OPTIONAL_FIELDS, RUN_STATES, Manifest
from byteways.record.record import SCHEMA_VERSION, STATUSES, Record
from byteways.record.samples import Samples

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def _object(kind: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the schema of a type and of nested types. Additional fields are allowed for later versions."""
    schema = msgspec.json.schema(kind)
    definitions: dict[str, Any] = schema["$defs"]
    for described in definitions.values():
        if "description" in described:  # Python 3.13 and later remove the indentation themselves
            described["description"] = inspect.cleandoc(described["description"])
    return definitions.pop(schema["$ref"].rpartition("/")[2]), definitions


def record_schema() -> dict[str, Any]:
    """Returns the schema of a line of `measurements.jsonl`."""
    schema, definitions = _object(Record)
    schema["properties"]["status"] = {"enum": list(STATUSES)}
    schema["title"] = "A record: one line of measurements.jsonl"
    return {"$schema": DIALECT, **schema, "$defs": definitions}


def samples_schema() -> dict[str, Any]:
    """Returns the schema of a line of `samples.jsonl`."""
    schema, _ = _object(Samples)
    schema["title"] = "The samples of a record: one line of samples.jsonl"
    return {"$schema": DIALECT, **schema}


def run_schema() -> dict[str, Any]:
    """Returns the schema of `run.json`."""
    schema, definitions = _object(Manifest)
    schema["required"] = [name for name in schema["required"] if name not in OPTIONAL_FIELDS]
    schema["properties"]["schema_version"] = {"const": SCHEMA_VERSION}
    schema["properties"]["state"] = {"enum": list(RUN_STATES)}
    schema["title"] = "The manifest of a run: run.json"
    return {"$schema": DIALECT, **schema, "$defs": definitions}


def machine_schema() -> dict[str, Any]:
    """Returns the schema of a machine model's parsed TOML data."""
    whole, definitions = _object(machine_struct())
    source = msgspec.json.schema(SourceText)
    text = msgspec.json.encode({**whole, "title": "A machine model: simulate/*.toml", "$defs": definitions})
    schema = msgspec.json.decode(text.replace(msgspec.json.encode(source), b'{"$ref":"#/$defs/source"}'))
    return {"$schema": DIALECT, **schema, "$defs": {**schema["$defs"], "source": source}}


def texts() -> dict[str, str]:
    """Returns the content of every schema by file name."""
    schemas = {
        "machine.schema.json": machine_schema(),
        "record.schema.json": record_schema(),
        "run.schema.json": run_schema(),
        "samples.schema.json": samples_schema(),
    }
    return {name: json.dumps(schema, indent=1) + "\n" for name, schema in schemas.items()}


def write(folder: Path) -> None:
    """Writes every schema into `folder`."""
    for name, text in texts().items():
        write_file(folder / name, text)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
