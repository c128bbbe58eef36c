"""Names of schema version 1 become today's, in records, in their flows and in manifests."""

from __future__ import annotations

from typing import Any

import pytest

from byteways.cases.case import Case
from byteways.record import version1

ENDS = {"source": "gpu0:device", "destination": "gpu0:device", "executor": "gpu0"}


def old(**changed: Any) -> dict[str, Any]:
    flows = changed.pop("flows", [dict(ENDS)])
    fields = {"case_id": "of then", "interface": "copy", "pattern": "one-way", "flows": flows}
    return {**fields, "size_bytes": 4096, "cache": "cold", "options": {}, "environment": {}, **changed}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"pattern": "one-way"}, {"pattern": "unidirectional"}),
        ({"pattern": "two-way"}, {"pattern": "bidirectional"}),
        ({"pattern": "fan-both"}, {"pattern": "fan-bidirectional"}),
        ({"pattern": "ring"}, {"pattern": "ring"}),
        ({"interface": "chase"}, {"interface": "pointer-chase"}),
        ({"interface": "kernel"}, {"interface": "kernel"}),
        ({"counts": "one-direction"}, {"counts": "per-direction"}),
        ({"counts": "read+write"}, {"counts": "read+write"}),
        ({"replicate": 2}, {"round": 2}),
        ({"whole_bytes_per_s": 1.0}, {"end_to_end_bytes_per_s": 1.0}),
        ({"whole_ns": 1.0}, {"end_to_end_ns": 1.0}),
        ({"one_way_ns": 1.0}, {"half_round_trip_ns": 1.0}),
        ({"warnings": []}, {"warnings": []}),
    ],
    ids=str,
)
def test_names_of_records(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Catches an old figure under a name that nobody reads, and a pattern that today's runs do not have."""
    found = version1.record(old(**before))
    assert {name: found[name] for name in after} == after
    assert not (before.keys() - after.keys()) & found.keys()
    assert "counts" in before or "counts" not in found


def test_names_of_flows() -> None:
    """Catches a load beside a measurement that is no interface any more, and a case that is not that of
    today by its id.
    """
    walk = {**ENDS, "interface": "chase"}
    found = version1.record(old(flows=[dict(ENDS), walk, {**ENDS, "interface": "kernel"}]))
    assert [flow.get("interface") for flow in found["flows"]] == [None, "pointer-chase", "kernel"]
    assert found["case_id"] == Case.from_json(found).case_id != "of then"


def test_names_of_manifests() -> None:
    """Catches rounds and devices of an old run that are not found, and what is absent made up."""
    before = {
        "format_version": 1,
        "suite": {"replicates": 3, "name": "quick"},
        "options": {"replicates": None},
        "topology": {"agents": ["gpu0"]},
        "capabilities": {"agents": {}, "memory": {}},
    }
    assert version1.manifest(before) == {
        "schema_version": 1,
        "suite": {"rounds": 3, "name": "quick"},
        "options": {"rounds": None},
        "topology": {"devices": ["gpu0"]},
        "capabilities": {"devices": {}, "memory": {}},
    }
    assert "replicates" in before["suite"]  # type: ignore[operator]
    assert version1.manifest({"suite": {"name": "x"}, "options": None}) == {
        "schema_version": 1,
        "suite": {"name": "x"},
        "options": None,
    }
