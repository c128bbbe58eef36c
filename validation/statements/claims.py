"""Claims: every comparison with its scope, its pairs, how many of them agree, and its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from statistics import median
from typing import Any

from statements.outcome import Statements, check, near
from statements.records import Case, RunData, dominance, scatter

LEADS, TRAILS, TIE, MIXED, NOT_COMPARED = "leads", "trails", "tie", "mixed", "not-compared"
#: Least lead, and in which part of the pairs of rounds it must be seen.
LEAD, MOST_ROUNDS = 0.01, 0.7
#: A difference beyond this, and beyond so many times what rounds scatter, is no tie.
NO_TIE, SCATTERS = 0.1, 12.0
#: Traits that two results must have alike, unless the claim says that they differ in it.
ALIKE = ("size", "cache", "counts", "pattern")
#: Of figures in JSON and products of them.
ROUNDING = 1e-3
#: Name of a side that follows from a prediction.
PREDICTED = "predicted"
#: Of a change over a series both sides are parts of the same rounds; of contention one side is predicted.
DERIVED = ("moved", "contention", "predicted")


def check_claim(run: RunData, claim: Mapping[str, Any], where: str, kind: str = "claim") -> Statements:
    """All that a claim says."""
    name = f"{where} [{claim['first']['name']} : {claim['second']['name']}]"
    sides = [_cases(run, claim[side]) for side in ("first", "second")]
    yield from _consistent(claim, name, kind)
    for side, cases in zip(("first", "second"), sides, strict=True):
        yield from check_operand(run, claim[side], cases, claim["quantity"], f"{name} {side}", claim["kind"])
    if not all(sides):
        yield check(kind, f"{name}: cases", False, "a case of it is not among the records")
        return
    yield from _like_with_like(claim, sides, name)
    yield from _assumed(claim, sides, name)
    yield from _pairs(claim, sides, name, kind)


def _cases(run: RunData, operand: Mapping[str, Any]) -> list[Case]:
    found = [run.cases.get(one) for one in operand["case_ids"]]
    return [case for case in found if case is not None and case.values] if all(found) else []


def _consistent(claim: Mapping[str, Any], name: str, kind: str) -> Statements:
    """The verdict is that of its own numbers."""
    pairs, agree, against = claim["pairs"], claim["agree"], claim["against"]
    verdict = TIE
    if not pairs:
        verdict = NOT_COMPARED
    elif agree and against:
        verdict = MIXED
    elif 2 * agree > pairs:
        verdict = LEADS
    elif 2 * against > pairs:
        verdict = TRAILS
    yield check(
        kind, f"{name}: {claim['verdict']}", claim["verdict"] == verdict, f"its numbers say {verdict}"
    )
    yield check(kind, f"{name}: count", agree + against <= pairs, f"{agree} and {against} of {pairs}")
    low, effect, high = claim["low"], claim["effect"], claim["high"]
    if pairs:
        yield check(
            kind,
            f"{name}: interval",
            low <= effect <= high,
            f"{effect:.4g} is not in {low:.4g} to {high:.4g}",
        )
    if claim["verdict"] in (LEADS, TRAILS) and pairs in (agree, against):
        clear = low > 1 if claim["verdict"] == LEADS else high < 1
        yield check("ties", f"{name}: beyond its interval", clear, f"{low:.4g} to {high:.4g}")
    if claim["verdict"] in (LEADS, TRAILS):
        lead = effect if claim["verdict"] == LEADS else 1 / effect if effect else 0.0
        yield check("ties", f"{name}: a lead", lead >= 1 + LEAD - 1e-9, f"{100 * (lead - 1):.2g} % is none")


def check_operand(
    run: RunData,
    operand: Mapping[str, Any],
    cases: Sequence[Case],
    quantity: str,
    name: str,
    kind: str = "",
) -> Statements:
    """The figure of one side, and that it is one of like cases."""
    if not cases:
        return
    void = [case.case_id for case in cases if case.case_id in run.void]
    yield check("limit", name, not void, f"{void} pass the physical limit")
    values = [median(rounds) for case in cases if (rounds := case.of(quantity))]
    holds: bool | None = bool(values) and any(
        near(operand["value"], one, 1e-3) for one in (median(values), sum(values))
    )
    if not holds and (kind in DERIVED or quantity not in ("bandwidth", "latency", "energy")):
        holds = None
    yield check(
        "operand",
        f"{name}: {operand['value']:.6g}",
        holds,
        f"rounds give {median(values) if values else None}",
    )
    low, high = operand["low"], operand["high"]
    yield check(
        "operand", f"{name}: interval", low <= operand["value"] <= high, f"not in {low:.6g} to {high:.6g}"
    )
    sizes = {case.trait("size") for case in cases}
    yield check("sizes", name, len(sizes) == 1, f"of {sorted(map(str, sizes))}")
    if len(operand["paths"]) > 1 and len(cases) == len(operand["paths"]):
        classes = {run.classes(case) for case in cases}
        yield check(
            "link classes",
            name,
            len(classes) == 1,
            f"{len(classes)} classes: {sorted(map(str, classes))[:2]}",
        )
    needed = {f"{key}={value}" for case in cases for key, value in case.settings.items()}
    said = " ".join(f"{key} {value}" for key, value in dict(operand["settings"]).items())
    yield check("settings", name, all(one in said for one in needed), f"{sorted(needed)} not named")
    noisy = {case.case_id for case in cases if "noisy" in case.warnings}
    if len(noisy) == len(cases):
        yield check("doubts", name, "noisy" in operand["doubts"], "all its figures are noisy")


def _like_with_like(claim: Mapping[str, Any], sides: Sequence[Sequence[Case]], name: str) -> Statements:
    scope, differs = dict(claim["scope"]), set(claim["differs"])
    for what in ALIKE:
        found = {str(case.trait(what)) for side in sides for case in side}
        holds = len(found) == 1 or what in differs
        yield check("like with like", f"{name}: {what}", holds, f"{sorted(found)} are compared")
        if what in scope:
            yield check(
                "scope", f"{name}: {what} {scope[what]}", found == {scope[what]}, f"they have {sorted(found)}"
            )


def _assumed(claim: Mapping[str, Any], sides: Sequence[Sequence[Case]], name: str) -> Statements:
    rests = {
        one
        for side in sides
        for case in side
        for record in case.measured
        for one in record.get("rests_on") or ()
    }
    if rests:
        yield check("rests on", name, rests <= set(claim["rests_on"]), f"{sorted(rests)}")


def _pairs(claim: Mapping[str, Any], sides: Sequence[Sequence[Case]], name: str, kind: str) -> Statements:
    """Effect and agreement, over the paths that both sides have."""
    if claim["verdict"] == NOT_COMPARED:
        return
    few = [case.case_id for side in sides for case in side if not case.ranked]
    yield check("rounds", name, not few, f"{len(few)} cases have fewer than three rounds")
    pairs = matched(claim, sides)
    if pairs is None:
        yield from _bounded(claim, sides, name, kind)
        return
    yield check(
        kind, f"{name}: {claim['pairs']} pairs", claim["pairs"] == len(pairs), f"there are {len(pairs)}"
    )
    ratios = [median(a) / median(b) for a, b in pairs]
    effect = median(ratios)
    yield check(
        kind,
        f"{name}: effect {claim['effect']:.4g}",
        near(claim["effect"], effect, 1e-3),
        f"it is {effect:.4g}",
    )
    ahead = _leading(pairs)
    behind = _leading([(b, a) for a, b in pairs])
    yield check(
        "agreement", f"{name}: {claim['agree']} lead", claim["agree"] <= ahead, f"rounds show {ahead}"
    )
    yield check(
        "agreement", f"{name}: {claim['against']} trail", claim["against"] <= behind, f"rounds show {behind}"
    )
    if claim["verdict"] == TIE:
        apart = [_apart(a, b) for a, b in pairs]
        yield check("ties", f"{name}: tie", not all(apart), "every pair lies apart in all rounds")


def _bounded(claim: Mapping[str, Any], sides: Sequence[Sequence[Case]], name: str, kind: str) -> Statements:
    """Where pairs cannot be told: the effect lies between the extremes of both sides, and no prediction is
    more than what the flows behind it move alone.
    """
    first, second = claim["first"], claim["second"]
    low, high = (
        first[one] / second[other] if second[other] else 0.0
        for one, other in (("least", "most"), ("most", "least"))
    )
    holds = low * (1 - ROUNDING) <= claim["effect"] <= high * (1 + ROUNDING)
    yield check(
        kind, f"{name}: effect {claim['effect']:.4g}", holds, f"its sides allow {low:.4g} to {high:.4g}"
    )
    if second["name"] == PREDICTED:
        alone = sum(case.value for case in sides[1])
        yield check(
            kind, f"{name}: predicted", second["value"] <= alone * (1 + ROUNDING), f"{alone:.5g} alone"
        )


def matched(
    claim: Mapping[str, Any], sides: Sequence[Sequence[Case]]
) -> list[tuple[Sequence[float], Sequence[float]]] | None:
    """Rounds of both sides, path by path, latencies by who walks; None where it cannot be told what belongs
    together.
    """
    quantity = claim["quantity"]
    if claim["kind"] in DERIVED or quantity not in ("bandwidth", "latency", "energy"):
        return None
    if len(sides[0]) == len(sides[1]) == 1:
        pairs = [(sides[0][0], sides[1][0])]
    else:
        key = "executor" if claim["kind"] == "latency" else "path"
        paths = [{case.record[key]: case for case in side} for side in sides]
        if any(len(one) != len(side) for one, side in zip(paths, sides, strict=True)):
            return None
        common = [path for path in paths[0] if path in paths[1]]
        if not common:
            return None
        pairs = [(paths[0][path], paths[1][path]) for path in common]
    told = [(one.of(quantity), other.of(quantity)) for one, other in pairs]
    return [(a, b) for a, b in told if a and b] or None


def _leads(first: Sequence[float], second: Sequence[float]) -> bool:
    return median(first) >= (1 + LEAD - 1e-9) * median(second) and dominance(first, second) > MOST_ROUNDS


def _leading(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> int:
    """Returns the paths that lead: if most do in most rounds, one whose median does goes along with them."""
    clear = sum(_leads(a, b) for a, b in pairs)
    if 2 * clear <= len(pairs):
        return clear
    return sum(median(a) >= (1 + LEAD - 1e-9) * median(b) for a, b in pairs)


def _apart(first: Sequence[float], second: Sequence[float]) -> bool:
    """Whether two results are as different as no tie can be."""
    gap = abs(log(median(first) / median(second)))
    return gap > NO_TIE + SCATTERS * (scatter(first) + scatter(second)) and min(len(first), len(second)) >= 3
