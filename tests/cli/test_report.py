"""`byteways report`: writes the page again, where asked, and says where."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways.cli import main
from byteways.record import run_folder
from tests.report import sample_run
from tests.unit.verdicts.test_comparison import folder_of, pairs_run


def test_writes_to_another_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch --out being ignored."""
    folder = sample_run.cpu_only().write(tmp_path / "run")
    out = tmp_path / "page.html"
    assert main(["report", str(folder), "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    assert out.exists()
    assert not (folder / "report.html").exists()


def test_reads_the_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a journal that is parsed for the warnings and again for the page: a third of the time."""
    folder = sample_run.cpu_only().write(tmp_path)
    read: list[Path] = []
    original = run_folder.read_journal

    def counting(path: Path, *rest: object) -> run_folder.JournalText:
        read.append(path)
        return original(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(run_folder, "read_journal", counting)
    assert main(["report", str(folder)]) == 0
    assert read == [folder / "measurements.jsonl"]


def test_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a traceback for a folder without a run, or for an unwritable path."""
    assert main(["report", str(tmp_path)]) == 2
    assert "is not a run folder" in capsys.readouterr().err
    folder = sample_run.cpu_only().write(tmp_path / "run")
    assert main(["report", str(folder), "--out", str(tmp_path / "no" / "page.html")]) == 2
    assert capsys.readouterr().err.startswith("error: cannot write ")


def test_damage_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch a report over a damaged journal without a word on the terminal."""
    build = sample_run.cpu_only()
    build.extra_lines = ['{"case_id": 1}']
    folder = build.write(tmp_path)
    assert main(["report", str(folder)]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{folder / 'report.html'}\n"
    said = f"warning: {folder}: 1 damaged line(s) in measurements.jsonl left out (line "
    assert captured.err.startswith(said) and "case_id" in captured.err


def test_two_runs_on_one_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch a comparison that overwrites a report, or lies elsewhere than it says."""
    first = folder_of(pairs_run(), tmp_path / "first")
    second = folder_of(pairs_run(lambda a, b: 200.0), tmp_path / "second")
    assert main(["report", str(first.path), str(second.path)]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert path == second.path / "compared.html"
    assert "24 of 24 cases slower" in path.read_text()
    assert not (second.path / "report.html").exists()


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        (["A", "B", "C"], "a report shows one run or two, not 3", "byteways compare"),
        (["A", "--mixed"], "--mixed is for two runs", "byteways report"),
        (["A", "A"], "are the same run", "name two different runs"),
        (["A", "--out", "a.pdf"], "a report is a page in HTML, not .pdf", "--out a.html"),
        (["A", "S"], "simulated runs are compared with measured ones only with --mixed", "add --mixed"),
    ],
)
def test_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str, hint: str
) -> None:
    """Would catch a page on runs that are not to be compared, or an error without a way out."""
    simulated = pairs_run()
    simulated.simulated = True
    builds = {"A": pairs_run(), "B": pairs_run(), "C": pairs_run(), "S": simulated}
    paths = {name: str(folder_of(builds[name], tmp_path / name).path) for name in {*words} & {*builds}}
    assert main(["report", *(paths.get(word, word) for word in words)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err and f"hint: {hint}" in captured.err


def test_mixed_runs_are_compared_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch --mixed being ignored, or a page that does not say which run is simulated."""
    simulated = pairs_run()
    simulated.simulated = True
    paths = [
        str(folder_of(build, tmp_path / name).path)
        for name, build in (("measured", pairs_run()), ("simulated", simulated))
    ]
    assert main(["report", *paths, "--mixed"]) == 0
    text = Path(capsys.readouterr().out.strip()).read_text()
    assert "Second run: SIMULATED" in text and "First run: SIMULATED" not in text
