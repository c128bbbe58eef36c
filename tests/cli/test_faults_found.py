"""Every kind of injected fault in a whole suite: `check` and `compare` find it and name what is faulty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from byteways.cases.case import PlannedCase
from byteways.models.faults import GRAMMAR
from tests.cli.called import byteways

QUICK = ("quick",)
BETWEEN_RANKS = ("mpi", "--ranks", "2")
#: `quick` has no copies of pageable memory.
PAGEABLE = """
name = "pageable"
title = "Copies of pageable memory"

[[sweep]]
name = "pageable"
interface = "copy"
source = "cpu*:pageable"
destination = "gpu*:device"
size = ["4KiB", "64KiB", "1MiB", "4MiB", "64MiB"]
precision = 0.02
case_budget_s = 0.2
"""
#: Seconds for a case that hangs, and for all others, however busy this machine is.
HANGS_S, OTHERS_S = 3.0, 120.0


@dataclass(frozen=True)
class Found:
    """A fault, what both commands name first, and the suite that shows it."""

    fault: str
    named: str
    suite: tuple[str, ...] = QUICK
    compared: str = ""  # what `compare` names, if other cases are missing there than fail in `check`


CASES = (
    Found("corrupt:gpu0>gpu1:word=7", "gpu0>gpu1"),
    Found("hang:gpu0>gpu1", "gpu0>gpu1"),
    Found("skip:gpu0>gpu1", "gpu0>gpu1"),
    Found("lapse:gpu0>gpu1:after=10", "gpu0>gpu1"),
    Found("overrun:gpu0>gpu1", "gpu0>gpu1"),
    Found("no-memory:gpu3", "gpu3"),
    Found("no-kernels:gpu1", "gpu1"),
    Found("lost:gpu2", "gpu2"),
    Found("lost:gpu2:after=300", "gpu2"),
    Found("stall:gpu0:after=10", "gpu0", compared="cpu0-gpu0"),
    Found("early-return:cpu0>gpu0", "gpu0", ("pageable.toml",)),
    Found("slow:gpu0-nvswitch:0.5", "gpu0-nvswitch"),
    Found("down:gpu0-nvswitch", "gpu0-nvswitch"),
    Found("link-fails:gpu0-nvswitch:after=40", "gpu0-nvswitch"),
    Found("false-peer:gpu0>gpu1", "gpu0>gpu1"),
    Found("serialise:gpu0", "concurrent flows issued by gpu0"),
    Found("throttle:gpu0:0.7", "gpu0"),
    Found("rank-throws:1:call=5", "rank 1 (gpu1)", BETWEEN_RANKS),
    Found("rank-never-enters:1", "rank 1 (gpu1)", BETWEEN_RANKS),
    Found("rank-dies:1:call=5", "rank 1 (gpu1)", BETWEEN_RANKS),
    Found("rank-late:1:ns=40000", "rank 1 (gpu1)", BETWEEN_RANKS),
)


def test_every_kind_has_a_case() -> None:
    """Catches a new kind of fault that nobody has seen found."""
    assert {one.fault.partition(":")[0] for one in CASES} == {*GRAMMAR}


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Callable[[tuple[str, ...]], Path]:
    """Gives the folder of a healthy run `A` of a suite; each suite runs once."""
    folders: dict[tuple[str, ...], Path] = {}

    def made(suite: tuple[str, ...]) -> Path:
        if suite not in folders:
            folders[suite] = folder = tmp_path_factory.mktemp("healthy")
            (folder / "pageable.toml").write_text(PAGEABLE)
            assert byteways(folder, "run", *suite, "--machine", "h200-x4", "--out", "A").returncode == 0
        return folders[suite]

    return made


def deadline(planned: PlannedCase, first: bool) -> float:
    """In place of 20 s for each case that hangs."""
    over = ((flow.source.device, flow.destination.device) == ("gpu0", "gpu1") for flow in planned.case.flows)
    return HANGS_S if any(over) else OTHERS_S


@pytest.mark.slow
@pytest.mark.parametrize("found", CASES, ids=lambda found: found.fault)
def test_faults_are_found_by_a_whole_suite(
    healthy: Callable[[tuple[str, ...]], Path], found: Found, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a fault that passes, or whose device, link or rank is not the first that is named."""
    if found.fault.startswith("hang"):
        monkeypatch.setattr("byteways.measuring.conduct.execution.simulated_deadline_s", deadline)
    folder, out = healthy(found.suite), found.fault.replace(">", "-")
    byteways(folder, "run", *found.suite, "--machine", "h200-x4", "--fault", found.fault, "--out", out)
    checked = byteways(folder, "check", out, "--against", "A")
    assert checked.returncode == 1
    assert f"involve {found.named}, and " in checked.stdout.splitlines()[4]
    compared = byteways(folder, "compare", "A", out).stdout.partition("\nresult\n")[2]
    assert f"involve {found.compared or found.named}, and " in compared.splitlines()[1]
