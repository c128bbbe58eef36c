"""The records of a run folder, of schema 1 or 2, and what is computed from them alone.

Nothing here is shared with byteways: a mistake there must not excuse itself here. Unit: bytes/s, ns.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import log
from pathlib import Path
from statistics import median
from typing import Any

#: Names of schema 1 that schema 2 renamed.
_FIELDS = {
    "replicate": "round",
    "whole_bytes_per_s": "end_to_end_bytes_per_s",
    "one_way_ns": "half_round_trip_ns",
}
_VALUES = {
    "pattern": {"one-way": "unidirectional", "two-way": "bidirectional", "fan-both": "fan-bidirectional"},
    "interface": {"chase": "pointer-chase"},
    "counts": {"one-direction": "per-direction"},
}
#: Rounding of what is recorded, on top of a physical limit.
ROUNDING = 1e-4
#: Rounds from which on a result may be ranked.
LEAST_ROUNDS = 3


@dataclass(frozen=True)
class Case:
    """All records of one case."""

    case_id: str
    records: tuple[Mapping[str, Any], ...]

    @property
    def record(self) -> Mapping[str, Any]:
        return self.records[0]

    @cached_property
    def measured(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(one for one in self.records if one["status"] == "measured" and figure(one) is not None)

    @cached_property
    def values(self) -> tuple[float, ...]:
        """The figure of each round."""
        return tuple(value for one in self.measured if (value := figure(one)) is not None)

    @property
    def value(self) -> float:
        return median(self.values)

    def of(self, quantity: str) -> tuple[float, ...]:
        """Each round's bandwidth, latency or energy."""
        if quantity != "energy":
            return self.values
        told = [one.get("energy") or {} for one in self.measured]
        return tuple(float(one["joules_per_GB"]) for one in told if "joules_per_GB" in one)

    @property
    def ranked(self) -> bool:
        """Enough rounds, none of batches that were too short for the timer."""
        return len(self.values) >= LEAST_ROUNDS and "short-batch" not in self.warnings

    @property
    def peak(self) -> float | None:
        return self.measured[0].get("peak_bytes_per_s") if self.measured else None

    @property
    def warnings(self) -> frozenset[str]:
        return frozenset(warning["id"] for one in self.measured for warning in one.get("warnings", ()))

    @property
    def limit(self) -> float | None:
        return next((one["limit_bytes_per_s"] for one in self.measured if one.get("limit_bytes_per_s")), None)

    @property
    def settings(self) -> dict[str, str]:
        """Variables of the process and options, as the case asks for them."""
        return {name: str(value) for name, value in self.record["environment"].items()}

    def trait(self, name: str) -> object:
        """What of a case comparisons must have alike or name."""
        record = self.record
        return {
            "size": record["size_bytes"],
            "cache": record["cache"],
            "counts": self.measured[0].get("counts") if self.measured else None,
            "pattern": record["pattern"],
            "path": record["path"],
            "interface": record["interface"],
        }[name]


def figure(record: Mapping[str, Any]) -> float | None:
    value = record.get("bandwidth_bytes_per_s")
    return value if value is not None else record.get("latency_ns")


def dominance(first: Iterable[float], second: Iterable[float]) -> float:
    """Part of the pairs of rounds in which the first is greater (Mann and Whitney's statistic, 0 to 1)."""
    pairs = list(product(first, second))
    return sum((a > b) + (a == b) / 2 for a, b in pairs) / len(pairs) if pairs else 0.5


def scatter(values: Iterable[float]) -> float:
    """Greatest ratio of two rounds, as a logarithm."""
    logs = [log(value) for value in values if value > 0]
    return max(logs) - min(logs) if logs else 0.0


