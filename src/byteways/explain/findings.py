"""Findings: sentences with their numbers and explanations, the most important first.

Every sentence is rendered from claims and results that are computed from records (compare.py, wording.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from byteways.explain.claims.claim import Operand
from byteways.explain.claims.finding import Finding
from byteways.explain.claims.phrases import ACCESS
from byteways.explain.results.counting import listed
from byteways.explain.results.index import Index
from byteways.explain.results.summary import RecordedRun, group_by
from byteways.explain.subjects import FINDINGS
from byteways.record.simulation_mark import relabel_as_simulated

__all__ = ["Finding", "findings"]


def findings(run: RecordedRun) -> list[Finding]:
    """Returns the findings of a run, most important first; empty if nothing was measured, skipped or lost.

    Args:
        run: A run, or its existing index.
    """
    index = Index.of(run)
    found = disambiguate_titles([finding for rule in FINDINGS for finding in rule(index)])
    if index.simulated:
        found = [_of_a_model(finding) for finding in found]
    return sorted(found, key=lambda finding: -finding.importance)


def disambiguate_titles(found: Sequence[Finding]) -> list[Finding]:
    """Returns the findings; those that would give one thing two figures say in what they differ.

    Sentences of equal words and unequal figures are about different settings or paths.
    """
    told = {id(one): one for one in found}
    for same in group_by((one for one in found if one.results), lambda one: _words(one.title)).values():
        if len({one.title for one in same}) < 2:
            continue
        traits = [_traits(one.results[0]) for one in same]
        differ = [name for name in traits[0] if len({each[name] for each in traits}) > 1]
        for one, each in zip(same, traits, strict=True):
            apart = ", ".join(each[name] for name in differ if each[name])
            if apart and apart not in one.title:
                told[id(one)] = replace(one, title=f"{one.title} [{apart}]")
    return [told[id(one)] for one in found]


#: A figure with its unit. Sizes, counts and classes of links are no figures: they tell what a sentence is of.
_NUMBER = re.compile(
    r"(?<!routed, )(?<![\w.×=])\d+(?:\.\d+)?(?: (?:GB/s|%|[nµm]?s|times|×)(?!\w)|(?= to \d))"
)
#: Data warnings at the end of a sentence.
_WARNINGS = re.compile(r" \([a-z ,-]+(?:: \d+ of \d+ results)?[^()]*\)$")


def _words(title: str) -> str:
    return _NUMBER.sub("#", _WARNINGS.sub("", title))


def _traits(result: Operand) -> dict[str, str]:
    """Returns what a result is of, as a sentence can add it; 'default settings' without options."""
    known = dict(result.settings)
    memory = " > ".join(dict.fromkeys(known.get(end, "") for end in ("source", "destination")))
    settings = " ".join(known[part] for part in ("options", "environment") if part in known)
    return {
        "memory": memory,
        "access": ACCESS.get(known.get("access", ""), "").strip(),
        "cache": f"{known.get('cache', '')} caches",
        "settings": settings or "default settings",
        "paths": listed(list(result.paths[:_PATHS])) + (" and others" if len(result.paths) > _PATHS else ""),
    }


#: Paths that tell findings apart, at most.
_PATHS = 4


def _of_a_model(finding: Finding) -> Finding:
    """Returns the finding as worded for a simulated run, even if quoted alone."""
    title, detail = relabel_as_simulated(finding.title, True), relabel_as_simulated(finding.detail, True)
    return replace(finding, title=f"Simulated: {title}", detail=detail)
