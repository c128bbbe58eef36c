"""Sentences: every number and every word of comparison in a finding, against its claims and the records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any

from statements.blocks import check_blocks
from statements.bottlenecks import check_bottleneck
from statements.claims import LEADS, TIE, TRAILS, check_claim, check_operand
from statements.outcome import Statement, Statements, check
from statements.quoted import Number, Quoted, numbers
from statements.records import RunData
from statements.ways import check_fastest

_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_TIMES = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}
#: What a rate without a unit follows, in a sentence that names GB/s once.
_RATE_BEFORE = re.compile(r"(?:reaches|moves|gets?|vs|leads with)\s$")
#: Rates that follow from others and are no result of their own.
_DERIVED_BEFORE = re.compile(r"(?:predicts?\s|Shared bottleneck: [^()]*\()$")
#: What disturbs a walk moves in the same window, which is no result of its own.
_LOAD_BEFORE = re.compile(r"\bns \([^()]*\) under .* at $")
#: Bounds of the analysis itself.
_BOUND_BEFORE = re.compile(r"\b([Ww]ithin|[Aa]t least) $")
#: Words of UNSETTLED (byteways' names of what makes a figure unsure), by warning.
_DOUBTS = {"noisy": "noisy", "serialised": "serialised", "drift": "drifting"}
#: Digits of a figure that any interval may have.
LEAST_DIGITS = 2


def sentence_statements(run: RunData, data: Mapping[str, Any]) -> Statements:
    """All that the findings say."""
    for place, finding in enumerate(data["findings"]):
        title, quoted = finding["title"], Quoted.of(run, finding)
        name = f"“{title}”"
        if not place:
            yield check("order", name, not title.startswith("No "), "what leads is no result")
        for claim in quoted.claims:
            yield from check_claim(run, claim, name)
        for result in finding.get("results") or []:
            cases = [run.cases[one] for one in result["case_ids"] if one in run.cases]
            energy = " J" in title and bool(quoted.claims) and quoted.claims[0]["quantity"] == "energy"
            yield from check_operand(run, result, cases, "energy" if energy else "other", name)
        for number in numbers(title):
            yield from _number(quoted, number, name)
        detail = finding["detail"]
        for source in {case.measured[0].get("peak_source") or "" for case in quoted.cases if case.measured}:
            detail = detail.replace(source, "") if source else detail
        for number in numbers(detail):
            if not _BOUND_BEFORE.search(number.before):
                yield from _number(quoted.with_all(), number, f"{name}, “{detail}”")
        yield from _words(quoted, finding, name)
        yield from _whole_run(run, data, title, name)
        yield from check_bottleneck(run, title, name)
        yield from check_blocks(run, finding, name)


def _number(quoted: Quoted, number: Number, name: str) -> Iterator[Statement]:
    said = f"{name}: {number.text} {number.unit}".rstrip()
    known = bool(quoted.operands)
    if number.unit == "GB/s" and _LOAD_BEFORE.search(number.before):
        yield check(
            "numbers", said, number.is_one_of(quoted.loads(), 1e9), "no load of a window moves so much"
        )
    elif number.unit == "GB/s" or (not number.unit and _RATE_BEFORE.search(number.before)):
        holds: bool | None = number.is_one_of(quoted.figures(), 1e9)
        derived = bool(_DERIVED_BEFORE.search(number.before))
        yield check(
            "numbers", said, holds if holds or (known and not derived) else None, "no result has this figure"
        )
        yield from _digits(quoted, number, said)
    elif number.unit in _UNITS:
        if not re.search(r"L\d: $", number.before):
            sizes = quoted.sizes()
            holds = number.is_one_of([size / _UNITS[number.unit] for size in sizes])
            yield check("sizes", said, holds if holds or known else None, f"it is of {sorted(sizes)}")
    elif number.unit == "%":
        holds = number.is_one_of(quoted.parts(number))
        yield check("percentages", said, holds if holds or known else None, "no claim says so")
    elif number.unit in ("times", "×"):
        effects = [claim["effect"] for claim in quoted.claims if claim["effect"] > 0]
        holds = number.is_one_of([*effects, *(1 / effect for effect in effects)])
        holds = holds or (
            "over " in number.before[-10:] and any(max(e, 1 / e) > number.value for e in effects)
        )
        if re.search(r"\([\d.]+ to $", number.before):  # the end of the interval of an open comparison
            holds = number.is_one_of([claim["high"] for claim in quoted.claims])
        yield check("ratios", said, holds if holds or quoted.claims else None, "no claim says so")
    elif number.unit in _TIMES:
        times = quoted.times()
        holds = number.is_one_of(times, _TIMES[number.unit])
        yield check("numbers", said, holds if holds or (known and times) else None, "no result has this time")
    elif number.unit == "J":
        joules = [one for case in quoted.cases for one in (case.of("energy"),) if one]
        holds = number.is_one_of([median(one) for one in joules])
        yield check("numbers", said, holds if holds or joules else None, "no result has this energy")


def _digits(quoted: Quoted, number: Number, said: str) -> Iterator[Statement]:
    """No digit below a tenth of the half-width of the interval of what it quotes, but for two."""
    halves = [
        max(one["high"] - one["value"], one["value"] - one["low"])
        for one in quoted.operands
        if number.is_one_of([one["value"]], 1e9)
    ]
    if halves and number.digits > LEAST_DIGITS:
        holds = number.place >= 0.99 * min(halves) / 1e10
        yield check("digits", said, holds, f"the interval is ±{min(halves) / 1e9:.3g}")


def _words(quoted: Quoted, finding: Mapping[str, Any], name: str) -> Iterator[Statement]:
    """Words of comparison need claims that carry them; settings and doubts are named."""
    title, detail, claims = finding["title"], finding["detail"], quoted.claims
    verdicts = [claim["verdict"] for claim in claims]
    told = bool(claims) or "claims" in finding
    if re.search(r"\b(fastest|[Ll]east energy|leads with|outlier|is slow)\b", title):
        led = LEADS in verdicts or TRAILS in verdicts
        yield check("fastest", name, led if told else None, "no claim leads")
    results = finding.get("results") or []
    if " is fastest" in title and results:
        best = [quoted.run.cases[one] for one in results[0]["case_ids"] if one in quoted.run.cases]
        yield from check_fastest(quoted.run, best, claims, name)
    if "leads with" in title and told:
        rivals = [claim for claim in claims if claim["kind"] == "best"]
        every = all(claim["verdict"] == LEADS and claim["agree"] == claim["pairs"] for claim in rivals)
        yield check("fastest", f"{name}: most", every, "not ahead of all on all paths")
    if "no significant difference" in title:
        yield check("ties", name, TIE in verdicts if told else None, "every claim leads")
    if re.search(r"no intervals overlap|intervals do not overlap", title + detail):
        yield check("intervals", name, _none_overlap(quoted) if claims else None, "some do")
    if re.search(r"\b(faster|slower|longer|less|more)\b(?! than \d)", title) and claims:
        differ = any(one in (LEADS, TRAILS) for one in verdicts)
        yield check("ties", f"{name}: a difference", differ, "every claim is a tie")
    yield from _counts(quoted, title, name, told)
    if results:
        first = [quoted.run.cases[one] for one in results[0]["case_ids"] if one in quoted.run.cases]
        needed = {f"{key}={value}" for case in first for key, value in case.settings.items()}
        yield check(
            "settings", name, all(one in title + detail for one in needed), f"{sorted(needed)} not named"
        )
        for warning, word in _DOUBTS.items():
            if first and all(warning in case.warnings for case in first):
                yield check("doubts", f"{name}: {word}", word in title, f"all its figures are {word}")
    rests = {one for case in quoted.cases for record in case.measured for one in record.get("rests_on") or ()}
    if "assumed" in rests:
        yield check("rests on", name, "assumed" in title + detail, "it rests on assumed numbers")


def _none_overlap(quoted: Quoted) -> bool:
    """Neither the intervals of the two sides nor the rounds behind them."""
    for claim in quoted.claims:
        first, second = claim["first"], claim["second"]
        if first["low"] <= second["high"] and second["low"] <= first["high"]:
            return False
        sides = [
            [value for one in claim[side]["case_ids"] for value in quoted.run.cases[one].values]
            for side in ("first", "second")
        ]
        if max(map(min, sides)) <= min(map(max, sides)):
            return False
    return True


def _counts(quoted: Quoted, title: str, name: str, told: bool) -> Iterator[Statement]:
    """`all 12 pairs`, `on 11 of 12 paths`."""
    for found in re.finditer(r"\b[Oo]n (\d+) of (\d+) paths", title):
        agree, pairs = int(found[1]), int(found[2])
        holds = any(
            one["pairs"] == pairs and agree in (one["agree"], one["against"]) for one in quoted.claims
        )
        yield check("all and some", f"{name}: {found[0]}", holds if told else None, "no claim counts so")
    for found in re.finditer(r"\b[Aa]ll (\d+) (\w+)", title):
        number = int(found[1])
        sizes = {len(quoted.claims), *(len(one["paths"]) for one in quoted.operands)}
        sizes |= {len(one["case_ids"]) for one in quoted.operands}
        unanimous = [one for one in quoted.claims if one["pairs"] == number]
        holds = number in sizes or any(one["pairs"] in (one["agree"], one["against"]) for one in unanimous)
        if found[2] in ("multiprocessors", "SMs", "CUs"):
            continue  # of a launch, which no claim is about
        yield check("all and some", f"{name}: {found[0]}", holds if told else None, "no claim is on so many")


def _whole_run(run: RunData, data: Mapping[str, Any], title: str, name: str) -> Iterator[Statement]:
    """Sentences that count records."""
    if found := re.match(r"(\d+) results? beyond the physical limit", title):
        yield check(
            "limit", name, int(found[1]) == len(data.get("void") or ()), f"there are {len(data['void'])}"
        )
    if found := re.match(r"(\d+) lines? of measurements.jsonl", title):
        yield check("run", name, int(found[1]) == run.damaged, f"there are {run.damaged}")
    if found := re.search(r"clocks were throttled in (\d+) measurements?", title):
        held = [
            one
            for one in run.records
            if {"throttled", "clock-drop"} & {w["id"] for w in one.get("warnings", ())}
        ]
        yield check("run", name, int(found[1]) == len(held), f"there are {len(held)}")
    if found := re.match(r"Concurrent ([\w-]+) flows were serialised", title):
        told = [case for case in run.cases.values() if "serialised" in case.warnings]
        holds = any(case.record["interface"] == found[1] for case in told)
        yield check("run", name, holds, "no record has the warning")
    if found := re.match(r"(\d+) of (\d+) (?:figures?|results?) ", title):
        cells = len(data["cells"])
        yield check("run", name, int(found[2]) == cells and int(found[1]) <= cells, f"there are {cells}")
