"""Judges the numbers of other programs on a machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from byteways.ext.audit.imported.cases import CasesOfValue, OwnCase
from byteways.ext.audit.imported.reader import Found, UnreadPlace
from byteways.ext.audit.imported.value import DATA_WRONG, ForeignValue
from byteways.ext.audit.judging.bound import NoBound
from byteways.ext.audit.judging.causes import causes_of
from byteways.ext.audit.judging.expected import LEAST_JUDGED_BYTES, References, with_caches
from byteways.ext.audit.judging.odd import oddities
from byteways.ext.audit.judging.verdict import (
    COUNTED_OTHERWISE,
    HIGH_NUMBER,
    IMPOSSIBLE_NUMBER,
    LOW_NUMBER,
    NORMAL_NUMBER,
    NOT_JUDGED,
    ODD_NUMBER,
    WRONG_NUMBER,
    Audit,
    AuditedOutput,
    AuditedValue,
    Bound,
)
from byteways.machine.model import Topology
from byteways.plan.limits import CLOCK_TOLERANCE
from byteways.verdicts.checks.normal import Normal

#: Differences that leave open which case a number is of, but not what it measures: it has a bound, and what
#: exceeds that is impossible. Others make it another quantity.
_STILL_BOUNDED = frozenset(
    (
        *("devices-unknown", "memory-unknown", "method-unknown", "size-unknown", "one-of-two-directions"),
        "no-case",  # of a path that the output contains: another method than ours on it
    )
)

#: Differences of the statistic alone: the number is still beside what is expected.
_NEARLY_EQUAL = frozenset(("extreme", "first-iterations"))

#: Sizes of programs that print none, by format: the default of an option that users rarely set.
#: Published values are read in the same way (validation/references.csv).
ASSUMED_SIZES = {"p2p-bandwidth-latency-test": 160_000_000}


@dataclass(frozen=True)
class ReadFile:
    """What a file contains."""

    name: str
    outputs: tuple[Found, ...]
    mistakes: tuple[UnreadPlace, ...] = ()  # outside any output


def audited(
    files: Iterable[ReadFile],
    topology: Topology,
    normal: Normal,
    *,
    machine: str,
    marks: Sequence[str] = (),
) -> Audit:
    """Judges all numbers of some files.

    Args:
        files: What was read.
        topology: The machine that they are of.
        normal: What is normal.
        machine: What the machine is called.
        marks: Lines that say that it is nominal or simulated.
    """
    known = References(normal, with_caches(topology))
    outputs: list[AuditedOutput] = []
    values: list[tuple[int, ForeignValue]] = []
    mistakes: list[tuple[str, UnreadPlace]] = []
    wrong: list[tuple[str, str, UnreadPlace]] = []
    versions: list[str] = []
    for file in files:
        mistakes += ((file.name, one) for one in file.mistakes)
        for found in file.outputs:
            program = " ".join(filter(None, (found.format, found.hints.version)))
            size = ASSUMED_SIZES.get(found.format)
            values += ((len(outputs), _with_size(value, size)) for value in found.values)
            mistakes += ((file.name, one) for one in found.mistakes)
            wrong += ((file.name, found.format, one) for one in found.wrong)
            outputs.append(AuditedOutput(file.name, found.format, found.begins_at, program))
            versions.append(found.hints.libraries.get("nccl") or found.hints.libraries.get("rccl") or "")
    odd = oddities(values, topology)
    judgements = tuple(
        structs.replace(one, oddities=odd[place], verdict=_with_odd(one)) if place in odd else one
        for place, one in enumerate(_each(values, versions, known))
    )
    return Audit(
        machine, tuple(filter(None, marks)), tuple(outputs), judgements, tuple(mistakes), tuple(wrong)
    )


def _with_size(value: ForeignValue, size: int | None) -> ForeignValue:
    """Returns a bandwidth with the usual size of its program where it prints none."""
    if size is None or value.size_bytes is not None or value.unit.metric != "bandwidth":
        return value
    others = tuple(code for code in value.differences if code != "size-unknown")
    return replace(value, size_bytes=size, differences=others)


def _with_odd(one: AuditedValue) -> str:
    return ODD_NUMBER if one.verdict in (COUNTED_OTHERWISE, NORMAL_NUMBER, NOT_JUDGED) else one.verdict


def _each(
    values: Iterable[tuple[int, ForeignValue]], versions: Sequence[str], known: References
) -> Iterator[AuditedValue]:
    for output, value in values:
        yield _judged(value, known, versions[output], output)


def _judged(value: ForeignValue, known: References, version: str, output: int) -> AuditedValue:
    """Returns the verdict on a number beside bounds and expectations, without the others of its table."""
    plain = AuditedValue(NOT_JUDGED, value, output)
    if DATA_WRONG in value.differences:
        return structs.replace(plain, verdict=WRONG_NUMBER, reason=DATA_WRONG, differences=value.differences)
    if value.unit.metric == "rate":
        return structs.replace(plain, reason="rate")
    if value.value <= 0:
        return structs.replace(plain, reason="zero")
    cases = known.cases(value)
    resolved = _NEARLY_EQUAL | ({"devices-unknown"} if len(cases.possible) == 1 else set())
    open_ones = [code for code in cases.differences if code not in resolved]
    other = [code for code in open_ones if code not in _STILL_BOUNDED]
    if other or not cases.possible:
        return structs.replace(plain, reason=(other or ["no-case"])[0], differences=cases.differences)
    own, bound = _highest(cases, known)
    counted = own.value_of(value)
    one = structs.replace(
        plain,
        own=own,
        equal=own == cases.own,
        differences=cases.differences,
        counted=counted,
        bound=bound if isinstance(bound, Bound) else None,
    )
    if isinstance(bound, Bound) and _exceeds(counted, bound, own, value.rounding):
        return structs.replace(one, verdict=IMPOSSIBLE_NUMBER, causes=causes_of(value, own, counted, known))
    if open_ones == ["devices-unknown"] and _one_end_known(value):
        return _beside_each(one, cases, known, version)
    if open_ones:
        return structs.replace(one, reason=open_ones[0])
    return _beside_expected(one, known, version, bound)


def _one_end_known(value: ForeignValue) -> bool:
    """Whether the output leaves out the domain of the host's memory alone."""
    ends = value.operation.source, value.operation.destination
    return sum(end.startswith("gpu") for end in ends) == 1


