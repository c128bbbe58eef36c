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

import byteways
from byteways.run import exporter
from byteways.run.exporter import Exporter, ExporterLost

#: Answers each request with its process id and the size; `fail` and `end` stand for a refusal and a crash.
CHILD = """
import os, sys
for line in sys.stdin:
    device, memory, size = line.split()
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
    handles = [exporting.handle("gpu0", "device", size) for size in (4096, 8192)]
    assert [handle.split("-")[1] for handle in handles] == ["4096", "8192"]
    assert process_of(handles[0]) == process_of(handles[1])
    exporting.close()
    assert not Path("/proc", process_of(handles[0])).exists()
    exporting.close()


@pytest.mark.usefixtures("child")
@pytest.mark.parametrize(("memory", "reason"), [("fail", "out of memory"), ("end", "it ended")])
def test_a_lost_child_is_named_and_replaced(memory: str, reason: str) -> None:
    """Catches a refusal that is taken for a handle, and an exporter that stays broken after one."""
    exporting = Exporter()
    first = exporting.handle("gpu0", "device", 4096)
    with pytest.raises(ExporterLost, match=reason):
        exporting.handle("gpu0", memory, 4096)
    second = exporting.handle("gpu0", "device", 4096)
    assert process_of(second) != process_of(first)
    exporting.close()


@pytest.mark.usefixtures("child")
def test_a_silent_child_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Catches a run that hangs when the child hangs."""
    monkeypatch.setattr(exporter, "START_LIMIT_S", 0.2)
    monkeypatch.setattr(exporter, "END_LIMIT_S", 0.2)
    (tmp_path / "child.py").write_text("import time\ntime.sleep(600)\n")
    began = time.monotonic()
    with pytest.raises(ExporterLost):
        Exporter().handle("gpu0", "device", 4096)
    assert time.monotonic() - began < 60


class NativeError(Exception):
    """In place of that of the native core."""


def served(
    monkeypatch: pytest.MonkeyPatch, requests: str, allocate: Callable[..., object]
) -> tuple[int, list[str], int]:
    """Exit status and answers of the exporting process to these requests, and how many sessions it opened."""
    opened = []

    def session(**_: object) -> SimpleNamespace:
        opened.append(1)
        return SimpleNamespace(allocate=allocate)

    core = SimpleNamespace(Error=NativeError, Session=session)
    monkeypatch.setattr(byteways, "_core", core, raising=False)
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
        return SimpleNamespace(handle=lambda: f"0{len(asked)}")

    found = served(monkeypatch, "gpu1 pool 4096\ngpu0 device 8192\n", allocate)
    assert found == (0, ["handle 01", "handle 02"], 1)
    assert asked == [("gpu1", "pool", 4096, "gpu1"), ("gpu0", "device", 8192, "gpu0")]


@pytest.mark.parametrize(("sizes", "status"), [("12", 1), ("21", 0)])
def test_why_nothing_is_exported(monkeypatch: pytest.MonkeyPatch, sizes: str, status: int) -> None:
    """Catches a message of two lines that answers two requests, and a failure that ends as a success."""

    def allocate(device: str, memory: str, size: int, owner: str) -> SimpleNamespace:
        if size == 2:
            raise NativeError("out of memory\r\nat once")
        return SimpleNamespace(handle=lambda: "0a")

    requests = "".join(f"gpu0 device {size}\n" for size in sizes)
    answers = {"1": "handle 0a", "2": "error out of memory  at once"}
    assert served(monkeypatch, requests, allocate) == (status, [answers[size] for size in sizes], 1)
