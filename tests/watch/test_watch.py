"""`byteways watch`: the command stays as it is, and what it did is in the folder, however it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from byteways.ext.watch.folder import WatchFolder, read_watch_folder
from tests.cli.called import byteways
from tests.watch.programs import HERE, PATIENCE_S, codes, compiled, fake_mpi, program, watched, watching


def sent(found: WatchFolder) -> int:
    """Messages of all processes."""
    return sum(one.count for one in found.watched.bins if one.method == "MPI_Send")


def test_the_command_is_as_without_a_watch(tmp_path: Path) -> None:
    """Catches a stream that is read or written by somebody else, and an exit status that is lost."""
    done, found = watched(tmp_path / "W", program(), "send", "7", "echo", "exit", "3", input="line\nrest\n")
    assert (done.returncode, done.stdout) == (3, "line\n")
    assert done.stderr.startswith("to stderr\n")
    manifest = found.manifest
    assert (manifest.exit_status, manifest.signal) == (3, None)
    assert manifest.command == [str(program()), "send", "7", "echo", "exit", "3"]
    assert manifest.duration_ns and manifest.topology and manifest.processes
    assert codes(found) == []
    [process] = found.watched.processes
    assert (process.program, process.rank, process.ranks, process.ended, process.lost) == (
        program().name,
        0,
        1,
        True,
        0,
    )
    [one] = [one for one in found.watched.bins if one.what == "message"]
    assert (one.method, one.count, one.bytes, one.size_from, one.size_to) == ("MPI_Send", 7, 168, 24, 24)
    assert (one.source.rank, one.destination.rank, one.source.memory, one.site) == (
        0,
        0,
        "pageable",
        program().name,
    )
    assert one.time_ns == one.call_ns and one.call_ns and one.waiting_ns is None
    assert found.watched.timeline and sum(found.watched.timeline.series[0].bytes) == 168


@pytest.mark.parametrize("end", [("leave", "5"), ("exit", "5")])
def test_a_process_that_skips_its_handlers_is_complete(tmp_path: Path, end: tuple[str, str]) -> None:
    """Catches counts that only a normal end writes."""
    done, found = watched(tmp_path / "W", program(), "send", "9", *end)
    assert done.returncode == 5 and sent(found) == 9 and found.watched.processes[0].ended


def test_a_killed_program_leaves_its_last_second(tmp_path: Path) -> None:
    """Catches a snapshot at the end alone, and a signal that is not told as one."""
    done, found = watched(
        tmp_path / "W", program(), "send", "4", "sleep", "600", "kill", str(int(signal.SIGKILL))
    )
    assert done.returncode == 128 + signal.SIGKILL
    assert (found.manifest.exit_status, found.manifest.signal) == (None, signal.SIGKILL)
    assert sent(found) == 4 and codes(found) == ["not-ended"]


def test_forked_and_replaced_processes_are_followed(tmp_path: Path) -> None:
    """Catches a child that counts its parent's messages again, and a file that exec's program overwrites."""
    done, found = watched(tmp_path / "W", program(), "send", "2", "child", "3", "sleep", "500", "exec", "5")
    assert done.returncode == 0
    counts = sorted(one.count for one in found.watched.bins if one.method == "MPI_Send")
    assert counts == [2, 3, 5]
    assert len(found.manifest.processes) == 3 and len({one.pid for one in found.watched.processes}) == 2


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGQUIT]
)
def test_signals_are_passed_on(tmp_path: Path, number: signal.Signals) -> None:
    """Catches a program that outlives its watch, and a handler of the program that is not called."""
    handled = ("note", str(int(number)), "wait", "exit", "6")
    process = watching("-o", tmp_path / "W", "--", program(), *handled)
    assert process.stdout and process.stdout.readline() == "waiting\n"
    process.send_signal(number)
    out, _ = process.communicate(timeout=PATIENCE_S)
    assert out == f"signal {int(number)}\n" and process.returncode == 6


def test_a_signal_that_ends_the_program_is_its_status(tmp_path: Path) -> None:
    """Catches the status of the watch in place of the program's."""
    process = watching("-o", tmp_path / "W", "--", program(), "send", "1", "wait")
    assert process.stdout and process.stdout.readline() == "waiting\n"
    process.terminate()
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + signal.SIGTERM
    assert read_watch_folder(tmp_path / "W").manifest.signal == signal.SIGTERM


def test_more_sizes_than_bins(tmp_path: Path) -> None:
    """Catches operations lost, or of a wrong size, when bins run out; and a file without bound."""
    sizes = 20_000
    _, found = watched(tmp_path / "W", program(), "sizes", str(sizes))
    bins = found.watched.bins
    assert len(bins) <= 4096 and sent(found) == sizes
    assert sum(one.bytes for one in bins) == sizes * (sizes + 1) // 2
    assert all(one.count * one.size_from <= one.bytes <= one.count * one.size_to for one in bins)
    assert max(one.size_to for one in bins) == sizes
    [file] = (tmp_path / "W" / "processes").iterdir()
    assert file.stat().st_size < 4 << 20


