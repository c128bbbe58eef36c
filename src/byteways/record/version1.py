"""Reads runs of schema version 1: translates old names and changes nothing else.

Version 2 renamed fields and values to standard terms. The `case_id` is a hash over these names, so it is
computed again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byteways.cases.case import Case

_FIELDS = {
    "replicate": "round",
    "whole_bytes_per_s": "end_to_end_bytes_per_s",
    "whole_ns": "end_to_end_ns",
    "one_way_ns": "half_round_trip_ns",
}
_PATTERNS = {"one-way": "unidirectional", "two-way": "bidirectional", "fan-both": "fan-bidirectional"}
_INTERFACES = {"chase": "pointer-chase"}
_COUNTS = {"one-direction": "per-direction"}


def record(data: Mapping[str, Any]) -> dict[str, Any]:
    """Translates a record of version 1 to the names of version 2.

    Raises:
        KeyError, TypeError, AttributeError, ValueError: The data are not a record.
    """
    fields = {_FIELDS.get(name, name): value for name, value in data.items()}
    fields["pattern"] = _PATTERNS.get(fields["pattern"], fields["pattern"])
    fields["interface"] = _INTERFACES.get(fields["interface"], fields["interface"])
    if "counts" in fields:
        fields["counts"] = _COUNTS.get(fields["counts"], fields["counts"])
    for flow in fields["flows"]:
        if flow.get("interface") in _INTERFACES:
            flow["interface"] = _INTERFACES[flow["interface"]]
    fields["case_id"] = Case.from_json(fields).case_id
    return fields


def manifest(data: Mapping[str, Any]) -> dict[str, Any]:
    """Translates a manifest of version 1 to the names of version 2; missing fields stay missing.

    The text of the suite is kept as it was read, in the old names.
    """
    fields = dict(data)
    fields["schema_version"] = fields.pop("format_version", 1)
    for name in ("suite", "options"):
        if isinstance(fields.get(name), Mapping):
            part = dict(fields[name])
            if "replicates" in part:
                part["rounds"] = part.pop("replicates")
            fields[name] = part
    for name in ("topology", "capabilities"):
        if isinstance(fields.get(name), Mapping):
            part = dict(fields[name])
            if "agents" in part:
                part["devices"] = part.pop("agents")
            fields[name] = part
    return fields
