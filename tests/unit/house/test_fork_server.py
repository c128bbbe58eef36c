"""The process that forks in place of pytest's: what reaches it, and what comes back."""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path

import pytest

from byteways import _core
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


def test_a_closure_that_cannot_be_sent_is_forked_here() -> None:
    """Catches a scene that fails, or sees another object, because it holds an object of the native core."""
    options = _core.MeasureOptions()
    options.budget_s = 0.75

    def action() -> list[float]:
        return [options.budget_s, os.getppid()]

    assert pickled(action) is None
    assert simulated.apart(action) == [0.75, os.getpid()]


def test_a_failure_in_the_fork_fails_the_test() -> None:
    """Catches an assertion of a scene that nobody sees, and a process that ends without an answer."""

    def fails() -> None:
        raise ValueError("its cause")

    with pytest.raises(AssertionError, match="its cause"):
        simulated.apart(fails)
    with pytest.raises(AssertionError, match="ended with 1792"):
        simulated.apart(lambda: os._exit(7))


def test_a_module_that_the_server_cannot_load_fails_one_test() -> None:
    """Catches a server that ends with its first failure, so that all tests after it fail."""
    elsewhere = types.ModuleType("tests.unit.only_in_this_process")
    exec("action = lambda: 1", vars(elsewhere))
    sys.modules[elsewhere.__name__] = elsewhere
    try:
        with pytest.raises(AssertionError, match=r"No module named 'tests\.unit\.only_in_this_process'"):
            simulated.apart(elsewhere.action)
    finally:
        del sys.modules[elsewhere.__name__]
    assert simulated.apart(lambda: 5) == 5
