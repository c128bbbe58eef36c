"""Figures that are matrices: published values, ours, and ours over published, each rows × columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from byteways.base.units import format_size
from byteways.ext.studies.comparison.outcome import FigureOutcome
from byteways.ext.studies.comparison.pictures import BAND
from byteways.ext.studies.comparison.references import listed
from byteways.ext.studies.comparison.rows import ValueRow
from byteways.questions.display.table import Table, shaded
from byteways.record.simulation_mark import Voice

#: Decimals of all values of a matrix, by the least.
DECIMALS = ((1000.0, 0), (100.0, 1), (0.0, 2))
#: Head of the first column, by what rows and columns are.
_PAIRS, _SIZES, _PLACES = "from \\ to", "method", "method \\ place"


def matrices(outcome: FigureOutcome, title: str, voice: Voice, *, drawn: bool) -> list[Table]:
    """Returns the matrices of a figure for which there are values; `title` begins their titles.

    Args:
        outcome: The figure.
        title: Of the figure; '' where it stands above them.
        voice: Of the run.
        drawn: Order rows and leave the diagonal out as the source's picture does.
    """
    rows = _of_one_system(outcome.rows)
    corner, key = _axes(outcome)
    known = [row for row in rows if row.published is not None or row.ours is not None]
    sources, targets = (list(dict.fromkeys(key(row)[side] for row in known)) for side in (0, 1))
    if corner == _SIZES:
        targets = list(
            dict.fromkeys(key(row)[1] for row in sorted(known, key=lambda row: row.size_bytes or 0))
        )
    if drawn and outcome.figure.drawing.rows == "upwards":
        sources.reverse()
    kinds: tuple[tuple[str, Callable[[ValueRow], float | None], str], ...] = (
        ("published", lambda row: row.published, outcome.figure.unit),
        (voice.measured, lambda row: row.ours, outcome.figure.unit),
        (f"{voice.measured} over published", lambda row: row.ratio, ""),
    )
    notes: dict[str, Sequence[str]] = {"published": _derived(rows), voice.measured: outcome.notes}
    tables = []
    for what, pick, unit in kinds:
        values = {key(row): value for row in known if (value := pick(row)) is not None}
        if drawn and not outcome.figure.drawing.diagonal:
            values = {pair: value for pair, value in values.items() if pair[0] != pair[1]}
        if not values:
            continue
        # A source that prints few of the values has no use for rows and columns without any.
        whole = drawn and 2 * len(values) > len(known)
        shown = [name for name in sources if whole or any(pair[0] == name for pair in values)]
        across = [name for name in targets if whole or any(pair[1] == name for pair in values)]
        name = f"{what}, {unit}" if unit else what
        note = "; ".join(notes.get(what, ()))
        heading = f"{title}, {name}" if title else name
        least = min(values.values()) if corner == _SIZES else 0.0  # values of a map differ little
        tables.append(_table(heading, corner, (shown, across), values, unit, note, least))
    return tables


def _axes(outcome: FigureOutcome) -> tuple[str, Callable[[ValueRow], tuple[str, str]]]:
    """Returns the head of the first column, and what gives the row and the column of a value."""
    if outcome.figure.kind == "map":
        return _SIZES, lambda row: (row.line, format_size(row.size_bytes or 0))
    if outcome.figure.kind == "grid":
        return _PAIRS, lambda row: ends_of(row.line.rpartition(", ")[2], " > ")
    if all(">" in row.place for row in outcome.rows) and len(outcome.figure.lines) == 1:
        return _PAIRS, lambda row: ends_of(row.place.rpartition(" ")[2], ">")
    return _PLACES, lambda row: (row.line, row.place)


def ends_of(pair: str, between: str) -> tuple[str, str]:
    source, _, target = pair.partition(between)
    return source, target


def _table(
    title: str,
    corner: str,
    names: tuple[Sequence[str], Sequence[str]],
    values: Mapping[tuple[str, str], float],
    unit: str,
    note: str,
    least: float,
) -> Table:
    """Returns a matrix of values, shaded from `least` to the greatest of them; of ratios with bands."""
    low, span = min(values.values()), max(values.values()) - least

    def shade(value: float) -> float:
        return (value - least) / (span or 1.0)

    text = partial(_said, unit=unit, lowest=low)
    return shaded(title, corner, names, values, text, shade, None if unit else _band, notes=(note,))


def _band(ratio: float) -> str:
    if abs(ratio - 1) <= BAND:
        return "within"
    return "above" if ratio > 1 else "below"


def _said(value: float, unit: str, lowest: float) -> str:
    """Formats a value with as many decimals as all of the matrix have, whose least is `lowest`."""
    if not unit:
        return f"{value:.2f}"
    if unit == "of peak":
        return f"{value:.3f}"
    return f"{value:.{next(digits for least, digits in DECIMALS if lowest >= least)}f}"


def _of_one_system(rows: Sequence[ValueRow]) -> list[ValueRow]:
    """Returns the rows without published values of other systems than the first: a matrix is of one."""
    system = next((row.system for row in rows if row.published is not None), "")
    own = {(row.line, row.place, row.size_bytes) for row in rows if row.system == system}
    kept = [row for row in rows if row.system == system or (row.line, row.place, row.size_bytes) not in own]
    return [
        row if row.system == system else replace(row, published=None, ratio=None, derived="") for row in kept
    ]


def _derived(rows: Sequence[ValueRow]) -> list[str]:
    """Lists the published values of a matrix that are derived from printed ones, and how."""
    derivations: dict[str, list[str]] = {}
    for row in rows:
        if row.derived:
            derivations.setdefault(row.derived, []).append(row.place)
    return [f"derived, {how}: {listed(places)}" for how, places in derivations.items()]
