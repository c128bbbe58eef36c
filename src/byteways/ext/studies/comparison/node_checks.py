"""Checks that need no value of a run: numbers of the node, and what a runtime refuses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from byteways.base.units import format_size, parse_size
from byteways.ext.studies.comparison.check_result import CheckResult
from byteways.ext.studies.comparison.references import UntestableError, outcomes
from byteways.ext.studies.comparison.value_lookup import Sheet
from byteways.ext.studies.published.reference import number_of
from byteways.machine.facts import BYTES_UNIT, FACTS


def node(check: Mapping[str, Any], sheet: Sheet) -> CheckResult:
    """A number of this machine's topology is as required; without `within`, exactly. Nothing is measured."""
    fact = FACTS[check["fact"]]
    notes: tuple[str, ...] = ()
    if fact.between is None:
        assert fact.of is not None
        number, what = fact.of(sheet.run.topology), fact.says
    else:
        located = sheet.located[check["at"]]
        if located.devices is None:
            raise UntestableError(located.reason)
        first, other = located.devices[:2]
        number, what = fact.between(sheet.run.topology, first, other), f"{fact.says} from {first} to {other}"
        notes = (f"{check['at']} is {located.note}",) if located.note else ()
    if number is None:
        raise UntestableError(f"this machine does not report one number: {what}")
    as_number = parse_size if fact.unit == BYTES_UNIT else number_of
    bounds = {name: as_number(str(check[name])) for name in ("about", "at_least", "at_most") if name in check}
    within = float(check.get("within", 0.0))
    least = bounds["about"] * (1 - within) if "about" in bounds else bounds.get("at_least", -math.inf)
    most = bounds["about"] * (1 + within) if "about" in bounds else bounds.get("at_most", math.inf)
    said = " and ".join(f"{name.replace('_', ' ')} {check[name]}".removeprefix("about ") for name in bounds)
    text = format_size(int(number)) if fact.unit == BYTES_UNIT else f"{number:.6g} {fact.unit}".rstrip()
    detail = f"{text} ({what}); expected {said}{f' ± {100 * within:g} %' if within else ''}"
    return CheckResult(least <= number <= most, detail, (), True, notes)


def refused(check: Mapping[str, Any], sheet: Sheet) -> CheckResult:
    """Every case of `of` was refused, by the plan or by the runtime, for a reason that contains `reason`."""
    references = check["of"] if isinstance(check["of"], list) else [check["of"]]
    cases = [outcome for reference in references for outcome in outcomes(reference, sheet)]
    other = [(name, why) for name, why in cases if check["reason"].lower() not in why.lower()]
    name, why = (other or cases)[0]
    detail = f"{why or 'it ran'} ({name}); expected: {check['reason']}"
    return CheckResult(not other, detail, (), True)
