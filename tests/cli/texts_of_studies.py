"""What is said of each study, reproduced on simulated machines, as text.

    python -m tests.cli.texts_of_studies [NAME ...]

writes the files of tests/cli/studies again, after a change of what is said that is meant.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.cli.called import byteways
from tests.unit.said_of_runs import of_run

#: Parts of a study that are enough: of osu_bw the row of the first GPU, since each message is simulated; of
#: MI300A the sweeps within a process, and short ones between ranks.
PARTS: Mapping[str, tuple[str, ...]] = {
    "herten2022": ("--only", "sweep=scan|threads", "--only", "path=0/gpu0>*,size=64MiB"),
    "schieffer2024": (
        *("--only", "sweep=host|zero-copy|migration*|*-matrix|stream-*|host-stream*|direct-*"),
        *("--only", "sweep=*-latency|osu-bw-gcds,path=0/gpu0*|*:0/gpu0,1/gpu1"),
    ),
    "schieffer2025": (
        *("--only", "sweep=chase|remote-stream|hipmem*|memcpy*|small-*|allocation|kernel-*|arithmetic*"),
        *("--only", "sweep=random*|mpi-latency*|rccl-latency|rccl-allocators|cloverleaf*"),
    ),
}
FOLDER = Path(__file__).with_name("studies")
#: Study and machine, by the name of the text: the study's own machine, and one that lacks parts of it.
RUNS: Mapping[str, tuple[str, str]] = {
    f"{study}-{machine}": (study, machine)
    for study, machine in (
        ("herten2022", "jureca-mi250"),
        ("memcpy-peer", "mi300x-8"),
        ("pearson2023", "crusher-mi250x"),
        ("pearson2023", "h200-x4"),
        ("schieffer2024", "frontier-mi250x"),
        ("schieffer2025", "elcap-mi300a"),
    )
}


def text(name: str) -> str:
    """Reproduces a study: what is printed, and what is said of the run."""
    with tempfile.TemporaryDirectory() as folder:
        return text_of(Path(folder), reproduce(Path(folder), name).stdout)


def reproduce(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    """Reproduces a study into run R of a folder."""
    study, machine = RUNS[name]
    words = ("reproduce", study, *PARTS.get(study, ()), "--machine", machine, "--no-report", "--out", "R")
    done = byteways(folder, *words)
    assert done.returncode == 0, done.stderr
    return done


def text_of(folder: Path, printed: str) -> str:
    """What is compared: what was printed, and what is said of run R."""
    return _narrow(printed) + "\n" + of_run(folder / "R", but="study")


def _narrow(printed: str) -> str:
    """Columns are as wide as the longest quotation."""
    return re.sub(" {3,}", "  ", printed)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for asked in sys.argv[1:] or RUNS:
        (FOLDER / f"{asked}.txt").write_text(text(asked), encoding="utf-8")
