"""What is no trace, or a damaged one: refused with cause and hint, or read but for what is damaged."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from byteways.base.errors import BytewaysError
from byteways.ext.watch.traces import content, kineto
from byteways.ext.watch.traces.collecting import MOST_NAMED_MISTAKES
from byteways.ext.watch.traces.scan import watched_of_trace
from tests.watched.traces.corpus import FOLDER

KINETO = (FOLDER / "kineto" / "torch-2.5.json").read_bytes()


def refused(path: Path) -> BytewaysError:
    """Returns the error for a file; each has a cause and a hint."""
    with pytest.raises(BytewaysError) as caught:
        watched_of_trace(path)
    assert caught.value.cause and caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n",
        b"hello\n",
        b"{}",
        b"[1, 2]",
        b'{"header": 1}',
        b"\x7fELF\x02\x01\x01\0\0\0\0",
        b"\xff\xfe\0\0",
        b"a,b,c\n1,2,3\n",
        b"\x1f\x8b",
        b"\x1f\x8b\x08\0\0\0\0\0",
        gzip.compress(b"hello", mtime=0),
    ],
)
def test_what_is_no_trace_is_refused(data: bytes, tmp_path: Path) -> None:
    """A traceback, or an empty result that looks like a program that moved nothing."""
    path = tmp_path / "file"
    path.write_bytes(data)
    refused(path)


@pytest.mark.parametrize("length", [len(KINETO) // 2, len(KINETO) - 40, 700])
def test_a_truncated_document_is_refused_with_its_line(length: int, tmp_path: Path) -> None:
    """Bins of half a trace that are taken for all of it."""
    path = tmp_path / "cut.json"
    path.write_bytes(KINETO[:length])
    lines = KINETO[:length].count(b"\n") + 1
    error = refused(path)
    assert error.what.endswith(f"{path}") or error.what.endswith(f"{path}:{lines}")


def test_a_truncated_compressed_trace_is_refused(tmp_path: Path) -> None:
    """A copy that ended early, whose decompressed beginning looks whole."""
    path = tmp_path / "cut.json.gz"
    whole = gzip.compress(KINETO)
    path.write_bytes(whole[: len(whole) // 2])
    refused(path)


def test_documents_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small compressed file that fills the memory."""
    monkeypatch.setattr(content, "MOST_DOCUMENT_BYTES", 1 << 20)
    path = tmp_path / "large.json.gz"
    path.write_bytes(gzip.compress(b'{"traceEvents": [' + b" " * (2 << 20) + b"]}"))
    assert "1 MiB" in str(refused(path).cause)


def test_lines_are_bounded(tmp_path: Path) -> None:
    """A line without end that is read whole."""
    path = tmp_path / "line.jsonl"
    path.write_bytes(b'{"header": {}, "metadata": {}, "x": "' + b"a" * content.MOST_TRACE_LINE_BYTES + b'"}')
    assert refused(path).what.endswith(":1")


def test_no_regular_file(tmp_path: Path) -> None:
    """A pipe that blocks for ever, a folder, a file that is not there."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "none"):
        with pytest.raises(BytewaysError) as caught:
            watched_of_trace(path)
        assert caught.value.cause


def database(path: Path, *statements: str) -> Path:
    made = sqlite3.connect(path)
    for statement in statements:
        made.execute(statement)
    made.commit()
    made.close()
    return path


def test_databases_of_others_are_refused(tmp_path: Path) -> None:
    """Tables that only resemble those of Nsight Systems, whose codes mean something else."""
    other = database(tmp_path / "other", "CREATE TABLE t (a)")
    older = database(
        tmp_path / "older", "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (_id_, copyKind, bytes, start, end)"
    )
    amd = database(tmp_path / "rocpd", "CREATE TABLE rocpd_memory_copy_1 (id, start, end, size)")
    hints = [refused(path).hint for path in (other, older, amd)]
    assert hints[0] == hints[1] != hints[2]


@pytest.mark.timeout(20)
def test_views_of_a_database_are_not_run(tmp_path: Path) -> None:
    """A view under the name of a table that never ends."""
    endless = (
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS start, x AS bytes FROM n"
    )
    path = database(
        tmp_path / "view",
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)",
        "CREATE TABLE TARGET_INFO_GPU (id)",
        f"CREATE VIEW CUPTI_ACTIVITY_KIND_MEMCPY AS {endless}",
    )
    assert watched_of_trace(path).watched.bins == []


def test_a_damaged_database_is_refused(tmp_path: Path) -> None:
    """An error of SQLite that reaches the user as it is."""
    path = database(tmp_path / "cut", "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
    path.write_bytes(path.read_bytes()[:3000])
    refused(path)
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(database(tmp_path / "whole", "CREATE TABLE t (a)").read_bytes()))
    assert "gunzip" in str(refused(packed).hint)


def test_other_files_of_a_trace_are_named(tmp_path: Path) -> None:
    """A file of kernels that counts as a program without copies."""
    path = tmp_path / "1_kernel_trace.csv"
    path.write_text(
        '"Kind","Agent_Id","Kernel_Name","Start_Timestamp","End_Timestamp"\n"K","Agent 1","f(a, b)",1,2\n'
    )
    assert "memory_copy_trace.csv" in str(refused(path).hint)


def test_mistakes_are_bounded(tmp_path: Path) -> None:
    """A damaged trace of millions of events whose mistakes fill the memory or the screen."""
    events = [{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "ts": 1, "dur": -1, "args": {}}] * 300
    path = tmp_path / "bad.json"
    path.write_text(json.dumps({"traceEvents": events}))
    read = watched_of_trace(path)
    assert (len(read.mistakes), read.unread, read.watched.bins) == (MOST_NAMED_MISTAKES, 300, [])


def test_a_binary_recording_is_refused_with_the_way_out(tmp_path: Path) -> None:
    """A recording in the binary form, which looks like nothing."""
    path = tmp_path / "base.1.node.bin"
    path.write_bytes(b"\1\0\0\0" * 40)
    assert "RCCL_REPLAY_FILE" in str(refused(path).hint)


def bomb(path: Path, mebibytes: int = 4, length: int | None = None) -> Path:
    """A trace that expands a thousand times; `length`: what its end says of the length of the content."""
    text = b'{"schemaVersion": 1, "traceEvents": [' + b" " * (mebibytes << 20) + b"]}"
    packed = gzip.compress(text, mtime=0)
    if length is not None:
        packed = packed[:-4] + length.to_bytes(4, "little")
    path.write_bytes(packed)
    return path


@pytest.mark.parametrize("length", [None, 0, 100])
def test_compressed_files_are_bounded_by_their_ratio(
    length: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Would catch a file of 6 MB that takes minutes and 2 GiB before its refusal, also where its end lies."""
    monkeypatch.setattr(content, "LEAST_LIMITED_BYTES", 1 << 20)
    read: list[int] = []
    part_of = content._part_of

    def counted(file: Any, size: int) -> bytes:
        part = part_of(file, size)
        read.append(len(part))
        return part

    monkeypatch.setattr(content, "_part_of", counted)
    error = refused(bomb(tmp_path / "bomb.json.gz", length=length))
    assert "gunzip" in (error.hint or "") and sum(read) <= 2 << 20
    if length is None:
        assert read == []


