"""Runs of studies for tests: made records on the topologies of the machine models."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from byteways.measure.conduct.requested import request_fields

from byteways.cases.case import Case, Flow, PlannedCase
from byteways.ext.studies.comparison.value_lookup import Sheet
from byteways.ext.studies.published.study import Study
from byteways.machine.model import Topology
from byteways.models import load as load_machine
from byteways.models.topology import topology_of
from byteways.record.record import Record
from byteways.record.times import Times

GIB = 2**30


def topology(machine: str) -> Topology:
    return topology_of(load_machine(machine))


def run(machine: str, *records: Record, simulated: bool = False, runtime: str = "hip") -> Any:
    devices = {"gpu0": {"runtime": runtime}}
    manifest: dict[str, Any] = {"simulated": simulated, "capabilities": {"devices": devices}}
    manifest["machine_model"] = {"name": machine, "text": load_machine(machine).text} if simulated else None
    return SimpleNamespace(
        manifest=manifest, topology=topology(machine), records=list(records), damaged_lines=0
    )


def record(case: Case, gb_per_s: float, *, low: float = 0.9, mean: float = 1.1, **fields: Any) -> Record:
    """A measured case whose best time is `low` of its median and whose mean is `mean` of it."""
    median = case.size_bytes / gb_per_s
    times = Times(median, (median, median), low * median, 2 * median, mean * median, 0.0, 20)
    given = {
        **request_fields(PlannedCase(case, "any", 0, 1.0, 0.01)),
        "status": "measured",
        "reason": None,
        "method_version": 2,
        "time_ns": times,
        "bandwidth_bytes_per_s": gb_per_s * 1e9,
        "peak_bytes_per_s": 200e9,
    }
    return Record(**{**given, **fields})


def flow_case(interface: str, source: str, destination: str, executor: str, **fields: Any) -> Case:
    flow = Flow.from_json({"source": source, "destination": destination, "executor": executor})
    return Case(interface, "unidirectional", (flow,), fields.pop("size_bytes", GIB), **fields)


def explicit(study: Study, gb_per_s: float = 51.0, **fields: Any) -> Any:
    case = flow_case("copy", "gpu0:device", "gpu1:device", "gpu0", options={"batch": 1})
    return run("crusher-mi250x", record(case, gb_per_s, **fields))


def cell(study: Study, of: Any, line: str = "explicit", place: str = "quad") -> Any:
    return Sheet(study, of).ours(study.lines[line], study.places[place])[GIB]
