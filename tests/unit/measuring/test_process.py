"""What the conductor says of a worker process, and where its socket lies."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from byteways.base.errors import BytewaysError
from byteways.base.private_folder import private_folder
from byteways.measuring.conduct import process
from byteways.measuring.conduct.process import (
    SOCKET_PATH_LIMIT,
    WorkerLost,
    _shortened,
    _socket_place,
    out_of_memory_kills,
    process_state,
)
from byteways.measuring.shared.exit_status import describe_exit


@pytest.mark.parametrize(
    ("returncode", "said"),
    [
        (0, "exit status 0"),
        (3, "exit status 3"),
        (-1, "SIGHUP"),
        (-signal.SIGSEGV, "SIGSEGV"),
        (-99, "signal 99"),
        (143, "exit status 143 (128 + SIGTERM: a process of it was killed)"),
        (255, "exit status 255"),
    ],
)
def test_how_a_worker_ended(returncode: int, said: str) -> None:
    """Catches a signal told as a status, and one that has no name."""
    assert describe_exit(returncode) == said


def from_text(monkeypatch: pytest.MonkeyPatch, text: str | None) -> None:
    """Gives every file this text; None: it cannot be read."""

    def read_text(path: Path, *_: Any, **__: Any) -> str:
        if text is None:
            raise OSError
        return text

    monkeypatch.setattr(process.Path, "read_text", read_text)


@pytest.mark.parametrize(
    ("text", "kills"),
    [
        ("nr_free 5\noom_kill 7\nswap 9\n", 7),
        ("oom_kill_other 3\n", 0),
        ("nr_free 5\n", 0),
        ("oom_kill many\n", 0),
        (None, 0),
    ],
)
def test_kills_for_lack_of_memory(text: str | None, kills: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches another line of the kernel's counters, and a traceback where it has none."""
    from_text(monkeypatch, text)
    assert out_of_memory_kills() == kills


@pytest.mark.parametrize(
    ("text", "state"), [("12 (python) R 1 2 3", "R"), ("12 (a) b (c)) Z 1 2", "Z"), (None, None)]
)
def test_states_of_processes(text: str | None, state: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a part of a program's name taken for the state."""
    from_text(monkeypatch, text)
    assert process_state(12) == state


@pytest.mark.parametrize(
    ("length", "limit", "kept"), [(9, 10, 9), (10, 10, 10), (11, 10, 10), (120, None, 120), (121, None, 120)]
)
def test_long_words_of_a_worker_are_cut(length: int, limit: int | None, kept: int) -> None:
    """Catches a megabyte in a reason, and a text cut that is short enough."""
    text = "x" * length
    found = _shortened(text) if limit is None else _shortened(text, limit)
    assert len(found) == kept
    assert found == text if length == kept else found == f"{text[: kept - 1]}…"


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder whose path leaves room for a socket's, wherever pytest puts its own."""
    with tempfile.TemporaryDirectory(dir="/tmp") as path:
        yield Path(path)


def test_the_folder_of_the_session_comes_first(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches sockets in a folder that all users share although there is a private one."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short_path))
    folder, path = _socket_place()
    assert path == folder.path / "socket" and folder.path.parent == short_path
    folder.remove()


@pytest.mark.parametrize("lacking", [os.W_OK, os.X_OK])
def test_a_folder_that_cannot_be_written_is_passed_over(
    lacking: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a worker that does not start because its user may read the session's folder only."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(os, "access", lambda path, mode: path != str(tmp_path) or not mode & lacking)
    folder, _ = _socket_place()
    assert folder.path.parent == Path("/tmp")
    folder.remove()


def test_a_socket_goes_where_temporary_files_go(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a run that fails because /tmp is read-only, although TMPDIR names another place."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("TMPDIR", str(short_path))
    folder, path = _socket_place()
    assert path.parent.parent == short_path
    folder.remove()
    with private_folder() as other:
        assert other.parent == short_path


@pytest.mark.parametrize("more", [0, 1])
def test_a_path_that_is_too_long_is_passed_over(
    more: int, short_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a path that a socket cannot have, by one byte, and one refused that it can."""
    private = len("/byteways-private-12345678/socket")
    base = short_path / ("x" * (SOCKET_PATH_LIMIT - private - len(str(short_path)) - 1 + more))
    base.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(base))
    folder, path = _socket_place()
    assert (folder.path.parent == base) == (not more)
    assert len(os.fsencode(path)) == SOCKET_PATH_LIMIT or more
    assert [*base.iterdir()] == ([] if more else [folder.path])
    folder.remove()


def test_no_folder_at_all_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a loss without its cause: no folder may be written, or the last one is full."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(os, "access", lambda path, mode: path == "/tmp")

    def full(base: Path) -> None:
        raise OSError(28, "No space left on device", str(base / "new"))

    monkeypatch.setattr(process, "PrivateFolder", full)
    with pytest.raises(WorkerLost, match="for the socket: /tmp: No space left on device") as caught:
        _socket_place()
    assert "space" in (caught.value.hint or "") and "TMPDIR" not in (caught.value.hint or "")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(WorkerLost, match="can be written") as caught:
        _socket_place()
    assert caught.value.status == "lost" and "TMPDIR" in (caught.value.hint or "")
    with pytest.raises(BytewaysError) as none, private_folder():
        pass
    assert "TMPDIR" in (none.value.hint or "")


def test_the_longest_path_of_a_socket() -> None:
    """Catches another limit than sockaddr_un has: 108 bytes with the final zero (unix(7))."""
    assert SOCKET_PATH_LIMIT == 107


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_worker_that_is_ended_together_with_the_run_is_no_loss(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a case that is recorded as lost because a batch system ended the whole job: its signal to the
    worker comes before the one to this process. A worker that is killed alone is a loss at once.
    """
    ticks = []

    class RequestedError(Exception):
        pass

    def tick() -> None:
        ticks.append(None)
        if len(ticks) > 2:  # the signal to this process comes late
            raise RequestedError

    monkeypatch.setattr(process, "TICK_S", 0.01)
    program = f"import os; os.kill(os.getpid(), {int(number)})"
    expected = RequestedError if number is signal.SIGTERM else WorkerLost
    monkeypatch.setattr(process.WorkerProcess, "_greet", lambda self, _: self._ended(60) and None)
    worker = process.WorkerProcess(tmp_path / "log", command=[sys.executable, "-c", program], tick=tick)
    with pytest.raises(expected):
        raise worker._lost()
