"""False sentences, each planted into what a run says."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from statements.records import RunData

Data = dict[str, Any]

RATE = r"(\d+(?:\.\d+)?) GB/s"


def _quoting(data: Data, pattern: str) -> dict[str, Any]:
    """The first finding with results that says this; empty where none does."""
    quoting = (one for one in data["findings"] if one.get("results") and re.search(pattern, one["title"]))
    return next(quoting, {})


def _reworded(finding: dict[str, Any], pattern: str, new: Callable[[re.Match[str]], str]) -> bool:
    if finding:
        finding["title"] = re.sub(pattern, new, finding["title"], count=1)
    return bool(finding)


def sentence_rate(run: RunData, data: Data) -> bool:
    return _reworded(_quoting(data, RATE), RATE, lambda found: f"{float(found[1]) * 1.17 + 3:.4g} GB/s")


def sentence_runner_up(run: RunData, data: Data) -> bool:
    pattern = r"reaches (\d+(?:\.\d+)?)\b"
    return _reworded(
        _quoting(data, pattern), pattern, lambda found: f"reaches {float(found[1]) * 1.3 + 2:.4g}"
    )


def sentence_digits(run: RunData, data: Data) -> bool:
    """More digits than the interval has."""
    for finding in data["findings"]:
        for result in finding.get("results") or []:
            wide = result["high"] - result["low"] > 1e-3 * result["value"]
            if wide and result["value"] > 1e9 and re.search(RATE, finding["title"]):
                exact = f"{result['value'] / 1e9:.6f} GB/s"
                return _reworded(finding, RATE, lambda _, exact=exact: exact)
    return False


def sentence_percentage(run: RunData, data: Data) -> bool:
    pattern = r"(\d+(?:\.\d+)?) %"
    return _reworded(_quoting(data, pattern), pattern, lambda found: f"{float(found[1]) + 17.3:.3g} %")


def sentence_ratio(run: RunData, data: Data) -> bool:
    pattern = r"(\d+(?:\.\d+)?) times"
    for finding in data["findings"]:
        if finding.get("claims") and re.search(pattern, finding["title"]):
            return _reworded(finding, pattern, lambda found: f"{float(found[1]) * 1.7:.3g} times")
    return False


def sentence_size(run: RunData, data: Data) -> bool:
    return _reworded(
        _quoting(data, r"at \d+ [KMG]iB"), r"at (\d+) ([KMG]iB)", lambda found: f"at 3 {found[2]}"
    )


def sentence_time(run: RunData, data: Data) -> bool:
    pattern = r"(\d+(?:\.\d+)?) (ns|µs)\b"
    return _reworded(
        _quoting(data, pattern), pattern, lambda found: f"{float(found[1]) * 1.4:.3g} {found[2]}"
    )


def sentence_fastest(run: RunData, data: Data) -> bool:
    """A tie that is called fastest."""
    for finding in data["findings"]:
        tied = all(claim["verdict"] == "tie" for claim in finding.get("claims") or [])
        if tied and finding.get("results") and "no significant difference" in finding["title"]:
            finding["title"] = finding["title"].replace("no significant difference between", "fastest are")
            return True
    return False


def sentence_second_best(run: RunData, data: Data) -> bool:
    """What leads is left out, and what it leads is called fastest."""
    for finding in data["findings"]:
        claims = finding.get("claims") or []
        if " is fastest" in finding["title"] and len(claims) > 1 and claims[0]["verdict"] == "leads":
            lost = claims[0]
            finding["results"] = [lost["second"]]
            finding["claims"] = [one for one in claims[1:] if one["first"]["name"] != lost["first"]["name"]]
            return True
    return False


def sentence_tie(run: RunData, data: Data) -> bool:
    """A lead that is called a tie."""
    for finding in data["findings"]:
        claims = finding.get("claims") or []
        if (
            claims
            and all(claim["verdict"] == "leads" for claim in claims)
            and "is fastest" in finding["title"]
        ):
            finding["title"] = finding["title"].replace("is fastest", "has no significant difference")
            return True
    return False


def sentence_all_pairs(run: RunData, data: Data) -> bool:
    finding = _quoting(data, RATE)
    return _reworded(finding, r"$", lambda _: ", on all 97 pairs")


def sentence_some_paths(run: RunData, data: Data) -> bool:
    return _reworded(_quoting(data, RATE), r"$", lambda _: " on 41 of 42 paths")


def sentence_no_overlap(run: RunData, data: Data) -> bool:
    for finding in data["findings"]:
        for claim in finding.get("claims") or []:
            first, second = claim["first"], claim["second"]
            if first["low"] <= second["high"] and second["low"] <= first["high"]:
                finding["title"] += "; no intervals overlap"
                return True
    return False


def sentence_without_setting(run: RunData, data: Data) -> bool:
    for finding in data["findings"]:
        for result in (finding.get("results") or [])[:1]:
            settings = [one for case in result["case_ids"] for one in run.cases[case].settings.items()]
            for name, value in settings:
                for field in ("title", "detail"):
                    finding[field] = finding[field].replace(f"{name}={value}", "")
            if settings:
                return True
    return False


def sentence_without_doubt(run: RunData, data: Data) -> bool:
    for finding in data["findings"]:
        results = finding.get("results") or []
        noisy = (
            all("noisy" in run.cases[one].warnings for one in results[0]["case_ids"]) if results else False
        )
        if noisy and "noisy" in finding["title"]:
            finding["title"] = finding["title"].replace("noisy", "")
            return True
    return False


def sentence_bottleneck(run: RunData, data: Data) -> bool:
    """A link that is said to carry less than a record moves over it."""
    moved = {case.record["path"] for case in run.cases.values() if case.trait("counts") == "per-direction"}
    ends = ((one["a"], one["b"]) for one in run.links)
    crossed = [(a, b) for a, b in ends if {f"{a}>{b}", f"{b}>{a}"} & moved]
    if not crossed:
        return False
    name = f"the link {crossed[0][0]}–{crossed[0][1]}, both directions together"
    title = f"Shared bottleneck: {name} (0.01 GB/s in total); copy reaches 0.01; single-flow rates predict 1"
    data["findings"].append({"title": title, "detail": "", "importance": 0.0, "claims": [], "results": []})
    return True


def sentence_non_result(run: RunData, data: Data) -> bool:
    importance = max((finding["importance"] for finding in data["findings"]), default=1.0)
    title = "No energy result for 2 cases"
    data["findings"].insert(
        0, {"title": title, "detail": "", "importance": importance, "claims": [], "results": []}
    )
    return True


def sentence_assumed(run: RunData, data: Data) -> bool:
    for finding in data["findings"]:
        if "assumed" in (finding.get("rests_on") or ()) and "assumed" in finding["detail"]:
            finding["detail"] = finding["detail"].replace("assumed", "measured")
            finding["title"] = finding["title"].replace("assumed", "measured")
            return True
    return False
