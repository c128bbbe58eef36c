"""Journal, manifest and run folder: what is on disk after anything may have happened."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byteways.errors import BytewaysError
from byteways.plan.case import Buffer, Case, Flow, PlannedCase
from byteways.results import manifest as manifests
from byteways.results.record import Record, Times
from byteways.results.run_folder import JOURNAL, RunFolder, read_journal, read_manifest
from byteways.run import journal as journals
from byteways.run.journal import Journal, encode
from byteways.run.recording import unmeasured
from byteways.topology.model import Agent, Capabilities, Link, Topology


def record(number: int, **fields: object) -> Record:
    buffer = Buffer("cpu0", "pageable")
    case = Case("memcpy", "unidirectional", (Flow(buffer, buffer, "cpu0"),), 8 * (number + 1))
    return unmeasured(PlannedCase(case, "sweep", 0, 1.0, 0.01), 1, "lost", f"reason {number} µ", **fields)


LINES = [encode(record(number)) for number in range(4)]


@given(st.integers(0, sum(map(len, LINES))))
def test_any_truncation_keeps_every_whole_record(
    tmp_path_factory: pytest.TempPathFactory, length: int
) -> None:
    """Would catch a reader that loses, invents or chokes on a record wherever a journal was cut off."""
    path = tmp_path_factory.mktemp("cut") / JOURNAL
    path.write_bytes(b"".join(LINES)[:length])
    text = read_journal(path)
    whole = sum(length >= sum(map(len, LINES[: number + 1])) for number in range(len(LINES)))
    assert [kept.reason for kept in text.records] == [f"reason {number} µ" for number in range(whole)]
    assert text.damaged == []
    assert text.finished_bytes + text.unfinished_bytes == length


@given(st.binary(max_size=200).filter(lambda garbage: b"\n" not in garbage and b"\r" not in garbage))
def test_garbage_between_records_is_counted(tmp_path_factory: pytest.TempPathFactory, garbage: bytes) -> None:
    """Would catch bytes of any kind that stop the reader or pass for a record."""
    path = tmp_path_factory.mktemp("garbage") / JOURNAL
    path.write_bytes(LINES[0] + garbage + b"\n" + LINES[1])
    text = read_journal(path)
    assert len(text.records) == 2
    assert text.damaged == [2]


@pytest.mark.parametrize(
    "line",
    ["null", "[]", "{}", '{"case_id": 1}', '{"status": "measured"}', "[" * 100_000],
    ids=["null", "list", "empty", "one field", "another", "deep"],
)
def test_json_that_is_no_record(tmp_path: Path, line: str) -> None:
    """Would catch valid JSON that is taken for a record or ends the reader with an exception."""
    (tmp_path / JOURNAL).write_text(line + "\n")
    assert read_journal(tmp_path / JOURNAL).damaged == [1]


def test_record_survives_the_journal(tmp_path: Path) -> None:
    """Would catch a field that is lost or changes its type on the way to the disk and back."""
    times = Times(1.5, (1.0, 2.0), 1.0, 2.0, 1.5, 0.1, 20)
    written = record(0, time_ns=times.__dict__, samples_ns=[1.5], wall_s=0.25)
    with Journal(tmp_path) as journal:
        journal.append(written)
    assert read_journal(tmp_path / JOURNAL).records == [written]
    assert written.time_ns == times


def test_not_a_number_is_refused(tmp_path: Path) -> None:
    """Would catch a journal that is no JSON for any other reader."""
    with Journal(tmp_path) as journal, pytest.raises(ValueError, match="JSON compliant"):
        journal.append(record(0, wall_s=float("nan")))
    assert (tmp_path / JOURNAL).read_bytes() == b""


def test_full_disk_leaves_no_half_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk fills within a write; would catch half a line that spoils the next record, or a useless
    message.
    """
    real = os.write
    journal = Journal(tmp_path)
    journal.append(record(0))

    def fills_up(file: int, data: bytes) -> int:
        if len(data) < 100:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(file, data[:-50])

    monkeypatch.setattr(journals.os, "write", fills_up)
    with pytest.raises(BytewaysError) as caught:
        journal.append(record(1))
    monkeypatch.undo()
    assert caught.value.what == f"no space left for {tmp_path}"
    assert caught.value.cause == "No space left on device"
    assert f"byteways run --resume {tmp_path}" in (caught.value.hint or "")
    journal.append(record(2))
    journal.close()
    assert [kept.reason for kept in read_journal(tmp_path / JOURNAL).records] == ["reason 0 µ", "reason 2 µ"]


