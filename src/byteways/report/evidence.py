"""Where on the page the results behind a finding are: the link that each of the first findings carries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from byteways.answers.claims.claim import Operand
from byteways.answers.claims.finding import Finding
from byteways.answers.claims.importance import Priority
from byteways.answers.results.summary import Result
from byteways.questions.display.topic import Topic
from byteways.report.explore import question

#: How a link names the part of the page.
PAGE_PART_NAMES = {
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
    """A finding with the place that shows its results, and the paths that it is about.

    `anchor` is the id of a section, or the selection of Any path that shows the first of the results.
    """

    title: str
    detail: str
    anchor: str
    words: str
    paths: tuple[str, ...]


@dataclass(frozen=True)
class PageLink:
    """What a link leads to, and what it says."""

    anchor: str
    words: str


def places(
    parts: Mapping[str, Topic], cells: Iterable[Result], wanted: Collection[str]
) -> dict[str, PageLink]:
    """Returns where the page shows each of the wanted cases, by case id."""
    asked = ((cell.record, question(cell)) for cell in cells if cell.record.case_id in wanted)
    shown = {record.case_id: PageLink(anchor, record.path) for record, anchor in asked if anchor}
    for anchor in ("first-touch", "latency"):
        shown.update(_of_part(anchor, parts))
    return _of_part("patterns", parts) | shown  # the map has both directions at once, too


def _of_part(anchor: str, parts: Mapping[str, Topic]) -> dict[str, PageLink]:
    link = PageLink(anchor, PAGE_PART_NAMES[anchor])
    tables = parts[anchor].tables if anchor in parts else ()
    return {cell.record.case_id: link for table in tables for cell in table.members()}


def evidence(findings: Iterable[Finding], shown: Mapping[str, PageLink]) -> list[Evidence]:
    """Returns findings with the place of their results.

    Args:
        findings: Those of the first screen.
        shown: The place of each case (`places`).
    """
    return [_evidence(finding, shown) for finding in findings]


def cases_of(finding: Finding) -> list[str]:
    """Returns the ids of the cases behind a finding, those of its results first."""
    return [case for operand in _operands(finding) for case in operand.case_ids]


def _operands(finding: Finding) -> list[Operand]:
    return [*finding.results, *(side for claim in finding.claims for side in (claim.first, claim.second))]


def _evidence(finding: Finding, shown: Mapping[str, PageLink]) -> Evidence:
    operands, ids = _operands(finding), cases_of(finding)
    other = "data" if ids else "warnings" if finding.priority == Priority.WARNINGS else "findings"
    place = next((shown[case] for case in ids if case in shown), PageLink(other, PAGE_PART_NAMES[other]))
    paths = tuple(dict.fromkeys(path for operand in operands[:2] for path in operand.paths))
    return Evidence(finding.title, finding.detail, place.anchor, place.words, paths)
