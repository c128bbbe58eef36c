"""`byteways reproduce` with the real simulator: studies on their models, and finished runs compared again."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from byteways.cli import main
from byteways.ext.studies.published import names
from byteways.ext.studies.published.reading import load
from byteways.report.packing import unpacked
from scripts.unpack_examples import recorded
from tests.cli.called import byteways
from tests.cli.reproduced import Reproduced, reproduced


@pytest.fixture(scope="module")
def pearson(tmp_path_factory: pytest.TempPathFactory) -> Reproduced:
    """Pearson2023 on its model."""
    return reproduced(tmp_path_factory, "pearson2023-crusher-mi250x")


def test_manifest_and_report_know_the_study(pearson: Reproduced, tmp_path: Path) -> None:
    """Would catch a report without its section, whose first screen does not say what became of the claims."""
    manifest = json.loads((pearson.folder / "R" / "run.json").read_text())
    assert manifest["study"] == {"key": "pearson2023", "title": load("pearson2023").title}
    done = byteways(tmp_path, "report", str(pearson.folder / "R"), "--out", "page.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert 'id="study"' in page and "Published vs simulated" in page
    head = page[page.index("<header>") : page.index("</header>")]
    assert "Repeats Carl Pearson" in head and "33 claims" in head
    findings = page[page.index('id="findings"') : page.index('id="machine"')]
    assert "Carl Pearson 2023" in findings and "are built into the model" in findings
    packed = re.search(r'id="charts">(.*?)</script>', page, re.DOTALL)[1]  # type: ignore[index]
    charts = unpacked(packed)
    named = [series["label"] for chart in charts for series in chart["series"]]
    assert {"explicit", "published, OLCF Frontier", "published, OLCF Crusher"} <= set(named)


def test_a_finished_run_is_compared_again(pearson: Reproduced) -> None:
    """Would catch a comparison that depends on anything but the run folder."""
    folder, text = pearson.folder, pearson.stdout
    again = byteways(folder, "reproduce", "pearson2023", "--from", "R")
    assert again.returncode == 0, again.stderr
    assert again.stdout.rsplit("\n\n", 1)[0] == text.rsplit("\n\n", 1)[0]
    shown = byteways(folder, "show", "R", "--all")
    assert "Published vs simulated: Claims" in shown.stdout


def test_a_machine_without_a_class_of_links_says_so(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Would catch a claim about two dual links that is tested on NVLink."""
    run = reproduced(tmp_path_factory, "pearson2023-h200-x4")
    done = byteways(run.folder, "reproduce", "pearson2023", "--from", "R", "--json")
    assert done.returncode == 0, done.stderr
    verdicts = {one["id"]: one for one in json.loads(done.stdout)["claims"]}
    assert verdicts["prefetch-hides-links"]["verdict"] == "cannot be tested here"
    assert len(verdicts["table3-mapped"]["notes"]) == 2  # of the place that stands in, and of those that lack
    assert (
        "can run here: Fig. 2a, Fig. 3a, Fig. 3b, Table III, Sec. III-D, Table II; none of Fig. 2b, Fig. 2c"
        in run.stderr
    )
    assert verdicts["explicit-ceiling"]["verdict"] == "differs in the model"
    assert "does not hold here" not in {one["verdict"] for one in verdicts.values()}
    assert (
        verdicts["host-below-peers"]["verdict"] == "built in"
    )  # links of 369 and 55 GB/s are its own numbers
    assert verdicts["node"]["verdict"] == "cannot be tested here"


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["reproduce", *words]) == 2
    return capsys.readouterr().err


def test_wrong_usage_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Would catch wrong options that are ignored."""
    assert "unknown study 'pearson'" in refused(capsys, "pearson")
    assert "--from compares a finished run; --out" in refused(
        capsys, "pearson2023", "--from", str(tmp_path), "--out", "x"
    )
    assert "is not a run folder" in refused(capsys, "pearson2023", "--from", str(tmp_path))
    assert "a budget of -1 s is out of range" in refused(capsys, "pearson2023", "--budget", "-1")
    assert "--resume takes its plan from the run folder; --only" in refused(
        capsys, "pearson2023", "--resume", str(tmp_path), "--only", "interface=copy"
    )


def test_a_run_of_something_else_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch a page of dashes for a run that has nothing to do with the study."""
    text = refused(capsys, "herten2022", "--from", str(recorded("h200x2/routes")))
    assert "has no results that herten2022 compares\n  caused by: it is a run of suite routes" in text
    text = refused(capsys, "herten2022", "--resume", str(recorded("h200x2/pearson2023")))
    assert "is not a run of herten2022\n  caused by: it repeats pearson2023" in text


@pytest.mark.parametrize("key", names())
def test_a_machine_without_gpus_says_what_it_lacks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, key: str
) -> None:
    """Would catch an error that speaks of globs, and a folder that is left behind."""
    monkeypatch.setenv("BYTEWAYS_GPUS", "0")
    monkeypatch.chdir(tmp_path)
    text = refused(capsys, key)
    assert f"error: no part of {key} can run on this machine" in text
    assert "this machine has no" in text and f"hint: byteways reproduce {key} --machine " in text
    assert not list(tmp_path.iterdir())


def test_filters_and_resume_are_those_of_run(tmp_path: Path) -> None:
    """Would catch claims that are judged on the part that a filter leaves."""
    words = ("reproduce", "pearson2023", "--machine", "crusher-mi250x", "--only", "path=gpu0>gpu1")
    words += ("--only", "interface=store")
    done = byteways(tmp_path, *words, "--size", "1GiB", "--out", "R", "--json")
    assert done.returncode == 0, done.stderr
    assert 'id="study"' in (tmp_path / "R" / "report.html").read_text()
    verdicts = {one["id"]: one for one in json.loads(done.stdout)["claims"]}
    assert verdicts["only-kernels-saturate"]["verdict"] == "built in"
    assert verdicts["explicit-ceiling"]["verdict"] == "cannot be tested here"
    assert "values it needs are missing" in verdicts["explicit-ceiling"]["detail"]
    journal = tmp_path / "R" / "measurements.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:3]))
    again = byteways(tmp_path, "reproduce", "pearson2023", "--resume", "R", "--no-report", "--json")
    assert again.returncode == 0, again.stderr
    found = {one["id"]: one["verdict"] for one in json.loads(again.stdout)["claims"]}
    assert found == {name: one["verdict"] for name, one in verdicts.items()}


def test_dry_run_prints_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch a dry run that measures, or hides the cases."""
    assert main(["reproduce", "pearson2023", "--machine", "crusher-mi250x", "--dry-run"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"gpu0:device > gpu6:device +gpu0", text) and "cpu0:pageable > gpu0:device" in text
