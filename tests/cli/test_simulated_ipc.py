"""Memory of another process on simulated machines, from the plan to what is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.called import WIDE, byteways, measured

SWEEP = """
[[sweep]]
name = "{name}"
interface = {interface}
source = "gpu*:device"
destination = "gpu*:{memory}"
executor = "{executor}"
same_device = "never"
pairs = "per-link-class"
size = "16MiB"
"""
OPENING = """
[[sweep]]
name = "opening"
interface = "open-ipc"
buffer = "gpu1:device"
executor = "gpu0"
size = "2MiB"
"""


def run(folder: Path, *words: str, status: int = 0) -> list[dict[str, Any]]:
    both = '["copy", "kernel"]'
    sweeps = [
        SWEEP.format(name="ipc", interface=both, memory="ipc", executor="source"),
        SWEEP.format(name="own", interface=both, memory="device", executor="source"),
        OPENING,
    ]
    head = 'name = "toy"\ntitle = "Memory of another process"\nrounds = 2\ncase_budget_s = 0.05\n'
    return measured(folder, head + "".join(sweeps), *words, status=status)


@pytest.mark.parametrize("model", ["h200-x4", "frontier-mi250x"])
def test_it_is_measured_and_shown_beside_one_process(tmp_path: Path, model: str) -> None:
    """Catches buffers that cannot be opened in a run, and a table that lacks one of the two sides."""
    records = run(tmp_path, "--machine", model)
    assert {one["status"] for one in records} == {"measured"}, [one["reason"] for one in records]
    assert all(one["verified"] for one in records)
    assert {one["destination"].split(":")[1] for one in records} == {"device", "ipc"}
    shown = byteways(tmp_path, "show", "R", "--all", COLUMNS=WIDE).stdout
    assert "Memory of another process (IPC): Between GPUs" in shown
    assert "IPC compared with one process" in shown


def test_a_wrong_word_in_it_is_found(tmp_path: Path) -> None:
    """Catches a check of memory that the other process filled, or of none."""
    words = ("--machine", "h200-x4", "--fault", "corrupt:gpu0>gpu1:word=7", "--only", "sweep=ipc")
    assert {one["status"] for one in run(tmp_path, *words, status=1)} == {"corrupt"}
