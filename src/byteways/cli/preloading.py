"""Imports what a verb needs at its end, while it waits for a worker to open the machine."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module


def importing(tick: Callable[[], None], *modules: str) -> Callable[[], None]:
    """Returns a tick that also imports one of the modules, until all are.

    A machine with GPUs takes seconds to open. Whoever needs a module before, imports it as ever.

    Args:
        tick: Called first, each time; may raise.
        modules: Full names.
    """
    left = [*modules]

    def imported() -> None:
        tick()
        if left:
            import_module(left.pop(0))

    return imported
