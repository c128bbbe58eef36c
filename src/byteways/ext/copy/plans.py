"""Copy plans in Python: which file is used, what it says, and for which GPUs it is ready."""

from __future__ import annotations

import ctypes
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from byteways.base.errors import BytewaysError
from byteways.base.safe_folders import who_else_may_write
from byteways.base.settings import copy_plan_file
from byteways.ext.copy.native_library import (
    COPY_FALLBACKS,
    COPY_METHODS,
    ChoiceStruct,
    StatisticsStruct,
    copy_library,
)


class PlanWarning(UserWarning):
    """A plan makes copies no faster: it is missing, of another machine, or parts of it cannot be used. Or
    other users may write it.
    """


@dataclass(frozen=True)
class CopyChoice:
    """What a copy would use.

    Attributes:
        method: `default` (the driver's copy call), `batch`, `kernel`, `bulk` or `relay`.
        fallback: Why it is the driver's call although there is a plan: `no-lead`, `not-measured`, …; `none`.
        time_ns: Time that the plan expects, the call included; None if unknown.
        default_ns: The same for the driver's calls.
    """

    method: str
    fallback: str
    time_ns: float | None
    default_ns: float | None


@dataclass(frozen=True)
class CopyStatistics:
    """What was copied with a plan.

    Attributes:
        calls: Calls by method.
        bytes: Bytes by method.
        fallbacks: Calls by the reason for the driver's call.
        staging_bytes: Memory that relays have allocated on other GPUs.
    """

    calls: dict[str, int]
    bytes: dict[str, int]
    fallbacks: dict[str, int]
    staging_bytes: int


