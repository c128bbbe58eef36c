"""Reads what byteways wrote with schema version 1: old names become today's, nothing else changes.

Version 2 renamed fields and values to the field's own words. The `case_id` is a hash of what a case is, names
included, so that it is computed again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byteways.plan.case import Case

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
    """A record of version 1 in the names of version 2.

    Raises:
        KeyError, TypeError, AttributeError, ValueError: It is no record.
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
    """A manifest of version 1 in the names of version 2. What is not there stays away.

    The text of the suite stays as it was read: it is in the words of its time.
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
