"""Words the comparison of runs, rendered from its claims like wording.py; conditions of `--fail-if`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from byteways.answers.claims.claim import LEADS, MIXED, TIE, TRAILS, Claim, Operand
from byteways.answers.claims.compare import least_change
from byteways.answers.claims.phrases import rate
from byteways.answers.claims.wording import NO_DIFFERENCE, UNDECIDED, difference_text
from byteways.answers.results.counting import count
from byteways.answers.results.selection import PAIR_KINDS
from byteways.answers.results.summary import group_by
from byteways.base.errors import BytewaysError
from byteways.base.units import format_size, short_time
from byteways.cases.interfaces import metric_of
from byteways.verdicts.two_runs.across_machines import MachinesRow
from byteways.verdicts.two_runs.paired_cases import ComparedCases, PairedCase
from byteways.verdicts.two_runs.pooled import PooledChange
from byteways.verdicts.two_runs.suspects import Suspect

#: A change beyond this ratio is no longer a figure.
MOST_RATIO = 100
#: Headings of the table of differences.
HEADINGS = ("case", "change in speed", "interval", "first", "second")
#: Comparisons without an outcome.
_OTHERS = ("the paths disagree", "not compared")
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")
_CONDITION = re.compile(r"(slower|faster|different)\s*>\s*(\d+(?:\.\d+)?)\s*%", re.IGNORECASE)


def headline(compared: ComparedCases) -> str:
    """'103 of 267 cases slower, none faster'."""
    of = count(len(compared.pairs), "case")
    failed = f", {len(compared.lost)} failed" if compared.lost else ""
    return f"{len(compared.slower) or 'none'} of {of} slower, {len(compared.faster) or 'none'} faster{failed}"


def summary(compared: ComparedCases) -> str:
    """'89 cases compared: 35 slower, none faster, 54 without significant difference'."""
    same = len(compared.pairs) - len(compared.slower) - len(compared.faster) - len(compared.undecided)
    parts = [
        f"{len(compared.slower) or 'none'} slower",
        f"{len(compared.faster) or 'none'} faster",
        f"{same or 'none'} without significant difference of 1 % or more",
    ]
    if compared.undecided:
        found = losses_found([least_change(pair.claim) for pair in compared.undecided])
        parts.append(f"{len(compared.undecided)} {UNDECIDED} (would have found {found})")
    return f"{count(len(compared.pairs), 'case')} compared: {', '.join(parts)}"


def losses_found(losses: Sequence[float]) -> str:
    """`a loss of 12 % or more`, of one comparison; `a loss of 12 to 60 % or more`; `no loss`."""
    least, most = (round(100 * end(losses)) for end in (min, max))
    if most < 100:
        return f"a loss of {least if least == most else f'{least} to {most}'} % or more"
    return "no loss" if least == 100 else f"a loss of {least} % or more at best, none at worst"


def pooled(compared: ComparedCases) -> list[str]:
    """`all 94 cases together: -10.1 % (-10.3 to -9.9 %)`, if they differ; else classes that do."""
    if (compared.slower or compared.faster) and not compared.undecided:
        return []
    differ = [one for one in compared.pooled if one.slower or one.faster]
    return [
        f"{_where(one)} {len(one.case_ids)} cases together: {percent(one.effect)}"
        f" ({between(one.low, one.high)})"
        for one in (differ[:1] if differ and not differ[0].between else differ)
    ]


def _where(one: PooledChange) -> str:
    return ", ".join(filter(None, (one.between, one.link_class))) + ":" if one.between else "all"


def suspicion(compared: ComparedCases) -> str:
    """'35 of 35 slower cases involve gpu0-nvswitch, and 35 of the 35 cases with it are slower'; '' for
    fewer than two, which have several parts in common.
    """
    found = compared.suspect
    if found is None or (found.of == 1 and not found.missing):  # one case involves several parts alike
        return ""
    states = {
        "slower": compared.slower or not compared.missing,
        "serialised": len(compared.affected) > len(compared.slower),
        "missing": compared.missing,
    }
    return common_part(found, " or ".join(state for state, some in states.items() if some))


def common_part(found: Suspect, state: str) -> str:
    """Says what cases in this state have in common: '12 of 12 slower cases involve gpu2, and …'."""
    share = f"{found.slower} of {count(found.of, f'{state} case')} involve {found.name}"
    it = "it" if len(found.names) == 1 else "one of them"
    told = f"{share}, and {found.slower} of the {count(found.compared, 'case')} with {it} are {state}"
    return f"the link {found.name} is missing: {told}" if found.missing else told


def more(compared: ComparedCases, shown: int) -> str:
    """'5 more cases differ: --all'; '' if all that differ are shown without it."""
    hidden = len(compared.slower) + len(compared.faster) - shown
    return f"{count(hidden, 'more case differs', 'more cases differ')}: --all" if hidden > 0 else ""


def row(pair: PairedCase) -> tuple[str, ...]:
    """The cells below HEADINGS: '-50.0 %', '-50.3 to -49.8 %', both values."""
    return (pair.case, percent(pair.speed), interval(pair), *values(pair))


def interval(pair: PairedCase) -> str:
    """'-50.3 to -49.8 %', of the change in speed."""
    return between(*pair.interval)


def between(low: float, high: float) -> str:
    """'-50.3 to -49.8 %', of two ratios."""
    return f"{change(low)} to {percent(high)}"


def percent(ratio: float) -> str:
    """'-50.0 %', or 'over 100 ×'."""
    return f"over {MOST_RATIO} ×" if ratio > MOST_RATIO else f"{change(ratio)} %"


def change(ratio: float) -> str:
    """'-50.0', in percent."""
    return f"{round(100 * (ratio - 1), 1) + 0.0:+.1f}"  # no -0.0


def values(pair: PairedCase) -> tuple[str, str]:
    """'392 GB/s' of the first run and of the second."""
    return _value(pair, pair.claim.second), _value(pair, pair.claim.first)


def _value(pair: PairedCase, side: Operand) -> str:
    if metric_of(pair.first.record.interface) == "bandwidth":
        return f"{rate(side)} GB/s"
    return short_time(side.value)


def class_row(row: MachinesRow) -> tuple[str, ...]:
    """`copy issued by the source`, size, and of each run link class and part of the peak, then the claim."""
    sides = zip(row.classes, row.peaks_bytes_per_s, (row.claim.second, row.claim.first), strict=True)
    told = (_part(link_class, peak, side) for link_class, peak, side in sides)
    return (row.variant.name, format_size(row.size_bytes), *told, difference_text(row.claim))


def class_summary(rows: Sequence[MachinesRow]) -> list[str]:
    """'Between GPUs, 14 comparisons: second reaches more in 7, less in none, …' for each kind of pair."""
    kinds = group_by(rows, lambda row: row.between)
    return [f"{PAIR_KINDS[name]}, {_counted([row.claim for row in some])}" for name, some in kinds.items()]


def _counted(claims: Sequence[Claim]) -> str:
    outcomes = Counter(_outcome(claim) for claim in claims)
    more, less = (outcomes[verdict] or "none" for verdict in (LEADS, TRAILS))
    rest = (f"{name} in {outcomes[name]}" for name in (NO_DIFFERENCE, UNDECIDED, *_OTHERS) if outcomes[name])
    told = ", ".join((f"second reaches more in {more}", f"less in {less}", *rest))
    return f"{count(len(claims), 'comparison')}: {told}"


def _outcome(claim: Claim) -> str:
    if claim.verdict == TIE:
        return UNDECIDED if claim.undecided else NO_DIFFERENCE
    return claim.verdict if claim.differ else _OTHERS[claim.verdict != MIXED]


def _part(link_class: str, peak: float | None, side: Operand) -> str:
    least, most = (f"{100 * value:.0f}" for value in (side.least, side.most))
    share = f"{least} %" if least == most else f"{least} to {most} %"
    return f"{share}{f' of {peak / 1e9:.4g} GB/s' if peak else ''}{f', {link_class}' if link_class else ''}"


def whole_summary(compared: ComparedCases) -> str:
    """The summary, and what most slower cases have in common."""
    return "; ".join(filter(None, (summary(compared), suspicion(compared))))


def page(compared: ComparedCases) -> str:
    """Returns HTML for a notebook: the runs, the summary, and the cases that differ."""
    from html import escape

    names = f"{escape(compared.names[1])} beside {escape(compared.names[0])}"
    mark = " <strong>(simulated)</strong>" if compared.simulated else ""
    rows = [HEADINGS, *(row(pair) for pair in (*compared.slower, *compared.faster))]
    cells = ("".join(f"<td>{escape(cell)}</td>" for cell in one) for one in rows)
    table = "<table>" + "".join(f"<tr>{one}</tr>" for one in cells) + "</table>"
    return f"<p>{names}{mark}: {escape(whole_summary(compared))}</p>{table if len(rows) > 1 else ''}"


@dataclass(frozen=True)
class Condition:
    """A condition of `--fail-if`: which significant differences of which size, or failed cases."""

    text: str
    direction: str  # slower, faster, different, failed
    threshold: float = 0.0  # relative change of speed

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Raises BytewaysError if the text is no condition."""
        if text.strip().lower() == "failed":
            return cls(text, "failed")
        found = _CONDITION.fullmatch(text.strip())
        if found is None:
            raise BytewaysError(f"--fail-if '{text}' is no condition", hint="--fail-if 'slower > 3%'")
        return cls(text, found[1].lower(), float(found[2]) / 100)

    def broken_by(self, compared: ComparedCases) -> str:
        """Returns what breaks the condition: '35 cases slower > 3%'; '' if nothing does."""
        if self.direction == "failed":
            return f"{count(len(compared.lost), 'case')} failed" if compared.lost else ""
        wanted = ("slower", "faster") if self.direction == "different" else (self.direction,)

        def broken(one: PairedCase | PooledChange, speed: float) -> bool:
            return any(getattr(one, word) for word in wanted) and abs(speed - 1) > self.threshold

        limit = f"{self.direction} > {100 * self.threshold:g}%"
        if number := sum(broken(pair, pair.speed) for pair in compared.pairs):
            return f"{count(number, 'case')} {limit}"
        if number := sum(len(one.case_ids) for one in compared.pooled[:1] if broken(one, one.nearest)):
            return f"{count(number, 'case')} together {limit}"
        return ""


def part_of(option: str, told: str | float) -> float:
    """Reads a part of 1 that a user asks for: `5%` of the option, or 0.05 in Python.

    Raises:
        BytewaysError: It is no percentage, or not from 0 to 1.
    """
    if isinstance(told, str):
        found = _PART.fullmatch(told)
        if found is None or not 0 <= float(found[1]) <= 100:
            raise BytewaysError(
                f"{option} '{told}' is not a percentage from 0% to 100%",
                hint=f"write for example {option} 5%",
            )
        return float(found[1]) / 100
    if not 0 <= told <= 1:  # also of nan
        name = option.removeprefix("--").replace("-", "_")
        raise BytewaysError(f"{name}={told} is not a fraction of 1", hint=f"{name}=0.05 is 5 %")
    return float(told)
