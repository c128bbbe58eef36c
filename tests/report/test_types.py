"""The types of the data inside the page (assets/page.d.ts), beside what Python writes."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

from byteways.questions.display.chart import Axis, Chart, Panel, Point, ReferenceLine, Series
from byteways.record.run_folder import RunFolder
from byteways.report.compared import from_comparison
from byteways.report.page import from_run
from byteways.report.record_data import record_data
from byteways.verdicts.two_runs.comparison import compare_runs
from tests.report import sample_run
from tests.unit.verdicts.test_comparison import folder_of, pairs_run

ROOT = Path(__file__).parents[2]
ASSETS = ROOT / "src/byteways/report/assets"


def members(name: str) -> set[str]:
    """The members of an interface, those of an object within it as `object.member`."""
    head = re.escape(f"interface {name} ")
    found = re.search(rf"^{head}.*?\{{(.*?)\}}$", types(), re.M | re.S)
    assert found, name
    body = re.sub(r"//.*", "", found[1])
    inner = re.search(r"(\w+): \{(.*?)\}", body, re.S)
    kept = set(re.findall(r"(\w+)\??:", re.sub(r"\{.*?\}", "", body, flags=re.S)))
    return kept | ({f"{inner[1]}.{one}" for one in re.findall(r"(\w+)\??:", inner[2])} if inner else set())


def types() -> str:
    return (ASSETS / "page.d.ts").read_text(encoding="utf-8")


def written(data: dict[str, object]) -> set[str]:
    inside = data.get("cells")
    return set(data) | ({f"cells.{one}" for one in inside} if isinstance(inside, dict) else set())


def test_data_of_one_run(tmp_path: Path) -> None:
    """Would catch a name that Python changes and the scripts go on reading, which gives `undefined`."""
    run = RunFolder(sample_run.h200x4().write(tmp_path))
    page = from_run(run)
    assert page.explorer is not None
    assert written(dict(page.explorer.data)) == members("ExplorerData")
    assert set(record_data(run.manifest, run.records)) == members("RecordData")


@pytest.mark.parametrize("kind", [Chart, Panel, Axis, Series, Point, ReferenceLine])
def test_data_of_charts(kind: type) -> None:
    """Would catch the same of charts."""
    assert {field.name for field in fields(kind)} == members(kind.__name__)


def test_data_of_two_runs(tmp_path: Path) -> None:
    """Would catch the same of the page on two runs."""
    builds = pairs_run(), pairs_run(lambda a, b: 200.0 if "gpu2" in (a, b) else 396.0)
    runs = [folder_of(build, tmp_path / name) for build, name in zip(builds, "ab", strict=True)]
    (compared,) = compare_runs(runs, ["a", "b"])
    assert written(from_comparison(runs, compared).map) == members("ComparedData")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tsc") is None, reason="TypeScript's compiler is not installed")
def test_a_misspelt_property_is_found(tmp_path: Path) -> None:
    """Would catch types so loose that `make lint-page` finds nothing."""
    shutil.copytree(ASSETS, tmp_path / "src/byteways/report/assets")
    shutil.copy(ROOT / "tsconfig.json", tmp_path)
    script = tmp_path / "src/byteways/report/assets/explore.js"
    text = script.read_text(encoding="utf-8")
    assert "data.sizeNames[size]" in text
    script.write_text(text.replace("data.sizeNames[size]", "data.sizesNames[size]"), encoding="utf-8")
    told = subprocess.run(
        ["tsc", "--project", str(tmp_path)], capture_output=True, text=True, check=False, timeout=120
    )
    assert told.returncode != 0 and "sizesNames" in told.stdout
