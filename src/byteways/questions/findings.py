"""Findings: sentences with their numbers and explanations, the most important first.

Every sentence is rendered from claims and results that are computed from records (compare.py, wording.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from byteways.answers.claims.claim import Operand
from byteways.answers.claims.finding import Finding
from byteways.answers.results.counting import listed
from byteways.answers.results.index import Index
from byteways.answers.results.summary import RecordedRun, group_by
from byteways.answers.results.variants import issued_by
from byteways.questions.subjects import FINDINGS

__all__ = ["Finding", "findings"]


def findings(run: RecordedRun) -> list[Finding]:
    """Returns the findings of a run, most important first; empty if nothing was measured, skipped or lost.

    Args:
        run: A run, or its existing index.
    """
    index = Index.of(run)
    marked = [replace(finding, simulated=index.simulated) for rule in FINDINGS for finding in rule(index)]
    return sorted(disambiguate_titles(marked), key=lambda finding: -finding.importance)


def disambiguate_titles(all_findings: Sequence[Finding]) -> list[Finding]:
    """Returns the findings; those that would give one thing two figures say in what they differ.

    One thing is what a title names except its figures (`Finding.about`).
    """
    differ = {}
    several = group_by(
        (finding for finding in all_findings if finding.about and finding.results),
        lambda finding: (finding.priority, finding.about),
    )
    for members in several.values():
        traits = [_traits(member.results[0]) for member in members]
        names = [name for name in traits[0] if len({each[name] for each in traits}) > 1]
        for finding, each in zip(members, traits, strict=True):
            differ[id(finding)] = ", ".join(each[name] for name in names if each[name])
    return [
        replace(finding, traits=what) if (what := differ.get(id(finding))) else finding
        for finding in all_findings
    ]


def _traits(result: Operand) -> dict[str, str]:
    """Returns what a result is of, as a sentence can add it; 'default settings' without options."""
    known = dict(result.settings)
    memory = " > ".join(dict.fromkeys(known.get(end, "") for end in ("source", "destination")))
    settings = " ".join(known[part] for part in ("options", "environment") if part in known)
    return {
        "memory": memory,
        "access": issued_by(known.get("access", "")),
        "cache": f"{known.get('cache', '')} caches",
        "settings": settings or "default settings",
        "paths": listed(list(result.paths[:_PATHS])) + (" and others" if len(result.paths) > _PATHS else ""),
    }


#: Paths that tell findings apart, at most.
_PATHS = 4
