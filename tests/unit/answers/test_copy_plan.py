"""The plan that a run supports: which cells lead, and what the file says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from byteways.answers.best.copy_plan import CopyPlan, PlanMethod, copy_plan
from byteways.answers.best.open_comparisons import open_comparisons
from byteways.answers.results.index import Index
from byteways.base.errors import BytewaysError
from byteways.cases.options import AS_CALLED
from byteways.record.run_folder import RunFolder
from tests.native.copy_program import checked
from tests.report.run_builder import GIB, KIB, Builder, topology

HOST = [("cpu0:pinned", "gpu0:device", "gpu0")]
DEVICES = {
    f"gpu{number}": {
        "name": f"gpu{number}",
        "runtime": "cuda",
        "uuid": f"GPU-{number}",
        "pci_address": f"0000:0{number}:00.0",
        "model": "NVIDIA H100",
    }
    for number in range(2)
}
LIBRARIES = [
    {"library": "hip", "version": "HIP 5.7, release 5.7.31921"},
    {"library": "cuda-driver", "version": "CUDA 13.0, driver 580.159.04"},
]


def plan(build: Builder, folder: Path, **manifest: Any) -> CopyPlan:
    index = Index(RunFolder(build.write(folder / "run")))
    index.manifest = {
        **index.manifest,
        "capabilities": {"devices": DEVICES},
        "libraries": LIBRARIES,
        **manifest,
    }
    return copy_plan(index)


def method(made: CopyPlan, name: str) -> PlanMethod:
    (path,) = made.paths
    return next(one for one in path.methods if one.name == name)


def blocks(build: Builder, interface: str, gb_per_s: float, count: int = 64, **more: Any) -> None:
    options = {"block_bytes": 16 * KIB, **more.pop("options", {})}
    build.measure(interface, HOST, gb_per_s, size=count * 16 * KIB, options=options, **more)


def build(spread: float = 0.002) -> Builder:
    made = Builder(topology(2), rounds=3)
    made.spread = spread
    return made


def test_what_a_file_says(tmp_path: Path) -> None:
    """Catches a line that C does not expect, a checksum of other bytes, and a key of another driver."""
    run = build()
    run.measure("copy", HOST, 50.0, size=GIB)
    parts = {"cpu0>gpu0": 0.5002441, "cpu0>gpu1>gpu0": 0.4997559}
    run.measure("route", HOST, 90.0, size=GIB, options={"relays": 1}, parts=parts)
    lines = plan(run, tmp_path, run_id="abc").text.splitlines()
    assert lines[:-1] == [
        "byteways copy plan 1",
        "run abc",
        "driver cuda 13.0 580.159.04",
        "gpu 0 GPU-0 0000:00:00.0 NVIDIA H100",
        "gpu 1 GPU-1 0000:01:00.0 NVIDIA H100",
        "path host gpu0 by gpu0",
        "method default",
        "row 1073741824 1:21474836",
        "method relay via=gpu1 piece=4194304 depth=2",
        "row 1073741824 1:11930465+ parts=500244,499756",
    ]
    assert "\n".join(lines) + "\n" == checked(*lines[1:-1])


@pytest.mark.parametrize(
    ("rates", "spread", "leads"),
    [((20.0, 25.0), 0.002, True), ((20.0, 20.1), 0.002, False), ((20.0, 25.0), 0.3, False)],
)
def test_a_lead_has_an_interval(
    tmp_path: Path, rates: tuple[float, float], spread: float, leads: bool
) -> None:
    """Catches a method that is used for a difference that another run may not show."""
    run = build(spread)
    blocks(run, "copy-blocks", rates[0])
    blocks(run, "kernel-blocks", rates[1])
    assert [cell.leads for cell in method(plan(run, tmp_path), "kernel").cells] == [leads]


def test_a_call_that_takes_longer_than_it_saves(tmp_path: Path) -> None:
    """Catches a method whose call alone makes it slower for a program that waits."""
    run = build()
    blocks(run, "copy-blocks", 20.0, submit_ns=50_000.0)
    blocks(run, "kernel-blocks", 25.0, submit_ns=5_000.0)
    blocks(run, "copy-blocks", 25.0, options={"submit": "batch"}, submit_ns=15_000.0)
    made = plan(run, tmp_path)
    kernel, batch = method(made, "kernel").cells[0], method(made, "batch").cells[0]
    assert (kernel.leads, batch.leads) == (True, False)
    assert (kernel.time_ns, batch.time_ns) == pytest.approx((46943.04, 56943.04), rel=1e-3)


@pytest.mark.parametrize(
    ("bulk", "kernel_options", "spares"),
    [(29.4, {}, True), (28.0, {}, False), (29.4, {"blocks": 4}, False), (30.6, {}, False)],
    ids=["within 3 %", "slower", "more multiprocessors", "fastest"],
)
def test_a_method_that_leaves_multiprocessors_to_the_program(
    tmp_path: Path, bulk: float, kernel_options: dict[str, int], spares: bool
) -> None:
    """Catches a mark on the method that occupies more of them, or takes longer than it may."""
    run = build()
    blocks(run, "copy-blocks", 20.0, submit_ns=0.0)
    blocks(run, "kernel-blocks", 30.0, options=kernel_options, submit_ns=0.0)
    blocks(run, "bulk-blocks", bulk, submit_ns=0.0)
    made = plan(run, tmp_path)
    cells = {name: method(made, name).cells for name in ("kernel", "bulk")}
    assert [cell.spares for cell in cells["bulk"]] == [spares]
    assert [cell.leads for cell in cells["bulk"]] == [True]
    assert not any(cell.spares for cell in cells["kernel"])
    text = [line for line in made.text.splitlines() if line.startswith("row")]
    assert text[-1].endswith("*" if spares else "+")


def test_the_call_of_the_driver_between_measured_blocks(tmp_path: Path) -> None:
    """Catches a plan without the methods that were measured where the loop of calls was not."""
    run = build()
    for count in (16, 1024):
        blocks(run, "copy-blocks", 20.0, count, options={"gate": False})
    blocks(run, "kernel-blocks", 25.0, 64, options={"gate": False})
    blocks(run, "kernel-blocks", 25.0, 4, options={"gate": False})
    made = plan(run, tmp_path)
    assert [cell.count for cell in method(made, "default").cells] == [16, 64, 1024]
    assert [(cell.count, cell.leads) for cell in method(made, "kernel").cells] == [(64, True)]
    times = {cell.count: cell.time_ns for cell in method(made, "default").cells}
    assert times[64] == pytest.approx(times[1024] / 16, rel=0.01)


def test_a_sample_of_one_operation_contains_its_call(tmp_path: Path) -> None:
    """Catches a call that is counted twice, and one that is hidden by the operation before."""
    run = build()
    blocks(run, "copy-blocks", 20.0, options=AS_CALLED, submit_ns=50_000.0)
    blocks(run, "copy-blocks", 25.0, options={**AS_CALLED, "submit": "batch"}, submit_ns=40_000.0)
    blocks(run, "kernel-blocks", 30.0, options={"gate": False}, submit_ns=3_000.0)
    made = plan(run, tmp_path)
    (batch,), (kernel,) = (method(made, name).cells for name in ("batch", "kernel"))
    assert (batch.leads, batch.time_ns) == (True, pytest.approx(41943.04, rel=1e-3))
    assert (kernel.leads, kernel.time_ns) == (True, pytest.approx(37952.53, rel=1e-3))


def test_further_rounds_of_a_plan(tmp_path: Path) -> None:
    """Catches a copy that stays the driver's call although a few more rounds would show a lead."""
    run = build(0.15)
    blocks(run, "copy-blocks", 20.0, options=AS_CALLED)
    blocks(run, "copy-blocks", 30.0, options={**AS_CALLED, "submit": "batch"})
    folder = run.write(tmp_path / "further")
    index = Index(RunFolder(folder))
    index.manifest = {**index.manifest, "capabilities": {"devices": DEVICES}, "libraries": LIBRARIES}
    assert [cell.leads for cell in method(copy_plan(index), "batch").cells] == [False]
    assert [one.interfaces for one in open_comparisons(index)] == [["copy-blocks", "copy-blocks"]]


