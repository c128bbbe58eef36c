"""Interference: how much a concurrent transfer slows the measured flow, and the reverse."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import sentence
from byteways.answers.claims.wording import keeps_speed, longer_by, no_difference, not_slowed, shorter_during
from byteways.answers.results.case_names import describe
from byteways.answers.results.counting import listed
from byteways.answers.results.index import Index
from byteways.answers.results.rounds import UNSETTLED
from byteways.answers.results.summary import Result, group_by
from byteways.base.units import format_size, short_time, three_digits
from byteways.cases.case import Case, Flow
from byteways.cases.interfaces import metric_of
from byteways.cases.option_set import OptionSet
from byteways.questions.display.table import Columns, Table, figures, tabulated, words
from byteways.questions.display.topic import Topic
from byteways.questions.subjects.loaded import NOT_SIMULTANEOUS, disturber, in_window
from byteways.record.simulation_mark import Voice


@dataclass(frozen=True)
class Slowdown:
    """A measured flow with one concurrent transfer.

    `own` is the slowdown of the measured flow relative to running alone, `others` that of the transfer (None
    if that was not measured alone). Both mean interference only if the flows ran `together`, in one window.
    """

    cell: Result
    alone: Result
    beside: str
    load_bytes_per_s: float
    load_alone: Result | None
    claim: Claim  # on time: with the transfer versus alone

    @property
    def own(self) -> float:
        if metric_of(self.cell.record.interface) == "bandwidth":
            return self.alone.value / self.cell.value
        return self.cell.value / self.alone.value

    @property
    def together(self) -> bool:
        return in_window(self.cell)

    @property
    def others(self) -> float | None:
        if self.load_alone is None or self.load_bytes_per_s <= 0:
            return None
        return self.load_alone.value / self.load_bytes_per_s

    @property
    def sure(self) -> bool:
        """Whether the measured flow is significantly slower."""
        return self.claim.leads

    @property
    def free(self) -> bool:
        """Whether the measured flow is equally fast within the intervals."""
        return self.claim.equal


def slowdowns(results: Sequence[Result]) -> list[Slowdown]:
    """Returns all cases of a flow with one transfer by another interface, in order of first appearance.

    Pointer chases under load have their own curves (loaded.py).
    """
    beside_another = [cell for cell in results if _has_second_flow(cell)]
    if not beside_another:
        return []
    alone = {_key(cell.case, cell.case.flows[0]): cell for cell in results if _single(cell)}
    pairs = []
    for cell in beside_another:
        measured, other = cell.case.flows
        own = alone.get(_key(cell.case, measured))
        if own is None or other.interface is None:
            continue
        beside = disturber(cell.case)
        names = (f"during {beside}", "alone")
        across = ("pattern", "counts")
        claim = compare(cell, own, kind="interference", across=across, match=None, names=names)
        if metric_of(cell.record.interface) == "bandwidth":
            claim = claim.turned()
        load_alone = alone.get(_key(cell.case, other))
        pairs.append(Slowdown(cell, own, beside, cell.load.value, load_alone, claim))
    return pairs


def _has_second_flow(cell: Result) -> bool:
    record = cell.record
    two = record.pattern == "interference" and len(record.flows) == 2
    return two and record.interface != "pointer-chase"


def _single(cell: Result) -> bool:
    return cell.record.pattern == "unidirectional" and len(cell.record.flows) == 1


def _key(case: Case, flow: Flow) -> Hashable:
    """Identifies a flow across cases, with settings that it inherits from its case."""
    return (
        case.interface_of(flow),
        *(flow.source, flow.destination, flow.executor),
        case.size_of(flow),
        case.cache_of(flow),
        OptionSet(case.options_of(flow)),
        OptionSet(case.environment),
    )


def topic(index: Index) -> Topic | None:
    """Returns the topic of flows with transfers by other interfaces; None if the run has none."""
    pairs = slowdowns(index.cells)
    if not pairs:
        return None
    note = (
        "Both rates are from the window in which both ran. “time, × alone”: run time with the other "
        "divided by run time alone; in parentheses where the intervals overlap."
    )
    lead = (
        "Arithmetic and memory-bound kernels alone, then concurrently with a transfer: how much each slows "
        "the other down."
    )
    tables = []
    if together := [pair for pair in pairs if pair.together]:
        tables.append(tabulated("", _columns(index.voice), together, note))
    if separate := [pair for pair in pairs if not pair.together]:
        tables.append(_not_simultaneous_table(separate, index.voice))
    return Topic("slowdown", "Slowdown by concurrent transfers", lead, tuple(tables))


def _columns(voice: Voice) -> Columns[Slowdown]:
    return (
        *_of_both(voice.measured, "concurrent transfer", "concurrent"),
        figures("time, × alone", _own),
        figures("transfer alone, GB/s", lambda pair: _alone(pair, voice)),
        figures("concurrent, GB/s", lambda pair: three_digits(pair.load_bytes_per_s / 1e9)),
        figures("time, × alone", lambda pair: "–" if pair.others is None else f"{pair.others:.2f}"),
    )


def _of_both(what: str, transfer: str, beside: str) -> Columns[Slowdown]:
    """Returns the columns of what was measured, what ran beside it, and both its times."""
    return (
        words(what, _what),
        words(transfer, lambda pair: pair.beside),
        figures("alone", lambda pair: _figure(pair.alone)),
        figures(beside, lambda pair: _figure(pair.cell)),
    )


def _not_simultaneous_table(pairs: Sequence[Slowdown], voice: Voice) -> Table:
    """Builds the table of pairs that shared no measurement window."""
    columns: Columns[Slowdown] = (
        *_of_both(voice.measured, "transfer", "with it"),
        figures("transfer alone, GB/s", lambda pair: _alone(pair, voice)),
        figures("while it ran, GB/s", _while_it_ran),
        figures("over the whole run, GB/s", _over_the_run),
        words("why", _why_not_simultaneous),
    )
    note = "The two did not overlap, so these times and rates show each by itself, not a slowdown."
    return tabulated("Without overlap", columns, pairs, note)


def _while_it_ran(pair: Slowdown) -> str:
    # Older records repeat the rate of the whole run here.
    own = all(record.directions != record.end_to_end_bytes_per_s for record in pair.cell.records)
    return three_digits(pair.load_bytes_per_s / 1e9) if own else "–"


def _over_the_run(pair: Slowdown) -> str:
    rates = (record.end_to_end_bytes_per_s or {} for record in pair.cell.records)
    return three_digits(median(sum(rate.values()) for rate in rates) / 1e9)


def _why_not_simultaneous(pair: Slowdown) -> str:
    why = [UNSETTLED[each] for each in sorted(NOT_SIMULTANEOUS & set(pair.cell.warning_ids), reverse=True)]
    return ", ".join(why) or "no overlap"


def _what(pair: Slowdown) -> str:
    record = pair.alone.record
    return f"{describe(record)}, {format_size(record.size_bytes)}"


def _own(pair: Slowdown) -> str:
    own = f"{pair.own:.2f}" if pair.own < 10 else f"{pair.own:.0f}"
    return own if pair.sure else f"({own})"


def _alone(pair: Slowdown, voice: Voice) -> str:
    return three_digits(pair.load_alone.value / 1e9) if pair.load_alone else f"not {voice.measured}"


def _figure(cell: Result) -> str:
    if metric_of(cell.record.interface) == "bandwidth":
        return f"{three_digits(cell.value / 1e9)} GB/s"
    return short_time(cell.value)


#: Number of transfers that a title names; the table has all.
NAMED_TRANSFERS = 3


def transfer_costs(index: Index) -> Iterator[Finding]:
    """Reports for each measured flow the slowdown by every concurrent transfer."""
    pairs = slowdowns(index.ranked)
    for members in group_by(pairs, lambda pair: pair.alone.record.case_id).values():
        yield _cost(members)


@dataclass(frozen=True)
class _Verdicts:
    """The transfers beside one measured flow, by what they do to it; the costliest first."""

    what: str
    together: list[Slowdown]  # all that ran at the same time
    costly: list[Slowdown]
    free: list[Slowdown]
    quicker: list[Slowdown]
    unsure: list[Slowdown]
    separate: list[Slowdown]  # not at the same time

    @staticmethod
    def of(pairs: Sequence[Slowdown]) -> _Verdicts:
        together = sorted((pair for pair in pairs if pair.together), key=lambda pair: -pair.own)
        costly = [pair for pair in together if pair.sure]
        free = [pair for pair in together if pair.free]
        quicker = [pair for pair in together if pair.claim.trails]
        unsure = [pair for pair in together if not (pair.sure or pair.free or pair.claim.trails)]
        separate = [pair for pair in pairs if not pair.together]
        return _Verdicts(_named(pairs[0].alone), together, costly, free, quicker, unsure, separate)

    @property
    def named(self) -> list[Slowdown]:
        """Those that the title names."""
        return self.costly or self.free


def _beside(pairs: Sequence[Slowdown]) -> list[str]:
    return [pair.beside for pair in pairs]


def _claims(pairs: Sequence[Slowdown]) -> list[Claim]:
    return [pair.claim for pair in pairs]


def _cost(pairs: Sequence[Slowdown]) -> Finding:
    verdicts = _Verdicts.of(pairs)
    figures = (pairs[0].alone, *(pair.cell for pair in verdicts.named or verdicts.together))
    claims = [pair.claim for pair in pairs if pair.together]
    priority = Priority.TRANSFER_COST if verdicts.named else Priority.TRANSFER_COST_UNCLEAR
    about = verdicts.what, *_beside(verdicts.costly)
    return finding(_title(verdicts), " ".join(_details(verdicts)), priority, figures, claims, about=about)


def _title(verdicts: _Verdicts) -> str:
    what = verdicts.what
    if verdicts.costly:
        parts = [f"{pair.beside}: {longer_by(pair.claim)}" for pair in verdicts.costly]
        more = [f"{len(parts) - NAMED_TRANSFERS} more"] if len(parts) > NAMED_TRANSFERS else []
        named = listed([*parts[:NAMED_TRANSFERS], *more])
        return f"Slowdown of {what[0].lower() + what[1:]} during {named}"
    if verdicts.free:
        return f"{what} {keeps_speed(_claims(verdicts.free))} during {listed(_beside(verdicts.free))}"
    if verdicts.unsure:
        return f"{what}: {no_difference(('alone', 'during transfers'), _claims(verdicts.unsure))}"
    none = "no slowdown during transfers" if verdicts.together else "no transfer ran at the same time"
    return f"{what}: {none}"


def _details(verdicts: _Verdicts) -> Iterator[str]:
    """Yields sentences on the transfers that the title does not name."""
    if verdicts.costly and verdicts.free:
        yield f"{not_slowed(_claims(verdicts.free))} during {listed(_beside(verdicts.free))}."
    if verdicts.unsure and verdicts.named:
        names = ("alone", f"during {listed(_beside(verdicts.unsure))}")
        yield f"{sentence(no_difference(names, _claims(verdicts.unsure)))}."
    if verdicts.quicker:
        yield f"{shorter_during(_beside(verdicts.quicker), _claims(verdicts.quicker))}."
    if verdicts.separate:
        yield f"No overlap with {listed(_beside(verdicts.separate))}, so no result."
    own = [(pair.beside, pair.others) for pair in verdicts.together if pair.others is not None]
    if own:
        kept = [f"{name}: {100 / factor:.0f} %" for name, factor in own]
        yield f"The transfers keep (medians): {listed(kept)}."


def _named(cell: Result) -> str:
    """'Arithmetic on gpu0', 'A memory-bound kernel on gpu0'."""
    record = cell.record
    if record.interface == "compute":
        return f"Arithmetic on {record.executor}"
    if record.access == "local":
        return f"Memory-bound {record.interface} on {record.executor}"
    return f"{record.interface} {record.path} by {record.executor}"
