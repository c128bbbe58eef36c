"""Where on the page the results behind a finding are: the link that each of the first findings carries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from byteways.analyse.finding import Finding
from byteways.analyse.tables import Tables

#: How a link names the part of the page.
NAMES = {
    "matrices": "GPU to GPU tables",
    "host": "Host memory tables",
    "patterns": "Patterns",
    "first-touch": "First touch",
    "latency": "Latency",
    "warnings": "Warnings",
    "not-measured": "What is missing",
    "findings": "All findings",
    "data": "All records",
}


@dataclass(frozen=True)
class Evidence:
    """A finding with the section that shows its results, and the paths that it is about."""

    title: str
    detail: str
    anchor: str
    words: str
    paths: tuple[str, ...]


def places(tables: Tables) -> dict[str, str]:
    """Returns the section of each case that a table shows, by case id."""
    shown: dict[str, str] = {}
    grids = [
        ("matrices", [*tables.matrices, *([tables.inside] if tables.inside else [])]),
        ("host", tables.host),
        ("first-touch", tables.first_touch),
        ("latency", tables.latency),
    ]
    for anchor, some in grids:
        for grid in some:
            shown.update((cell.record.case_id, anchor) for cell in grid.members())
    shown.update((row.cell.record.case_id, "patterns") for row in tables.patterns)
    return shown


def evidence(findings: Iterable[Finding], shown: Mapping[str, str]) -> list[Evidence]:
    """Returns findings with the place of their results.

    Args:
        findings: Those of the first screen.
        shown: The section of each case (`places`).
    """
    return [_evidence(finding, shown) for finding in findings]


def _evidence(finding: Finding, shown: Mapping[str, str]) -> Evidence:
    operands = [*finding.results, *(side for claim in finding.claims for side in (claim.first, claim.second))]
    ids = [case for one in operands for case in one.case_ids]
    anchor = next((shown[case] for case in ids if case in shown), "data" if ids else _of_text(finding))
    paths = tuple(dict.fromkeys(path for one in operands[:2] for path in one.paths))
    return Evidence(finding.title, finding.detail, anchor, NAMES[anchor], paths)


def _of_text(finding: Finding) -> str:
    """Returns the section of a finding without results: on warnings, or on what is missing."""
    return "warnings" if "warning" in finding.title else "findings"