class RunData:
    """A run folder."""

    def __init__(self, folder: Path) -> None:
        self.manifest: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        self.version = int(self.manifest.get("schema_version") or self.manifest.get("format_version") or 1)
        self.damaged = 0
        records: dict[str, dict[int, Mapping[str, Any]]] = {}
        with (folder / "measurements.jsonl").open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                record = self._read(line)
                if record is not None:
                    records.setdefault(record["case_id"], {})[record["round"]] = record  # the last one counts
        self.cases = {name: Case(name, tuple(rounds.values())) for name, rounds in records.items()}
        self.links: list[dict[str, Any]] = (self.manifest.get("topology") or {}).get("links") or []
        self._folder = folder
        self._classes: dict[tuple[str, str], tuple[object, ...]] = {}

    def _read(self, line: str) -> dict[str, Any] | None:
        try:
            record = json.loads(line)
            return _renamed(record) if self.version < 2 else dict(record) | {"round": record["round"]}
        except (ValueError, KeyError, TypeError, AttributeError):
            self.damaged += bool(line.strip())
            return None

    @property
    def records(self) -> list[Mapping[str, Any]]:
        return [record for case in self.cases.values() for record in case.records]

    @cached_property
    def samples(self) -> dict[tuple[str, int], list[float]]:
        """By case and round: those in the records, or in the file beside them."""
        found = {
            (one["case_id"], one["round"]): one["samples_ns"] for one in self.records if one.get("samples_ns")
        }
        beside = self._folder / "samples.jsonl"
        for line in beside.read_text(encoding="utf-8").splitlines() if beside.exists() else ():
            try:
                told = json.loads(line)
                found[told["case_id"], told["round"]] = told["samples_ns"]
            except (ValueError, KeyError, TypeError):
                continue  # torn by whoever stopped the run: its record never came
        return found

    @cached_property
    def void(self) -> frozenset[str]:
        """Cases of which a round passes a physical limit, recorded or of the links at the ends of a flow."""
        return frozenset(name for name, case in self.cases.items() if any(map(self.beyond, case.measured)))

    def beyond(self, record: Mapping[str, Any]) -> bool:
        if any(warning["id"] == "beyond-limit" for warning in record.get("warnings", ())):
            return True
        limit, rate = record.get("limit_bytes_per_s"), record.get("bandwidth_bytes_per_s")
        if limit and rate and rate > limit * (1 + ROUNDING):
            return True
        if record.get("counts") not in ("per-direction", "sum-of-directions"):
            return False
        return any(self._passes(path, rate) for path, rate in (record.get("directions") or {}).items())

    def _passes(self, path: str, rate: float) -> bool:
        source, _, destination = path.partition(">")
        if source == destination:
            return False
        ports = [port for end in (source, destination) if (port := self._port(end)) is not None]
        return bool(ports) and rate > min(ports) * (1 + ROUNDING)

    def _port(self, device: str) -> float | None:
        """What all links of a device signal in one direction; None where one does not tell."""
        own = [link for link in self.links if device in (link["a"], link["b"])]
        rates = [link.get("signalling_bytes_per_s") or 0 for link in own]
        return sum(rates) if rates and all(rates) else None

    def ways(self, source: str, destination: str) -> list[tuple[dict[str, Any], ...]]:
        """All routes over the fewest links."""
        routes: list[tuple[str, tuple[dict[str, Any], ...]]] = [(source, ())]
        seen = {source}
        while routes:
            done = [links for node, links in routes if node == destination]
            if done:
                return done
            routes = [
                (link["b"] if link["a"] == node else link["a"], (*links, link))
                for node, links in routes
                for link in self.links
                if node in (link["a"], link["b"])
            ]
            routes = [route for route in routes if route[0] not in seen]
            seen |= {node for node, _ in routes}
        return []

    def link_class(self, source: str, destination: str) -> tuple[object, ...]:
        """Kind of the ends and the narrowest link on the best of the shortest ways; `routed` through other
        devices, as a driver's choice among such ways is not recorded.
        """
        ends = tuple(end.rstrip("0123456789") for end in (source, destination))
        if source == destination:
            return (*ends, "same")
        ways = self.ways(source, destination)
        devices = ("cpu", "gpu")
        through = {end for way in ways for link in way for end in (link["a"], link["b"])} - {
            source,
            destination,
        }
        if any(node.startswith(devices) for node in through):
            return (*ends, "routed")
        narrowest = [min(way, key=lambda link: link.get("peak_bytes_per_s") or 0) for way in ways]
        if not narrowest:
            return (*ends, "unknown")
        best = max(narrowest, key=lambda link: link.get("peak_bytes_per_s") or 0)
        return (*ends, len(ways[0]) > 1, best["kind"], best.get("peak_bytes_per_s"))

    def classes(self, case: Case) -> frozenset[tuple[object, ...]]:
        """Of all flows; of one that reads a single buffer, from where it is read to its executor."""
        found = set()
        for flow in case.record["flows"]:
            source, destination = (
                # Between ranks the device stands behind the rank: `1/gpu1:device`.
                flow[end].partition(":")[0].partition("@")[0].rpartition("/")[2]
                for end in ("source", "destination")
            )
            executor = flow.get("executor") or destination
            ends = source, executor if source == destination else destination
            if ends not in self._classes:
                self._classes[ends] = self.link_class(*ends)
            found.add(self._classes[ends])
        return frozenset(found)

    @property
    def simulated(self) -> bool:
        return bool(self.manifest.get("simulated")) or any(record.get("simulated") for record in self.records)


def _renamed(data: Mapping[str, Any]) -> dict[str, Any]:
    """A record of schema 1 in the names of schema 2; its case_id is a hash of these names."""
    record = {_FIELDS.get(name, name): value for name, value in data.items()}
    for field, names in _VALUES.items():
        if field in record:
            record[field] = names.get(record[field], record[field])
    for flow in record["flows"]:
        if flow.get("interface") in _VALUES["interface"]:
            flow["interface"] = _VALUES["interface"][flow["interface"]]
    asked = ("interface", "pattern", "flows", "size_bytes", "cache", "options", "environment")
    text = json.dumps({name: record[name] for name in asked}, sort_keys=True, separators=(",", ":"))
    record["case_id"] = hashlib.sha256(text.encode()).hexdigest()[:16]
    record["round"] = int(record["round"])
    return record
