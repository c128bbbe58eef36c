"""Words an audit: a line for each number that is not as expected, and how many are."""

from __future__ import annotations

from collections import Counter

from byteways.answers.results.counting import count
from byteways.base.units import format_bandwidth, format_size, short_time
from byteways.ext.audit.judging.expected import LEAST_JUDGED_BYTES
from byteways.ext.audit.judging.verdict import (
    AUDIT_VERDICTS,
    CAUSES,
    FROM_PEAK,
    FROM_PUBLISHED,
    NOT_JUDGED,
    NOT_JUDGED_REASONS,
    Audit,
    AuditedValue,
    Cause,
    Expected,
    Oddity,
)
from byteways.questions.display.table import Table
from byteways.record.imported_values import DIFFERENCES

HEADINGS = ("verdict", "line", "test", "path", "size", "printed", "what it is", "expected")
#: Oddities in words; `{place}` is what has them.
_ODD = {
    "row": "the row of {place} is slow",
    "column": "the column of {place} is slow",
    "device": "all pairs of {place} are slow",
    "cell": "{place} is slow",
    "dip": "a dip at {place}",
    "asymmetric": "{place} is slower than the other direction",
}


def audit_summary(audit: Audit) -> str:
    """`1 impossible, 24 normal of 25 numbers, on h100-x8`."""
    counts = ", ".join(f"{number} {verdict}" for verdict, number in audit.counts.items() if number)
    return f"{counts or 'nothing'} of {count(len(audit.values), 'number')}, on {audit.machine}"


def audit_notes(audit: Audit) -> tuple[str, ...]:
    """Where data were wrong, what verdicts mean, why numbers are not judged, and what could not be read."""
    meant = [
        f"{verdict}: {AUDIT_VERDICTS[verdict]}"
        for verdict, number in audit.counts.items()
        if number and verdict != NOT_JUDGED
    ]
    found = Counter(one.reason for one in audit.values if one.verdict == NOT_JUDGED)
    reasons = [
        f"{count(number, 'number')} not judged: {reason_text(code)}" for code, number in found.most_common()
    ]
    wrong = [
        f"data wrong: {file}, line {one.line}: {program}: {one.what}" for file, program, one in audit.wrong
    ]
    places = ((f"{file}, line {one.line}" if one.line else file, one) for file, one in audit.mistakes)
    mistakes = [f"not read: {place}: {one.what}" + f" ({one.hint})" * bool(one.hint) for place, one in places]
    return (*wrong, *meant, *reasons, *mistakes)


def audit_table(audit: Audit, chosen: tuple[AuditedValue, ...], title: str) -> Table:
    """Returns the table of some numbers."""
    several = len({output.file for output in audit.outputs}) > 1
    rows = tuple(_row(one, audit.outputs[one.output].file if several else "") for one in chosen)
    return Table(title, HEADINGS, rows, (4, 5, 7))


def audit_sentences(audit: Audit, chosen: tuple[AuditedValue, ...], title: str) -> Table:
    """Returns the table of some numbers for a terminal: what was printed, and below it what it is."""
    several = len({output.file for output in audit.outputs}) > 1
    rows = []
    for one in chosen:
        verdict, place, test, path, size, text, said, _ = _row(
            one, audit.outputs[one.output].file if several else ""
        )
        where = place if several or one.value.line is None else f"line {place}"
        what = ", ".join(filter(None, (where, test, path, size)))
        rows.append((f"{verdict}: {what}: {text}", said))
    return Table(title, ("number", "what it is"), tuple(rows), sentences=True)


def _row(one: AuditedValue, file: str) -> tuple[str, ...]:
    value = one.value
    place = str(value.line) if value.line is not None else value.pointer or ""
    size = format_size(value.size_bytes) if value.size_bytes else ""
    return (
        one.verdict,
        f"{file}:{place}" if file else place,
        f"{value.test} {value.column}".strip(),
        path_of_value(one),
        size,
        f"{value.text} {value.unit.written or value.unit.name}",
        explanation(one),
        quantity(one, one.expected.value) if one.expected else "",
    )


def path_of_value(one: AuditedValue) -> str:
    """`gpu0>gpu1`; `4 ranks` of a collective."""
    operation = one.value.operation
    if operation.ranks and operation.pattern not in ("unidirectional", "bidirectional", "ping-pong", ""):
        return f"{operation.pattern}, {count(operation.ranks, 'rank')}"
    ends = [end.partition(":")[0] for end in (operation.source, operation.destination)]
    return ">".join(ends) if all(ends) else ""


def explanation(one: AuditedValue) -> str:
    """The sentence on a number: what it exceeds, what explains it, how it is odd, or why it is not judged."""
    parts = []
    if one.verdict == "impossible" and one.bound and one.counted is not None:
        parts.append(f"{quantity(one, one.counted)} on a path of at most {quantity(one, one.bound.value)}")
    elif one.expected and one.counted is not None:
        ratio = one.counted / one.expected.value
        parts.append(f"{quantity(one, one.counted)}, {100 * ratio:.0f} % of {_basis(one.expected)}")
    elif one.verdict == NOT_JUDGED:
        parts.append(reason_text(one.reason))
    if one.own and one.factor != 1 and not one.own.from_time:
        parts.append(f"counted as {one.own.counts} in byteways: times {one.factor:.3g}")
    if one.causes:
        parts.append("what fits: " + "; or ".join(cause_text(one, cause) for cause in one.causes))
    parts += [oddity_text(odd) for odd in one.oddities]
    return "; ".join(parts)


def cause_text(one: AuditedValue, cause: Cause) -> str:
    """`both ends on one GPU (then 1347 GB/s, nominal peak there 1675 GB/s)`."""
    kind = "device"
    if one.own:
        kind = "GPU" if any(flow.source.device.startswith("gpu") for flow in one.own.case.flows) else "CPU"
    said = CAUSES[cause.code].format(kind=kind, factor=1 / cause.factor)
    of = "nominal peak there" if cause.basis == FROM_PEAK else "expected"
    return f"{said} (then {quantity(one, cause.then)}, {of} {quantity(one, cause.expected)})"


def oddity_text(odd: Oddity) -> str:
    """`the row of gpu3 is slow: 41 % of the other 6`."""
    said = _ODD[odd.code].format(place=odd.place)
    beside = {"dip": "the slower neighbour", "asymmetric": "it"}.get(odd.code, f"the other {odd.others}")
    return f"{said}: {100 * odd.ratio:.0f} % of {beside}"


def reason_text(code: str) -> str:
    """Returns why a number is not judged."""
    return NOT_JUDGED_REASONS.get(code, DIFFERENCES.get(code, code)).format(
        least=format_size(LEAST_JUDGED_BYTES)
    )


def quantity(one: AuditedValue, value: float) -> str:
    """Returns a bandwidth or a time in the count of the number's case."""
    timed = one.own is not None and one.own.metric == "time"
    return short_time(value) if timed else format_bandwidth(value)


def _basis(expected: Expected) -> str:
    if expected.basis == FROM_PEAK:
        return f"the nominal peak of {format_bandwidth(expected.value)}"
    if expected.basis == FROM_PUBLISHED:
        return "what is published of such machines"
    return f"what is usual on {expected.machines}"