def test_times_do_not_fall_with_size_or_count(tmp_path: Path) -> None:
    """Catches noise by which more blocks would be expected earlier than fewer."""
    run = build()
    for count, gb_per_s in ((64, 10.0), (128, 30.0), (256, 20.0)):
        blocks(run, "copy-blocks", gb_per_s, count)
    times = [cell.time_ns for cell in method(plan(run, tmp_path), "default").cells]
    assert times[0] == times[1] < times[2]


@pytest.mark.parametrize(
    "other",
    [
        {"options": {"layout": "strided"}},
        {"options": {"stream": 1}},
        {"cache": "warm"},
    ],
)
def test_results_of_other_settings_are_left_out(tmp_path: Path, other: dict[str, Any]) -> None:
    """Catches a plan made of results that a program's copies are not like."""
    run = build()
    blocks(run, "copy-blocks", 20.0)
    blocks(run, "kernel-blocks", 25.0, **other)
    made = plan(run, tmp_path)
    assert [one.name for one in made.paths[0].methods] == ["default"]


def test_without_gpus_or_copies_there_is_no_plan(tmp_path: Path) -> None:
    """Catches an empty plan, which would look like one of a machine on which nothing helps."""
    run = build()
    blocks(run, "kernel-blocks", 25.0)
    with pytest.raises(BytewaysError) as no_copies:
        plan(run, tmp_path)
    assert no_copies.value.hint == "byteways run blocks"
    run = build()
    blocks(run, "copy-blocks", 25.0)
    with pytest.raises(BytewaysError, match="no GPU"):
        plan(run, tmp_path / "other", capabilities={})
