"""Modules that are loaded when a test first uses them, not in every process that collects tests."""

from __future__ import annotations

import importlib
from typing import Any


class Lazily:
    """A module by its name, for the large ones of a few tests, which take a third of a second or tens of MiB.

    pytest looks into what a test module holds, so that importlib's LazyLoader would load it at once.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(importlib.import_module(self._name), name)
