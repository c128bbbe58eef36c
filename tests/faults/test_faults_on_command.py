"""Every fault on command, from the word after --fault to what a user is told: status, warning or finding, the
pair by name, and everything else measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from byteways.cli import main
from byteways.questions.findings import findings
from byteways.record.record import Record
from byteways.record.run_folder import RunFolder

#: Every pair, one flow, by copy and kernel, and fan-outs: about a second on a simulated machine.
SUITE = """
name = "faults"
title = "what faults show in"
rounds = 1
[[sweep]]
name = "pairs"
interface = ["copy", "kernel"]
source = "gpu*:device"
destination = "gpu*:device"
executor = "source"
same_device = "never"
size = "64MiB"
[[sweep]]
name = "fan"
interface = "kernel"
pattern = "fan-out"
source = "gpu*:device"
destination = "gpu*:device"
executor = "source"
size = "64MiB"
"""

Play = Callable[..., tuple[int, list[Record], list[str]]]


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """Plays a fault; answers exit status, records and the texts of the findings."""

    def run(
        fault: str, *arguments: str, machine: str = "crusher-mi250x"
    ) -> tuple[int, list[Record], list[str]]:
        suite, out = tmp_path / "suite.toml", tmp_path / "R"
        suite.write_text(SUITE, encoding="utf-8")
        words = ["run", str(suite), "--machine", machine, "--fault", fault, "--out", str(out), "--no-report"]
        status = main([*words, *arguments])
        folder = RunFolder(out)
        records = list(folder.records)
        return status, records, [f"{finding.title} {finding.detail}" for finding in findings(folder)]

    return run


def by_status(records: list[Record]) -> Mapping[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record.status, []).append(record)
    return found


def touches(record: Record, *devices: str) -> bool:
    return any(device in record.path.replace(">", ",").split(",") for device in devices)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("corrupt:gpu0>gpu1:word=7", "1 wrong words in 67108864 bytes, the first at byte 56"),
        ("skip:gpu0>gpu1", "8388608 wrong words in 67108864 bytes, the first at byte 0"),
    ],
)
def test_wrong_data_is_corrupt(play: Play, fault: str, said: str) -> None:
    """Would catch a figure for a copy whose data is not there, and a second pair that is blamed for it."""
    status, records, _ = play(fault)
    found = by_status(records)
    assert status == 1
    assert {record.path for record in found["corrupt"] if record.pattern == "unidirectional"} == {"gpu0>gpu1"}
    assert all(record.reason and record.reason.startswith("gpu0>gpu1: ") for record in found["corrupt"])
    assert any(said in (record.reason or "") for record in found["corrupt"])
    assert all(record.bandwidth_bytes_per_s is None for record in found["corrupt"])
    assert set(found) == {"corrupt", "measured"}


def test_hang_is_a_timeout(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a run that waits for ever for one pair."""
    monkeypatch.setattr(
        "byteways.measuring.conduct.execution.simulated_deadline_s",
        lambda planned, first: 3.0 if planned.case.path == "gpu0>gpu1" else 120.0,
    )
    status, records, _ = play("hang:gpu0>gpu1", "--only", "interface=copy,path=gpu0>gpu*")
    found = by_status(records)
    assert status == 1
    assert [record.path for record in found["timeout"]] == ["gpu0>gpu1"]
    assert "no answer within 3 s" in (found["timeout"][0].reason or "")
    assert len(found["measured"]) == len(records) - 1


def test_allocation_fails(play: Play) -> None:
    """Would catch a GPU without memory that takes others with it."""
    status, records, _ = play("no-memory:gpu3:above=1048576")
    found = by_status(records)
    assert status == 1
    assert all(touches(record, "gpu3") for record in found["failed"])
    assert any("hipMalloc: hipErrorOutOfMemory" in (record.reason or "") for record in found["failed"])
    assert all("gpu3" in (record.reason or "") for record in found["failed"])
    assert any(record.path == "gpu0>gpu1" for record in found["measured"])


