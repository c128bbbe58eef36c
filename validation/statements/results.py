"""Figures of results, the first table, and what a run says of itself as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from statements.claims import check_claim
from statements.outcome import Statements, check, near
from statements.ranks import bus_statements
from statements.records import ROUNDING, Case, RunData
from statements.ways import check_fastest

#: Medians of each direction over samples do not add up to the median of the sum exactly, 3 % apart where
#: samples scatter. Farther off they are of other rounds.
SUM_ROUNDING = 0.05
#: A size stands for another when it is at most so many times larger or smaller.
NEAR_SIZE = 2
#: From this size on bandwidth dominates, so that each kind of pair may have its own large size.
LARGE = 16 * 2**20


def run_statements(run: RunData, data: Mapping[str, Any]) -> Statements:
    """What is said of the run as a whole: counts, warnings, whether it was simulated."""
    yield check("run", "simulated", bool(data["simulated"]) == run.simulated, "the records say otherwise")
    yield check("run", "damaged lines", data["damaged_lines"] == run.damaged, f"there are {run.damaged}")
    told = set(data.get("void") or ())
    yield check(
        "limit", "void cases", run.void <= told or "void" not in data, f"{len(run.void - told)} are not told"
    )
    stored = [(warning["id"], one["case_id"]) for one in run.records for warning in one.get("warnings", ())]
    for group in data["warnings"]:
        cases = {case for name, case in stored if name == group["id"]}
        found = None if group["id"] == "beyond-limit" and run.version < 2 else group["count"] == len(cases)
        yield check("run", f"{group['count']} cases with {group['id']}", found, f"there are {len(cases)}")
    for name in sorted({name for name, _ in stored} - {group["id"] for group in data["warnings"]}):
        yield check("run", f"warning {name}", False, "it is in the records and not told")
    missing = {one["case_id"] for one in run.records if one["status"] != "measured"}
    said = sum(group["count"] for group in data["not_measured"])
    yield check("run", f"{said} cases not measured", said >= len(missing), f"there are {len(missing)}")
    importance = [finding["importance"] for finding in data["findings"]]
    yield check(
        "run", "order of findings", importance == sorted(importance, reverse=True), "not by importance"
    )


def cell_statements(run: RunData, data: Mapping[str, Any]) -> Statements:
    """Every figure of every result."""
    for cell in data["cells"]:
        name = f"{cell['interface']} {cell['path']} {cell['size_bytes']}"
        case = run.cases.get(cell["case_id"])
        if case is None or not case.values:
            yield check("result", name, False, "no record has this case")
            continue
        yield from _figures(run, case, cell, name)
        yield check("limit", name, cell["case_id"] not in run.void, "a round passes the physical limit")


def _figures(run: RunData, case: Case, cell: Mapping[str, Any], name: str) -> Statements:
    field = "bandwidth_bytes_per_s" if "bandwidth_bytes_per_s" in cell else "latency_ns"
    value, (low, high) = cell[field], cell[f"{field}_interval"]
    yield check(
        "result", f"{name}: value", near(value, case.value), f"{value:.6g}, rounds give {case.value:.6g}"
    )
    yield check(
        "result", f"{name}: interval", low <= value <= high, f"{value:.6g} is not in {low:.6g} to {high:.6g}"
    )
    # The figure of several flows need not be the size over their time, whose median may be of another round.
    if cell.get("operation_ns") is not None and case.measured[0].get("counts") in ("bus", "per-direction"):
        taken = median(one["time_ns"]["median"] for one in case.measured)
        yield check("result", f"{name}: time", near(cell["operation_ns"], taken), f"rounds give {taken}")
    if "counts" in cell:
        counts = case.measured[0].get("counts")
        yield check("result", f"{name}: counts", cell["counts"] == counts, f"the records have {counts}")
    yield check(
        "result", f"{name}: rounds", cell["rounds"] == len(case.values), f"there are {len(case.values)}"
    )
    if "ranked" in cell:
        yield check("result", f"{name}: ranked", cell["ranked"] == case.ranked, f"{len(case.values)} rounds")
    samples = sum(one["time_ns"]["n"] for one in case.measured if one.get("time_ns"))
    yield check("result", f"{name}: samples", cell["samples"] == samples, f"there are {samples}")
    verified = all(one.get("verified") for one in case.measured)
    yield check(
        "result", f"{name}: verified", bool(cell["verified"]) == verified, "the records say otherwise"
    )
    kept = case.warnings <= set(cell["warnings"])
    yield check(
        "result", f"{name}: warnings", kept, f"{sorted(case.warnings - set(cell['warnings']))} not told"
    )
    if cell.get("fraction_of_peak") is not None:
        share = value / case.peak if case.peak else None
        yield check(
            "result", f"{name}: part of peak", near(cell["fraction_of_peak"], share), f"it is {share}"
        )
    if cell.get("directions") and case.measured[0].get("counts") == "sum-of-directions":
        total = sum(cell["directions"].values())
        yield check(
            "result", f"{name}: directions", near(total, value, SUM_ROUNDING), f"they add up to {total:.6g}"
        )


def record_statements(run: RunData) -> Statements:
    """That each record's statistics are those of its samples, and its bandwidth that of its time."""
    for case in run.cases.values():
        for record in case.measured:
            name = f"{record['interface']} {record['path']} {record['size_bytes']}, round {record['round']}"
            times, samples = record.get("time_ns"), run.samples.get((case.case_id, record["round"]))
            if not times or not samples:
                yield check("records", name, None)
                continue
            same = near(times["median"], median(samples)) and times["n"] == len(samples)
            yield check(
                "records", f"{name}: median", same, f"of {len(samples)} samples: {median(samples):.7g}"
            )
            if record.get("counts") == "per-direction" and len(record["flows"]) == 1:
                rate = record["size_bytes"] / times["median"] * 1e9
                holds = near(record["bandwidth_bytes_per_s"], rate)
                yield check("records", f"{name}: bandwidth", holds, f"size over time is {rate:.7g}")
            yield from bus_statements(record, name)


