"""A text of the page that a second process computes, and what happens if that process fails."""

from __future__ import annotations

import errno
import os
import signal
import struct
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from byteways import report
from byteways.cli import main
from byteways.report import second_process
from byteways.report.second_process import computed_in_second_process
from tests.report import sample_run


def told_by(compute: Callable[[], str]) -> str:
    with computed_in_second_process(compute) as wait:
        return wait()


@pytest.fixture
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})


@pytest.mark.usefixtures("two_processors")
def test_another_process_computes_it() -> None:
    """Would catch a text that is computed in turn, and one cut at the size of a pipe."""
    pid, text = told_by(lambda: f"{os.getpid()} {'µ' * 1_000_000}").split()
    assert int(pid) != os.getpid()
    assert text == "µ" * 1_000_000


@pytest.mark.usefixtures("two_processors")
@pytest.mark.parametrize(
    "ends", [lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: os._exit(0), lambda: 1 // 0]
)
def test_process_that_fails(ends: Callable[[], None], capfd: pytest.CaptureFixture[str]) -> None:
    """Would catch a report that waits for a killed process or lacks its records, and a second traceback."""
    own = os.getpid()

    def compute() -> str:
        if os.getpid() != own:
            ends()
        return "computed here"

    assert told_by(compute) == "computed here"
    assert capfd.readouterr().err == ""


@pytest.mark.usefixtures("two_processors")
def test_process_that_is_killed_while_it_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a half-sent text that ends the report by an internal error."""

    def send_a_part(there: Connection, compute: Callable[[], str]) -> None:
        os.write(there.fileno(), struct.pack("!i", 1000) + b"the begin")
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(second_process, "_send", send_a_part)
    assert told_by(lambda: "computed here") == "computed here"


@pytest.mark.usefixtures("two_processors")
def test_nobody_waits_for_it() -> None:
    """Would catch a process that is left over when the page cannot be made."""
    found: list[int] = []
    fork = os.fork

    def never() -> str:
        threading.Event().wait()
        return ""

    def forked() -> int:
        found.append(fork())
        return found[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fork", forked)
        with pytest.raises(ZeroDivisionError), computed_in_second_process(never):
            raise ZeroDivisionError
    with pytest.raises(ProcessLookupError):
        os.kill(found[0], 0)


@pytest.mark.usefixtures("two_processors")
def test_no_further_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch tables that are lost where a user has as many processes as the system allows."""

    def refused() -> int:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(os, "fork", refused)
    assert told_by(lambda: str(os.getpid())) == str(os.getpid())


def test_no_second_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a second process where it can only slow down the first."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert told_by(lambda: str(os.getpid())) == str(os.getpid())


@pytest.mark.usefixtures("two_processors")
def test_other_threads() -> None:
    """Would catch a fork that copies a lock which another thread holds."""
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        assert told_by(lambda: str(os.getpid())) == str(os.getpid())
    finally:
        done.set()
        other.join()


@pytest.fixture
def asked(two_processors: None, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """A second process for any run; the list tells of each."""
    monkeypatch.setattr(second_process, "MANY_RECORDS", 1)
    asked: list[bool] = []
    beside = second_process.computed_in_second_process

    def counted(compute: Callable[[], str]) -> AbstractContextManager[Callable[[], str]]:
        asked.append(True)
        return beside(compute)

    monkeypatch.setattr(second_process, "computed_in_second_process", counted)
    return asked


def test_same_page(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Would catch a page that depends on how its records were packed."""
    folder = sample_run.cpu_only().write(tmp_path)
    alone = report.write_report(folder, tmp_path / "alone.html").read_text()
    asked = request.getfixturevalue("asked")
    assert report.write_report(folder, tmp_path / "beside.html").read_text() == alone
    assert asked == [True]


def test_same_tables(
    tmp_path: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """Would catch tables of `show` that are lost, doubled, or out of order with a second process."""
    folder = str(sample_run.h200x4().write(tmp_path))
    assert main(["show", folder, "--all"]) == 0
    alone = capsys.readouterr().out
    asked = request.getfixturevalue("asked")
    assert main(["show", folder, "--all"]) == 0
    assert capsys.readouterr().out == alone
    assert asked == [True]