def test_a_gpu_without_kernels(play: Play) -> None:
    """Would catch a missing kernel that fails a run, or that nobody names."""
    status, records, _ = play("no-kernels:gpu1", "--only", "sweep=pairs,path=gpu*>gpu2")
    assert status == 1
    without = {record.interface: record for record in records if touches(record, "gpu1")}
    assert {name: record.status for name, record in without.items()} == {
        "kernel": "skipped",
        "copy": "failed",
    }
    assert "kernel is not available on gpu1: the driver refuses what" in (without["kernel"].reason or "")
    assert (without["copy"].reason or "").endswith("on gpu1")  # kernels fill and check what copies move
    assert all(record.status == "measured" for record in records if not touches(record, "gpu1"))


def test_device_lost_in_the_middle(play: Play) -> None:
    """Would catch a lost GPU that ends the run, or cases of other GPUs that fail with it."""
    status, records, _ = play("lost:gpu2:after=600")
    found = by_status(records)
    assert status == 1
    assert found["failed"]
    assert all(touches(record, "gpu2") for record in [*found["failed"], *found.get("skipped", [])])
    assert any("on gpu2" in (record.reason or "") for record in found["failed"])
    untouched = [record for record in records if not touches(record, "gpu2")]
    assert untouched and all(record.status == "measured" for record in untouched)


def test_slow_link_is_found(play: Play) -> None:
    """Would catch a link at half its rate that looks like any other."""
    status, _, told = play("slow:gpu0-gpu1:0.5", "--rounds", "3")
    assert status == 0
    assert told[0].startswith("Simulated: gpu0-gpu1 is slow: "), told


def test_link_that_is_down_is_gone_around(play: Play) -> None:
    """Would catch a topology that still draws the link, or a pair that is not measured for want of it."""
    status, records, _ = play("down:gpu0-gpu1")
    pair = [record for record in records if record.path == "gpu0>gpu1" and record.interface == "kernel"]
    assert status == 0
    assert pair[0].status == "measured"
    assert pair[0].peak_bytes_per_s == 50e9  # over gpu2 and gpu3, or gpu6 and gpu7 and what joins them


def test_peer_access_that_lies(play: Play) -> None:
    """Would catch kernels that write into nowhere and are timed."""
    _, records, _ = play("false-peer:gpu0>gpu1")
    kernel = [r for r in records if r.path == "gpu0>gpu1" and r.interface == "kernel"]
    assert [record.status for record in kernel] == ["skipped"]
    assert "peer access was granted, but" in (kernel[0].reason or "")
    assert "gpu0" in (kernel[0].reason or "") and "gpu1" in (kernel[0].reason or "")


def test_streams_that_wait_for_each_other(play: Play) -> None:
    """Would catch flows of one GPU that ran one after another and are shown as if they had overlapped."""
    _, records, told = play("serialise:gpu0", "--rounds", "3")
    fans = [
        record for record in records if record.pattern == "fan-out" and record.flows[0]["executor"] == "gpu0"
    ]
    assert fans and all("serialised" in {warning.id for warning in record.warnings} for record in fans)
    assert any("were serialised" in text for text in told), told


@pytest.mark.parametrize("machine", ["crusher-mi250x", "h200-x4"])
def test_clocks_held_back(play: Play, machine: str) -> None:
    """Catches slow clocks without a warning, and links that depend on these clocks."""
    _, records, told = play("throttle:gpu0:0.7", "--rounds", "3", machine=machine)
    if machine == "h200-x4":
        assert any("GPU clocks were throttled" in text and "gpu0" in text for text in told), told
    kernels = {
        record.path: record.bandwidth_bytes_per_s
        for record in records
        if record.interface == "kernel" and record.pattern == "unidirectional"
    }
    assert kernels["gpu0>gpu1"] == pytest.approx(kernels["gpu1>gpu0"], rel=0.02)


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_fault_of_a_rank_that_does_not_exist_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    """Catches a fault that acts on nothing, and a folder that a refused run leaves; then does the hint."""
    out = tmp_path / "R"
    words = ["run", "mpi", "--machine", "h200-x4", "--only", "size=8", "--rounds", "1", "--no-report", *more]
    fault = ["--out", str(out), "--fault", "rank-late:5:ns=40000"]
    assert main([*words, *fault, "--ranks", "2"]) == 2
    said = capsys.readouterr().err
    assert "this run has no rank 5" in said and "hint: name one of these, or start more: --ranks 6" in said
    assert not out.exists()
    assert main([*words, "--out", str(out), "--fault", "rank-late:1:ns=40000", "--ranks", "2"]) == 0
