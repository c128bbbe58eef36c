"""The notebooks of docs: they run without a display, and their outputs are those of this code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from byteways.console.screens import Notebook, Status
from tests.lazily import Lazily
from tests.unit.house.test_docs import ROOT, anchors
from unpack_examples import unpack

nbformat, run_notebooks = Lazily("nbformat"), Lazily("run_notebooks")

NOTEBOOKS = sorted((ROOT / "docs").rglob("*.ipynb"))


def outputs(notebook: Any) -> list[Any]:
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_without_a_display(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a cell that fails, or whose printed output the code no longer gives: `make notebooks`."""
    unpack()
    monkeypatch.setenv("DISPLAY", ":99")
    assert outputs(run_notebooks.executed(path)) == outputs(nbformat.read(path, as_version=4))


def test_there_is_a_notebook() -> None:
    """Catches a test of notebooks that finds none."""
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_of_a_notebook_resolve(path: Path) -> None:
    """Catches a page that was moved, or an execution that was interrupted before it was written."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    targets = [target for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]
    assert targets
    for target in targets:
        name, _, anchor = target.partition("#")
        assert not anchor or anchor in anchors(path.parent / name)
        assert (path.parent / name).exists(), target


def test_a_failing_cell_fails(tmp_path: Path) -> None:
    """Catches an execution that goes on after an error, and one that sees the display of this terminal."""
    cells = [
        nbformat.v4.new_code_cell("import os\n'DISPLAY' in os.environ, os.environ['TERM']"),
        nbformat.v4.new_code_cell("1 / 0"),
    ]
    path = tmp_path / "failing.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    with pytest.raises(Lazily("nbclient.exceptions").CellExecutionError, match="ZeroDivisionError"):
        run_notebooks.executed(path)


class Outputs:
    """The outputs of a cell, as Jupyter's display protocol makes and updates them."""

    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []

    def display(self, bundle: dict[str, str], *, raw: bool, display_id: bool = False) -> Any:
        assert raw
        self.shown.append(bundle)
        place = len(self.shown) - 1
        shown = self.shown

        class Handle:
            def update(self, bundle: dict[str, str], *, raw: bool) -> None:
                assert raw
                shown[place] = bundle

        return Handle() if display_id else None


def test_progress_in_a_notebook() -> None:
    """Catches a progress bar that fills the notebook, shows nothing without HTML, or runs foreign text."""
    outputs = Outputs()
    screen = Notebook(outputs.display)
    screen.start()
    for done in range(3):
        screen.draw(Status(done, 8, "0:05", "copy <b>gpu0</b>", "2 measured"))
    assert len(outputs.shown) == 1
    assert outputs.shown[0]["text/plain"] == "2/8, 0:05 left: copy <b>gpu0</b> (2 measured)"
    assert outputs.shown[0]["text/html"] == (
        '<progress max="8" value="2"></progress> 2/8, 0:05 left: copy &lt;b&gt;gpu0&lt;/b&gt; (2 measured)'
    )
    screen.line("[3/8] copy: lost\x1b[31m", "red")
    screen.stop()
    assert [bundle["text/plain"] for bundle in outputs.shown] == ["", "[3/8] copy: lost\ufffd[31m"]
    assert json.dumps(outputs.shown)
