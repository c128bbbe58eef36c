"""The complete result of `byteways reproduce`: values compared with published ones, a verdict per claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from byteways.answers.results.index import Index
from byteways.answers.results.summary import RecordedRun, gpu_caches
from byteways.base.errors import BytewaysError
from byteways.base.text import restored
from byteways.ext.studies.comparison.claims import Verdict, judge
from byteways.ext.studies.comparison.figures import Ours, Published
from byteways.ext.studies.comparison.fitting import fitting_of
from byteways.ext.studies.comparison.references import listed
from byteways.ext.studies.comparison.rows import ValueRow, best_by_size, quotients
from byteways.ext.studies.comparison.two_machines import PairedSheet, who
from byteways.ext.studies.comparison.value_lookup import Sheet, nearest_size
from byteways.ext.studies.comparison.verdicts import CLAIM_VERDICTS, CONTRADICTED, VERDICT_PHRASES
from byteways.ext.studies.published.reading import load
from byteways.ext.studies.published.reference import parts, references
from byteways.ext.studies.published.study import Figure, Study, StudyLine, StudyPlace
from byteways.machine.model import Topology
from byteways.machine.routes import route
from byteways.models import load as load_model
from byteways.models.topology import topology_of
from byteways.questions.display.chart import ReferenceLine
from byteways.questions.display.curves import cache_marks
from byteways.record.simulation_mark import Voice, mark_of, subject, voice

#: Number of contradicted claims named in the summary; the table lists all.
MOST_NAMED_CLAIMS = 3


@dataclass(frozen=True)
class StudySeries:
    """Points of a curve: (size in bytes, value in the figure's unit)."""

    line: str
    place: str
    label: str
    ours: tuple[tuple[int, float], ...]
    published: Mapping[str, tuple[tuple[int, float], ...]]  # by system


@dataclass(frozen=True)
class FigureOutcome:
    figure: Figure
    rows: tuple[ValueRow, ...]
    series: tuple[StudySeries, ...]  # if the figure is a curve
    hops: Mapping[str, Mapping[str, int]]  # if it is a hop matrix: links by source and destination
    hops_there: Mapping[str, Mapping[str, int]]  # the same on the source's machine, if it differs
    notes: tuple[str, ...]  # which devices represent which places, and which places have no equivalent
    verdicts: tuple[Verdict, ...] = ()  # on claims that refer to its values
    #: Lines and places of other machines, whose values here are those of another of its places.
    repeated: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True)
class StudyOutcome:
    """A run compared with a study."""

    study: Study
    subject: str  # the machine
    mark: str  # "simulated" label; '' for a real run
    figures: tuple[FigureOutcome, ...]
    verdicts: tuple[Verdict, ...]
    fitted: str  # how many numbers of the machine model are fitted to this work; '' if none
    caches: tuple[ReferenceLine, ...] = ()  # of this machine

    @property
    def voice(self) -> Voice:
        return voice(bool(self.mark))

    @property
    def counts(self) -> dict[str, int]:
        """Returns the number of claims per verdict that occurs, in the order of VERDICTS."""
        numbers = Counter(verdict.verdict for verdict in self.verdicts)
        return {name: numbers[name] for name in CLAIM_VERDICTS if numbers[name]}

    def summary(self) -> str:
        """'12 claims: 9 hold, 1 differs on this hardware, 2 cannot be tested here'."""
        parts = [f"{count} {VERDICT_PHRASES[name][count > 1]}" for name, count in self.counts.items()]
        return f"{len(self.verdicts)} claims: {', '.join(parts)}"

    def contradictions(self) -> str:
        """Returns the ids of the contradicted claims by verdict, the first NAMED of each."""
        sentences = []
        for verdict in CONTRADICTED:
            texts = [
                judged.claim.text for judged in self.verdicts if judged.verdict == verdict
            ]  # the table has the values
            if texts:
                more = (
                    f" (and {len(texts) - MOST_NAMED_CLAIMS} more)" if len(texts) > MOST_NAMED_CLAIMS else ""
                )
                sentences.append(f"{verdict.capitalize()}: {'; '.join(texts[:MOST_NAMED_CLAIMS])}{more}.")
        return " ".join(sentences) or "None of its claims is contradicted."


def outcome_of(run: RecordedRun) -> StudyOutcome | None:
    """Returns the outcome for the study in the run's manifest; None if there is none or it is unavailable."""
    recorded = run.manifest.get("study")
    if not isinstance(recorded, Mapping) or "key" not in recorded:
        return None
    try:
        beside = run.beside if isinstance(run, Index) else None
        return compare(load(restored(str(recorded.get("folder") or recorded["key"]))), run, beside)
    except BytewaysError:  # a study of another byteways version, or its folder was removed
        return None


