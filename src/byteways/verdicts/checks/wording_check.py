"""Words the verdicts of a check, rendered from its claims like wording.py."""

from __future__ import annotations

from collections import Counter

from byteways.answers.results.counting import count
from byteways.answers.results.summary import WHY_NOT_RANKED
from byteways.base.errors import BytewaysError
from byteways.base.text import Sentence
from byteways.base.units import short_time
from byteways.verdicts.checks.verdict import NOT_DECIDED, UNKNOWN, CheckedCases, Judged
from byteways.verdicts.two_runs.wording_comparison import between, losses_found, percent

#: Headings of the table of verdicts.
HEADINGS = ("verdict", "case", "change in speed", "interval", "expected", "found", "rests on")


def summary(check: CheckedCases) -> str:
    """`FAIL: of 94 cases 35 FAIL, 54 PASS, 5 UNKNOWN; against A`, and what fails together."""
    told = ", ".join(f"{number} {verdict}" for verdict, number in check.counts.items() if number)
    return f"{check.verdict}: of {count(len(check.cases), 'case')} {told or 'none'}; against {check.against}"


def pooled(check: CheckedCases) -> list[str]:
    """`all: 94 cases together -10.1 % (-10.3 to -9.9 %)`: what decides on the run."""
    whole, *classes = check.together or (None,)
    if check.failing and not check.undecided:
        return []
    shown = [one for one in classes if one.failing]
    if whole and (whole.failing or check.undecided):
        shown = [whole] if whole.failing else [whole, *shown]
    return [
        f"{one.case} {percent(one.speed)} ({between(*one.interval)})"
        for one in shown
        if one.speed is not None and one.interval is not None
    ]


def undecided(check: CheckedCases) -> str:
    """`5 cases NOT DECIDED: alone they would have found a loss of 23 to 60 % or more`; '' for none."""
    if not check.undecided:
        return ""
    number = len(check.undecided)
    found = losses_found([one.least_change or 1.0 for one in check.undecided])
    alone = "alone it" if number == 1 else "each alone"
    return f"{count(number, 'case')} {NOT_DECIDED}: {alone} would have found {found}"


def suspicion(check: CheckedCases) -> str:
    """`35 of 35 failing cases involve gpu0-nvswitch, and 35 of the 36 cases with it fail`; '' for fewer than
    two, which have several parts in common.
    """
    found = check.suspect
    if found is None or (found.of == 1 and not found.missing):
        return ""
    missing = f"the link {found.name} is missing: " if found.missing else ""
    share = f"{found.slower} of {count(found.of, 'failing case')} involve {found.name}"
    with_it = count(found.compared, "case")
    it = "it" if len(found.names) == 1 else "one of them"
    return f"{missing}{share}, and {found.slower} of the {with_it} with {it} fail"


def whole_summary(check: CheckedCases) -> str:
    """The summary, and what most failing cases have in common."""
    return "; ".join(filter(None, (summary(check), suspicion(check))))


def page(check: CheckedCases) -> str:
    """Returns HTML for a notebook: what was simulated, the summary, and the cases that fail."""
    from html import escape

    marks = "".join(f"<p><strong>{escape(mark)}</strong></p>" for mark in check.marks)
    notes = "".join(f"<br>{escape(note)}" for note in details(check))
    rows = [HEADINGS, *map(row, check.failing)]
    cells = ("".join(f"<td>{escape(cell)}</td>" for cell in one) for one in rows)
    table = "<table>" + "".join(f"<tr>{one}</tr>" for one in cells) + "</table>"
    said = escape(whole_summary(check))
    return f"{marks}<p>{escape(check.run)}: {said}{notes}</p>{table if len(rows) > 1 else ''}"


def details(check: CheckedCases) -> list[str]:
    """The lines below the summary and the suspicion."""
    return [*pooled(check), *filter(None, (undecided(check),)), *check.notes, *reasons(check)]


def reasons(check: CheckedCases) -> list[str]:
    """`5 cases UNKNOWN: fewer than 3 rounds`, the most frequent reason first."""
    return [f"{count(number, 'case')} {UNKNOWN}: {reason}" for reason, number in _unknown(check)]


def _unknown(check: CheckedCases) -> list[tuple[Sentence, int]]:
    """Returns why cases are UNKNOWN, and how many are, the most frequent reason first."""
    return Counter(one.reason for one in check.cases if one.verdict == UNKNOWN).most_common()


def row(one: Judged) -> tuple[str, ...]:
    """The cells below HEADINGS."""
    change = "" if one.speed is None else percent(one.speed)
    interval = "" if one.interval is None else between(*one.interval)
    expected, found = (quantity(one, value) for value in (one.expected, one.value))
    basis = one.reason or one.basis
    if one.verdict == NOT_DECIDED:
        basis = f"{basis}; {would_have_found(one)}"
    return (one.verdict, one.case, change, interval, expected, found, basis)


def sentence(one: Judged) -> str:
    """`copy issued by the source, gpu0>gpu1, 1 GiB: 197 GB/s, expected 395 GB/s`; or why it is missing."""
    if one.speed is None:
        return f"{one.case}: {one.reason}"
    said = f"{one.case}: {percent(one.speed)} against {one.basis}"
    if one.value is not None:
        expected, found = (quantity(one, value) for value in (one.expected, one.value))
        said = f"{one.case}: {found}, expected {expected} ({one.basis}), {percent(one.speed)}"
    return f"{said}; {would_have_found(one)}" if one.verdict == NOT_DECIDED else said


def basis_with_others(one: Judged) -> str:
    """What a verdict rests on that a case has with others."""
    return f"{one.basis}, with cases that are slower together"


def would_have_found(one: Judged) -> str:
    """`would have found a loss of 12 % or more`."""
    return f"would have found {losses_found([one.least_change or 1.0])}"


def drain_reason(check: CheckedCases) -> str:
    """`byteways check FAIL: 35 of 94 cases fail, gpu0-nvswitch in 35 of them`, for a node's state."""
    found = check.suspect
    told = f"{len(check.failing)} of {count(len(check.cases), 'case')} fail"
    if not check.failing:
        told = "; ".join(pooled(check)) or undecided(check)
    common = f", {found.name} in {found.slower} of them" if found else ""
    return f"byteways check {check.verdict}: {told}{common}"


def quantity(one: Judged, value: float | None) -> str:
    """`395 GB/s`, `1.04 µs`; '' without a value."""
    if value is None:
        return ""
    if one.figure == "bandwidth":
        return f"{value / 1e9:.4g} GB/s"
    return short_time(value)


def nothing_judged(check: CheckedCases) -> BytewaysError:
    """Returns the error for a run of which no case can be judged, with the most frequent reason."""
    most, why = reasons(check), _unknown(check)
    what = f"no case of {check.run} can be judged against {check.against}"
    if why and why[0][0] == WHY_NOT_RANKED:
        hint = "measure each case three times: byteways run --rounds 3"
        return BytewaysError(what, cause=most[0], hint=hint)
    return BytewaysError(
        what,
        cause=most[0] if most else "it has no case",
        hint="learn what is normal here: byteways check --learn RUN… --out FILE",
    )
