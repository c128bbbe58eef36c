"""Findings: sentences with their numbers and explanations, the most important first.

Every sentence is rendered from claims and results that are computed from records (compare.py, wording.py).
"""

from __future__ import annotations

from dataclasses import replace

from byteways.analyse.finding import Finding
from byteways.analyse.results_index import Index
from byteways.analyse.subjects import FINDINGS
from byteways.analyse.summary import Run
from byteways.results.simulated import worded

__all__ = ["Finding", "findings"]


def findings(run: Run) -> list[Finding]:
    """Returns the findings of a run, most important first; empty if nothing was measured, skipped or lost.

    Args:
        run: A run, or its existing index.
    """
    index = Index.of(run)
    found = [finding for rule in FINDINGS for finding in rule(index)]
    if index.simulated:
        found = [_of_a_model(finding) for finding in found]
    return sorted(found, key=lambda finding: -finding.importance)


def _of_a_model(finding: Finding) -> Finding:
    """Returns the finding as worded for a simulated run, even if quoted alone."""
    title, detail = worded(finding.title, True), worded(finding.detail, True)
    return replace(finding, title=f"Simulated: {title}", detail=detail)