def table_statements(run: RunData, data: Mapping[str, Any]) -> Statements:
    """The first table: the best interface between each kind of pair."""
    for entry in data["best"]:
        name = f"{entry['between']}, {entry['size_bytes']}: {entry['interface']}"
        wanted, size = entry["wanted_size_bytes"], entry["size_bytes"]
        fits = max(wanted, size) <= NEAR_SIZE * min(wanted, size) or min(wanted, size) >= LARGE
        yield check("first table", f"{name}: size", fits, f"{size} stands for {wanted}")
        claims = entry.get("claims") or []
        for claim in claims:
            yield from check_claim(run, claim, name, kind="first table")
        if not claims:
            yield check("first table", f"{name}: figure", _found(run, entry), "no result has this figure")
            continue
        best = [run.cases[one] for one in claims[0]["first"]["case_ids"] if one in run.cases]
        yield from _entry(run, entry, best, name)
        few = [case.case_id for case in best if not case.ranked]
        yield check("rounds", name, not few, f"{len(few)} cases have fewer than three rounds")
        yield from check_fastest(run, best, claims, name)


def _found(run: RunData, entry: Mapping[str, Any]) -> bool:
    """Whether this is the median of equal cases over some paths of one link class."""
    groups: dict[object, list[float]] = {}
    for case in run.cases.values():
        record = case.record
        if (
            case.values
            and record["interface"] == entry["interface"]
            and record["size_bytes"] == entry["size_bytes"]
        ):
            memory = tuple(record[end].partition(":")[2] for end in ("source", "destination"))
            key = (
                run.classes(case),
                record["access"],
                record["pattern"],
                memory,
                str(record["options"]),
                str(record["environment"]),
            )
            groups.setdefault((*key, record["cache"]), []).append(case.value)
    values = [value for some in groups.values() for value in (*some, median(some))]
    return any(near(entry["bandwidth_bytes_per_s"], value) for value in values)


def _interface(side: Mapping[str, Any]) -> str:
    """The interface of one side of a claim."""
    return str(dict(side["settings"])["interface"])


def _entry(run: RunData, entry: Mapping[str, Any], best: Sequence[Case], name: str) -> Statements:
    value, (low, high) = entry["bandwidth_bytes_per_s"], entry["bandwidth_bytes_per_s_interval"]
    own = {case.record["interface"] for case in best}
    yield check(
        "first table", f"{name}: interface", own == {entry["interface"]}, f"the figure is of {sorted(own)}"
    )
    sizes = {case.record["size_bytes"] for case in best}
    yield check(
        "first table", f"{name}: sizes", sizes == {entry["size_bytes"]}, f"measured at {sorted(sizes)}"
    )
    middle = median(case.value for case in best) if best else None
    yield check("first table", f"{name}: figure", near(value, middle), f"rounds give {middle}")
    yield check("first table", f"{name}: interval", low <= value <= high, "the figure is not in it")
    limits = [case.limit for case in best if case.limit]
    within = not limits or value <= max(limits) * (1 + ROUNDING)
    yield check(
        "limit", name, within and not any(one.case_id in run.void for one in best), "beyond the limit"
    )
    needed = {f"{key}={value}" for case in best for key, value in case.settings.items()}
    said = f"{entry['how']} {entry.get('name', '')}"
    yield check("settings", name, all(one in said for one in needed), f"{sorted(needed)} not named")
    rivals = {_interface(claim["second"]): claim for claim in entry["claims"]}
    if (other := entry.get("next")) in rivals:
        second = rivals[other]["second"]["value"]
        holds = (
            near(entry["next_bandwidth_bytes_per_s"], second, 1.0)
            and value >= entry["next_bandwidth_bytes_per_s"]
        )
        yield check("first table", f"{name}: next", holds, f"{other} reaches {second:.6g}")
    for tie in entry["ties"]:
        told = [claim for claim in entry["claims"] if _interface(claim["second"]) == tie]
        yield check(
            "ties", f"{name}: tie with {tie}", any(one["verdict"] != "leads" for one in told), "it is slower"
        )