@pytest.mark.parametrize(("cost_s", "expected"), [(0.0002, 25), (0.05, 3)])
def test_slow_file_systems_are_synchronised_once_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cost_s: float, expected: int
) -> None:
    """25 records in 2.5 s. Would catch a run that spends its time in fdatasync, or a fast disk that is not
    used.
    """
    now = [0.0]
    calls: list[float] = []

    def synchronise(file: int) -> None:
        calls.append(now[0])
        now[0] += cost_s

    monkeypatch.setattr(journals.os, "fdatasync", synchronise)
    journal = Journal(tmp_path, clock=lambda: now[0])
    for number in range(25):
        now[0] = number * 0.1
        journal.append(record(number))
    assert len(calls) == expected
    journal.close()
    rest = 0 if expected == 25 else 1  # close() synchronises what is not yet
    assert len(calls) == expected + rest


def test_journal_is_locked(tmp_path: Path) -> None:
    """Would catch two writers of one journal, and a lock that outlives its holder."""
    with Journal(tmp_path), pytest.raises(BytewaysError, match="another run is writing into"):
        Journal(tmp_path)
    Journal(tmp_path).close()


def test_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a run that cannot be had on a cluster file system mounted without locks."""

    def no_locks(file: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(journals.fcntl, "flock", no_locks)
    with Journal(tmp_path) as journal:
        journal.append(record(0))
    assert len(read_journal(tmp_path / JOURNAL).records) == 1


def test_repair_keeps_what_it_cuts_off(tmp_path: Path) -> None:
    """Would catch evidence that is thrown away, or a good record that is cut off with it."""
    (tmp_path / JOURNAL).write_bytes(LINES[0] + LINES[1][:40])
    with Journal(tmp_path) as journal:
        assert len(journal.repair().records) == 1
        journal.append(record(2))
    assert (tmp_path / JOURNAL).read_bytes() == LINES[0] + LINES[2]
    assert (tmp_path / journals.CUT_OFF).read_bytes() == LINES[1][:40] + b"\n"


TOPOLOGY = Topology(
    "node1",
    (Agent("cpu0", "cpu", "Xeon", memory_bytes=1 << 30), Agent("gpu0", "gpu", "H200", uuid="GPU-1")),
    (),
    (Link("cpu0", "gpu0", "pcie", 1, "5.0", 63e9, 64e9, "PCI-SIG", "PCIe 5.0 ×16"),),
)


def a_manifest(**fields: object) -> dict[str, object]:
    made = manifests.build(
        command_line=["byteways", "run"],
        suite={"name": "quick", "title": "Quick", "text": "", "rounds": 1},
        options={},
        planned=0,
        topology=TOPOLOGY,
        capabilities=Capabilities(),
        libraries=[],
        method_version=1,
    )
    return {**made, **fields}


def test_manifest_keeps_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch the environment in a manifest that is attached to a public issue."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    made = a_manifest()
    assert "hunter2" not in json.dumps(made)
    assert made["environment"]["CUDA_VISIBLE_DEVICES"] == "1"  # type: ignore[index]
    assert made["environment"]["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"  # type: ignore[index]


def test_manifest_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a full disk that leaves half a manifest where a good one was."""
    manifests.write(tmp_path, a_manifest(planned=1))

    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(manifests.os, "fsync", full)
    with pytest.raises(BytewaysError, match=r"cannot write .*run\.json"):
        manifests.write(tmp_path, a_manifest(planned=2))
    assert read_manifest(tmp_path)["planned"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "is no run folder"),
        ("{", "is damaged"),
        ("[]", "is damaged"),
        ("{}", "is damaged"),
        ('{"schema_version": 2}', "is damaged"),
        ('{"schema_version": 99}', "has schema version 99, this byteways reads 2"),
    ],
)
def test_manifest_that_cannot_be_read(tmp_path: Path, content: str | None, said: str) -> None:
    """Would catch a traceback where a user named the wrong folder."""
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(BytewaysError, match=said):
        RunFolder(tmp_path)


