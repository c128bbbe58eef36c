"""Signals that end a run, and those that are left to whoever started it."""

from __future__ import annotations

import signal

import pytest

from byteways.measuring.conduct.interruption import Interruption


def test_hangups_that_are_ignored_stay_so() -> None:
    """Catches a run under nohup that ends with its terminal, and other signals that end it at once."""
    before = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)}
    try:
        for ignored in (signal.SIGHUP, signal.SIGINT):
            signal.signal(ignored, signal.SIG_IGN)
        with Interruption() as interruption:
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGINT) == interruption._handle
            assert signal.getsignal(signal.SIGTERM) == interruption._handle
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        with Interruption() as interruption:
            assert signal.getsignal(signal.SIGHUP) == interruption._handle
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_handler_of_a_library_is_left_at_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a run that fails at its end because a preloaded MPI has handlers, which Python calls None."""
    told: dict[int, object] = {}

    def record(number: int, handler: object) -> None:
        told[number] = handler

    monkeypatch.setattr(signal, "signal", record)
    with Interruption():
        assert callable(told[signal.SIGTERM])
    assert told[signal.SIGTERM] is signal.SIG_DFL
