"""`run.check(…)` of the Python library: the verdicts of `byteways check`, as data and in a notebook."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import byteways
from byteways.base.errors import BytewaysError
from byteways.library import Run
from tests.cli.called import byteways as called
from tests.report import sample_run
from tests.report.run_builder import HOSTILE
from tests.unit.verdicts.test_checks import slow_gpu2
from tests.unit.verdicts.test_comparison import changed, folder_of, pairs_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    """A healthy run, and one whose gpu2 is slow."""
    base = tmp_path_factory.mktemp("checks")
    builds = {"healthy": pairs_run(), "slow": pairs_run(slow_gpu2)}
    healthy, slow = (byteways.load(folder_of(build, base / name).path) for name, build in builds.items())
    return healthy, slow


@pytest.mark.parametrize("against", ["run", "folder", "peak", "limits"])
def test_python_and_the_command_line_agree(runs: tuple[Run, Run], tmp_path: Path, against: str) -> None:
    """Catches a library with verdicts of its own."""
    healthy, slow = runs
    limits = tmp_path / "limits.toml"
    limits.write_text('[[limit]]\nonly = "interface=copy"\nat_least = "380 GB/s"\n')
    reference = {"run": healthy, "folder": healthy.path, "peak": "peak", "limits": limits}[against]
    found = slow.check(reference)
    named = str(healthy.path if against == "run" else reference)
    result = called(tmp_path, "check", str(slow.path), "--against", named, "--json")
    assert json.loads(result.stdout) == json.loads(json.dumps(found.to_json()))
    assert (found.failed, result.returncode) == (True, 1)


def test_options_are_those_of_the_command_line(runs: tuple[Run, Run]) -> None:
    """Catches an option that is ignored."""
    healthy, slow = runs
    assert not slow.check(healthy, tolerance=0.6).failed
    assert not slow.check("peak", at_least=0.3).failed
    with pytest.raises(BytewaysError, match="tolerance=5 is not a fraction of 1") as raised:
        slow.check(healthy, tolerance=5)
    assert raised.value.hint == "tolerance=0.05 is 5 %"
    with pytest.raises(BytewaysError, match="--at-least is a fraction of the peak"):
        slow.check(healthy, at_least=0.5)
    with pytest.raises(BytewaysError, match="unknown reference 'norml'"):
        slow.check("norml")
    with pytest.raises(BytewaysError, match="are the same run"):
        slow.check(slow)


def test_what_is_normal(runs: tuple[Run, Run], tmp_path: Path) -> None:
    """Catches another reference than what ships, or a machine of which nothing is known that passes."""
    healthy, slow = runs
    assert (healthy.check().verdict, slow.check().verdict) == ("PASS", "FAIL")
    unknown = byteways.load(folder_of(sample_run.cpu_only(), tmp_path / "unknown").path).check()
    assert (unknown.verdict, unknown.failed, unknown.judged) == ("UNKNOWN", False, 0)


def test_a_check_says_itself_what_it_found(runs: tuple[Run, Run], tmp_path: Path) -> None:
    """Catches a prompt that shows thousands of lines, and a name from a file that becomes HTML."""
    healthy, slow = runs
    found = slow.check(healthy)
    told = (
        f"FAIL: of 24 cases 12 FAIL, 12 PASS; against {healthy.path}; "
        "12 of 12 failing cases involve gpu2, and 12 of the 12 cases with it fail"
    )
    assert str(found) == told
    assert repr(found) == f"<byteways check of {slow.path}: {told}>"
    page = found._repr_html_()
    assert page.count("<tr>") == 13 and "gpu0&gt;gpu2" in page
    assert re.findall(r"<(?!/?(?:p|table|tr|td|br|strong)>)", page) == []
    hostile = changed(pairs_run(), reason=HOSTILE, status="failed")
    broken = byteways.load(folder_of(hostile, tmp_path / "broken").path).check(healthy)
    assert "<script" not in broken._repr_html_() and not broken.counts["PASS"]


def test_simulated_and_measured(runs: tuple[Run, Run], tmp_path: Path) -> None:
    """Catches a simulated run that is judged by measured results unasked, or without its mark."""
    build = pairs_run()
    build.simulated = True
    simulated = byteways.load(folder_of(build, tmp_path / "model").path)
    with pytest.raises(
        BytewaysError, match="simulated runs are compared with measured ones only with --mixed"
    ):
        simulated.check(runs[0])
    assert "<strong>" in simulated.check(runs[0], mixed=True)._repr_html_()
