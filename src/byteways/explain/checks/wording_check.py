"""Words the verdicts of a check, rendered from its claims like wording.py."""

from __future__ import annotations

from collections import Counter

from byteways.errors import BytewaysError
from byteways.explain.checks.verdict import MISSING, UNKNOWN, CheckedCases, Judged
from byteways.explain.results.counting import count
from byteways.explain.results.summary import WHY_NOT_RANKED
from byteways.units import short_time

#: Headings of the table of verdicts.
HEADINGS = ("verdict", "case", "change in speed", "interval", "expected", "found", "rests on")


def summary(check: CheckedCases) -> str:
    """`LOW: of 94 cases 35 LOW, 54 PASS, 5 UNKNOWN; against A`."""
    told = ", ".join(f"{number} {verdict}" for verdict, number in check.counts.items() if number)
    return f"{check.verdict}: of {count(len(check.cases), 'case')} {told or 'none'}; against {check.against}"


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
    notes = "".join(f"<br>{escape(note)}" for note in (*check.notes, *reasons(check)))
    rows = [HEADINGS, *map(row, check.failing)]
    cells = ("".join(f"<td>{escape(cell)}</td>" for cell in one) for one in rows)
    table = "<table>" + "".join(f"<tr>{one}</tr>" for one in cells) + "</table>"
    said = escape(whole_summary(check))
    return f"{marks}<p>{escape(check.run)}: {said}{notes}</p>{table if len(rows) > 1 else ''}"


def reasons(check: CheckedCases) -> list[str]:
    """`5 cases UNKNOWN: fewer than 3 rounds`, the most frequent reason first."""
    found = Counter(one.reason for one in check.cases if one.verdict == UNKNOWN)
    return [f"{count(number, 'case')} {UNKNOWN}: {reason}" for reason, number in found.most_common()]


def row(one: Judged) -> tuple[str, ...]:
    """The cells below HEADINGS."""
    change = "" if one.speed is None else f"{_change(one.speed)} %"
    interval = ""
    if one.interval is not None:
        interval = f"{_change(one.interval[0])} to {_change(one.interval[1])} %"
    expected, found = (quantity(one, value) for value in (one.expected, one.value))
    basis = one.reason if one.verdict in (MISSING, UNKNOWN) else one.basis
    return (one.verdict, one.case, change, interval, expected, found, basis)


def sentence(one: Judged) -> str:
    """`copy, write, gpu0>gpu1, 1 GiB: 197 GB/s, expected 395 GB/s (A), -50.1 %`; or why it is missing."""
    if one.speed is None:
        return f"{one.case}: {one.reason}"
    expected, found = (quantity(one, value) for value in (one.expected, one.value))
    return f"{one.case}: {found}, expected {expected} ({one.basis}), {_change(one.speed)} %"


def drain_reason(check: CheckedCases) -> str:
    """`byteways check LOW: 35 of 94 cases fail, gpu0-nvswitch in 35 of them`, for a node's state."""
    found = check.suspect
    told = f"{len(check.failing)} of {count(len(check.cases), 'case')} fail"
    common = f", {found.name} in {found.slower} of them" if found else ""
    return f"byteways check {check.verdict}: {told}{common}"


def quantity(one: Judged, value: float | None) -> str:
    """`395 GB/s`, `1.04 µs`; '' without a value."""
    if value is None:
        return ""
    if one.figure == "bandwidth":
        return f"{value / 1e9:.4g} GB/s"
    return short_time(value)


def _change(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f}"


def nothing_judged(check: CheckedCases) -> BytewaysError:
    """Returns the error for a run of which no case can be judged, with the most frequent reason."""
    most = reasons(check)
    what = f"no case of {check.run} can be judged against {check.against}"
    if most and most[0].endswith(WHY_NOT_RANKED):
        hint = "measure each case three times: byteways run --rounds 3"
        return BytewaysError(what, cause=most[0], hint=hint)
    return BytewaysError(
        what,
        cause=most[0] if most else "it has no case",
        hint="learn what is normal here: byteways check --learn RUN… --out FILE",
    )