class OpenPlan:
    """A plan that open_plan() has opened."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._library = copy_library()
        self._plan: int | None = None
        self._ready: set[int] = set()
        found = ctypes.c_void_p()
        what = f"cannot open the copy plan {self.path}"
        self._library.checked_call(what, "bw_plan_open", os.fsencode(self.path), ctypes.byref(found))
        self._plan = found.value
        if who := who_else_may_write(self.path):
            warnings.warn(f"{self.path} {who}", PlanWarning, stacklevel=3)
        if text := self.warning:
            warnings.warn(f"{self.path}: {text}", PlanWarning, stacklevel=3)

    @property
    def handle(self) -> int:
        """The address of the library's plan.

        Raises:
            BytewaysError: The plan was closed.
        """
        if self._plan is None:
            raise BytewaysError(f"the copy plan {self.path} was closed", hint="open it again")
        return self._plan

    @property
    def warning(self) -> str:
        """Why copies are the driver's, or slower than they could be; empty: they are not."""
        text: bytes = self._library.functions["bw_plan_warning"](self.handle)
        return text.decode(errors="replace")

    def prepare(self) -> None:
        """Prepares the plan for the GPU that is current in this thread: loads kernels, and tests them.

        The first copy on a GPU in a program of PyTorch or CuPy does it, unless a graph is being captured.

        Raises:
            CopyError: No GPU is current, or the driver failed.
        """
        self._library.checked_call(
            f"cannot prepare the copy plan {self.path}", "bw_plan_prepare", self.handle
        )

    def prepare_once(self, gpu: int, capturing: Callable[[], bool]) -> None:
        """Prepares the plan for a GPU, which is current, unless that was done or a graph is being captured.

        Args:
            gpu: Its number in this process.
            capturing: Whether a graph is being captured, during which memory cannot be allocated.
        """
        if gpu not in self._ready and not capturing():
            self.prepare()
            self._ready.add(gpu)

    def allow_peers(self, gpus: Sequence[int]) -> None:
        """Allows large copies to use the links of these GPUs; an empty list withdraws it.

        Args:
            gpus: Numbers of GPUs in this process. Each gets a context, and staging memory.

        Raises:
            CopyError: There is no such GPU, it has no peer access, or the driver failed.
        """
        what = f"cannot copy over the links of GPUs {', '.join(map(str, gpus))}"
        numbers = (ctypes.c_int * len(gpus))(*gpus)
        self._library.checked_call(what, "bw_plan_allow_peers", self.handle, numbers, len(gpus))

    def limit_staging(self, size_bytes: int) -> None:
        """Sets the most staging memory that each relay may allocate, for later calls of allow_peers()."""
        what = "cannot limit the memory of relays"
        self._library.checked_call(what, "bw_plan_limit_staging", self.handle, size_bytes)

    def choose(
        self, dst: Sequence[int], src: Sequence[int], block_bytes: int, *, stream: int = 0
    ) -> CopyChoice:
        """Returns what a copy of blocks would use now. Copies nothing.

        Args:
            dst: Addresses of the destinations; a single one: a copy by copy_().
            src: Addresses of the sources.
            block_bytes: Size of each block.
            stream: Handle of the stream.

        Raises:
            CopyError: The driver failed.
            BytewaysError: There are not as many sources as destinations.
        """
        if len(dst) != len(src):
            raise BytewaysError(f"{len(dst)} destinations, but {len(src)} sources", hint="pass one for each")
        found = ChoiceStruct(struct_bytes=ctypes.sizeof(ChoiceStruct))
        arrays = ((ctypes.c_uint64 * len(each))(*each) for each in (dst, src))
        where = (block_bytes, len(dst), stream, self.handle, ctypes.byref(found))
        self._library.checked_call("cannot say how blocks would be copied", "bw_choose", *arrays, *where)
        return CopyChoice(
            _named(COPY_METHODS, found.method),
            _named(COPY_FALLBACKS, found.fallback),
            found.time_ns or None,
            found.default_ns or None,
        )

    def statistics(self) -> CopyStatistics:
        """Returns how many copies each method did, and why others were the driver's."""
        found = StatisticsStruct(struct_bytes=ctypes.sizeof(StatisticsStruct))
        what = "cannot read the plan's statistics"
        self._library.checked_call(what, "bw_get_statistics", self.handle, ctypes.byref(found))
        return CopyStatistics(
            dict(zip(COPY_METHODS, found.calls, strict=True)),
            dict(zip(COPY_METHODS, found.bytes, strict=True)),
            dict(zip(COPY_FALLBACKS, found.fallbacks, strict=True)),
            found.staging_bytes,
        )

    def close(self) -> None:
        """Frees the plan once its copies are done. No other thread may be using it."""
        if self._plan is not None:
            self._library.functions["bw_plan_close"](self._plan)
            self._plan = None

    def __enter__(self) -> OpenPlan:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<copy plan {self.path}{'' if self._plan is not None else ' (closed)'}>"


def _named(names: Sequence[str], number: int) -> str:
    """Returns the name of a number; a later library may have others."""
    return names[number] if 0 <= number < len(names) else "unknown"


def open_plan(path: str | os.PathLike[str]) -> OpenPlan:
    """Opens a plan, as `byteways plan` writes it; `with` closes it at the end.

    Args:
        path: The file.

    Raises:
        CopyError: The file cannot be read, or is damaged.
        BytewaysError: The copy library cannot be used.

    Warns:
        PlanWarning: The plan is of another machine, or cannot be used in full.
    """
    return OpenPlan(path)


#: How a plan is given to a copy: an open plan, a file, or None for this host's.
PlanArgument = OpenPlan | str | os.PathLike[str] | None


def plan_of(plan: PlanArgument) -> OpenPlan | None:
    """Returns the open plan for an argument; None: there is no plan, so that copies are the driver's calls.

    Raises:
        CopyError: The file cannot be read, or is damaged.
    """
    if plan is None:
        return _default_plan()
    return plan if isinstance(plan, OpenPlan) else _opened(os.fspath(plan))


@cache
def _default_plan() -> OpenPlan | None:
    """The plan of this host, found once in a process. A file that BYTEWAYS_PLAN names must exist."""
    file = copy_plan_file()
    if file is None or not (os.environ.get("BYTEWAYS_PLAN") or file.is_file()):
        return None
    return _opened(str(file))


@cache
def _opened(path: str) -> OpenPlan:
    return open_plan(path)
