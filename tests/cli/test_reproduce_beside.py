"""`--beside`: two machines of a study in one picture, and pairs of runs that are refused before measuring."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from byteways.report.render import unpacked
from tests.cli.called import byteways

TRIAD = ("--only", "sweep=scan,interface=stream-triad", "--size", "128MiB..2GiB")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the triad on an A100, and on an MI250 beside it."""
    folder = tmp_path_factory.mktemp("beside")
    words = ("reproduce", "herten2022", *TRIAD, "--machine")
    for machine, more in (("jureca-a100", ()), ("jureca-mi250", ("--beside", "A100"))):
        name = "A100" if not more else "MI250"
        done = byteways(folder, *words, machine, *more, "--out", name)
        assert done.returncode == 0, done.stderr
    return folder


def charts(page: Path) -> dict[str, Any]:
    """The charts of a page by the names of their first series."""
    packed = re.search(r'id="charts">(.*?)</script>', page.read_text(), re.DOTALL)[1]  # type: ignore[index]
    found = unpacked(packed)
    return {one["series"][0]["label"]: one for one in found}


def test_one_page_has_both_machines_and_their_quotient(runs: Path) -> None:
    """Catches a page of one machine, and values of the other that read as this one's."""
    chart = charts(runs / "MI250" / "report.html")["MI250 GCD"]
    curves = {one["label"]: one["points"] for one in chart["series"] if one["points"] and "group" not in one}
    assert curves.keys() == {"MI250 GCD", "A100"}
    assert all("simulated on" in point["text"] for point in curves["A100"])
    both = [curves[name][-1]["y"] for name in ("A100", "MI250 GCD")]
    quotient = chart["below"][-1]
    assert quotient["y"]["label"] == "A100 / MI250 GCD"
    assert quotient["series"][0]["points"][-1]["y"] == pytest.approx(both[0] / both[1], rel=1e-3)
    assert "from the run beside this one" in (runs / "MI250" / "report.html").read_text()


def test_a_finished_run_is_compared_and_drawn_again(runs: Path) -> None:
    """Catches a report that is written again without the run beside, and JSON that does not name it."""
    done = byteways(runs, "reproduce", "herten2022", "--from", "MI250", "--beside", "A100", "--json")
    answer = json.loads(done.stdout)
    assert answer["beside"] == "A100"
    triad = next(figure for figure in answer["figures"] if figure["id"] == "triad")
    machines = {row["place"]: row["machine"] for row in triad["rows"]}
    assert machines["own"] == "" and machines["A100"] == "jureca-a100"
    alone = byteways(runs, "report", "MI250", "--out", "alone.html")
    again = byteways(runs, "report", "MI250", "--beside", "A100", "--out", "again.html")
    assert (alone.returncode, again.returncode) == (0, 0)
    both = [charts(runs / name)["MI250 GCD"]["series"] for name in ("alone.html", "again.html")]
    found = [{one["label"] for one in series if len(one["points"]) > 2} for series in both]
    assert found == [{"MI250 GCD"}, {"MI250 GCD", "A100"}]


@pytest.mark.parametrize(
    ("words", "error", "cause"),
    [
        (
            ("herten2022", "--machine", "jureca-a100", "--beside", "A100"),
            "error: A100 adds no machine that herten2022 compares",
            "it has A100, this run A100, and the study MI250, A100",
        ),
        (
            ("pearson2023", "--machine", "crusher-mi250x", "--beside", "A100"),
            "error: no figure of pearson2023 draws two machines",
            "all of its places are on crusher-mi250x",
        ),
        (
            ("schieffer2025", "--machine", "elcap-mi300a", "--beside", "A100"),
            "error: A100 is not a run of schieffer2025",
            "it repeats herten2022",
        ),
        (
            ("herten2022", "--beside", "A100"),
            "error: simulated and measured values are not drawn in one figure",
            "A100 is simulated, and this run is measured",
        ),
        (
            ("herten2022", "--from", "A100", "--beside", "A100"),
            "error: A100 adds no machine that herten2022 compares",
            "it has A100, this run A100, and the study MI250, A100",
        ),
        (
            ("herten2022", "--resume", "MI250", "--beside", "MI250"),
            "error: MI250 adds no machine that herten2022 compares",
            "it has MI250, this run MI250, and the study MI250, A100",
        ),
        (("herten2022", "--beside", "nowhere"), "error: nowhere is not a run", "nowhere"),
    ],
)
def test_runs_that_are_not_beside_each_other(
    runs: Path, words: tuple[str, ...], error: str, cause: str
) -> None:
    """Catches a pair that is measured for minutes and refused then, or drawn as if it were one."""
    before = {path.name for path in runs.iterdir()}
    done = byteways(runs, "reproduce", *words)
    assert done.returncode == 2 and error in done.stderr and cause in done.stderr and "hint: " in done.stderr
    assert {path.name for path in runs.iterdir()} == before


def copied(run: Path, folder: Path) -> tuple[Path, dict[str, Any]]:
    """Copies a run; returns its folder and its manifest, to be changed."""
    copy = folder / "copy"
    copy.mkdir()
    for name in ("run.json", "measurements.jsonl"):
        (copy / name).write_bytes((run / name).read_bytes())
    return copy, json.loads((copy / "run.json").read_text())


def test_a_run_of_another_suite_text_is_refused(runs: Path, tmp_path: Path) -> None:
    """Catches values of an older definition of the study beside those of a newer one."""
    older, manifest = copied(runs / "A100", tmp_path)
    manifest["suite"]["text"] += "# older\n"
    (older / "run.json").write_text(json.dumps(manifest))
    for words in (("--from", "MI250"), ("--machine", "jureca-mi250")):
        done = byteways(runs, "reproduce", "herten2022", *words, "--beside", str(older))
        assert done.returncode == 2
        assert f"error: {older} measured by another definition than this run" in done.stderr
        assert "the suite of the study changed between them" in done.stderr


def test_a_run_of_no_study_has_none_beside(runs: Path, tmp_path: Path) -> None:
    """Catches a report that leaves the run beside out without a word."""
    quick, manifest = copied(runs / "MI250", tmp_path)
    del manifest["study"]
    manifest["suite"]["name"] = "quick"
    (quick / "run.json").write_text(json.dumps(manifest))
    done = byteways(runs, "report", str(quick), "--beside", "A100")
    assert done.returncode == 2
    assert f"error: {quick} repeats no study" in done.stderr and "it ran suite quick" in done.stderr
