"""Queries of vendor libraries in a child process: an answer, a call that never returns, a crash."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from byteways.base import vendor_query
from byteways.base.vendor_query import query
from byteways.machine import nvml
from byteways.machine.discovery import discover

_ANSWERS = "calls('init'); print('noise of a library'); return {'gpus': 2}"
_HANGS = "calls('init'); calls('count'); import signal; signal.pause()"
_DIES = "calls('init'); import os; os.kill(os.getpid(), 11)"
_FAILS = "calls('init'); raise OSError('no device')"


def child(monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Makes every query run a child with this body."""
    program = f"from byteways.base.vendor_query import answer\ndef read(calls):\n    {body}\nanswer(read)"
    monkeypatch.setattr(vendor_query, "module_command", lambda module: [sys.executable, "-c", program])
    monkeypatch.setattr(vendor_query, "_timed_out", {})


def test_the_answer_is_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches an answer mixed with what a library prints."""
    child(monkeypatch, _ANSWERS)
    assert query("any") == vendor_query.Reply({"gpus": 2})


def test_the_caller_goes_on_while_a_child_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Catches a query that waits when it begins, and a child that stays after nobody wants its answer."""
    go = tmp_path / "go"
    os.mkfifo(go)
    child(monkeypatch, f"calls('init'); return open({str(go)!r}).read()")
    asked, unwanted = vendor_query.Query("any"), vendor_query.Query("any")
    unwanted.end()
    with go.open("w") as pipe:  # opens when the child reads
        pipe.write("now")
    assert asked.reply() == asked.reply() == vendor_query.Reply("now")
    unwanted.end()


def test_a_call_that_hangs_is_named_and_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a wait without limit, a reply that does not name the call, and a second wait for it."""
    child(monkeypatch, _HANGS)
    monkeypatch.setattr(vendor_query, "CALL_LIMIT_S", 0.2)
    reply = query("any")
    assert (reply.timed_out, reply.call, reply.waited_s) == (True, "count", 0.2)
    monkeypatch.setattr(vendor_query, "module_command", None)
    assert query("any") == reply
    assert vendor_query.timed_out("any")
    monkeypatch.setenv("BYTEWAYS_LIBNVML", "/another/library")
    assert not vendor_query.timed_out("any")


@pytest.mark.parametrize(("body", "how"), [(_DIES, "SIGSEGV"), (_FAILS, "exit status 1")])
def test_a_call_that_ends_the_process_is_named(body: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a crash in a library that ends discovery, or is not told."""
    child(monkeypatch, body)
    reply = query("any")
    assert (reply.call, reply.timed_out, reply.answer) == ("init", False, None)
    assert how in reply.failure


def test_a_child_that_does_not_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches an exception for a missing interpreter."""
    monkeypatch.setattr(vendor_query, "module_command", lambda module: ["/nonexistent"])
    assert "does not start" in query("any").failure


def test_ctrl_c_ends_the_wait_and_the_child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Catches a program that ignores Ctrl-C while a driver hangs, and a child that survives it."""
    started = tmp_path / "started"
    child(
        monkeypatch, f"import os, signal; open({str(started)!r}, 'w').write(str(os.getpid())); signal.pause()"
    )

    def interrupt() -> None:
        while not started.exists() or not started.read_text():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    # A shell starts what it runs in the background with SIGINT ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            query("any")
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


def test_silent_nvml_is_a_note_and_left_out_by_workers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Catches discovery that waits for ever, and workers that wait for the same call again."""
    child(monkeypatch, _HANGS)
    monkeypatch.setattr(vendor_query, "CALL_LIMIT_S", 0.1)
    found = discover(sysfs=tmp_path / "sys", proc=tmp_path / "proc", allowed_cores=[0], environment={})
    assert "NVML: count did not answer within 0.1 s" in found.notes
    assert vendor_query.worker_environment() == {"BYTEWAYS_NVML": "0"}
    report = nvml.read().report
    assert (report["library"], report["usable"]) == ("nvml", False)


def test_nvml_is_not_loaded_if_the_user_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a setting that the hint names and nobody reads."""
    monkeypatch.setattr(vendor_query, "module_command", None)
    monkeypatch.setenv("BYTEWAYS_NVML", "0")
    assert nvml.read() == nvml.Nvml(reason="NVML: left out, as BYTEWAYS_NVML is 0")
