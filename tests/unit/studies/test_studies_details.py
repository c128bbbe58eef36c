"""What every check of a claim says: its verdict at and beside the bound, the figures, and what was wanted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from byteways.console.layout import Lines
from byteways.ext.studies.comparison import topic as study_topic
from byteways.ext.studies.comparison.outcome import FigureOutcome
from byteways.ext.studies.comparison.rows import ValueRow
from byteways.ext.studies.comparison.scope import scope
from byteways.ext.studies.verbs import reproduce
from byteways.questions.display.table import Table
from byteways.questions.display.topic import Topic
from byteways.record.simulation_mark import MEASURED
from tests.report.run_builder import GIB, MIB
from tests.unit import machines


def row(line: str, size: int, ours: float | None, of_peak: float | None = None) -> ValueRow:
    return ValueRow(line, "quad", size, None, False, "m", ours, None, "", "", of_peak)


def figure(*rows: ValueRow) -> FigureOutcome:
    told: Any = SimpleNamespace(title="Copies", locator="Fig. 3", unit="GB/s")
    return FigureOutcome(told, rows, (), {}, {}, ("a note", "another"))


def test_map_of_a_study() -> None:
    """Catches a shade beyond the range of the table, and a missing value taken for the lowest."""
    found = study_topic._map(
        figure(
            row("copy", MIB, 10.0),
            row("copy", GIB, 30.0, 0.6),
            row("kernel", GIB, 20.0),
            row("kernel", MIB, None),
        ),
        MEASURED,
    )
    assert found.title == "Copies (Fig. 3), measured, GB/s and part of the peak"
    assert found.headings == ("method", "1 MiB", "1 GiB")
    assert found.rows == (("copy", "10", "30 (60.0 %)"), ("kernel", "–", "20"))
    assert found.heat == ((None, 0.0, 1.0), (None, None, 0.5))
    assert found.note == "a note; another"


def test_map_of_equal_values() -> None:
    """Catches a division by a range of nothing."""
    found = study_topic._map(figure(row("copy", MIB, 10.0), row("copy", GIB, 10.0)), MEASURED)
    assert found.heat == ((None, 0.0, 0.0),)
    assert found.title == "Copies (Fig. 3), measured, GB/s"


@pytest.mark.parametrize(
    ("kind", "named", "possible"),
    [("matrix", ("gpu0", "gpu1"), True), ("matrix", None, False), ("values", ("gpu0", "gpu1"), False)],
)
def test_figures_without_a_place(
    kind: str, named: Any, possible: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a figure said to be possible where no device has its place: names alone do for a matrix."""
    place = SimpleNamespace(devices=None, named=named, why="no such link", reason="no such link")
    monkeypatch.setattr("byteways.ext.studies.comparison.scope.locate", lambda study, topology: {"p": place})
    study: Any = SimpleNamespace(figures=[SimpleNamespace(kind=kind, places=("p",), locator="Fig. 1")])
    found = scope(study, machines.h200x4()[0])
    assert (found.possible == ("Fig. 1",)) == possible


def test_a_note_with_a_semicolon_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches notes that the terminal finds again by the marks of our own sentences."""
    tables = (Table("Claims", ("claim",), (("one",),), notes=("first; with a clause", "second")),)
    made = Topic("study", "Study", "lead", tables)
    monkeypatch.setattr("byteways.ext.studies.comparison.topic.topic_of", lambda outcome: made)
    shown = reproduce._blocks(SimpleNamespace())  # type: ignore[arg-type]
    assert shown[-1] == Lines("Claims: notes", ("first; with a clause", "second"), sentences=True)
