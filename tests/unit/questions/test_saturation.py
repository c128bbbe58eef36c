"""Curves over blocks: which number is enough, and what is said of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.answers.results.index import Index
from byteways.answers.results.summary import cells
from byteways.questions.findings import findings
from byteways.questions.subjects import saturation
from byteways.questions.subjects import saturation as topic_of
from byteways.questions.subjects.saturation import Saturation, saturations
from byteways.questions.tables import tables
from byteways.record.run_folder import RunFolder
from tests.report.run_builder import MIB, Builder, topology

BETWEEN = [("gpu0:device", "gpu1:device", "gpu0")]
BULK = {1: 47.0, 2: 94.0, 4: 188.0, 8: 366.0, 16: 372.0, 32: 360.0}
PLAIN = {8: 60.0, 64: 300.0, 132: 352.0, 528: 371.0, 1056: 371.5}


def run(tmp_path: Path, **curves: dict[int, float]) -> RunFolder:
    builder = Builder(topology())
    for name, points in curves.items():
        for blocks, rate in points.items():
            options = {"blocks": blocks}
            interface = name.replace("_", "-")
            builder.measure(interface, BETWEEN, rate, size=256 * MIB, options=options, peak=450)
    return RunFolder(builder.write(tmp_path / "run"))


def curves_of(folder: RunFolder) -> dict[str, Saturation]:
    return {curve.interface: curve for curve in saturations(cells(folder.records), folder.topology)}


def test_the_least_number_within_five_percent_is_enough(tmp_path: Path) -> None:
    """Catches the best number taken for the least, and a curve that falls again read from its end."""
    found = curves_of(run(tmp_path, kernel=PLAIN, kernel_bulk=BULK))
    assert found["kernel-bulk"].enough[0] == 8 and found["kernel-bulk"].best[0] == 16
    assert found["kernel"].enough[0] == 528
    assert found["kernel"].full and found["kernel-bulk"].full
    assert found["kernel"].multiprocessors == 132


def test_tables_have_the_best_of_a_curve(tmp_path: Path) -> None:
    """Catches a table of forty numbers of blocks, and a swept interface that is in no table at all."""
    folder = run(tmp_path, kernel=PLAIN, kernel_bulk=BULK)
    assert [grid.title for grid in tables(folder).matrices] == [
        "kernel issued by the source (blocks=1056), unidirectional at 256 MiB",
        "kernel-bulk issued by the source (blocks=16), unidirectional at 256 MiB",
    ]


def test_what_rises_to_its_end_is_not_called_full(tmp_path: Path) -> None:
    """Catches a sweep that was too short and still says how many blocks fill the link."""
    folder = run(tmp_path, kernel={8: 60.0, 64: 200.0, 132: 300.0})
    assert not curves_of(folder)["kernel"].full
    built = topic_of.topic(Index.of(folder))
    assert built is not None
    assert "> 132" in built.tables[0].rows[0]
    assert not any("saturates" in finding.title for finding in findings(folder))


def test_the_finding_names_both_and_the_device(tmp_path: Path) -> None:
    """Catches a sentence without the number to act on, or with the wrong interface first."""
    [finding] = [
        finding
        for finding in findings(run(tmp_path, kernel=PLAIN, kernel_bulk=BULK))
        if "saturates" in finding.title
    ]
    assert finding.title == "kernel-bulk saturates gpu0>gpu1 with 8 blocks, kernel needs 528"
    assert "gpu0 has 132 SMs" in finding.detail


@pytest.mark.parametrize(
    ("bulk", "title"),
    [
        ({}, "kernel saturates gpu0>gpu1 with 528 blocks"),
        (
            {1: 47.0, 528: 371.0, 1056: 371.0},
            "kernel and kernel-bulk both saturate gpu0>gpu1 with 528 blocks",
        ),
        (
            {1: 40.0, 2: 80.0, 8: 81.0},
            "kernel saturates gpu0>gpu1 with 528 blocks; kernel-bulk reaches 81 GB/s at most",
        ),
    ],
)
def test_what_never_fills_a_link_needs_no_number(tmp_path: Path, bulk: dict[int, float], title: str) -> None:
    """Catches praise for an interface that is soon at the best of its own, which is far below."""
    said = [finding.title for finding in findings(run(tmp_path, kernel=PLAIN, kernel_bulk=bulk))]
    assert title in said


def test_the_two_counts_are_never_on_one_plot(tmp_path: Path) -> None:
    """Catches a STREAM kernel drawn beside copies, which count half of what it counts."""
    builder = Builder(topology())
    local: Any = [("gpu0:device", "gpu0:device", "gpu0")]
    for blocks in (8, 64, 528, 1056):
        for interface, rate in (("kernel", blocks / 1.0), ("stream-copy", 2.0 * blocks)):
            builder.measure(interface, local, rate, size=256 * MIB, options={"blocks": blocks})
    folder = RunFolder(builder.write(tmp_path / "run"))
    built = topic_of.topic(Index.of(folder))
    assert built is not None
    drawn = {chart.y.label: [line.label for line in chart.series] for chart in built.charts}
    assert drawn == {"GB/s, one direction": ["kernel"], "GB/s, read + write": ["stream-copy"]}
    assert {row[3] for row in built.tables[0].rows} == {"one direction", "read + write"}


@pytest.mark.parametrize(("processors", "said"), [(64, "50 %"), (16, "100 %"), (None, "unknown")])
def test_share_of_multiprocessors(processors: int | None, said: str) -> None:
    """Catches more than all multiprocessors."""
    group: Any = SimpleNamespace(value=1e9, low=1e9, high=1e9, cells=())
    variant: Any = SimpleNamespace(name="kernel")
    curve: Any = SimpleNamespace(
        enough=(32, group), best=(32, group), multiprocessors=processors, path="p", variant=variant
    )
    curve.size_bytes, curve.read_write, curve.full = 8, False, True
    assert said in saturation._table([curve]).rows[0]