def test_small_files_may_be_repetitive(tmp_path: Path) -> None:
    """Would catch a real trace of equal steps that is refused for its ratio."""
    events = [
        {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "ts": 1, "dur": 1, "args": {"bytes": 1}}
    ]
    path = tmp_path / "same.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": events * 5000}).encode()))
    (only,) = watched_of_trace(path).watched.bins
    assert only.count == 5000


@pytest.mark.parametrize("part", [1, 64, 700])
@pytest.mark.parametrize("file", sorted((FOLDER / "kineto").glob("*.json")), ids=lambda path: path.stem)
def test_events_are_read_in_parts(file: Path, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch an event that is lost, halved or read twice where a part ends."""
    if file.name == "expected.json" or file.name.startswith("empty"):
        return
    whole = watched_of_trace(file)
    monkeypatch.setattr(content, "PART_BYTES", part)
    read: list[int] = []
    decoded = kineto._Events._decoded

    def counted(events: Any, text: bytes) -> Any:
        read.append(len(text))
        return decoded(events, text)

    monkeypatch.setattr(kineto._Events, "_decoded", counted)
    parted = watched_of_trace(file)
    assert (parted.watched, parted.mistakes, parted.unread) == (whole.watched, whole.mistakes, whole.unread)
    assert read


def test_elements_with_many_objects_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch `},{` within an event, or in its text, taken for the end of one, or refused."""
    args = {"bytes": 3, "blocks": [{"x": number} for number in range(40)], "text": '"},{"\\'}
    event = {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "ts": 1, "dur": 1, "args": args}
    document = {"deviceProperties": [{}, {}], "traceEvents": [event] * 7, "more": [{}, {}], "x": {"y": [1]}}
    path = tmp_path / "nested.json"
    path.write_text(json.dumps(document))
    for part in (1, 100, 1000, 1 << 20):
        monkeypatch.setattr(content, "PART_BYTES", part)
        (only,) = watched_of_trace(path).watched.bins
        assert (only.count, only.bytes) == (7, 21)


def test_an_element_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch an event that fills the memory."""
    monkeypatch.setattr(content, "MOST_ELEMENT_BYTES", 1 << 16)
    monkeypatch.setattr(content, "PART_BYTES", 1 << 12)
    path = tmp_path / "long.json"
    path.write_text('{"traceEvents": [{"name": "' + "a" * (4 << 20) + '"}]}')
    assert "one of its elements" in (refused(path).cause or "")


@pytest.mark.parametrize("text", [b'"\xff"', b'"a\x01b"', b'"\xed\xa0\x80"', b"[" * 2000 + b"]" * 2000])
@pytest.mark.parametrize("part", [8, 1 << 20])
def test_what_only_python_takes_for_json(
    text: bytes, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Would catch a traceback for a text that one reader of JSON accepts and the other one does not."""
    monkeypatch.setattr(content, "PART_BYTES", part)
    path = tmp_path / "odd.json"
    path.write_bytes(b'{"traceEvents": [{"name": ' + text + b'}, {"name": ' + text + b"}, {}]}")
    try:
        assert watched_of_trace(path).watched.bins == []
    except BytewaysError as error:
        assert error.cause and error.hint
