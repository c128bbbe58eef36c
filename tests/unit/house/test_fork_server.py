"""The process that forks in place of pytest's: what reaches it, and what comes back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fork_server import pickled
from tests.native import simulated

FACTOR = 3


def test_a_closure_reaches_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a value, default, variable or folder that the forked process sees otherwise than here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BYTEWAYS_TEST_OF_FORKS", "here")

    def product(number: int, *, by: int = 2) -> int:
        return number * by * FACTOR

    def action() -> list[object]:
        variables = [os.environ.get(name) for name in ("BYTEWAYS_TEST_OF_FORKS", "BYTEWAYS_TEST_MORE")]
        return [product(5), (lambda number=7: number)(), str(Path.cwd()), *variables, os.getppid()]

    assert pickled(action) is not None
    *found, parent = simulated.apart(action, {"BYTEWAYS_TEST_MORE": "there"})
    assert found == [30, 7, str(tmp_path), "here", "there"]
    assert parent != os.getpid() and "BYTEWAYS_TEST_MORE" not in os.environ


def test_a_failure_in_the_fork_fails_the_test() -> None:
    """Catches an assertion of a scene that nobody sees, and a process that ends without an answer."""

    def fails() -> None:
        raise ValueError("its cause")

    with pytest.raises(AssertionError, match="its cause"):
        simulated.apart(fails)
    with pytest.raises(AssertionError, match="ended with 1792"):
        simulated.apart(lambda: os._exit(7))
