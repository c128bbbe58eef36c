"""Executes the notebooks of docs and writes their outputs into them (make notebooks).

A notebook is executed without a display, in the folder where it lies and with a kernel of this Python. The
recorded runs must be unpacked. Outputs that another execution would not repeat are not kept: progress, notes
on standard error, execution times.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from unpack_examples import unpack

DOCS = Path(__file__).resolve().parents[1] / "docs"
#: Seconds that a cell, the kernel's start or a late output may take: some hundred times what the slowest
#: takes on an idle machine. After nbclient's own 4 s a busy machine's outputs would be left out.
CELL_LIMIT_S = 300
#: What a kernel must not find: a display, or a terminal with colours.
_OF_A_DISPLAY = ("DISPLAY", "WAYLAND_DISPLAY", "FORCE_COLOR", "COLORTERM")


def executed(path: Path) -> Any:
    """Returns the notebook with the outputs of an execution.

    Raises:
        nbclient.exceptions.CellExecutionError: A cell failed; the text has the cell and its traceback.
    """
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    environment = {name: value for name, value in os.environ.items() if name not in _OF_A_DISPLAY}
    with tempfile.TemporaryDirectory(prefix="byteways-notebook-") as own:
        # Nothing is written to the home folder, and no profile there has a say.
        folders = dict.fromkeys(("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR"), own)
        client = NotebookClient(
            notebook,
            timeout=CELL_LIMIT_S,
            iopub_timeout=CELL_LIMIT_S,
            startup_timeout=CELL_LIMIT_S,
            kernel_name="python3",
            resources={"metadata": {"path": str(path.parent)}},
        )
        client.execute(env={**environment, **folders, "TERM": "dumb"})
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if _repeats(output)]
            cell.metadata.pop("execution", None)
    # What remains names the kernel, not the Python that was used here.
    notebook.metadata.pop("language_info", None)
    return notebook


def _repeats(output: Any) -> bool:
    """Whether another execution has the same output."""
    progress = output.output_type == "display_data"
    return not progress and not (output.output_type == "stream" and output.name == "stderr")


def main() -> int:
    unpack()
    for path in sorted(DOCS.rglob("*.ipynb")):
        notebook = executed(path)
        nbformat.write(notebook, path)
        sys.stdout.write(f"{path.relative_to(DOCS.parent)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
