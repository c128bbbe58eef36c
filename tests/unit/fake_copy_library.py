"""The copy library in Python: it copies within host memory, and keeps what it was called with."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from byteways.ext.copy import copies, plans
from byteways.ext.copy.native_library import CALLS, ChoiceStruct, CopyLibrary, StatisticsStruct

PLAN = 0x1000
#: Addresses of blocks, for copies of no bytes.
POINTERS = np.array([0x1000, 0x2000])


class FakeCopyLibrary(CopyLibrary):
    """`codes`: what functions return, by name; 0 for others. `warning`: that of every plan."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.codes: dict[str, int] = {}
        self.detail, self.warning = b"", b""
        self.functions: dict[str, Any] = {
            # Arguments are converted as for the C functions.
            **{
                name: ctypes.CFUNCTYPE(ctypes.c_int, *types)(self._called(name))
                for name, types in CALLS.items()
            },
            "bw_error_text": lambda code: b"text of %d" % code,
            "bw_last_error": lambda: self.detail,
            "bw_plan_warning": lambda plan: self.warning,
            "bw_plan_close": lambda plan: self.calls.append(("bw_plan_close", plan)),
        }

    def _called(self, name: str) -> Callable[..., int]:
        def call(*arguments: Any) -> int:
            self.calls.append((name, *arguments))
            if code := self.codes.get(name, 0):
                return code
            getattr(self, f"_{name}", lambda *_: None)(*arguments)
            return 0

        return call

    def named(self, name: str) -> list[tuple[Any, ...]]:
        """Arguments of all calls of a function."""
        return [arguments for called, *arguments in self.calls if called == name]

    def _bw_copy(self, dst: int, src: int, size: int, *_: Any) -> None:
        ctypes.memmove(dst, src, size)

    def _bw_copy_blocks(self, dst: int, src: int, sizes: int, count: int, *_: Any) -> None:
        array = ctypes.c_size_t * count
        for to, at, size in zip(*(array.from_address(each) for each in (dst, src, sizes)), strict=True):
            ctypes.memmove(to, at, size)

    def _bw_copy_blocks_uniform(self, dst: int, src: int, size: int, count: int, *_: Any) -> None:
        array = ctypes.c_size_t * count
        for to, at in zip(array.from_address(dst), array.from_address(src), strict=True):
            ctypes.memmove(to, at, size)

    def _bw_plan_open(self, path: bytes, plan: int) -> None:
        ctypes.c_void_p.from_address(plan).value = PLAN

    def _bw_choose(self, *arguments: Any) -> None:
        choice = ChoiceStruct.from_address(arguments[-1])
        assert choice.struct_bytes == ctypes.sizeof(ChoiceStruct)
        choice.method, choice.fallback, choice.time_ns = 2, 99, 1500.0

    def _bw_get_statistics(self, plan: int, statistics: int) -> None:
        found = StatisticsStruct.from_address(statistics)
        assert found.struct_bytes == ctypes.sizeof(StatisticsStruct)
        found.calls[2], found.bytes[2], found.fallbacks[6], found.staging_bytes = 3, 4096, 1, 64


@contextmanager
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCopyLibrary]:
    """Puts a library in the place of the real one, and hides packages for GPUs that are installed here."""
    made = FakeCopyLibrary()
    for module in (copies, plans):
        monkeypatch.setattr(module, "copy_library", lambda: made)
    for name in ("torch", "cupy"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    forget_plans()
    yield made
    forget_plans()  # the real library would crash with such a plan


def forget_plans() -> None:
    plans._default_plan.cache_clear()
    plans._opened.cache_clear()
