"""`byteways watch --import`: traces of other profilers become the folder of a watched program."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from byteways.ext.watch.folder import WatchFolder, read_watch_folder
from byteways.ext.watch.traces.scan import watched_of_trace
from tests.cli.called import byteways
from tests.watched.traces.corpus import FOLDER, trace_file, variants

KINETO = FOLDER / "kineto" / "torch-2.5.json"
RCCL = FOLDER / "rccl_recorder" / "base.4242.node7.json"


def imported(folder: Path, *traces: Path) -> WatchFolder:
    """Imports traces into W of a folder."""
    done = byteways(folder, "watch", "--out", "W", "--import", *map(str, traces))
    assert done.returncode == 0, done.stderr
    return read_watch_folder(folder / "W")


def codes(found: WatchFolder) -> list[str]:
    return sorted(problem.code for problem in found.problems)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("nsight", "2025.3.sql"),
        ("kineto", "torch-2.5.json"),
        ("inspector", "v4.0-two-processes-cut.jsonl"),
        ("rccl_recorder", "base.4242.node7.json"),
        ("rocprof_csv", "197_memory_copy_trace.csv"),
        ("rocprof_json", "sdk-1.0.json"),
    ],
)
def test_a_folder_has_what_the_trace_has(name: str, file: str, tmp_path: Path) -> None:
    """A bin, process or interval that is lost between the trace and the folder."""
    trace = trace_file(name, file, tmp_path)
    read = watched_of_trace(trace)
    found = imported(tmp_path, trace)
    assert Counter(map(repr, found.watched.bins)) == Counter(map(repr, read.watched.bins))
    assert [one.pid for one in found.watched.processes] == [one.pid for one in read.watched.processes]
    before = read.watched.timeline.series if read.watched.timeline else []
    after = found.watched.timeline.series if found.watched.timeline else []
    assert Counter(map(repr, before)) == Counter(map(repr, after))
    assert found.manifest.options["imported"] == read.format


def test_traces_of_ranks_with_the_same_process_number(tmp_path: Path) -> None:
    """Ranks in containers on several hosts that count as one process."""
    other = tmp_path / "rank1.json"
    other.write_bytes(KINETO.read_bytes())
    found = imported(tmp_path, KINETO, other)
    assert [process.pid for process in found.watched.processes] == [900, 900]
    counts = Counter(one.process for one in found.watched.bins)
    assert counts[0] == counts[1] > 0


def test_traces_of_several_profilers_together(tmp_path: Path) -> None:
    """A file of a snapshot that replaces another's."""
    found = imported(tmp_path, RCCL, KINETO, FOLDER / "inspector" / "v4.3.jsonl")
    assert len(found.manifest.processes) == len({*found.manifest.processes}) == 3
    collectors = [process.collectors for process in found.watched.processes]
    assert sorted(collectors) == [["kineto"], ["nccl-inspector", "rccl-recorder"]]  # one process of node7


def test_what_is_missing_has_a_code(tmp_path: Path) -> None:
    """A trace of which half could not be read, or that has no sizes, and looks complete."""
    found = imported(tmp_path, FOLDER / "rocprof_csv" / "cut-crlf.csv")
    assert codes(found) == ["trace-unread", "trace-unsized"]


def test_json_and_table_are_printed(tmp_path: Path) -> None:
    """Output that a program cannot read, or warnings among it."""
    done = byteways(tmp_path, "watch", "--out", "W", "--json", "--import", str(KINETO))
    document = json.loads(done.stdout)
    assert (done.returncode, document["manifest"]["options"]["imported"]) == (0, "kineto")
    again = byteways(tmp_path, "watch", "--read", "W", "--json")
    assert json.loads(again.stdout)["watched"] == document["watched"]
    table = byteways(tmp_path, "watch", "--read", "W")
    assert "ncclAllReduce" in table.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["--import", str(KINETO), str(KINETO)],
        ["--import", str(KINETO), "--read", "W"],
        ["--import", str(KINETO), "--memcpy", "64KiB"],
        ["--all", "--import", str(KINETO), str(RCCL), "-o", "W"],
        ["--import", str(KINETO), str(RCCL), "--colour"],
        ["--import", str(FOLDER / "kineto" / "empty.json")],
        ["--import", "none"],
    ],
)
def test_wrong_usage_leaves_nothing(words: list[str], tmp_path: Path) -> None:
    """A half-written folder, or an error without a way out."""
    done = byteways(tmp_path, "watch", *words)
    assert done.returncode == 2 and "hint:" in done.stderr
    assert [*tmp_path.iterdir()] == []


def test_options_stand_on_either_side(tmp_path: Path) -> None:
    """A folder or a format that is taken for one more trace."""
    for words in (
        ["--import", str(KINETO), str(RCCL), "-o", "W"],
        ["-o", "V", "--import", str(KINETO), str(RCCL)],
    ):
        done = byteways(tmp_path, "watch", *words)
        assert done.returncode == 0, done.stderr
    folders = [read_watch_folder(tmp_path / name) for name in ("V", "W")]
    assert len(folders[0].watched.processes) == len(folders[1].watched.processes) == 2


def test_every_trace_of_the_corpus_is_imported_or_refused(tmp_path: Path) -> None:
    """A traceback for a trace with nothing in it, or with a name that no file can have."""
    for name in ("kineto", "inspector", "rccl_recorder", "rocprof_csv", "rocprof_json", "nsight"):
        for file in variants(name):
            trace = trace_file(name, file, tmp_path)
            done = byteways(tmp_path, "watch", "--out", f"W-{name}-{file}", "--import", str(trace))
            assert done.returncode == (2 if file.startswith("empty") else 0), (file, done.stderr)
