"""Journal, manifest and run folder: what is on disk after anything may have happened."""

from __future__ import annotations

import errno
import json
import os
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byteways.base.errors import BytewaysError
from byteways.machine.model import Capabilities
from byteways.measuring.conduct import journal as journals
from byteways.measuring.conduct.journal import Journal
from byteways.record import manifest as manifests
from byteways.record.run_folder import JOURNAL, MANIFEST, RunFolder, read_journal, read_manifest
from byteways.record.samples import SAMPLES_FILE, Samples
from byteways.record.samples import encode as encode_samples
from byteways.record.times import Times
from tests.changed import replace
from tests.unit.run_folders import LINES, TOPOLOGY, a_manifest, record


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
    written = record(0, time_ns=asdict(times), samples_ns=[1.5], wall_s=0.25)
    with Journal(tmp_path) as journal:
        journal.append(written)
    assert read_journal(tmp_path / JOURNAL).records == [written]
    assert written.time_ns == times


def test_records_are_added_together(tmp_path: Path) -> None:
    """Records that are added at once and read as something else."""
    made = [replace(record(number), reason=text) for number, text in enumerate(("é", "\ud800", "plain"))]
    with Journal(tmp_path) as journal:
        journal.append(made[0])
        journal.extend(made[1:])
    read = read_journal(tmp_path / JOURNAL).records
    assert [each.reason for each in read] == ["é", "\\ud800", "plain"]


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
    (tmp_path / MANIFEST).write_text("{}")
    journal.append(record(0))

    def fills_up(file: int, data: bytes) -> int:
        if len(data) < 100:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(file, data[:-50])

    monkeypatch.setattr("byteways.measuring.conduct.append_only_file.os.write", fills_up)
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

    monkeypatch.setattr("byteways.measuring.conduct.append_only_file.os.fdatasync", synchronise)
    journal = Journal(tmp_path, clock=lambda: now[0])
    for number in range(25):
        now[0] = number * 0.1
        journal.append(record(number))
    assert len(calls) == expected
    journal.close()
    rest = 0 if expected == 25 else 1  # close() synchronises what is not yet
    assert len(calls) == expected + rest


def test_samples_are_on_the_disk_before_their_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a record that can be there without its samples after a power cut."""
    done: list[tuple[str, str]] = []
    real_write, real_sync = os.write, os.fdatasync

    def name_of(file: int) -> str:
        return Path(f"/proc/self/fd/{file}").resolve().name

    def write(file: int, data: bytes) -> int:
        done.append(("write", name_of(file)))
        return real_write(file, data)

    def synchronise(file: int) -> None:
        done.append(("sync", name_of(file)))
        real_sync(file)

    monkeypatch.setattr("byteways.measuring.conduct.append_only_file.os.write", write)
    monkeypatch.setattr("byteways.measuring.conduct.append_only_file.os.fdatasync", synchronise)
    with Journal(tmp_path) as journal:
        one = record(0)
        journal.append(one, Samples(one.case_id, 0, [1.0, 2.0]))
    both = [(act, name) for name in (SAMPLES_FILE, JOURNAL) for act in ("write", "sync")]
    assert done == both


def test_samples_beside_records(tmp_path: Path) -> None:
    """Would catch samples of another case or round, of a line that is cut off, or of a measurement whose
    record never came and that was repeated.
    """
    manifests.write(tmp_path, a_manifest())
    first, second, third = record(0), record(1), record(2)
    with Journal(tmp_path) as journal:
        orphan = Samples(first.case_id, first.round, [9.0])
        (tmp_path / SAMPLES_FILE).write_bytes(encode_samples(orphan))
        more = Samples(first.case_id, first.round, [1.0], host_ns=[2.0], flows=[{"path": "a"}])
        journal.append(first, more)
        journal.append(second)
        journal.append(third, Samples(third.case_id, 1, [3.0]))
    with (tmp_path / SAMPLES_FILE).open("ab") as file:
        file.write(b"garbage\n" + encode_samples(Samples(second.case_id, second.round, [5.0]))[:-9])
    run = RunFolder(tmp_path)
    assert run.samples(first) == more
    assert (run.samples(second), run.samples(third)) == (None, None)
    assert run.samples(replace(third, round=1)) == Samples(third.case_id, 1, [3.0])
    with Journal(tmp_path) as journal:
        journal.repair()
        journal.append(second, Samples(second.case_id, second.round, [7.0]))
    assert (tmp_path / "samples.cut-off").read_bytes().startswith(b'{"case_id"')
    again = RunFolder(tmp_path).samples(second)
    assert again is not None and again.samples_ns == [7.0]


def test_samples_of_early_runs(tmp_path: Path) -> None:
    """Would catch samples that lie in the record, as they did before there was a file for them, being
    lost.
    """
    manifests.write(tmp_path, a_manifest())
    one = record(0, samples_ns=[1.5, 2.5])
    found = RunFolder(tmp_path).samples(one)
    assert found == Samples(one.case_id, one.round, [1.5, 2.5])


def test_samples_that_are_no_times_are_refused(tmp_path: Path) -> None:
    """Would catch NaN in a file that other programs read, or half an entry of a record and its samples."""
    with Journal(tmp_path) as journal, pytest.raises(ValueError, match="JSON compliant"):
        journal.append(record(0), Samples("x", 0, [float("nan")]))
    assert not (tmp_path / SAMPLES_FILE).exists() and (tmp_path / JOURNAL).read_bytes() == b""


def test_journal_that_is_deleted_meanwhile(tmp_path: Path) -> None:
    """Would catch hours of measuring into a file that is nowhere."""
    folder = tmp_path / "run"
    folder.mkdir()
    journal = Journal(folder)
    journal.append(record(0))
    shutil.rmtree(folder)
    with pytest.raises(BytewaysError, match="was deleted while the run was writing") as caught:
        journal.append(record(1))
    assert "free some space" not in (caught.value.hint or "")
    journal.close()


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
    assert (tmp_path / journals.MEASUREMENTS_CUT_OFF).read_bytes() == LINES[1][:40] + b"\n"


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

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(BytewaysError, match=r"cannot write .*run\.json"):
        manifests.write(tmp_path, a_manifest(planned=2))
    assert read_manifest(tmp_path)["planned"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


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
    devices = {
        "cpu0": {"runtime": "host", "runtime_version": "1"},
        "gpu0": {"runtime": "cuda", "runtime_version": "12.8"},
        "gpu1": {"runtime": "cuda", "runtime_version": "12.8"},
    }
    assert manifests.driver_versions(Capabilities(devices)) == "cuda 12.8"
    assert manifests.driver_versions(Capabilities()) == "none"


def test_a_disturbed_slope_is_no_damage(tmp_path: Path) -> None:
    """Would catch a whole record read over for one sample that is next to nothing: 0.0063 ns among 302."""
    least = Times(1.8, (1.79, 1.82), 0.0063, 6.3, 1.84, 0.4, 302)
    written = record(0, time_ns=asdict(least), wall_s=0.25)
    with Journal(tmp_path) as journal:
        journal.append(written)
    text = read_journal(tmp_path / JOURNAL)
    assert (text.damaged, len(text.records)) == ([], 1)


def test_full_disk_of_a_folder_that_is_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a hint to resume a run that has no manifest: an import removes its folder."""
    journal = Journal(tmp_path)

    def fails(file: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("byteways.measuring.conduct.append_only_file.os.write", fails)
    with pytest.raises(BytewaysError) as caught:
        journal.append(record(0))
    assert "--resume" not in (caught.value.hint or "") and caught.value.hint
    monkeypatch.undo()
    journal.close()
