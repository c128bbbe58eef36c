"""The findings as one page: none passes over what another result of the run says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import log
from typing import Any

from statements.outcome import Statement, Statements, check
from statements.records import Case, RunData, scatter
from statements.ways import PLAIN, one_at_a_time

#: Figures with their unit; sizes, counts and classes of links tell what a sentence is about, as names do.
_FIGURE = re.compile(
    r"(?<!routed, )(?<![\w.×=])\d+(?:\.\d+)?(?:\s(?:GB/s|%|[nµm]?s|times|×)(?!\w)|(?= to \d))"
)
#: Data warnings at the end of a sentence, which are no part of what it is about.
_WARNINGS = re.compile(r" \([a-z][^()]*\)$")
#: How sentences on the best way begin.
_BEST = re.compile(r"(?:Simulated: )?(?:Between GPUs|From host to GPU|From GPU to host|Inside a GPU|In host)")
#: Medians over paths that differ by more than this stand for none of them.
SPREAD = 1.035
#: Another way is faster beyond this, and beyond so many times what the rounds of both scatter.
LEAD, SCATTERS = 0.05, 3.0
#: A case performs as predicted from this part of its prediction on.
AS_PREDICTED = 0.965


def page_statements(run: RunData, data: Mapping[str, Any]) -> Statements:
    """What the findings say beside each other, and of what they leave out."""
    yield from _one_figure(data["findings"])
    for finding in data["findings"]:
        results = finding.get("results") or []
        best = [run.cases[one] for one in results[0]["case_ids"] if one in run.cases] if results else []
        name = f"“{finding['title']}”"
        yield from _faster_way(run, finding, best, name)
        yield from _median(finding, best, name)
        yield from _outlier(finding, best, name)
        yield from _as_predicted(finding, name)
        yield from _equal(finding, name)


def _one_figure(findings: Sequence[Mapping[str, Any]]) -> Iterator[Statement]:
    """Two sentences of equal words do not have unequal figures of unequal cases."""
    told: dict[str, Mapping[str, Any]] = {}
    for finding in findings:
        if not finding.get("results"):
            continue
        words = _FIGURE.sub("#", _WARNINGS.sub("", finding["title"]))
        other = told.setdefault(words, finding)
        same = other["results"][0]["case_ids"] == finding["results"][0]["case_ids"]
        holds = other is finding or same or other["title"] == finding["title"]
        yield check("one figure", f"“{finding['title']}”", holds, f"“{other['title']}”")


def _faster_way(
    run: RunData, finding: Mapping[str, Any], best: Sequence[Case], name: str
) -> Iterator[Statement]:
    """A sentence on the best way names what is faster on any of its paths."""
    if not best or not _BEST.match(finding["title"]) or not _plain(run, best[0]):
        return
    if not re.search(r" is fastest| reaches .* at \d|no significant difference between", finding["title"]):
        return
    said = f"{finding['title']} {finding['detail']}"
    unnamed = []
    for case in best:
        ways = [other for other in run.cases.values() if _plain(run, other) and _same_job(case, other)]
        first = max(ways, key=lambda other: other.value)
        beyond = LEAD + SCATTERS * (scatter(case.values) + scatter(first.values))
        interface = str(first.record["interface"])
        if log(first.value / case.value) > beyond and not _names(said, interface):
            unnamed.append(f"{interface} {first.record['path']}")
    yield check("faster ways", name, not unnamed, f"{unnamed[:3]} not named")


def _names(said: str, interface: str) -> bool:
    return bool(re.search(rf"(?<![\w-]){re.escape(interface)}(?![\w-])", said))


def _plain(run: RunData, case: Case) -> bool:
    """Whether it moves bytes once from one memory to another that stay there, and may be ranked."""
    record = case.record
    ends = [flow[end] for flow in record["flows"] for end in ("source", "destination")]
    moves = any("managed" in end or "@" in end or ":ipc" in end for end in ends)
    return (
        case.ranked
        and record["interface"] in PLAIN
        and record["pattern"] == "unidirectional"
        and "pace" not in record["options"]
        and one_at_a_time(case)
        and not moves
        and case.case_id not in run.void
    )


def _same_job(one: Case, other: Case) -> bool:
    return all(one.trait(what) == other.trait(what) for what in ("path", "size", "cache"))


def _median(finding: Mapping[str, Any], best: Sequence[Case], name: str) -> Iterator[Statement]:
    """`Median of 12 paths` stands for paths that are alike."""
    if best and re.search(r"Median of \d+ paths, interval", finding["detail"]):
        values = [case.value for case in best]
        holds = max(values) <= SPREAD * min(values)
        yield check("medians", name, holds, f"from {min(values) / 1e9:.3g} to {max(values) / 1e9:.3g} GB/s")


def _outlier(finding: Mapping[str, Any], best: Sequence[Case], name: str) -> Iterator[Statement]:
    """What slower pairs are compared with does not contain their own figure; as many are slow as it says."""
    slow = re.search(r" is slow: .* on (\d+) of \d+ pairs? of ", finding["title"])
    if (not slow and " is an outlier" not in finding["title"]) or len(finding.get("results") or []) < 2:
        return
    least = finding["results"][1]["least"]
    yield check(
        "outliers", name, all(case.value < least for case in best), f"others get {least / 1e9:.3g} GB/s, too"
    )
    if slow:
        paths = {case.record["path"] for case in best}
        yield check("outliers", f"{name}: pairs", len(paths) == int(slow[1]), f"{len(paths)} are slow")


def _as_predicted(finding: Mapping[str, Any], name: str) -> Iterator[Statement]:
    if "perform as predicted" in finding["title"] and finding.get("claims"):
        least = min(claim["effect"] for claim in finding["claims"])
        yield check("predictions", name, least >= AS_PREDICTED, f"one reaches {100 * least:.0f} %")


def _equal(finding: Mapping[str, Any], name: str) -> Iterator[Statement]:
    """What has no significant difference neither leads, nor differs by path, nor was not compared."""
    found = re.search(r"o significant difference between ([\w ,-]+?)(?: at \d|[.:;]|$)", finding["title"])
    if not found or not finding.get("claims"):
        return
    names = re.split(r", | and ", found[1])
    for claim in finding["claims"]:
        sides = {claim[side]["name"].partition(",")[0] for side in ("first", "second")}
        if len(sides) == 2 and sides <= set(names) and claim["kind"] == "best":
            alone = sum(sides == _sides(one) for one in finding["claims"]) == 1
            if alone:
                yield check("ties", f"{name}: {sorted(sides)}", claim["verdict"] == "tie", claim["verdict"])


def _sides(claim: Mapping[str, Any]) -> set[str]:
    return {claim[side]["name"].partition(",")[0] for side in ("first", "second")}
