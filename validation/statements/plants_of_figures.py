"""False figures, tables and claims, each planted into what a run says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from statements.records import RunData

Data = dict[str, Any]


def _claims(data: Data, *verdicts: str) -> Iterator[dict[str, Any]]:
    for holder in (*data["findings"], *data["best"]):
        for claim in holder.get("claims") or []:
            if not verdicts or claim["verdict"] in verdicts:
                yield claim


def _other_case(run: RunData, case_id: str, differs: Callable[[str], bool]) -> str | None:
    """A case alike in interface and pattern, with figures, that differs in this."""
    like = run.cases[case_id].record
    for name, case in run.cases.items():
        alike = all(case.record[what] == like[what] for what in ("interface", "pattern"))
        if alike and case.values and differs(name):
            return name
    return None


def table_rate(run: RunData, data: Data) -> bool:
    for entry in data["best"][:1]:
        entry["bandwidth_bytes_per_s"] *= 1.5
    return bool(data["best"])


def table_interface(run: RunData, data: Data) -> bool:
    for entry in data["best"]:
        if entry["next"]:
            entry["interface"], entry["next"] = entry["next"], entry["interface"]
            return True
    return False


def table_size(run: RunData, data: Data) -> bool:
    for entry in data["best"][:1]:
        entry["size_bytes"] *= 8
    return bool(data["best"])


def table_tie(run: RunData, data: Data) -> bool:
    for entry in data["best"]:
        if entry["next"] and entry.get("claims"):
            entry["ties"] = [entry["next"]]
            return True
    return False


def table_setting(run: RunData, data: Data) -> bool:
    for entry in data["best"]:
        for claim in (entry.get("claims") or [])[:1]:
            if any(run.cases[one].settings for one in claim["first"]["case_ids"]):
                entry["how"] = entry["name"] = ""
                return True
    return False


def table_of_ranks(run: RunData, data: Data) -> bool:
    for topic in data["topics"]:
        for table in topic["tables"] if topic["anchor"] in ("messages", "collectives") else ():
            for row in table["rows"] if table["headings"][0] == "size" else ():
                if row[1]:
                    row[1] = f"9{row[1]}"
                    return True
    return False


def table_of_another_library(run: RunData, data: Data) -> bool:
    for topic in data["topics"]:
        for table in topic["tables"] if topic["anchor"] in ("messages", "collectives") else ():
            library, _, others = table["title"].partition(", ")
            table["title"] = f"{'MPI' if library != 'MPI' else 'NCCL'}, {others}"
            return table["headings"][0] == "size"
    return False


def result_time(run: RunData, data: Data) -> bool:
    for cell in data["cells"]:
        if cell.get("counts") == "bus":
            cell["operation_ns"] *= 1.5
            return True
    return False


def result_value(run: RunData, data: Data) -> bool:
    cell = data["cells"][0]
    cell["bandwidth_bytes_per_s" if "bandwidth_bytes_per_s" in cell else "latency_ns"] *= 1.01
    return True


def result_interval(run: RunData, data: Data) -> bool:
    for name in ("bandwidth_bytes_per_s_interval", "latency_ns_interval"):
        for cell in data["cells"]:
            if name in cell:
                cell[name] = [2 * cell[name][1], 3 * cell[name][1]]
                return True
    return False


def result_rounds(run: RunData, data: Data) -> bool:
    data["cells"][0]["rounds"] += 1
    return True


def result_samples(run: RunData, data: Data) -> bool:
    data["cells"][0]["samples"] += 10
    return True


def result_warning(run: RunData, data: Data) -> bool:
    for cell in data["cells"]:
        if cell["warnings"]:
            cell["warnings"] = []
            return True
    return False


def result_peak(run: RunData, data: Data) -> bool:
    for cell in data["cells"]:
        if cell.get("fraction_of_peak"):
            cell["fraction_of_peak"] = 1 / cell["fraction_of_peak"]
            return True
    return False


def result_directions(run: RunData, data: Data) -> bool:
    for cell in data["cells"]:
        if len(cell.get("directions") or {}) > 1 and _counts(run, cell) == "sum-of-directions":
            cell["directions"] = {path: 0.8 * rate for path, rate in cell["directions"].items()}
            return True
    return False


def _counts(run: RunData, cell: Mapping[str, Any]) -> object:
    return run.cases[cell["case_id"]].trait("counts")


def result_beyond_limit(run: RunData, data: Data) -> bool:
    """A case that passes its limit stands among the results."""
    for name in sorted(run.void):
        record = run.cases[name].measured[0]
        cell = {**data["cells"][0], **record, "case_id": name, "rounds": len(run.cases[name].values)}
        data["cells"].append({**cell, "warnings": sorted(run.cases[name].warnings)})
        return True
    return False


def claim_turned(run: RunData, data: Data) -> bool:
    for claim in _claims(data, "leads"):
        claim["verdict"] = "trails"
        return True
    return False


def claim_of_a_tie(run: RunData, data: Data) -> bool:
    for claim in _claims(data, "tie"):
        claim["verdict"], claim["agree"] = "leads", claim["pairs"]
        return True
    return False


def claim_told_twice(run: RunData, data: Data) -> bool:
    """A pair of results leads in one finding and ties in another."""
    for claim in _claims(data, "leads"):
        again = {**claim, "verdict": "tie", "agree": 0, "low": 0.9, "comparisons": 10 * claim["comparisons"]}
        data["findings"][-1].setdefault("claims", []).append(again)
        return True
    return False


def tie_of_a_claim(run: RunData, data: Data) -> bool:
    for claim in _claims(data, "leads"):
        if claim["effect"] > 2 and claim["pairs"]:
            claim["verdict"], claim["agree"], claim["low"] = "tie", 0, 0.5
            return True
    return False


def claim_of_more_pairs(run: RunData, data: Data) -> bool:
    for claim in _claims(data, "leads"):
        if claim["first"]["paths"] == claim["second"]["paths"]:
            claim["pairs"] += 3
            claim["agree"] += 3
            return True
    return False


def claim_all_agree(run: RunData, data: Data) -> bool:
    """`all` where one of them does not."""
    for claim in _claims(data, "leads", "trails", "tie", "mixed"):
        if claim["pairs"] > 1 and claim["agree"] < claim["pairs"]:
            claim["agree"], claim["against"], claim["verdict"] = claim["pairs"], 0, "leads"
            return True
    return False


def claim_effect(run: RunData, data: Data) -> bool:
    for claim in _claims(data, "leads"):
        claim["effect"] *= 1.3
        claim["high"] *= 2
        return True
    return False


def claim_interval(run: RunData, data: Data) -> bool:
    for claim in _claims(data, "leads"):
        claim["low"] = claim["high"] = 3 * claim["effect"]
        return True
    return False


def claim_value(run: RunData, data: Data) -> bool:
    for claim in _claims(data, "leads"):
        if claim["quantity"] in ("bandwidth", "latency"):
            claim["first"]["value"] *= 1.1
            claim["first"]["high"] *= 1.2
            return True
    return False


def claim_of_another_class(run: RunData, data: Data) -> bool:
    """Paths over other links among those compared."""
    for claim in _claims(data, "leads", "tie"):
        ids = claim["first"]["case_ids"]
        if len(ids) > 1 and len(ids) == len(claim["first"]["paths"]):
            own = run.classes(run.cases[ids[0]])
            other = _other_case(run, ids[0], lambda one, own=own: run.classes(run.cases[one]) != own)
            if other:
                claim["first"]["case_ids"] = [other, *ids[1:]]
                return True
    return False


def claim_of_another_size(run: RunData, data: Data) -> bool:
    for claim in _claims(data, "leads", "tie"):
        ids, size = claim["first"]["case_ids"], dict(claim["scope"]).get("size")
        if size and ids[0] in run.cases:
            own = run.cases[ids[0]].record["size_bytes"]
            other = _other_case(run, ids[0], lambda one, own=own: run.cases[one].record["size_bytes"] != own)
            if other:
                claim["first"]["case_ids"] = [other, *ids[1:]]
                return True
    return False


def claim_scope(run: RunData, data: Data) -> bool:
    for claim in _claims(data):
        if "size" in dict(claim["scope"]):
            claim["scope"] = {**dict(claim["scope"]), "size": "7"}
            return True
    return False


def claim_without_setting(run: RunData, data: Data) -> bool:
    for claim in _claims(data):
        if any(run.cases[one].settings for one in claim["first"]["case_ids"] if one in run.cases):
            claim["first"]["settings"] = []
            return True
    return False


def run_not_simulated(run: RunData, data: Data) -> bool:
    data["simulated"] = not data["simulated"]
    return True


def run_damage(run: RunData, data: Data) -> bool:
    data["damaged_lines"] += 2
    return True


def run_warnings(run: RunData, data: Data) -> bool:
    for group in data["warnings"]:
        group["count"] += 5
    return bool(data["warnings"])


def run_warning_kept_back(run: RunData, data: Data) -> bool:
    return bool(data["warnings"]) and data["warnings"].pop() is not None


def run_void(run: RunData, data: Data) -> bool:
    if not data.get("void"):
        return False
    data["void"] = []
    return True
