"""Records, a topology and a manifest for tests of what lies on disk."""

from __future__ import annotations

import json
from pathlib import Path

from byteways.cases.case import Buffer, Case, Flow, PlannedCase
from byteways.machine.model import Capabilities, Device, Link, Topology
from byteways.measuring.conduct.journal import encode
from byteways.measuring.conduct.recording import record_without_values
from byteways.record import manifest as manifests
from byteways.record.record import Record


def record(number: int, **fields: object) -> Record:
    buffer = Buffer("cpu0", "pageable")
    case = Case("memcpy", "unidirectional", (Flow(buffer, buffer, "cpu0"),), 8 * (number + 1))
    return record_without_values(
        PlannedCase(case, "sweep", 0, 1.0, 0.01), 1, "lost", f"reason {number} µ", **fields
    )


LINES = [encode(record(number)) for number in range(4)]


TOPOLOGY = Topology(
    "node1",
    (Device("cpu0", "cpu", "Xeon", memory_bytes=1 << 30), Device("gpu0", "gpu", "H200", uuid="GPU-1")),
    (),
    (Link("cpu0", "gpu0", "pcie", 1, "5.0", 63e9, 64e9, "PCI-SIG", "PCIe 5.0 ×16"),),
)


def a_manifest(**fields: object) -> dict[str, object]:
    made = manifests.build(
        command_line=["byteways", "run"],
        suite={"name": "quick", "title": "Quick", "text": "", "rounds": 1},
        options={},
        planned=0,
        topology=TOPOLOGY,
        capabilities=Capabilities(),
        libraries=[],
        method_version=1,
    )
    return {**made, **fields}


def write_run(folder: Path, **fields: object) -> Path:
    """Writes a complete run: the records of LINES, a manifest with these fields. Returns the folder."""
    folder.mkdir()
    manifest = a_manifest(state="complete", planned=len(LINES), **fields)
    (folder / "run.json").write_text(json.dumps(manifest))
    (folder / "measurements.jsonl").write_bytes(b"".join(LINES))
    return folder