def compare(study: Study, run: RecordedRun, beside: RecordedRun | None = None) -> StudyOutcome:
    """Compares the run with the study.

    Args:
        study: The study.
        run: Decides about claims, and has the values at places of its machine.
        beside: Has the values at places of another machine of the study; see two_machines.py for what fits.
    """
    sheet = PairedSheet(study, run, beside) if beside is not None else Sheet(study, run)
    fitting = fitting_of(study, run.manifest)
    alone = Sheet(study, run)
    verdicts = tuple(judge(claim, alone, fitting) for claim in study.claims)
    return StudyOutcome(
        study,
        subject(run.manifest),
        mark_of(run.manifest),
        tuple(
            replace(_figure(figure, sheet), verdicts=_on(figure, study, verdicts)) for figure in study.figures
        ),
        verdicts,
        fitting.words if fitting else "",
        cache_marks(run.topology.devices, gpu_caches(run)),
    )


def _on(figure: Figure, study: Study, verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Returns the verdicts on claims that refer to values of the figure."""
    shown = {(line, place) for line in figure.lines for place in figure.places}
    return tuple(
        verdict
        for verdict in verdicts
        if any(
            (line, place) in shown
            for check in verdict.claim.leaves()
            for reference in references(check.keys)
            for lines, places, _ in [parts(reference, study.lines, study.places)]
            for line in lines
            for place in places
        )
    )


def _figure(figure: Figure, sheet: Sheet) -> FigureOutcome:
    if figure.kind == "hops":
        hops, there = _hops(sheet.run.topology), _hops(topology_of(load_model(sheet.study.models[0])))
        return FigureOutcome(figure, (), (), hops, {} if hops == there else there, _notes(figure, sheet))
    if figure.kind in ("ratio", "best"):
        made = quotients(figure, sheet) if figure.kind == "ratio" else best_by_size(figure, sheet)
        return FigureOutcome(figure, tuple(made), (), {}, {}, _notes(figure, sheet))
    lines = [sheet.study.lines[name] for name in figure.lines]
    places = [sheet.study.places[name] for name in figure.places]
    rows: list[ValueRow] = []
    series: list[StudySeries] = []
    for place in places:
        for line in lines:
            side = sheet.side(place)
            published = _chosen(side.published(line, place), figure, side)
            ours = _ours(figure, line, place, side)
            own = "" if side is sheet else who(side)
            rows += (replace(row, machine=own) for row in _rows(figure, line, place, published, ours, side))
            if figure.kind == "curve":
                label = line.name if len(places) == 1 else f"{line.name}, {place.name}"
                series.append(_series(line, place, label, figure.unit, published, ours))
    notes = _notes(figure, sheet)
    return FigureOutcome(
        figure, tuple(rows), tuple(series), {}, {}, notes, repeated=_repeated(lines, places, sheet)
    )


def _repeated(
    lines: Sequence[StudyLine], places: Sequence[StudyPlace], sheet: Sheet
) -> frozenset[tuple[str, str]]:
    """Returns the places of GPUs that this machine does not have whose devices are those of another place."""

    def foreign(place: StudyPlace) -> bool:
        return bool(place.model) and not sheet.side(place).hardware.has(place.model)

    native = {sheet.located[place.name].devices for place in places if not foreign(place)}
    return frozenset(
        (line.name, place.name)
        for place in places
        if foreign(place) and sheet.located[place.name].devices in native
        for line in lines
    )


def _ours(figure: Figure, line: StudyLine, place: StudyPlace, sheet: Sheet) -> dict[int, Ours]:
    """Returns our values by size. A matrix may fall back to the devices of the same names, whatever link
    connects them; kinds `highest` and `grid` keep only the highest value, a table of the smallest size that.
    """
    located = sheet.located[place.name]
    if figure.kind == "matrix":
        return sheet.at(line, located.devices or located.named)
    ours = sheet.ours(line, place)
    if figure.size_bytes == 0:
        return {size: ours[size] for size in list(ours)[:1]}
    if figure.kind not in ("highest", "grid"):
        return ours
    known = {size: rate for size, value in ours.items() if (rate := value.quantity(figure.unit)) is not None}
    return {size: ours[size] for size in known if known[size] == max(known.values())}


def _hops(topology: Topology) -> dict[str, dict[str, int]]:
    """Returns the number of links on the route between every two GPUs."""
    gpus = topology.names("gpu")
    return {
        source: {end: len(route(topology, source, end)) for end in gpus if end != source} for source in gpus
    }


def _chosen(published: Sequence[Published], figure: Figure, sheet: Sheet) -> list[Published]:
    """Returns one print of each value: the one in this figure, otherwise the most precise one."""
    best: dict[tuple[str, int | None], Published] = {}

    def rank(candidate: Published) -> tuple[bool, bool, bool]:
        value = candidate.value
        return value.locator != figure.locator, bool(value.same_as), value.exactness == "approximate"

    for candidate in published:
        key = (candidate.value.machine, candidate.size_bytes)
        if candidate.quantity(figure.unit) is not None and (
            key not in best or rank(candidate) < rank(best[key])
        ):
            best[key] = candidate
    return sorted(best.values(), key=lambda candidate: sheet.models.index(candidate.value.machine))


def _rows(
    figure: Figure,
    line: StudyLine,
    place: StudyPlace,
    published: Sequence[Published],
    ours: Mapping[int, Ours],
    sheet: Sheet,
) -> list[ValueRow]:
    """Returns a row for every size and system with a published value, with ours.

    Without published values: one row with our value at the table's size.
    """
    sizes = list(ours)
    if figure.kind == "map":
        return [_row(figure, line, place, None, size, ours, sheet) for size in sizes]
    chosen: dict[tuple[int | None, str], Published] = {}
    for value in published:
        size = nearest_size(value.size_bytes, sizes) or value.size_bytes
        if figure.kind == "curve" or not figure.size_bytes or figure.size_bytes == size:
            chosen.setdefault((size, value.value.system), value)
    if not chosen:
        size = nearest_size(figure.size_bytes or None, sizes)
        return [_row(figure, line, place, None, size or figure.size_bytes or None, ours, sheet)]
    ordered = sorted(chosen, key=lambda key: key[0] or 0)  # stable: keeps this machine's system first
    return [_row(figure, line, place, chosen[key], key[0], ours, sheet) for key in ordered]


def _row(
    figure: Figure,
    line: StudyLine,
    place: StudyPlace,
    published: Published | None,
    size: int | None,
    ours: Mapping[int, Ours],
    sheet: Sheet,
) -> ValueRow:
    own = ours.get(size) if size is not None else None
    number = own.quantity(figure.unit) if own else None
    theirs = published.quantity(figure.unit) if published else None
    between = published.range(figure.unit) if published else None
    beside = _nearer(number, between) if number is not None and between else theirs
    return ValueRow(
        line.name,
        place.name,
        size,
        theirs,
        published is not None and published.value.exactness == "approximate",
        published.value.system if published else "",
        number,
        number / beside if number is not None and beside else None,
        "" if number is not None else sheet.missing(line, place, size),
        own.other_count if own and figure.unit not in ("ns", "µs") else "",
        own.quantity("of peak") if own else None,
        between,
        published.derived(figure.unit) if published else "",
    )


def _nearer(number: float, ends: tuple[float, float]) -> float:
    """Clamps the number to a range: the nearer end, or the number itself if within."""
    return min(max(number, ends[0]), ends[1])


def _series(
    line: StudyLine,
    place: StudyPlace,
    label: str,
    unit: str,
    published: Sequence[Published],
    ours: Mapping[int, Ours],
) -> StudySeries:
    points: dict[str, list[tuple[int, float]]] = {}
    for value in published:
        number = value.quantity(unit)
        size = value.size_bytes or max(ours, default=None)
        if number is not None and size:
            ends = value.range(unit) or (number,)
            points.setdefault(value.value.system, []).extend((size, end) for end in ends)
    mine = [(size, number) for size, value in ours.items() if (number := value.quantity(unit)) is not None]
    return StudySeries(
        line.name,
        place.name,
        label,
        tuple(mine),
        {system: tuple(sorted(members)) for system, members in points.items()},
    )


def _notes(figure: Figure, sheet: Sheet) -> tuple[str, ...]:
    """Returns the figure's own note, then which devices represent its places and which have no equivalent."""
    notes = [figure.note] if figure.note else []
    if figure.kind == "hops":  # covers all GPUs and has no places
        return tuple(notes)
    gone: dict[str, list[str]] = {}
    for name in figure.places:
        located = sheet.located[name]
        if located.devices is None:
            why = located.why if figure.kind == "matrix" and located.why else located.reason
            gone.setdefault(why, []).append(name)
        elif located.note:
            notes.append(f"{name}: {located.note}")
        if (side := sheet.side(sheet.study.places[name])) is not sheet:
            notes.append(f"{name}: values of {who(side)}, from the run beside this one")
    notes += [f"{listed(places)}: {reason}" for reason, places in gone.items()]
    notes += [f"{name}: {note}" for name in figure.lines if (note := sheet.study.lines[name].note)]
    notes += [note for name in figure.lines for note in sheet.stands_for(name, figure.places)]
    return tuple(dict.fromkeys(notes))


def to_json(outcome: StudyOutcome) -> dict[str, Any]:
    """Returns the outcome as JSON data for `--json`."""
    return {
        "study": outcome.study.key,
        "title": outcome.study.title,
        "address": outcome.study.address,
        "statistic": outcome.study.statistic,
        "timing": outcome.study.timing,
        "machine": outcome.subject,
        "defects": list(outcome.study.defects),
        "differences": list(outcome.study.differences),
        "figures": [
            {
                "id": figure.figure.id,
                "title": figure.figure.title,
                "locator": figure.figure.locator,
                "kind": figure.figure.kind,
                "unit": figure.figure.unit,
                "hops": figure.hops,
                "rows": [asdict(row) for row in figure.rows],
                "notes": list(figure.notes),
            }
            for figure in outcome.figures
        ],
        "claims": [
            {
                "id": verdict.claim.id,
                "says": verdict.claim.quote or verdict.claim.says,
                "quoted": bool(verdict.claim.quote),
                "locator": verdict.claim.locator,
                "verdict": verdict.verdict,
                "detail": verdict.detail,
                "notes": list(verdict.notes),
            }
            for verdict in outcome.verdicts
        ],
        "counts": outcome.counts,
    }
