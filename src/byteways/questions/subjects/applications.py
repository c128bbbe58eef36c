"""Application patterns: time of an iteration and of its exchange by transport and memory, what the best
choice gains over host staging, and the gains of schieffer2025, section 7, beside them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from byteways.answers.claims.claim import NOT_COMPARED, Claim
from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import percent, supported, time_said
from byteways.answers.claims.wording import longer
from byteways.answers.results.index import Index
from byteways.answers.results.summary import Part, Result, group_by
from byteways.answers.results.variants import LIBRARY_NAMES
from byteways.base.units import format_size, short_time
from byteways.cases.applications import fell_back
from byteways.cases.interfaces import APPLICATIONS
from byteways.cases.option_set import OptionSet
from byteways.cases.options import TIMED, TRANSPORT
from byteways.plan.legality import kind_of
from byteways.questions.display.chart import Axis, Chart, Point, Series, in_rows, of_rows
from byteways.questions.display.table import Columns, Table, figures, tabulated, words
from byteways.questions.display.topic import Topic
from byteways.questions.subjects.collectives import members_of, ranks_of
from byteways.questions.subjects.published_applications import PublishedChoice, PublishedGain, gains
from byteways.questions.subjects.ranks import marked, us_figure
from byteways.record.libraries import RANK_LIBRARIES, uses

INTRODUCTION = (
    "Communication patterns of CloverLeaf (halo) and Quicksilver (particles), without their physics. An "
    "iteration is a pass over the rank's data, the exchange with its neighbours, and an 8-byte allreduce. "
    "Every word is compared with the result of a single rank. The exchange is also timed alone: packing, "
    "messages and unpacking."
)
#: Host staging, as codes do it whose MPI takes no memory of GPUs: what other choices are compared with.
NAIVE = "mpi-staged"
ITERATION, EXCHANGE = TIMED.words
_NOT_OF_THE_PROBLEM = (TRANSPORT.name, TIMED.name)

#: Below the charts.
CAPTION = (
    "What to see: which share of an iteration is exchange, and which transport is fastest. A row names the "
    "transport, the memory of the data and the memory of the messages. Shorter is better."
)
#: Ways of one problem that are drawn, the fastest first; the table has all.
MOST_DRAWN = 12


def applications(results: Iterable[Result]) -> list[Result]:
    """Returns the results of application patterns."""
    return [cell for cell in results if cell.record.pattern in APPLICATIONS]


def _transport_names(index: Index) -> Mapping[str, str]:
    """Returns transports that people call otherwise than options do: `NCCL`, `staged MPI`."""
    used = [name for name in ("nccl", "rccl") if uses(name, index.manifest.get("libraries") or ())]
    library = RANK_LIBRARIES[used[0]] if len(used) == 1 else LIBRARY_NAMES["xccl"]
    return {**LIBRARY_NAMES, "xccl": library, NAIVE: f"staged {LIBRARY_NAMES['mpi']}"}


def transport_of(cell: Result) -> str:
    return str(cell.record.options.get(TRANSPORT.name, TRANSPORT.default))


def timed_of(cell: Result) -> str:
    return str(cell.record.options.get(TIMED.name, TIMED.default))


def choice_of(cell: Result) -> PublishedChoice:
    return PublishedChoice(transport_of(cell), cell.variant.source, cell.variant.destination)


def topic(index: Index) -> Topic | None:
    """Returns the topic; None if the run has no such results."""
    problems = group_by(applications(index.cells), problem)
    if not problems:
        return None
    names = _transport_names(index)
    tables = [_table(members, names) for members in problems.values()]
    beside = _beside_published(applications(index.cells))
    return Topic(
        "applications",
        "Application patterns",
        INTRODUCTION,
        (*tables, *([beside] if beside else [])),
        overview=tuple(_chart(members, names) for members in problems.values()),
    )


def problem(cell: Result) -> Hashable:
    """What results of one table share: all but transport, memory, settings and what is timed."""
    options = OptionSet(cell.record.options).without(*_NOT_OF_THE_PROBLEM)
    executor = kind_of(cell.record.executor)
    return cell.record.pattern, ranks_of(cell), cell.size_bytes, executor, options


def title_of(cell: Result) -> str:
    """What results of one table have in common, for people."""
    what = "a field" if cell.record.pattern == "halo" else "particles"
    parts = [
        f"{cell.record.pattern} of {ranks_of(cell)} ranks",
        f"{format_size(cell.size_bytes)} of {what} per rank",
        "on CPUs" if kind_of(cell.record.executor) == "cpu" else "on GPUs",
        *_settings(cell),
    ]
    return ", ".join(parts)


def _settings(cell: Result) -> tuple[str, ...]:
    """Returns the options of the problem that are not left out."""
    return cell.variant.options.without(*_NOT_OF_THE_PROBLEM).words()


class _TimedRow(NamedTuple):
    """A transport in a setting: a whole iteration and the exchange within it."""

    choice: PublishedChoice
    environment: OptionSet
    whole: Result | None
    part: Result | None


def _table(members: Sequence[Result], names: Mapping[str, str]) -> Table:
    """Returns a row per transport, memory and setting: both times, and their ratio."""
    columns: Columns[_TimedRow] = (
        words("transport", lambda row: names.get(row.choice.transport, row.choice.transport)),
        words("data", lambda row: row.choice.data),
        words("messages", lambda row: row.choice.messages),
        words("settings", lambda row: row.environment.text()),
        figures(
            "iteration, µs", lambda row: "" if row.whole is None else us_figure(_time(row.whole), row.whole)
        ),
        figures("exchange, µs", lambda row: _timed(row.part)),
        figures("share", _exchange_share),
    )
    rows = []
    fallen: dict[str, None] = {}
    for (choice, environment), group in group_by(members, _row_of).items():
        timed = {timed_of(cell): cell for cell in group}
        rows.append(_TimedRow(choice, environment, timed.get(ITERATION), timed.get(EXCHANGE)))
        fallen |= dict.fromkeys(reason for cell in group if (reason := _fell_back(cell)))
    return marked(tabulated(title_of(members[0]), columns, rows), *fallen)


def _timed(cell: Result | None) -> str:
    return "" if cell is None else us_figure(_time(cell), cell)


def _exchange_share(row: _TimedRow) -> str:
    whole, part = row.whole, row.part
    return percent(part.value / whole.value) if whole and part and whole.value else ""


def _chart(members: Sequence[Result], names: Mapping[str, str]) -> Chart:
    ways = group_by(members, lambda cell: (choice_of(cell), cell.variant.environment))
    timed = {way: {timed_of(cell): cell for cell in cells} for way, cells in ways.items()}
    order = sorted(timed, key=lambda way: min(cell.value for cell in timed[way].values()))[:MOST_DRAWN]
    series = [
        Series(name, of_rows([_bar(timed[way].get(name)) for way in order]), "bars")
        for name in (ITERATION, EXCHANGE)
        if any(name in timed[way] for way in order)
    ]
    rows = [
        ", ".join(
            filter(
                None,
                (
                    names.get(choice.transport, choice.transport),
                    choice.data,
                    choice.messages,
                    environment.text(),
                ),
            )
        )
        for choice, environment in order
    ]
    return in_rows(title_of(members[0]), CAPTION, Axis("time", unit="ns"), rows, series)


def _bar(cell: Result | None) -> Point | None:
    if cell is None:
        return None
    details = f"{short_time(cell.value)} ({short_time(cell.low)}–{short_time(cell.high)})"
    return Point(cell.value, 0, cell.low, cell.high, details, short_time(cell.value))


def _fell_back(cell: Result) -> str:
    """Returns why the messages were carried otherwise than asked; empty if they were not."""
    fallback = cell.record.evidence.fallback if cell.record.evidence else None
    return fell_back(fallback.asked, fallback.used, fallback.reason) if fallback else ""


def _row_of(cell: Result) -> tuple[PublishedChoice, OptionSet]:
    return choice_of(cell), cell.variant.environment


def _time(cell: Result) -> Part:
    return Part(cell.value, cell.low, cell.high)


def _beside_published(results: Sequence[Result]) -> Table | None:
    """Returns the gains of section 7, here and as published; None if the run has none of both sides."""
    claims = [(gain, *gained) for gain in gains() for gained in _gains_here(gain, results)]
    if not claims:
        return None
    columns: Columns[tuple[PublishedGain, Claim, Result]] = (
        words("what", lambda row: row[0].says),
        figures("size", lambda row: ", ".join((format_size(row[2].size_bytes), *_settings(row[2])))),
        figures("ratio here", lambda row: supported(row[1].effect, row[1].low, row[1].high)),
        figures("interval", lambda row: f"{row[1].low:.3g} to {row[1].high:.3g}"),
        figures("published", lambda row: row[0].published),
        figures("here / published", lambda row: f"{row[1].effect / (sum(row[0].ratio) / 2):.2f}"),
        words("published times", lambda row: " → ".join(f"{value:g} s" for value in row[0].seconds)),
        words("where", lambda row: row[0].locator),
    )
    note = "the ratio of the time before to the time after; published on four MI300A, of whole runs"
    return tabulated("Compared with schieffer2025, section 7", columns, claims, note)


def _gains_here(gain: PublishedGain, results: Sequence[Result]) -> Iterator[tuple[Claim, Result]]:
    """Yields the same ratio at each size that has both sides, under equal settings."""
    fitting = [
        cell
        for cell in results
        if (cell.record.pattern, timed_of(cell)) == (gain.pattern, gain.timed)
        and gain.size_bytes in (None, cell.size_bytes)
        and gain.crossing in (None, cell.record.options.get("crossing"))
        and not cell.variant.environment
        and not _fell_back(cell)
    ]
    for members in group_by(fitting, problem).values():
        sides = {choice_of(cell): cell for cell in members}
        before, after = sides.get(gain.before), sides.get(gain.after)
        if before and after:
            claim = compare(before, after, kind="published-gain", match=_size, names=("before", "after"))
            if claim.verdict != NOT_COMPARED:
                yield claim, before


def _size(cell: Result) -> Hashable:
    return cell.size_bytes


def best_over_staging(index: Index) -> Iterator[Finding]:
    """Compares the fastest choice of transport and memory with host staging, for each problem."""
    as_asked = [cell for cell in applications(index.between_ranks) if not _fell_back(cell)]
    called = _transport_names(index)
    for members in group_by(as_asked, _timed_problem).values():
        naive = [
            cell
            for cell in members
            if choice_of(cell) == PublishedChoice(NAIVE, "device", "device") and not cell.variant.environment
        ]
        best = min(members, key=lambda cell: cell.value)
        if not naive or best is naive[0]:
            continue
        names = _named(naive[0], called), _named(best, called)
        claim = compare(naive[0], best, kind=TRANSPORT.name, ways=len(members), match=_size, names=names)
        if not claim.leads:
            continue
        what = f"{best.record.pattern} of {ranks_of(best)} ranks, {format_size(best.size_bytes)}"
        times = [time_said(_time(cell)) for cell in (naive[0], best)]
        title = (
            f"{what}, {timed_of(best)}: {names[0]} takes {longer(claim)} {names[1]}: {times[0]} vs {times[1]}"
        )
        detail = (
            f"Ranks {members_of(best)}; best of {len(members)} combinations of transport, memory and "
            f"settings. The pattern reproduces an application's communication, not the application."
        )
        about = what, timed_of(best), names
        yield finding(title, detail, Priority.HALO_TRANSPORT, (naive[0], best), (claim,), about=about)


def _timed_problem(cell: Result) -> Hashable:
    return problem(cell), timed_of(cell)


def _named(cell: Result, names: Mapping[str, str]) -> str:
    """'staged MPI', 'NCCL with registered > device memory'."""
    choice = choice_of(cell)
    plain = choice.data == choice.messages == "device"
    ends = dict.fromkeys((choice.data, choice.messages))
    name = names.get(choice.transport, choice.transport)
    parts = [name if plain else f"{name} with {' > '.join(ends)} memory"]
    return ", ".join(filter(None, (*parts, cell.variant.environment.text())))
