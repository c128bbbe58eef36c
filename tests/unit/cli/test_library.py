"""byteways as a library: what it gives, what importing it costs, and its errors."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import get_type_hints

import pytest

import byteways
from byteways.base.errors import BytewaysError
from byteways.cases.question import question
from byteways.library import Run
from tests.report import sample_run
from tests.report.run_builder import GIB, HOSTILE
from unpack_examples import recorded

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "python.md"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return byteways.load(sample_run.h200x4(sizes=(GIB,)).write(tmp_path_factory.mktemp("library")))


def test_importing_loads_nothing_else() -> None:
    """Catches an import that takes as long as the program: scripts import the package for its version."""
    said = "import sys, byteways; byteways.__version__; print(*sorted(sys.modules))"
    result = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    loaded = result.stdout.split()
    assert [name for name in loaded if name.startswith("byteways")] == ["byteways"]
    assert not {"typer", "rich", "polars", "msgspec", "numpy", "jinja2"} & {*loaded}


def test_what_is_public() -> None:
    """Catches a public name that does not exist, has no type or says nothing of itself."""
    for name in set(byteways.__all__) - {"__version__"}:
        found = getattr(byteways, name)
        assert inspect.getdoc(found), name
        assert name in dir(byteways)
    members = [getattr(Run, name) for name in vars(Run) if not name.startswith("_")]
    functions = [byteways.load, byteways.measure, *filter(inspect.isfunction, members)]
    for function in functions:
        assert inspect.getdoc(function)
        assert function.__annotations__["return"]
    with pytest.raises(AttributeError, match="module 'byteways' has no attribute 'nothing'"):
        byteways.nothing  # noqa: B018
    assert get_type_hints(byteways.load)["return"] is Run


def test_a_run(run: Run) -> None:
    """Catches a library that says something else than the command line."""
    answer = run.best("gpu0", "gpu1", "1GiB")
    assert (answer.interface, answer.sure) == ("copy", True)
    assert str(answer) == str(run.best("0000:01:00.0", "gpu1", GIB))
    assert len(run.answers("gpu*", "gpu*", "1GiB")) == 2
    assert run.frame().height == len(run.records)
    assert run.frame(samples=True)["samples_ns"].null_count() < len(run.records)
    assert run.topology.names("gpu") == ["gpu0", "gpu1", "gpu2", "gpu3"]
    assert run.claims == [claim for finding in run.findings for claim in finding.claims] != []
    assert (run.simulated, run.manifest["suite"]["name"]) == (False, "quick")
    said = r"<byteways run quick on .*: complete: \d+ of \d+ planned measurements done>"
    assert re.fullmatch(said, repr(run))


def test_methods_take_what_a_question_takes(run: Run) -> None:
    """Catches a parameter of questions that a method lacks, or another default."""
    words = inspect.signature(question).parameters.values()
    for method in (run.best, run.answers):
        taken = inspect.signature(method).parameters.values()
        assert [(one.name, one.default) for one in taken] == [(one.name, one.default) for one in words]


def test_several_link_classes_have_several_answers(run: Run) -> None:
    """Catches an answer for one class of links that is taken for all of them."""
    with pytest.raises(BytewaysError) as raised:
        run.best("gpu*", "gpu*", "1GiB")
    assert raised.value.what == "gpu* and gpu* are connected in 2 different ways"
    assert "NVLink4 ×18" in (raised.value.cause or "")


def test_an_answer_that_cannot_be_ranked(tmp_path: Path) -> None:
    """Catches the best of results whose repeatability is unknown."""
    run = byteways.load(sample_run.h200x4(rounds=1, sizes=(GIB,)).write(tmp_path))
    with pytest.raises(BytewaysError, match="measured in 1 round, and a ranking needs 3"):
        run.best("gpu0", "gpu1", "1GiB")


def test_errors_show_their_cause_and_hint(run: Run) -> None:
    """Catches a traceback in a notebook that names neither cause nor remedy."""
    with pytest.raises(BytewaysError) as raised:
        run.best("gpu0", "gpu1", "2MiB")
    assert raised.value.__notes__ == [
        "  caused by: measured sizes: 1 GiB",
        f"hint: nearest: byteways best gpu0 gpu1 1GiB {run.path}; "
        "or measure it now: byteways best gpu0 gpu1 2MiB",
    ]


def test_damaged_and_unfinished_runs_warn(tmp_path: Path) -> None:
    """Catches lost lines that go unnoticed in a notebook."""
    build = sample_run.cpu_only()
    build.extra_lines = ["not json"]
    folder = build.write(tmp_path / "damaged")
    with pytest.warns(byteways.RunWarning, match=r"1 damaged line\(s\)") as warned:
        byteways.load(folder)
    assert Path(warned[0].filename) == Path(__file__)
    with pytest.raises(BytewaysError, match="is not a run folder"):
        byteways.load(tmp_path / "nowhere")


def test_a_notebook_shows_text_as_text(tmp_path: Path) -> None:
    """Catches a name from a foreign run that runs as script in a notebook, and simulated figures unmarked."""
    build = sample_run.h200x4(sizes=(GIB,))
    build.topology = sample_run.topology(4, host=HOSTILE)
    build.simulated = True
    page = byteways.load(build.write(tmp_path))._repr_html_()
    assert "<script" not in page and "<img" not in page
    assert "SIMULATED" in page and "measured" not in page.replace("(not measured)", "")
    assert page.count("<li>") == 3 and "<table>" in page


def test_an_empty_run(tmp_path: Path) -> None:
    """Catches a run without records that cannot be looked at."""
    run = byteways.load(sample_run.Builder(sample_run.topology(0)).write(tmp_path))
    assert run.frame().is_empty() and run.claims == [] and run._repr_html_()


def test_measuring(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a measurement that needs the command line or the main thread, or that prints unasked."""
    only = ["interface=copy|kernel,path=gpu0>gpu1"]
    found: list[Run] = []

    def measure() -> None:
        found.append(byteways.measure(machine="h200-x4", only=only, out=tmp_path / "run", progress=False))

    thread = threading.Thread(target=measure)
    thread.start()
    thread.join()
    (run,) = found
    assert run.simulated and {record.path for record in run.records} == {"gpu0>gpu1"}
    assert str(run.best("gpu0", "gpu1", "128MiB")).startswith("gpu0>gpu1, 128 MiB: cudaMemcpyAsync")
    assert capsys.readouterr() == ("", "")
    with pytest.raises(BytewaysError, match="is not empty"):
        byteways.measure(machine="h200-x4", only=only, out=tmp_path / "run", progress=False)


def test_interrupting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a notebook's interrupt that loses what was measured, or is swallowed."""
    from byteways.measuring.conduct.measure_from_python import Quiet

    begins = Quiet.began

    def began(self: Quiet, planned: object, position: int, time_left_s: float) -> None:
        if position == 3:
            self._interruption.requested = "SIGINT"
        begins(self, planned, position, time_left_s)  # type: ignore[arg-type]

    monkeypatch.setattr(Quiet, "began", began)
    with pytest.raises(KeyboardInterrupt, match=r"interrupted by SIGINT; byteways\.load\('.*run'\)"):
        byteways.measure(machine="h200-x4", only=["path=gpu0>gpu1"], out=tmp_path / "run", progress=False)
    with pytest.warns(byteways.RunWarning, match="interrupted"):
        assert 0 < len(byteways.load(tmp_path / "run").records) < 9


def test_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches an example that a reader would copy and that fails."""
    recorded("h100x2/full")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(GUIDE.parents[2] / "examples")
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 4
    scope: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error", byteways.RunWarning)
        for block in blocks:
            exec(compile(block, str(GUIDE), "exec"), scope)