def test_damaged_manifest_says_what_can_be_done(tmp_path: Path) -> None:
    """Would catch advice to name the folder that was named."""
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(BytewaysError) as caught:
        RunFolder(tmp_path)
    assert (caught.value.cause or "").startswith("it is no JSON: ")
    assert caught.value.hint == "restore it from a copy, or measure again: byteways run"
    (tmp_path / JOURNAL).write_bytes(LINES[0])
    with pytest.raises(BytewaysError) as caught:
        RunFolder(tmp_path)
    assert f"the figures are in {tmp_path / JOURNAL}" in (caught.value.hint or "")


def test_journal_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch `choose another --out` as advice for --resume, which refuses --out."""

    def read_only(*_: object) -> int:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("os.open", read_only)
    with pytest.raises(BytewaysError, match="cannot write to") as new:
        Journal(tmp_path)
    assert new.value.hint == "choose another --out"
    monkeypatch.undo()
    (tmp_path / JOURNAL).write_bytes(LINES[0])
    monkeypatch.setattr("os.open", read_only)
    with pytest.raises(BytewaysError, match="cannot write to") as resumed:
        Journal(tmp_path)
    assert resumed.value.cause == f"{tmp_path / JOURNAL}: Read-only file system"
    assert f"cp -r {tmp_path} COPY" in (resumed.value.hint or "")


def test_run_folder_reads_what_was_written(tmp_path: Path) -> None:
    """Would catch a topology or a count that changes between the run and its report."""
    manifests.write(tmp_path, a_manifest())
    (tmp_path / JOURNAL).write_bytes(LINES[0] + b"garbage\n" + LINES[1][:-1])
    run = RunFolder(str(tmp_path))
    assert run.topology == TOPOLOGY
    assert (len(run.records), run.damaged_lines) == (1, 2)
    manifests.write(tmp_path, a_manifest(topology={"host": "node1"}))
    with pytest.raises(BytewaysError, match="is damaged"):
        _ = RunFolder(tmp_path).topology


def test_topology_changes_are_named() -> None:
    """Would catch a refusal to resume that does not say what changed, and one for no change at all."""
    before = TOPOLOGY.to_json()
    same = json.loads(json.dumps(before))
    same["notes"] = ["NVML was slow today"]
    same["devices"][0]["memory_bytes"] -= 4096  # what the kernel keeps for itself differs from boot to boot
    assert manifests.topology_changes(before, same) == []
    after = json.loads(json.dumps(before))
    after["host"] = "node2"
    after["devices"][1]["uuid"] = "GPU-2"
    after["devices"].append({**after["devices"][1], "name": "gpu1"})
    after["links"][0]["peak_bytes_per_s"] = 31.5e9
    assert manifests.topology_changes(before, after) == [
        "host node1 became node2",
        "gpu1 is new",
        "gpu0: uuid GPU-1 became GPU-2",
        "links (1 became 1) or their rates",
    ]


def test_fingerprint_knows_the_driver() -> None:
    """Would catch a resume under another driver."""
    agents = {
        "cpu0": {"runtime": "host", "runtime_version": "1"},
        "gpu0": {"runtime": "cuda", "runtime_version": "12.8"},
        "gpu1": {"runtime": "cuda", "runtime_version": "12.8"},
    }
    assert manifests.driver_versions(Capabilities(agents)) == "cuda 12.8"
    assert manifests.driver_versions(Capabilities()) == "none"
