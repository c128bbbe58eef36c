"""A simulated run that is cut short and taken up again, with real workers: what it gives."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from byteways import _core
from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.work.measuring import NativeMeasurer
from tests.asked import asked
from tests.cli.called import byteways
from tests.native import simulated as toy

MACHINE = "h200-x4"
#: What two runs of one thing may differ in: times of day, wall times, process ids.
OWN = ("started_at", "wall_s", "worker")


def run(folder: Path, *arguments: str) -> None:
    done = byteways(folder, "run", *arguments, "--no-report")
    assert done.returncode == 0, done.stderr


def records(run: Path) -> dict[tuple[str, int], dict[str, Any]]:
    lines = map(json.loads, (run / "measurements.jsonl").read_text(encoding="utf-8").splitlines())
    return {
        (line["case_id"], line["round"]): {name: value for name, value in line.items() if name not in OWN}
        for line in lines
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("whole")
    run(place, "quick", "--machine", MACHINE, "--out", "R")
    return place / "R"


@pytest.mark.parametrize("seed", range(3))
def test_a_resumed_run_equals_an_uninterrupted_one(whole: Path, tmp_path: Path, seed: int) -> None:
    """Catches noise, queues, clocks and buffers that earlier cases leave to a later one."""
    resumed = tmp_path / "R"
    shutil.copytree(whole, resumed)
    lines = (whole / "measurements.jsonl").read_bytes().splitlines(keepends=True)
    cut = random.Random(seed).randrange(1, len(lines))
    part = lines[cut][: seed * len(lines[cut]) // 3]  # of a line that was being written
    (resumed / "measurements.jsonl").write_bytes(b"".join(lines[:cut]) + part)
    manifest = json.loads((resumed / "run.json").read_text(encoding="utf-8"))
    (resumed / "run.json").write_text(json.dumps({**manifest, "state": "interrupted"}), encoding="utf-8")
    run(tmp_path, "--resume", "R")
    assert records(resumed) == records(whole)


def _cases() -> list[Case]:
    """Interfaces that leave state behind: proven peers, prefetched pages, kept buffers, pools."""
    size = toy.MIB
    flows = [
        ("copy", "gpu0", "device", "gpu1", "device", "gpu0"),
        ("kernel", "gpu0", "device", "gpu1", "device", "gpu1"),
        ("kernel", "cpu0", "managed", "gpu0", "device", "gpu0"),
        ("prefetch", "cpu0", "managed", "gpu0", "managed", "gpu0"),
        ("copy", "cpu0", "pageable", "gpu0", "device", "gpu0"),
        ("memcpy", "cpu0", "pageable", "cpu1", "pageable", "cpu0"),
        ("kernel", "gpu1", "pool", "gpu0", "device", "gpu0"),
    ]
    return [
        Case(interface, "unidirectional", (Flow(Buffer(a, m), Buffer(b, n), executor),), size)
        for interface, a, m, b, n, executor in flows
    ]


@pytest.mark.parametrize("sheet", [toy.nvidia(noise=0.01), toy.amd(noise=0.01)], ids=["nvidia", "amd"])
def test_the_order_of_cases_does_not_matter(sheet: str) -> None:
    """Catches state that leaks between cases of a worker: here each case runs first once."""

    def measured(order: list[int]) -> dict[str, Any]:
        measurer, found, cases = NativeMeasurer.open(sheet), {}, _cases()
        for index in order:
            measurer.restart(index)
            found[str(index)] = measurer.measure(asked(cases[index], key=index)).outcome
        return found

    count = len(_cases())
    forward = toy.apart(lambda: measured(list(range(count))))
    assert all(outcome["status"] == "measured" for outcome in forward.values())
    assert toy.apart(lambda: measured(list(range(count))[::-1])) == forward
    assert toy.apart(lambda: measured([3, 0, 5, 1, 6, 2, 4])) == forward


def test_rounds_of_a_case_differ() -> None:
    """Catches noise that is the same in every round: the interval between rounds would be 0."""

    def measured() -> list[list[float]]:
        measurer, case = NativeMeasurer.open(toy.nvidia(noise=0.01)), _cases()[0]
        answers = []
        for key in (1, 2):
            measurer.restart(key)
            answers.append(measurer.measure(asked(case, key=key)).outcome["samples_ns"])
        return answers

    first, second = toy.apart(measured)
    assert first != second


def test_a_machine_in_use_is_not_restarted() -> None:
    """Catches a restart that leaves a session with streams and memory of a machine that is gone."""

    def refused() -> str:
        measurer = NativeMeasurer.open(toy.nvidia())
        kept = measurer.session.allocate("gpu0", "device", toy.MIB, "gpu0")
        try:
            measurer.restart(1)
        except _core.Error as error:
            return f"{kept.bytes} {error}"
        return ""

    assert "still in use" in toy.apart(refused)
