"""The process that exports GPU memory: one child serves many requests, and a lost child is replaced."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from byteways import _core
from byteways.measuring.work import exporter, measurer
from byteways.measuring.work.exporter import Exporter, ExporterLost

#: Answers each request with its process id and the size; `fail` and `end` stand for a refusal and a crash.
CHILD = """
import os, sys
for line in sys.stdin:
    verb, number, *what = line.split()
    answer = "freed"
    if verb == "allocate":
        device, memory, size = what
        if memory == "end":
            sys.exit(3)
        answer = "error out of memory" if memory == "fail" else f"handle {os.getpid()}-{size}"
    os.write(int(sys.argv[1]), (answer + chr(10)).encode())
"""


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    monkeypatch.setattr(exporter, "module_command", lambda _: [sys.executable, str(script)])


def process_of(handle: str) -> str:
    return handle.split("-")[0]


@pytest.mark.usefixtures("child")
def test_one_child_serves_all_requests() -> None:
    """Catches a child started for each case (two seconds on a real GPU), and answers out of order."""
    exporting = Exporter()
    (first, one), (second, other) = (exporting.allocate("gpu0", "device", size) for size in (4096, 8192))
    assert first != second
    handles = [one, other]
    exporting.free(first)
    exporting.free(first)
    assert process_of(exporting.allocate("gpu0", "device", 4096)[1]) == process_of(one)
    assert [handle.split("-")[1] for handle in handles] == ["4096", "8192"]
    assert process_of(handles[0]) == process_of(handles[1])
    exporting.close()
    assert not Path("/proc", process_of(handles[0])).exists()
    exporting.close()


@pytest.mark.usefixtures("child")
@pytest.mark.parametrize(
    ("memory", "reason", "same"), [("fail", "out of memory", True), ("end", "it ended", False)]
)
def test_a_refusal_is_told_and_a_lost_child_replaced(memory: str, reason: str, same: bool) -> None:
    """Catches a refusal that is taken for a handle or ends the child, whose other memory would be lost, and
    an exporter that stays broken after a crash.
    """
    exporting = Exporter()
    number, first = exporting.allocate("gpu0", "device", 4096)
    with pytest.raises(ExporterLost, match=f"^the exporting process returned no IPC handle: {reason}$"):
        exporting.allocate("gpu0", memory, 4096)
    exporting.free(number)
    second = exporting.allocate("gpu0", "device", 4096)[1]
    assert (process_of(second) == process_of(first)) is same
    exporting.close()


@pytest.mark.usefixtures("child")
def test_a_silent_child_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Catches a run that hangs when the child hangs."""
    monkeypatch.setattr(exporter, "START_LIMIT_S", 0.2)
    monkeypatch.setattr(exporter, "END_LIMIT_S", 0.2)
    (tmp_path / "child.py").write_text("import time\ntime.sleep(600)\n")
    began = time.monotonic()
    with pytest.raises(ExporterLost):
        Exporter().allocate("gpu0", "device", 4096)
    assert time.monotonic() - began < 60


def served(
    monkeypatch: pytest.MonkeyPatch, requests: str, allocate: Callable[..., object]
) -> tuple[int, list[str], int]:
    """Exit status and answers of the exporting process to these requests, and how many sessions it opened."""
    opened = []

    def session() -> SimpleNamespace:
        opened.append(1)
        return SimpleNamespace(allocate=allocate)

    monkeypatch.setattr(measurer, "open_session", session)
    monkeypatch.setattr(sys, "stdin", io.StringIO(requests))
    reader, writer = os.pipe()
    status = exporter.main([str(writer)])
    with os.fdopen(reader) as answers:  # ends: the other end was closed
        return status, answers.read().splitlines(), len(opened)


def test_what_is_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches memory of another device, kind or size behind a handle, and a session for each request."""
    asked = []

    def allocate(*arguments: object) -> SimpleNamespace:
        asked.append(arguments)
        number = len(asked)
        return SimpleNamespace(handle=lambda: f"0{number}")

    found = served(monkeypatch, "allocate 1 gpu1 pool 4096\nallocate 2 gpu0 device 8192\n", allocate)
    assert found == (0, ["handle 01", "handle 02"], 1)
    assert asked == [("gpu1", "pool", 4096, "gpu1"), ("gpu0", "device", 8192, "gpu0")]


class Counted:
    """An allocation, counted while it lives."""

    living = 0

    def __init__(self, digits: str = "0a") -> None:
        self.digits = digits
        Counted.living += 1

    def __del__(self) -> None:
        Counted.living -= 1

    def handle(self) -> str:
        if not self.digits:
            raise _core.Error("it has no handle")
        return self.digits


def test_how_long_memory_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches memory that is freed while another process uses it, or kept although nobody can."""
    living = []

    def allocate(device: str, memory: str, size: int, owner: str) -> Counted:
        living.append(Counted.living)
        return Counted("" if memory == "pool" else "0a")

    requests = (
        "allocate 1 gpu0 device 1\nallocate 2 gpu0 device 1\nfree 1\nallocate 3 gpu0 pool 1\n"
        "allocate 4 gpu0 device 1\nfree 9\n"
    )
    status, answers, _ = served(monkeypatch, requests, allocate)
    assert (status, living) == (0, [0, 1, 1, 1])
    assert answers == ["handle 0a", "handle 0a", "freed", "error it has no handle", "handle 0a", "freed"]


@pytest.mark.parametrize(("sizes", "status"), [("12", 1), ("21", 0)])
def test_why_nothing_is_exported(monkeypatch: pytest.MonkeyPatch, sizes: str, status: int) -> None:
    """Catches a message of two lines that answers two requests, and a failure that ends as a success."""

    def allocate(device: str, memory: str, size: int, owner: str) -> SimpleNamespace:
        if size == 2:
            raise _core.Error("out of memory\r\nat once")
        return SimpleNamespace(handle=lambda: "0a")

    requests = "".join(f"allocate {number} gpu0 device {size}\n" for number, size in enumerate(sizes))
    answers = {"1": "handle 0a", "2": "error out of memory  at once"}
    assert served(monkeypatch, requests, allocate) == (status, [answers[size] for size in sizes], 1)
