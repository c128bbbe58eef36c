"""Reading the folder of a watched program: whatever its files have, a value or a problem with a name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byteways.base.errors import BytewaysError
from byteways.ext.watch.folder import (
    WatchManifest,
    make_folder,
    read_snapshots,
    read_watch_folder,
    write_manifest,
)

BIN = {"what": "copy", "method": "memcpy", "count": 2, "bytes": 20, "size_from": 10, "size_to": 10}


def snapshot(pid: int = 1, bins: int = 1, interval_ns: int = 1_000_000, **process: Any) -> dict[str, Any]:
    return {
        "schema": 1,
        "process": {"pid": pid, "host": "h", "program": "p", **process},
        "bins": [BIN] * bins,
        "timeline": {
            "interval_ns": interval_ns,
            "series": [{"what": "copy", "process": 0, "bytes": [1, 2, 3]}],
        },
    }


def written(folder: Path, **contents: object) -> Path:
    """A folder with these snapshots, by name."""
    folder = folder / "W"
    make_folder(folder)
    write_manifest(folder, WatchManifest(version="1", command=["p"], host="h", started_at="now"))
    for name, content in contents.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / "processes" / f"{name}.json").write_text(text)
    return folder


def problems(folder: Path) -> list[tuple[str, str]]:
    return [(one.code, one.subject) for one in read_watch_folder(folder).problems]


def test_collectors_of_a_process_are_one_process(tmp_path: Path) -> None:
    """Catches a process that is listed once for each of its collectors, and bins of the wrong one."""
    mpi = snapshot(rank=0, ranks=2, collectors=["mpi"], duration_ns=5, lost=1)
    copies = snapshot(collectors=["memcpy"], duration_ns=7, lost=2, ended=False)
    other = snapshot(pid=2, rank=1, ranks=2, collectors=["mpi"])
    found = read_watch_folder(written(tmp_path, a=mpi, b=copies, c=other)).watched
    first, second = found.processes
    assert (first.rank, first.ranks, first.collectors) == (0, 2, ["mpi", "memcpy"])
    assert (first.duration_ns, first.lost, first.ended, second.rank) == (7, 3, False, 1)
    assert [one.process for one in found.bins] == [0, 0, 1]


def test_time_lines_are_joined_in_the_widest_intervals(tmp_path: Path) -> None:
    """Catches bytes that are lost or moved when intervals differ."""
    folder = written(tmp_path, a=snapshot(), b=snapshot(pid=2, interval_ns=2_000_000))
    line = read_watch_folder(folder).watched.timeline
    assert line and line.interval_ns == 2_000_000
    assert [(one.process, one.bytes) for one in line.series] == [(0, [3, 3]), (1, [1, 2, 3])]


@pytest.mark.parametrize("interval_ns", [0, -1, 999_999, 3_000_000])
def test_a_time_line_of_other_intervals(tmp_path: Path, interval_ns: int) -> None:
    """Catches a division by what a file says."""
    folder = written(tmp_path, a=snapshot(interval_ns=interval_ns))
    assert problems(folder) == [("unreadable-time-line", "a.json")]


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    """Catches a run that looks complete."""
    cut = json.dumps(snapshot())[:50]
    lost = snapshot(pid=9, lost=4, ended=False, failures=["cupti-missing"])
    rank = snapshot(pid=10, rank=0, ranks=3)
    folder = written(
        tmp_path, cut=cut, empty="", lost=lost, newer={**snapshot(pid=3), "schema": 2}, rank=rank
    )
    found = problems(folder)
    assert found[:3] == [
        ("damaged-snapshot", "cut.json"),
        ("damaged-snapshot", "empty.json"),
        ("newer-snapshot", "newer.json"),
    ]
    assert {code for code, _ in found[3:]} == {"ranks-missing", "not-ended", "lost", "cupti-missing"}


def test_ranks_of_a_wrong_launcher_are_named_once(tmp_path: Path) -> None:
    """Catches a warning for each of a thousand processes."""
    alone = {f"r{pid}": snapshot(pid=pid, rank=0, ranks=1, failures=["wrong-launcher"]) for pid in range(3)}
    assert problems(written(tmp_path, **alone)) == [("wrong-launcher", "3")]


def test_what_was_not_understood_is_counted(tmp_path: Path) -> None:
    """Catches calls that are seen, not understood, and not said."""
    names = ["MPI_File_open", *(f"MPI_File_{number}" for number in range(5))]
    other = {"what": "other", "count": 2, "bytes": 0, "size_from": 0, "size_to": 0}
    one = snapshot()
    one["bins"] = [
        *one["bins"],
        *({**other, "method": name} for name in names),
        {**other, "method": names[0]},
    ]
    [(code, subject)] = problems(written(tmp_path, one=one))
    assert code == "not-understood" and subject.startswith("14 calls of 6 kinds (MPI_File_open, ")


def test_several_jobs_of_a_script(tmp_path: Path) -> None:
    """Catches ranks that are missed because two jobs have the same number of them."""
    ranks = {f"r{pid}": snapshot(pid=pid, rank=pid % 2, ranks=2) for pid in range(4)}
    assert problems(written(tmp_path, **ranks)) == []


@pytest.mark.parametrize("text", ["", "[]", "{}", "{", '{"version": 1}'])
def test_a_damaged_manifest(tmp_path: Path, text: str) -> None:
    """Catches a traceback."""
    folder = written(tmp_path)
    (folder / "watch.json").write_text(text)
    with pytest.raises(BytewaysError) as refused:
        read_watch_folder(folder)
    assert refused.value.hint


def test_a_newer_manifest(tmp_path: Path) -> None:
    """Catches a folder of a later format that is read as if nothing had changed."""
    folder = written(tmp_path)
    data = json.loads((folder / "watch.json").read_text())
    (folder / "watch.json").write_text(json.dumps({**data, "schema": 2}))
    with pytest.raises(BytewaysError):
        read_watch_folder(folder)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*snapshot(), *BIN]), inner),
)


@given(st.sampled_from([*snapshot()]), JSON)
def test_any_field_may_be_anything(name: str, value: object) -> None:
    """Catches content of others that ends in a traceback."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "x.json"
        file.write_text(json.dumps({**snapshot(), name: value}))
        watched, found = read_snapshots([file])
        assert watched.processes or found


@pytest.mark.parametrize(
    "field", ["count", "bytes", "size_from", "size_to", "time_ns", "call_ns", "waiting_ns"]
)
@pytest.mark.parametrize("number", [-5, 2**63, 10**400])
def test_snapshot_with_impossible_numbers_is_damaged(tmp_path: Path, field: str, number: int) -> None:
    """Would catch sums of negative bytes, and one damaged snapshot that takes the others with it."""
    bad = snapshot(pid=2)
    bad["bins"] = [{**BIN, field: number}]
    folder = written(tmp_path, a=snapshot(), b=bad)
    found = read_watch_folder(folder)
    assert [(one.code, one.subject) for one in found.problems] == [("damaged-snapshot", "b.json")]
    assert [process.pid for process in found.watched.processes] == [1]
    assert [one.bytes for one in found.watched.bins] == [20]


def test_time_line_with_impossible_numbers_is_damaged(tmp_path: Path) -> None:
    """Would catch a chart of negative bytes."""
    bad = snapshot(pid=2)
    bad["timeline"]["series"][0]["bytes"] = [1, -1]
    assert problems(written(tmp_path, a=snapshot(), b=bad)) == [("damaged-snapshot", "b.json")]
