"""False sentences that each could be true alone, and are not beside the other results of the run."""

from __future__ import annotations

import json
from typing import Any

from statements.records import Case, RunData
from statements.ways import PLAIN

Data = dict[str, Any]


def _operand(case: Case, value: float | None = None) -> dict[str, Any]:
    value = case.value if value is None else value
    record = case.record
    return {
        "name": record["interface"],
        "value": value,
        "low": value,
        "high": value,
        "least": value,
        "most": value,
        "case_ids": [case.case_id],
        "paths": [record["path"]],
        "settings": [],
        "doubts": [],
    }


def _appended(data: Data, title: str, detail: str, results: list[dict[str, Any]]) -> bool:
    finding = {"title": title, "detail": detail, "importance": 0.0, "claims": [], "results": results}
    data["findings"].append(finding)
    return True


def _plain(run: RunData) -> list[Case]:
    told = (case for case in run.cases.values() if case.ranked and case.case_id not in run.void)
    return [
        case
        for case in told
        if case.record["interface"] in PLAIN
        and case.record["pattern"] == "unidirectional"
        and not any(
            "managed" in case.record[end] or "@" in case.record[end] for end in ("source", "destination")
        )
    ]


def sentence_two_figures(run: RunData, data: Data) -> bool:
    """The same words again, with the figure of another case."""
    for finding in data["findings"]:
        others = [case for case in _plain(run) if case.case_id not in json.dumps(finding.get("results"))]
        if finding.get("results") and others:
            title = f"{finding['title'].partition(':')[0]}: 7 GB/s"
            _appended(data, title, "", [_operand(others[0])])
            return _appended(
                data, title.replace("7 GB/s", "9 GB/s"), "", [_operand(others[0]) | {"case_ids": []}]
            )
    return False


def sentence_slower_way(run: RunData, data: Data) -> bool:
    """The slower of two ways is what a path reaches, and the faster one is not named."""
    for slow in _plain(run):
        for fast in _plain(run):
            alike = all(slow.trait(what) == fast.trait(what) for what in ("path", "size", "cache"))
            if (
                alike
                and fast.value > 1.5 * slow.value
                and fast.record["interface"] != slow.record["interface"]
            ):
                title = (
                    f"Between GPUs, {slow.record['interface']} reaches {slow.value / 1e9:.3g} GB/s at 1 GiB"
                )
                return _appended(data, title, "", [_operand(slow)])
    return False


def sentence_median_of_unlike(run: RunData, data: Data) -> bool:
    """The median of paths of which none has it."""
    cases = sorted(_plain(run), key=lambda case: case.value)
    if len(cases) < 2 or cases[-1].value < 1.1 * cases[0].value:
        return False
    both = _operand(cases[0]) | {"case_ids": [cases[0].case_id, cases[-1].case_id]}
    return _appended(data, "Some paths", "Median of 2 paths, interval 1–2 GB/s.", [both])


def sentence_outlier_among_outliers(run: RunData, data: Data) -> bool:
    """An outlier beside pairs of which one is as slow."""
    for case in _plain(run):
        title = f"{case.record['path']} is an outlier: others get more"
        return _appended(data, title, "", [_operand(case), _operand(case)])
    return False


def sentence_more_slow_pairs(run: RunData, data: Data) -> bool:
    """A slow link with more slow pairs than there are."""
    ordered = sorted(_plain(run), key=lambda case: case.value)
    if len(ordered) < 2 or ordered[0].value >= ordered[-1].value:
        return False
    title = "gpu9-nvswitch is slow: copy reaches less on 3 of 4 pairs of NVLink4 ×18, more on the others"
    return _appended(data, title, "", [_operand(ordered[0]), _operand(ordered[-1])])


def sentence_as_predicted(run: RunData, data: Data) -> bool:
    """Half of a prediction that is no significant difference."""
    for finding in data["findings"]:
        for claim in finding.get("claims") or []:
            changed = json.loads(json.dumps(claim)) | {"effect": 0.5, "low": 0.2, "high": 1.2}
            _appended(data, "All 4 concurrent cases perform as predicted", "", [])
            data["findings"][-1]["claims"] = [changed | {"kind": "contention"}]
            return True
    return False


def sentence_tie_by_path(run: RunData, data: Data) -> bool:
    """Two ways of which each leads on some paths are called equal."""
    for finding in data["findings"]:
        for claim in finding.get("claims") or []:
            names = [claim[side]["name"].partition(",")[0] for side in ("first", "second")]
            if claim["kind"] == "best" and names[0] != names[1]:
                title = f"Between GPUs, no significant difference between {names[0]} and {names[1]} at 1 GiB"
                _appended(data, title, "", [])
                data["findings"][-1]["claims"] = [claim | {"verdict": "mixed"}]
                return True
    return False
