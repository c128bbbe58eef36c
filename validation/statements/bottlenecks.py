"""Shared bottlenecks: a resource is named as one only if no record passes what it is said to carry."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from statistics import median

from statements.outcome import Statement, check
from statements.records import Case, RunData

#: Between the median of one case and of another there is noise.
NOISE = 1.03

#: Accesses to a memory, which begin the name of a resource.
_ACCESSES = "(reads from|writes to|reads and writes of)"

#: Whether a flow from one device to another uses the resource.
Uses = Callable[[str, str], bool]


def check_bottleneck(run: RunData, title: str, name: str) -> Iterator[Statement]:
    found = re.match(r"Shared bottleneck: (.+?) \((\d[\d.]*) GB/s", title)
    if not found:
        return
    uses = _resource(run, found[1])
    if uses is None:
        yield check("bottlenecks", name, None)
        return
    carried = float(found[2]) * 1e9
    most = max(
        ((load, case) for case in run.cases.values() for one in uses for load in _loads(run, case, one)),
        key=_load,
        default=None,
    )
    holds = most is None or most[0] <= NOISE * carried
    why = (
        ""
        if most is None
        else f"{most[1].record['interface']} {most[1].record['path']} moves {most[0] / 1e9:.4g}"
    )
    yield check("bottlenecks", name, holds, why)


def _load(pair: tuple[float, Case]) -> float:
    return pair[0]


def _loads(run: RunData, case: Case, uses: Uses) -> list[float]:
    """What a case moves over a resource: the median over its rounds, empty where it says nothing of it."""
    record = case.measured[0] if case.measured else {}
    if record.get("counts") not in ("per-direction", "sum-of-directions") or record["cache"] != "cold":
        return []
    if record["pattern"] == "interference" or case.case_id in run.void:
        return []
    if record["interface"] == "route":  # its bytes take several paths
        return []
    for flow in record["flows"]:  # a third device's kernels go other ways
        if flow.get("executor") not in (
            None,
            *(flow[end].partition(":")[0] for end in ("source", "destination")),
        ):
            return []
    rounds = []
    for one in case.measured:
        ends = [(path.split(">"), rate) for path, rate in (one.get("directions") or {}).items()]
        rounds.append(sum(rate for path, rate in ends if len(path) == 2 and uses(path[0], path[1])))
    return [median(rounds)] if rounds else []


def _resource(run: RunData, name: str) -> list[Uses] | None:
    """Predicates of a resource by its name, one for each of several alike; None for names not known here."""
    if found := re.fullmatch(r"the link (\S+)–(\S+), both directions together", name):
        return [_crossing(run, {(found[1], found[2]), (found[2], found[1])})]
    if found := re.fullmatch(r"the link (\S+)>(\S+)", name):
        return [_crossing(run, {(found[1], found[2])})]
    if found := re.fullmatch(r"each (.+) link, both directions together", name):
        ends = [(link["a"], link["b"]) for link in run.links if link.get("link_class") == found[1]]
        return [_crossing(run, {(a, b), (b, a)}) for a, b in ends] or None
    if found := re.fullmatch(rf"{_ACCESSES} (cpu\d+)'s memory", name):
        return [_memory({found[2]}, found[1])]
    if found := re.fullmatch(rf"{_ACCESSES} all host memory", name):
        return [_memory(_domains(run), found[1])]
    if found := re.fullmatch(rf"{_ACCESSES} each NUMA domain's memory", name):
        return [_memory({domain}, found[1]) for domain in sorted(_domains(run))] or None
    if found := re.fullmatch(
        r"an uplink shared by ((?:gpu\d+(?:, (?=gpu)| and )?)+), (from|to|to and from) the host", name
    ):
        return [_to_host(set(re.findall(r"gpu\d+", found[1])), found[2])]
    return None


def _domains(run: RunData) -> set[str]:
    flows = [flow for record in run.records for flow in record["flows"]]
    ends = {flow[end].partition(":")[0] for flow in flows for end in ("source", "destination")}
    return {end for end in ends if end.startswith("cpu")}


def _crossing(run: RunData, arcs: set[tuple[str, str]]) -> Uses:
    """Flows of which every shortest way crosses one of these links in this direction."""

    def uses(source: str, destination: str) -> bool:
        ways = run.ways(source, destination) if source != destination else []
        return bool(ways) and all(arcs & set(_arcs(source, way)) for way in ways)

    return uses


def _arcs(node: str, way: tuple[dict[str, str], ...]) -> Iterator[tuple[str, str]]:
    for link in way:
        following = link["b"] if link["a"] == node else link["a"]
        yield node, following
        node = following


def _memory(domains: set[str], how: str) -> Uses:
    read, written = how.startswith("reads"), "writes" in how
    return lambda source, destination: (read and source in domains) or (written and destination in domains)


def _to_host(gpus: set[str], way: str) -> Uses:
    def uses(source: str, destination: str) -> bool:
        comes = source.startswith("cpu") and destination in gpus and way != "to"
        goes = destination.startswith("cpu") and source in gpus and way != "from"
        return comes or goes

    return uses
