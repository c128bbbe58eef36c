"""All that `byteways reproduce` says of a run: figures beside published ones, and a verdict a claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from byteways.analyse.studies.cells import Sheet, nearest_size
from byteways.analyse.studies.claims import Verdict, judge
from byteways.analyse.studies.figures import Ours, Published
from byteways.analyse.studies.fitting import fitting_of
from byteways.analyse.studies.references import listed
from byteways.analyse.studies.verdicts import CONTRADICTED, COUNTED, VERDICTS
from byteways.analyse.summary import Run
from byteways.errors import BytewaysError
from byteways.machines import load as load_model
from byteways.machines.topology import topology_of
from byteways.results.simulated import mark_of, subject
from byteways.studies.reading import load
from byteways.studies.study import Figure, Line, Place, Study
from byteways.topology.model import Topology
from byteways.topology.routes import route

#: Contradicted claims that are named; the table has all.
NAMED = 3


@dataclass(frozen=True)
class Row:
    """One figure, published and ours, in the unit of its table. A number that is missing is None."""

    line: str
    place: str
    size_bytes: int | None  # of ours, else of the source's
    published: float | None
    approximate: bool  # the source says "about"
    system: str  # where the source measured it
    ours: float | None
    ratio: float | None  # ours over published, over the nearer end of a range
    reason: str  # why there is none of ours
    other_count: str  # ours with its bytes counted in the other way
    of_peak: float | None = None  # ours as a part of the nominal peak here
    published_range: tuple[float, float] | None = (
        None  # where the source gives a range: `published` is its middle
    )
    derived: str = ""  # how `published` comes from what the source prints; '': it prints it


@dataclass(frozen=True)
class Series:
    """Points of a curve, (size in bytes, number in the figure's unit)."""

    label: str
    ours: tuple[tuple[int, float], ...]
    published: Mapping[str, tuple[tuple[int, float], ...]]  # by system


@dataclass(frozen=True)
class FigureOutcome:
    figure: Figure
    rows: tuple[Row, ...]
    series: tuple[Series, ...]  # of curves
    hops: Mapping[str, Mapping[str, int]]  # of a matrix of hops: links by source and destination
    hops_there: Mapping[str, Mapping[str, int]]  # the same on the source's machine, where it is another one
    notes: tuple[str, ...]  # what stands for what, and what has no counterpart


@dataclass(frozen=True)
class StudyOutcome:
    """A run beside a study."""

    study: Study
    subject: str  # the machine
    mark: str  # of a simulated run, else ''
    figures: tuple[FigureOutcome, ...]
    verdicts: tuple[Verdict, ...]
    fitted: str  # of a model with numbers fitted to this work, how many; else ''

    @property
    def counts(self) -> dict[str, int]:
        """Claims by verdict, those that there are, in the order of VERDICTS."""
        found = Counter(verdict.verdict for verdict in self.verdicts)
        return {name: found[name] for name in VERDICTS if found[name]}

    def summary(self) -> str:
        """'12 claims: 9 hold, 1 differs on this hardware, 2 cannot be tested here'."""
        parts = [f"{count} {COUNTED[name][count > 1]}" for name, count in self.counts.items()]
        return f"{len(self.verdicts)} claims: {', '.join(parts)}"

    def contradictions(self) -> str:
        """Which claims the figures contradict, by verdict, the first NAMED of each."""
        told = []
        for verdict in CONTRADICTED:
            texts = [
                one.claim.text for one in self.verdicts if one.verdict == verdict
            ]  # the table has figures
            if texts:
                more = f" (and {len(texts) - NAMED} more)" if len(texts) > NAMED else ""
                told.append(f"{verdict.capitalize()}: {'; '.join(texts[:NAMED])}{more}.")
        return " ".join(told) or "None of its claims is contradicted."


def outcome_of(run: Run) -> StudyOutcome | None:
    """Of the study that the run's manifest names; None where it names none, or one that is gone."""
    told = run.manifest.get("study")
    if not isinstance(told, Mapping) or "key" not in told:
        return None
    try:
        return compare(load(str(told.get("folder") or told["key"])), run)
    except BytewaysError:  # a study of another version of byteways, or a folder that is gone
        return None


def compare(study: Study, run: Run) -> StudyOutcome:
    """The run beside the study."""
    sheet = Sheet(study, run)
    fitting = fitting_of(study, run.manifest)
    return StudyOutcome(
        study,
        subject(run.manifest),
        mark_of(run.manifest),
        tuple(_figure(figure, sheet) for figure in study.figures),
        tuple(judge(claim, sheet, fitting) for claim in study.claims),
        fitting.words if fitting else "",
    )


def _figure(figure: Figure, sheet: Sheet) -> FigureOutcome:
    if figure.kind == "hops":
        hops, there = _hops(sheet.run.topology), _hops(topology_of(load_model(sheet.study.models[0])))
        return FigureOutcome(figure, (), (), hops, {} if hops == there else there, _notes(figure, sheet))
    lines = [sheet.study.lines[name] for name in figure.lines]
    places = [sheet.study.places[name] for name in figure.places]
    rows: list[Row] = []
    series: list[Series] = []
    for place in places:
        for line in lines:
            published = _chosen(sheet.published(line, place), figure, sheet)
            ours = _ours(figure, line, place, sheet)
            rows += _rows(figure, line, place, published, ours, sheet)
            if figure.kind == "curve":
                label = line.name if len(places) == 1 else f"{line.name}, {place.name}"
                series.append(_series(label, figure.unit, published, ours))
    return FigureOutcome(figure, tuple(rows), tuple(series), {}, {}, _notes(figure, sheet))


def _ours(figure: Figure, line: Line, place: Place, sheet: Sheet) -> dict[int, Ours]:
    """Figures of ours by size; in a matrix those of the devices of these names, whatever joins them here, and
    of the highest that one alone.
    """
    located = sheet.located[place.name]
    if figure.kind == "matrix":
        return sheet.at(line, located.devices or located.named)
    ours = sheet.ours(line, place)
    if figure.kind != "highest":
        return ours
    known = {size: rate for size, one in ours.items() if (rate := one.quantity(figure.unit)) is not None}
    return {size: ours[size] for size in known if known[size] == max(known.values())}


def _hops(topology: Topology) -> dict[str, dict[str, int]]:
    """Links between every two GPUs that a way joins."""
    gpus = topology.names("gpu")
    return {
        source: {end: len(route(topology, source, end)) for end in gpus if end != source} for source in gpus
    }


def _chosen(published: Sequence[Published], figure: Figure, sheet: Sheet) -> list[Published]:
    """One print of each value: that of this figure, else that with the most digits."""
    best: dict[tuple[str, int | None], Published] = {}

    def rank(one: Published) -> tuple[bool, bool, bool]:
        value = one.value
        return value.locator != figure.locator, bool(value.same_as), value.exactness == "approximate"

    for one in published:
        key = (one.value.machine, one.size_bytes)
        if one.quantity(figure.unit) is not None and (key not in best or rank(one) < rank(best[key])):
            best[key] = one
    return sorted(best.values(), key=lambda one: sheet.models.index(one.value.machine))


def _rows(
    figure: Figure,
    line: Line,
    place: Place,
    published: Sequence[Published],
    ours: Mapping[int, Ours],
    sheet: Sheet,
) -> list[Row]:
    """Every size and system with a published value, beside ours there; without any, our figure at the
    table's size.
    """
    sizes = list(ours)
    if figure.kind == "map":
        return [_row(figure, line, place, None, size, ours, sheet) for size in sizes]
    found: dict[tuple[int | None, str], Published] = {}
    for one in published:
        size = nearest_size(one.size_bytes, sizes) or one.size_bytes
        if figure.kind == "curve" or figure.size_bytes in (None, size):
            found.setdefault((size, one.value.system), one)
    if not found:
        size = nearest_size(figure.size_bytes, sizes)
        return [_row(figure, line, place, None, size or figure.size_bytes, ours, sheet)]
    ordered = sorted(found, key=lambda key: key[0] or 0)  # stable: this machine's system first
    return [_row(figure, line, place, found[key], key[0], ours, sheet) for key in ordered]


def _row(
    figure: Figure,
    line: Line,
    place: Place,
    published: Published | None,
    size: int | None,
    ours: Mapping[int, Ours],
    sheet: Sheet,
) -> Row:
    found = ours.get(size) if size is not None else None
    number = found.quantity(figure.unit) if found else None
    theirs = published.quantity(figure.unit) if published else None
    between = published.range(figure.unit) if published else None
    beside = _nearer(number, between) if number is not None and between else theirs
    return Row(
        line.name,
        place.name,
        size,
        theirs,
        published is not None and published.value.exactness == "approximate",
        published.value.system if published else "",
        number,
        number / beside if number is not None and beside else None,
        "" if number is not None else sheet.missing(line, place, size),
        found.other_count if found else "",
        found.quantity("of peak") if found else None,
        between,
        published.derived(figure.unit) if published else "",
    )


def _nearer(number: float, ends: tuple[float, float]) -> float:
    """The nearer end of a range, or the number itself within it."""
    return min(max(number, ends[0]), ends[1])


def _series(label: str, unit: str, published: Sequence[Published], ours: Mapping[int, Ours]) -> Series:
    points: dict[str, list[tuple[int, float]]] = {}
    for one in published:
        number = one.quantity(unit)
        size = one.size_bytes or max(ours, default=None)
        if number is not None and size:
            ends = one.range(unit) or (number,)
            points.setdefault(one.value.system, []).extend((size, end) for end in ends)
    mine = [(size, number) for size, one in ours.items() if (number := one.quantity(unit)) is not None]
    return Series(label, tuple(mine), {system: tuple(sorted(some)) for system, some in points.items()})


def _notes(figure: Figure, sheet: Sheet) -> tuple[str, ...]:
    """The figure's own note, then what stands for its places here and which have no counterpart."""
    notes = [figure.note] if figure.note else []
    if figure.kind == "hops":  # of all GPUs, and at no place
        return tuple(notes)
    gone: dict[str, list[str]] = {}
    for name in figure.places:
        located = sheet.located[name]
        if located.devices is None:
            why = located.why if figure.kind == "matrix" and located.why else located.reason
            gone.setdefault(why, []).append(name)
        elif located.note:
            notes.append(f"{name}: {located.note}")
    notes += [f"{listed(places)}: {reason}" for reason, places in gone.items()]
    notes += [f"{name}: {note}" for name in figure.lines if (note := sheet.study.lines[name].note)]
    return tuple(dict.fromkeys(notes))


def to_json(outcome: StudyOutcome) -> dict[str, Any]:
    """For `--json`."""
    return {
        "study": outcome.study.key,
        "title": outcome.study.title,
        "address": outcome.study.address,
        "statistic": outcome.study.statistic,
        "machine": outcome.subject,
        "defects": list(outcome.study.defects),
        "differences": list(outcome.study.differences),
        "figures": [
            {
                "id": one.figure.id,
                "title": one.figure.title,
                "locator": one.figure.locator,
                "unit": one.figure.unit,
                "rows": [asdict(row) for row in one.rows],
                "notes": list(one.notes),
            }
            for one in outcome.figures
        ],
        "claims": [
            {
                "id": one.claim.id,
                "says": one.claim.quote or one.claim.says,
                "quoted": bool(one.claim.quote),
                "locator": one.claim.locator,
                "verdict": one.verdict,
                "detail": one.detail,
                "notes": list(one.notes),
            }
            for one in outcome.verdicts
        ],
        "counts": outcome.counts,
    }
