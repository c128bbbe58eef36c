"""The manifest at the end of a run and of its parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from byteways.base.settings import recorded_environment
from byteways.record import manifest
from byteways.record.manifest import finish, topology_changes, topology_digest


@pytest.mark.parametrize(
    ("before", "part", "whole"),
    [({}, 1.5, 1.5), ({"wall_s": None}, 1.5, 1.5), ({"wall_s": 2.25}, 1.5, 3.75), ({}, 0.12345, 0.123)],
    ids=["the first part", "a part that was lost", "a second part", "milliseconds"],
)
def test_parts_add_up(before: dict[str, Any], part: float, whole: float) -> None:
    """Catches a resumed run that took as long as its last part, and a second that nobody measured."""
    found = finish({"suite": "quick", "state": "running", **before}, "complete", part)
    assert (found["state"], found["wall_s"], found["suite"]) == ("complete", whole, "quick")
    assert found["finished_at"].startswith("20")


def test_the_order_of_fields_is_no_difference() -> None:
    """Catches a machine that counts as another because its description was written in another order."""
    device = {"name": "cpu0", "kind": "cpu"}
    one = {"host": "a", "devices": [device], "links": []}
    other = {"links": [], "devices": [dict(reversed(device.items()))], "host": "a"}
    assert topology_digest(one) == topology_digest(other)
    assert topology_digest(
        {**one, "notes": ["n"], "devices": [{**device, "memory_bytes": 1}]}
    ) == topology_digest(one)
    assert topology_digest({**one, "host": "b"}) != topology_digest(one)


@pytest.mark.parametrize(("simulated", "kept"), [(False, {"NCCL_ALGO", "UCX_TLS"}), (True, set())])
def test_settings_of_libraries_are_recorded(simulated: bool, kept: set[str]) -> None:
    """Catches figures of NCCL or MPI without the settings of their libraries, and secrets recorded."""
    environment = {"NCCL_ALGO": "Ring", "UCX_TLS": "sm", "MY_NCCL_TOKEN": "secret", "TOKEN": "secret"}
    found = recorded_environment(environment, simulated)
    assert {name for name in found if name in environment} == kept


def test_digests_have_sixteen_digits() -> None:
    """Catches another length, with which no resumed run would find its machine again."""
    assert len(topology_digest({"devices": []})) == 16


def test_the_names_of_a_host_are_compared() -> None:
    """Catches a resumed run on another host, whichever name comes first in the alphabet."""
    plain = {"host": "b", "devices": [], "links": [], "switches": []}
    for other in ("a", "c"):
        assert f"host b became {other}" in topology_changes(plain, {**plain, "host": other})
    assert topology_changes(plain, plain) == []


def test_a_manifest_has_no_number_that_json_lacks(tmp_path: Path) -> None:
    """Catches NaN in run.json: many readers refuse the whole file."""
    manifest.write(tmp_path, {"state": "running"})
    with pytest.raises(ValueError, match="not JSON compliant"):
        manifest.write(tmp_path, {"wall_s": float("nan")})
    assert json.loads((tmp_path / "run.json").read_text()) == {"state": "running"}
