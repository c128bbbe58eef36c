"""Pairs of results: two results have one verdict, wherever a run compares them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from statements.claims import LEADS, NOT_COMPARED, TRAILS
from statements.outcome import Statements, check

_TURNED = {LEADS: TRAILS, TRAILS: LEADS}


def pair_statements(data: Mapping[str, Any]) -> Statements:
    """That no two claims on the same pair of results have different verdicts."""
    told: dict[object, dict[str, str]] = {}
    for where, claim in _claims(data):
        if claim["verdict"] != NOT_COMPARED:
            pair, verdict = _pair(claim)
            told.setdefault(pair, {}).setdefault(verdict, where)
    for verdicts in told.values():
        (verdict, where), *others = verdicts.items()
        why = "; ".join(f"“{place}” says {other}" for other, place in others)
        yield check("pairs", f"“{where}” says {verdict}", not others, why)


def _claims(data: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for entry in data["best"]:
        yield from ((f"best way {entry['between']}", claim) for claim in entry.get("claims") or [])
    for finding in data["findings"]:
        yield from ((finding["title"], claim) for claim in finding.get("claims") or [])


def _pair(claim: Mapping[str, Any]) -> tuple[object, str]:
    """Returns what identifies the pair in either order, and the verdict on the side that sorts first."""
    sides = [(tuple(sorted(claim[side]["case_ids"])), claim[side]["value"]) for side in ("first", "second")]
    verdict = claim["verdict"]
    if sides[1] < sides[0]:
        sides, verdict = sides[::-1], _TURNED.get(verdict, verdict)
    return (claim["quantity"], *sides), verdict