def test_the_options_of_the_command_are_its_own(tmp_path: Path) -> None:
    """Catches --debug or --json of a command that byteways takes for its own."""
    words = [sys.executable, "-c", "import sys; print(sys.argv[1:])", "--debug", "--json", "-o", "x"]
    done, _ = watched(tmp_path / "W", *words)
    assert done.stdout == "['--debug', '--json', '-o', 'x']\n"


def test_an_mpi_that_is_called_unseen_is_named(tmp_path: Path) -> None:
    """Catches a program that is said to have made no call, because it fetched MPI's functions itself."""
    fetcher = compiled("fetcher", [HERE / "fetcher.c"])
    done, found = watched(tmp_path / "W", fetcher, fake_mpi())
    assert (done.returncode, codes(found)) == (0, ["mpi-unseen"])


def test_the_table_is_printed_again(tmp_path: Path) -> None:
    """Catches a folder that cannot be read later, and JSON that lacks a part of it."""
    watched(tmp_path / "W", program(), "send", "3")
    again = byteways(tmp_path, "watch", "--read", "W")
    assert again.returncode == 0 and "MPI_Send" in again.stdout
    data = json.loads(byteways(tmp_path, "watch", "--read", "W", "--json").stdout)
    assert data["manifest"]["exit_status"] == 0
    counts = {one["method"]: one["count"] for one in data["watched"]["bins"]}
    assert counts == {"MPI_Init": 1, "MPI_Send": 3, "MPI_Finalize": 1}


def test_json_after_a_command(tmp_path: Path) -> None:
    """Catches data among what the command prints."""
    done, _ = watched(tmp_path / "W", program(), "send", "3", settings=["--json"])
    assert done.stdout == ""
    [one] = [one for one in json.loads(done.stderr)["watched"]["bins"] if one["method"] == "MPI_Send"]
    assert one["count"] == 3


def test_a_watch_in_a_watch(tmp_path: Path) -> None:
    """Catches two folders with one half each, and a library that is loaded twice."""
    inner = [
        sys.executable,
        "-m",
        "byteways",
        "watch",
        "-o",
        tmp_path / "inner",
        "--",
        program(),
        "send",
        "3",
    ]
    done, outer = watched(tmp_path / "outer", *inner)
    assert done.returncode == 0
    within = read_watch_folder(tmp_path / "inner")
    assert codes(within) == ["nested-watch"] and sent(within) == 3
    assert codes(outer) == ["no-snapshots"] and sent(outer) == 0


def test_the_users_preloaded_library_stays(tmp_path: Path) -> None:
    """Catches an LD_PRELOAD of the user that is replaced."""
    show = "import os; print(os.environ['LD_PRELOAD'])"
    done, _ = watched(tmp_path / "W", sys.executable, "-c", show, variables={"LD_PRELOAD": "libm.so.6"})
    *ours, last = done.stdout.strip().split(":")
    assert last == "libm.so.6" and [Path(one).name for one in ours] == ["byteways_watch_mpi.so"]


def test_a_full_disk_costs_the_program_nothing(tmp_path: Path) -> None:
    """Catches a collector whose failed write ends the program, and an empty file that nobody tells of."""
    words = [
        sys.executable,
        "-m",
        "byteways",
        "watch",
        "-o",
        "W",
        "--",
        str(program()),
        "send",
        "3",
        "exit",
        "4",
    ]
    limited = ["bash", "-c", 'ulimit -f 0; exec "$@"', "bash", *words]
    done = subprocess.run(
        limited, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 4, done.stderr
    assert "warning: " in done.stderr and "Traceback" not in done.stderr
    assert [file.stat().st_size for file in (tmp_path / "W" / "processes").iterdir()] == [0]


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--", "no-such-program"],
        ["--", "./no-such-program"],
        ["--", "./data"],
        ["--", "./text"],
        ["-o", "taken", "--", "true"],
        ["-o", "data/below", "--", "true"],
        ["--read", "taken"],
        ["--read", "missing"],
        ["--read", "taken", "--", "true"],
        ["--memcpy", "0", "--", "true"],
        ["--read", "taken", "--memcpy", "1MiB"],
    ],
    ids=" ".join,
)
def test_wrong_usage(tmp_path: Path, words: list[str]) -> None:
    """Catches a traceback, a missing hint, and a folder that a command which never ran leaves behind."""
    (tmp_path / "data").write_text("x")
    (tmp_path / "text").write_text("x")
    (tmp_path / "text").chmod(0o755)
    (tmp_path / "taken").mkdir()
    done = byteways(tmp_path, "watch", *words)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: ") and "\nhint: " in done.stderr and "bug" not in done.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == ["data", "taken", "text"]
    assert not [*(tmp_path / "taken").iterdir()]
