"""Long studies in several files, and tables that stand for a grid of lines: mistakes in them are named."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from byteways.base.errors import BytewaysError
from byteways.base.toml_reading import TomlPlace
from byteways.cli import main
from byteways.ext.studies.published.line_file import LineTable, read_lines
from byteways.ext.studies.published.reading import load
from byteways.ext.studies.published.study import StudyLine
from tests.unit.study_files import Edit, edited_study, mistake_in


@pytest.fixture
def edited(tmp_path: Path) -> Edit:
    """Edits schieffer2025."""
    return partial(edited_study, tmp_path, "schieffer2025")


RANKS, APPLICATIONS = "study-ranks.toml", "study-applications.toml"
MISTAKES = [
    (
        "study.toml",
        '"ranks", ',
        '"../ranks", ',
        "key 'parts': '../ranks' is not a valid name\nhint: use lower-case letters",
    ),
    ("study.toml", '"ranks", ', '"ranks", "ranks", ', "key 'parts': it has a name twice"),
    (RANKS, "[places]", 'title = "x"\n[places]', "key 'title': unknown key"),
    (RANKS, '"2 APUs" = ', '"APU1" = ', "key 'places.APU1': it is defined already"),
    (RANKS, '[lines."RCCL"]', '[lines."chase"]', "key 'lines.chase': two lines have this name"),
    (RANKS, "ranks = 2", "ranks = 1", "ranks of place 2 APUs: two or more, without 'order' and 'rank'"),
    (RANKS, ", ranks = 3", "", "figure fig13a has no 'ranks', and line MPI collective, allreduce takes them"),
    (
        RANKS,
        'places = ["2 APUs"',
        'places = ["APU1", "2 APUs"',
        "place APU1 of figure fig13a has no 'ranks', and line MPI collective, allreduce takes them",
    ),
    (
        APPLICATIONS,
        'lines = ["Quicksilver, Problem *"]',
        'lines = ["Quicksilver, Problem *", "chase"]',
        "of figure fig15 has 'ranks', and line chase does not take them",
    ),
    (RANKS, 'lines = ["MPI, * > *"]', 'lines = ["RCCL"]', "line RCCL of figure fig10a has no 'sources' and"),
    (
        RANKS,
        'lines = ["MPI, * > *"]',
        "ratios = []",
        "figure 'fig10a', key 'ratios': a figure of kind 'grid' has none",
    ),
    (APPLICATIONS, "ratios = [", "ratio = [", "figure 'fig15-gain', key 'ratio': unknown key"),
    (
        APPLICATIONS,
        'kind = "ratio"',
        'kind = "best"',
        "figure 'fig15-gain', key 'ratios': a figure of kind 'best' has none",
    ),
    (
        APPLICATIONS,
        "[1.05, 1.11]",
        "[1.11, 1.05]",
        "key 'published': [1.11, 1.05] is neither one number nor a range",
    ),
    (
        APPLICATIONS,
        '{ name = "Problem 1", of',
        '{ nom = "Problem 1", of',
        "figure 'fig15-gain', ratio 1, key 'nom': unknown key",
    ),
    (RANKS, 'place = "APU1" }', 'place = "APU9" }', "place APU9 of figure fig17"),
    (RANKS, 'unit = "µs" },', 'unit = "hours" },', "key 'unit': 'hours' is not a valid value"),
    (RANKS, "sources = { malloc", "sauces = { malloc", "key 'lines.MPI.sauces': unknown key"),
    ("claims-ranks.toml", "at_most = 0.2", "at_mast = 0.2", "key 'check.at_mast': unknown key"),
    ("claims-ranks.toml", ", at_most = 0.2", "", "has neither 'about' nor 'at_least' nor 'at_most'"),
    ("claims-ranks.toml", "[[claim]]", "[[claims]]", "key 'claims': unknown key"),
    ("suite-ranks.toml", 'groups = "every"', 'groups = "ever"', "'ever' is not a valid value"),
    ("suite-ranks.toml", 'name = "rccl"', 'name = "chase"', "chase"),
]


@pytest.mark.parametrize(("name", "old", "new", "cause"), MISTAKES, ids=[entry[3] for entry in MISTAKES])
def test_mistakes_in_parts_are_told(edited: Edit, name: str, old: str, new: str, cause: str) -> None:
    """Would catch a traceback, a part that is not read, and a definition that replaces another silently."""
    assert cause in mistake_in(edited(name, old, new))


def test_a_part_that_is_missing_is_named(edited: Edit, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch a study that goes on without its claims."""
    folder = edited("claims.toml", "claim", "claim")
    (folder / "claims-ranks.toml").unlink()
    assert main(["reproduce", str(folder)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: cannot read mine/claims-ranks.toml\n  caused by: No such file")


def test_a_suite_in_parts_is_one_suite() -> None:
    """Would catch sweeps of parts that the run's manifest lacks."""
    study = load("schieffer2025")
    names = [sweep.name for sweep in study.suite.sweeps]
    assert names.index("chase") < names.index("allreduce") < names.index("cloverleaf")
    assert 'name = "cloverleaf"' in study.suite.text
    assert {claim.id for claim in study.claims} >= {"remote-stream", "observation-6", "cloverleaf-gain"}


def lines_of(data: dict[str, Any]) -> dict[str, StudyLine]:
    place = TomlPlace.of(data, "", "study.toml")
    return {line.name: line for line in read_lines(place, place.read(dict[str, LineTable]))}


ENDS = {"says": "x", "interface": "mpi", "executor": "source"}


def test_a_table_stands_for_every_pair_of_memories() -> None:
    """Would catch an executor that is not the source's, and a cell that is turned over."""
    grid = {"sources": {"A": "a:device", "C": "c:pinned"}, "destinations": {"B": "b:device", "D": "d:pinned"}}
    lines = lines_of({"x": {**ENDS, **grid}})
    assert {name: (line.ends[0].executor, line.cell) for name, line in lines.items()} == {
        "x, A > B": ("a", ("A", "B")),
        "x, A > D": ("a", ("A", "D")),
        "x, C > B": ("c", ("C", "B")),
        "x, C > D": ("c", ("C", "D")),
    }
    assert str(lines["x, C > B"].ends[0].flow(["gpu0", "gpu1", "cpu0", "cpu1"]).source) == "cpu0:pinned"


def test_a_table_stands_for_every_pattern() -> None:
    """Would catch a pattern that replaces another of the same table."""
    pair = {"source": "a:device", "destination": "a:device", "executor": "a"}
    lines = lines_of({"x": {**ENDS, **pair, "pattern": ["allreduce", "reduce"]}})
    assert {name: line.pattern for name, line in lines.items()} == {
        "x, allreduce": "allreduce",
        "x, reduce": "reduce",
    }
    assert all(line.of_all_ranks for line in lines.values())


def test_a_grid_has_both_sides() -> None:
    """Would catch a grid of no lines."""
    with pytest.raises(BytewaysError, match="needs both 'sources' and 'destinations'"):
        lines_of({"x": {**ENDS, "sources": {"A": "a:device"}}})
