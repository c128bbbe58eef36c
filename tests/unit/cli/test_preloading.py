"""What a verb imports while it waits for a worker."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from byteways.cli import best, preloading, run_task
from byteways.cli.preloading import importing


def test_a_module_at_each_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches all modules imported at once, which would delay an interruption, and one imported twice."""
    did: list[str] = []
    monkeypatch.setattr(preloading, "import_module", did.append)
    tick = importing(lambda: did.append("tick"), "a", "b")
    for _ in range(4):
        tick()
    assert did == ["tick", "a", "tick", "b", "tick", "tick"]


def test_an_interruption_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches an import that a user who pressed Ctrl-C waits for."""
    monkeypatch.setattr(preloading, "import_module", lambda name: pytest.fail(name))

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        importing(interrupted, "a")()


def test_the_modules_exist() -> None:
    """Catches a module that was renamed: the run would fail where it waits."""
    assert all(find_spec(name) for name in (*best._TO_ANSWER, *run_task._TO_REPORT))
