"""Findings: plain sentences with their numbers and the reason, the most important first.

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
    """What this run says, the most important first; empty when nothing was measured, skipped or lost.

    Args:
        run: A run, or its index where there is one already.
    """
    index = Index.of(run)
    found = [finding for rule in FINDINGS for finding in rule(index)]
    if index.simulated:
        found = [_of_a_model(finding) for finding in found]
    return sorted(found, key=lambda finding: -finding.importance)


def _of_a_model(finding: Finding) -> Finding:
    """The finding as it must read of a simulated run, also where it stands alone."""
    title, detail = worded(finding.title, True), worded(finding.detail, True)
    return replace(finding, title=f"Simulated: {title}", detail=detail)
