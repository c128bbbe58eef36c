"""`byteways compare`: tables, JSON, exit status, and mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from byteways.cli import main
from tests.report import sample_run
from tests.unit.verdicts.test_comparison import folder_of, pairs_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """A run, one like it, and one whose gpu2 is slow."""
    base = tmp_path_factory.mktemp("compare")
    slow = pairs_run(lambda a, b: 200.0 if "gpu2" in (a, b) else 396.0)
    builds = {"first": pairs_run(), "like": pairs_run(lambda a, b: 397.0), "slow": slow}
    hosts = {"first": "6.1", "like": "6.1", "slow": "6.2"}
    for name, build in builds.items():
        host = {**build.manifest()["host"], "kernel": hosts[name]}
        folder_of(build, base / name, host=host)
    return str(base / "first"), str(base / "like"), str(base / "slow")


def test_tables(runs: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Catches results before the differences of the environment, or a suspect that is not named."""
    first, _, slow = runs
    assert main(["compare", first, slow]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    places = [lines.index(title) for title in ("runs", "differences of the environment", "result")]
    assert places == sorted(places)
    assert "  kernel  6.1    6.2" in lines
    assert "  24 cases compared: 12 slower, none faster, 12 without significant difference of 1 %" in out
    assert "  12 of 12 slower cases involve gpu2, and 12 of the 12 cases with it are slower" in lines
    assert sum("-49.5 %" in line for line in lines) == 12
    assert main(["compare", first, slow, "--all"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(lines) + 12


def test_no_difference(runs: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Catches an empty table where nothing differs."""
    assert main(["compare", runs[0], runs[1]]) == 0
    out = capsys.readouterr().out
    assert "differences of the environment\n  none\n" in out
    assert "largest differences" not in out


@pytest.mark.parametrize(
    ("condition", "status"), [("slower > 3%", 1), ("slower > 60%", 0), ("faster > 3%", 0), ("failed", 0)]
)
def test_exit_status(
    runs: tuple[str, str, str], capsys: pytest.CaptureFixture[str], condition: str, status: int
) -> None:
    """Catches a job prologue that lets a slow node pass, or turns a healthy one down."""
    assert main(["compare", *runs, "--fail-if", condition]) == status
    said = f"--fail-if: {runs[2]}: 12 cases {condition}\n" if status else ""
    assert capsys.readouterr().err == said


def test_json(runs: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Catches JSON that lacks a comparison, or what broke a condition."""
    assert main(["compare", *runs, "--json", "--fail-if", "slower > 3%"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [one["slower_cases"] for one in told["comparisons"]] == [0, 12]
    assert told["broken"] == [f"{runs[2]}: 12 cases slower > 3%"]
    assert told["marks"] == []


def test_by_link_class(runs: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a table of other machines that has no link class or no part of the peak."""
    assert main(["compare", runs[0], runs[2], "--by", "link-class"]) == 0
    out = capsys.readouterr().out
    assert "Between GPUs, fractions of the nominal peak" in out
    assert "88 % of 450 GB/s, NVLink4 ×18" in out
    assert (
        "\n  Between GPUs, 2 comparisons: second reaches more in none, "
        in out.partition("fractions of the")[2]
    )
    assert main(["compare", runs[0], runs[2], "--by", "link-class", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["comparisons"][0]["rows"]) == 2


def test_unlike_machines(
    runs: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches cases of unlike GPUs before the parts of their peaks, each device as a difference of its own,
    and rows that nobody says how to see.
    """
    build = pairs_run(lambda a, b: 198.0)
    build.topology = sample_run.topology(4, gpu_model="Another GPU")
    other = str(folder_of(build, tmp_path / "other").path)
    assert main(["compare", runs[0], other]) == 0
    out = capsys.readouterr().out
    assert "\n  machine  4 × H200 " in out and "GPU-00000000" not in out
    assert "\n  the machines have different GPUs: compare the fractions of the nominal peak below\n" in out
    assert "\n  19 more cases differ: --all\n" in out
    classes, _, cases = out.partition("Between GPUs, fractions of the nominal peak")[2].partition(
        "largest differences"
    )
    assert "44 % of 450 GB/s, NVLink4 ×18" in classes
    assert cases.count("-50.0 %") == 5
    assert main(["compare", runs[0], other, "--all"]) == 0
    assert capsys.readouterr().out.count("-50.0 %") == 24
    assert main(["compare", runs[0], other, "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert len(told["link_classes"]) == 2 and len(told["environment"]) > 4


def test_simulated_runs_are_marked(
    runs: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches a simulated run beside a measured one, unasked or unmarked."""
    build = pairs_run()
    build.simulated = True
    other = str(folder_of(build, tmp_path / "simulated").path)
    assert main(["compare", runs[0], other]) == 2
    assert "hint: add --mixed" in capsys.readouterr().err
    assert main(["compare", runs[0], other, "--mixed"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{other}: SIMULATED by byteways")
    assert "  kind " in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["FIRST"], "a comparison needs two runs"),
        (["FIRST", "FIRST"], "are the same run"),
        (["FIRST", "nowhere"], "nowhere is not a run folder"),
        (["FIRST", "SLOW", "--by", "link"], "unknown --by 'link'"),
        (["FIRST", "SLOW", "--fail-if", "slower"], "--fail-if 'slower' is no condition"),
        (["FIRST", "SLOW", "--by", "link-class", "--fail-if", "failed"], "--fail-if compares case by case"),
        (["FIRST", "SLOW", "--by", "link-class", "--strict"], "--strict compares case by case"),
        (["FIRST", "SLOW", "--least-effect", "5"], "--least-effect '5' is not a percentage"),
    ],
)
def test_mistakes(
    runs: tuple[str, str, str], capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    """Catches a traceback, or output beside an error."""
    named = {"FIRST": runs[0], "SLOW": runs[2]}
    assert main(["compare", *(named.get(word, word) for word in words)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ") and said in captured.err


def test_damaged_runs_are_told(
    runs: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches lost lines that go unnoticed."""
    build = pairs_run()
    build.extra_lines = ["not json"]
    other = folder_of(build, tmp_path / "damaged").path
    assert main(["compare", runs[0], str(other)]) == 0
    assert "1 damaged line(s)" in capsys.readouterr().err