def _beside_each(one: AuditedValue, cases: CasesOfValue, known: References, version: str) -> AuditedValue:
    """Returns the verdict that holds whichever domain it was; expected if it is for one of them."""
    each = [
        _beside_expected(
            structs.replace(one, own=own, counted=own.value_of(one.value)), known, version, known.bound(own)
        )
        for own in cases.possible
    ]
    good = [one for one in each if one.verdict in (NORMAL_NUMBER, COUNTED_OTHERWISE)]
    if good or len({one.verdict for one in each}) == 1:
        return (good or each)[0]
    return structs.replace(one, reason="devices-unknown")


def _highest(cases: CasesOfValue, known: References) -> tuple[OwnCase, Bound | NoBound]:
    """Returns the possible case that allows most; one without a bound, if there is any."""
    bounds = [(own, known.bound(own)) for own in cases.possible]
    for own, bound in bounds:
        if isinstance(bound, NoBound):
            return own, bound

    def allows(pair: tuple[OwnCase, Bound | NoBound]) -> float:
        own, bound = pair
        rate = bound.value if isinstance(bound, Bound) else 0.0
        return rate / own.factor if own.metric == "bandwidth" else -rate / own.factor

    return max(bounds, key=allows)


def _exceeds(counted: float, bound: Bound, own: OwnCase, rounded: float) -> bool:
    """Whether a number is beyond a bound, whatever was rounded."""
    tolerance = CLOCK_TOLERANCE * (1 + rounded)
    return counted * tolerance < bound.value if own.metric == "time" else counted > bound.value * tolerance


def _beside_expected(
    one: AuditedValue, known: References, version: str, bound: Bound | NoBound
) -> AuditedValue:
    own, counted = one.own, one.counted
    assert own is not None and counted is not None
    expected = known.expected(own, version)
    if expected is None:
        small = own.case.size_bytes < LEAST_JUDGED_BYTES
        cached = isinstance(bound, NoBound) and bound.reason == "cache"
        return structs.replace(one, reason="small-size" if small else "cache" if cached else "no-reference")
    one = structs.replace(one, expected=expected)
    speed = counted if own.metric == "bandwidth" else expected.value**2 / counted
    if speed * (1 + one.value.rounding) < expected.least:
        return structs.replace(one, verdict=LOW_NUMBER, causes=causes_of(one.value, own, counted, known))
    if speed > expected.most * (1 + one.value.rounding):
        return structs.replace(one, verdict=HIGH_NUMBER, causes=causes_of(one.value, own, counted, known))
    otherwise = own.factor != 1 and not own.from_time
    return structs.replace(one, verdict=COUNTED_OTHERWISE if otherwise else NORMAL_NUMBER)
