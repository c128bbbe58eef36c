"""Long studies in several files, and tables that stand for a grid of lines: mistakes in them are named."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest

from byteways.cli import main
from byteways.errors import BytewaysError
from byteways.studies.line_file import read_lines
from byteways.studies.reading import load

Edit = Callable[[str, str, str], Path]


@pytest.fixture
def edited(tmp_path: Path) -> Edit:
    """Writes schieffer2025 as a study of one's own, with a text of one of its files replaced by another."""

    def write(name: str, old: str, new: str) -> Path:
        folder = tmp_path / "mine"
        shutil.copytree(str(resources.files("byteways.studies") / "schieffer2025"), folder)
        text = (folder / name).read_text(encoding="utf-8")
        assert old in text
        (folder / name).write_text(text.replace(old, new), encoding="utf-8")
        return folder

    return write


RANKS, APPLICATIONS = "study-ranks.toml", "study-applications.toml"
MISTAKES = [
    ("study.toml", '"ranks", ', '"../ranks", ', "parts has '../ranks': expected lower-case letters"),
    ("study.toml", '"ranks", ', '"ranks", "ranks", ', "parts has a name twice"),
    (RANKS, "[places]", 'title = "x"\n[places]', "study-ranks.toml has the unknown key 'title'"),
    (RANKS, '"2 APUs" = ', '"APU1" = ', "study-ranks.toml has places 'APU1', which is defined already"),
    (RANKS, '[lines."RCCL"]', '[lines."chase"]', "has lines 'chase', which is"),
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
    (RANKS, 'lines = ["MPI, * > *"]', "ratios = []", "figure 'fig10a' of kind 'grid' has no 'ratios'"),
    (APPLICATIONS, "ratios = [", "ratio = [", "figure 'fig15-gain' has the unknown key 'ratio'"),
    (APPLICATIONS, 'kind = "ratio"', 'kind = "best"', "figure 'fig15-gain' of kind 'best' has no 'ratios'"),
    (APPLICATIONS, "[1.05, 1.11]", "[1.11, 1.05]", "published = [1.11, 1.05]: one number, or a range"),
    (APPLICATIONS, '{ name = "Problem 1", of', '{ nom = "Problem 1", of', "has the unknown key 'nom'"),
    (RANKS, 'place = "APU1" }', 'place = "APU9" }', "place APU9 of figure fig17"),
    (RANKS, 'unit = "µs" },', 'unit = "hours" },', "kind best or unit hours of figure fig17"),
    (RANKS, "sources = { malloc", "sauces = { malloc", "line 'MPI' has the unknown key 'sauces'"),
    ("claims-ranks.toml", "at_most = 0.2", "at_mast = 0.2", "has the unknown key 'at_mast'"),
    ("claims-ranks.toml", ", at_most = 0.2", "", "has neither 'about' nor 'at_least' nor 'at_most'"),
    ("claims-ranks.toml", "[[claim]]", "[[claims]]", "it has the unknown key 'claims'"),
    ("suite-ranks.toml", 'groups = "every"', 'groups = "ever"', "'ever' is not a valid value"),
    ("suite-ranks.toml", 'name = "rccl"', 'name = "chase"', "chase"),
]


@pytest.mark.parametrize(("name", "old", "new", "cause"), MISTAKES, ids=[entry[3] for entry in MISTAKES])
def test_mistakes_in_parts_are_told(edited: Edit, name: str, old: str, new: str, cause: str) -> None:
    """Would catch a traceback, a part that is not read, and a definition that replaces another silently."""
    folder = edited(name, old, new)
    with pytest.raises(BytewaysError) as caught:
        load(str(folder))
    assert caught.value.status == 2
    assert cause in "\n".join(caught.value.lines())


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


ENDS = {"says": "x", "interface": "mpi", "executor": "source"}


def test_a_table_stands_for_every_pair_of_memories() -> None:
    """Would catch an executor that is not the source's, and a cell that is turned over."""
    grid = {"sources": {"A": "a:device", "C": "c:pinned"}, "destinations": {"B": "b:device", "D": "d:pinned"}}
    lines = read_lines({"x": {**ENDS, **grid}})
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
    lines = read_lines({"x": {**ENDS, **pair, "pattern": ["allreduce", "reduce"]}})
    assert {name: line.pattern for name, line in lines.items()} == {
        "x, allreduce": "allreduce",
        "x, reduce": "reduce",
    }
    assert all(line.of_all_ranks for line in lines.values())


@pytest.mark.parametrize(
    ("table", "cause"),
    [
        ({"x": {**ENDS, "sources": {"A": "a:device"}}}, "needs both 'sources' and 'destinations'"),
        (
            {
                "x": {**ENDS, "source": "a:device", "destination": "b:device", "pattern": ["reduce"]},
                "x, reduce": {**ENDS, "source": "a:device", "destination": "b:device"},
            },
            "two lines have the name 'x, reduce'",
        ),
    ],
)
def test_lines_that_cannot_be_told_apart_are_mistakes(table: dict[str, object], cause: str) -> None:
    """Would catch a line that another one silently replaces."""
    with pytest.raises(ValueError, match=cause):
        read_lines(table)
