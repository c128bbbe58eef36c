"""libbyteways_copy through ctypes: functions, structures and error codes of its header.

native/copy_library/byteways_copy.h has the contract; tests/unit/copy/test_copying.py compares the two.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

from byteways.base.errors import BytewaysError, ExitStatus
from byteways.measuring.shared.native_build import native_library

LIBRARY = "libbyteways_copy.so"
#: BW_ABI of the header that the declarations below follow.
ABI = 1

#: enum bw_error: name, code, and what the user can do about it; None: the library's text says enough.
ERRORS: dict[str, tuple[int, str | None]] = {
    "BW_NULL_POINTER": (-1, "check the pointers: each block with a size needs both"),
    "BW_OVERLAP": (-2, "copy blocks that depend on each other in separate calls"),
    "BW_NO_DRIVER": (-3, "byteways doctor shows which drivers were found, and why others were not"),
    "BW_FORKED": (-4, "start child processes by multiprocessing.get_context('spawn'), not by fork"),
    "BW_PLAN_NOT_READ": (-5, "check the path of the plan"),
    "BW_PLAN_DAMAGED": (-6, "write the plan again from its run"),
    "BW_NO_SUCH_GPU": (-7, "name GPUs that this process sees: 0 to their number - 1"),
    "BW_OUT_OF_MEMORY": (-8, "free some host memory"),
    "BW_NO_CURRENT_GPU": (-9, "make a GPU current in this thread first: torch.cuda.set_device(0)"),
}
_HINTS = dict(ERRORS.values())

#: enum bw_method and enum bw_fallback: their names by their numbers.
COPY_METHODS = ("default", "batch", "kernel", "bulk", "relay")
COPY_FALLBACKS = (
    *("none", "switched-off", "other-machine", "not-prepared", "memory", "not-measured", "no-lead"),
    *("capturing", "busy", "not-allowed", "failed", "other-context"),
    "not-aligned",
)


class ChoiceStruct(ctypes.Structure):
    """struct bw_choice."""

    _fields_ = (
        ("struct_bytes", ctypes.c_size_t),
        ("method", ctypes.c_int32),
        ("fallback", ctypes.c_int32),
        ("time_ns", ctypes.c_double),
        ("default_ns", ctypes.c_double),
    )


class StatisticsStruct(ctypes.Structure):
    """struct bw_statistics."""

    _fields_ = (
        ("struct_bytes", ctypes.c_size_t),
        ("calls", ctypes.c_uint64 * len(COPY_METHODS)),
        ("bytes", ctypes.c_uint64 * len(COPY_METHODS)),
        ("fallbacks", ctypes.c_uint64 * len(COPY_FALLBACKS)),
        ("staging_bytes", ctypes.c_uint64),
    )


_Address = ctypes.c_void_p
_Size = ctypes.c_size_t
#: Arguments of the functions that return an enum bw_error, or the driver's code.
CALLS: dict[str, tuple[type, ...]] = {
    "bw_copy": (_Address, _Address, _Size, _Address, _Address),
    "bw_copy_blocks": (_Address, _Address, _Address, _Size, _Address, _Address),
    "bw_copy_blocks_uniform": (_Address, _Address, _Size, _Size, _Address, _Address),
    "bw_plan_open": (ctypes.c_char_p, _Address),
    "bw_plan_prepare": (_Address,),
    "bw_plan_allow_peers": (_Address, _Address, _Size),
    "bw_plan_limit_staging": (_Address, _Size),
    "bw_choose": (_Address, _Address, _Size, _Size, _Address, _Address, _Address),
    "bw_get_statistics": (_Address, _Address),
}
#: The others: arguments and result.
QUESTIONS: dict[str, tuple[tuple[type, ...], type | None]] = {
    "bw_abi": ((), ctypes.c_int),
    "bw_error_text": ((ctypes.c_int,), ctypes.c_char_p),
    "bw_last_error": ((), ctypes.c_char_p),
    "bw_plan_warning": ((_Address,), ctypes.c_char_p),
    "bw_plan_close": ((_Address,), None),
}


class CopyError(BytewaysError):
    """A call of the copy library that failed.

    Args:
        what: What went wrong, one line.
        code: Negative: enum bw_error; positive: the driver's own (CUresult, hipError_t).
        cause: The library's text.
    """

    def __init__(self, what: str, code: int, cause: str) -> None:
        hint = _HINTS.get(code) if code < 0 else None
        super().__init__(what, cause=cause, hint=hint, status=ExitStatus.FAILED)
        self.code = code


class CopyLibrary:
    """The functions of the library that was loaded.

    Attributes:
        functions: By their names in the header. ctypes releases the interpreter's lock during each call.
    """

    def __init__(self, path: Path) -> None:
        """Loads a library; it opens a driver when a function needs one.

        Raises:
            BytewaysError: The file cannot be loaded, or has another ABI.
        """
        signatures = {**{name: (each, ctypes.c_int) for name, each in CALLS.items()}, **QUESTIONS}
        try:
            loaded = ctypes.CDLL(str(path))
            self.functions = {name: loaded[name] for name in signatures}
        except (OSError, AttributeError) as error:
            raise _unusable(str(error)) from error
        for name, (arguments, result) in signatures.items():
            self.functions[name].argtypes, self.functions[name].restype = arguments, result
        if (abi := self.functions["bw_abi"]()) != ABI:
            raise _unusable(f"{path} has version {abi} of its interface, this byteways needs {ABI}")

    def checked_call(self, what: str, function: str, *arguments: object) -> None:
        """Calls a function that returns a code.

        Args:
            what: The error's first line if it fails.
            function: Its name in the header.
            arguments: Addresses are integers or ctypes objects.

        Raises:
            CopyError: It returned another code than 0.
        """
        if code := self.functions[function](*arguments):
            detail = self.functions["bw_last_error"]() or self.functions["bw_error_text"](code)
            raise CopyError(what, code, detail.decode(errors="replace"))


def _unusable(cause: str) -> BytewaysError:
    return BytewaysError(
        "the copy library cannot be used",
        cause=cause,
        hint="install byteways again: its library and its Python code come together",
        status=ExitStatus.FAILED,
    )


@cache
def copy_library() -> CopyLibrary:
    """Returns the library that was built with byteways, loaded once in a process.

    Raises:
        BytewaysError: It is missing, or was built from another version.
    """
    try:
        library = native_library(LIBRARY)
    except ImportError as error:
        raise _unusable(str(error)) from error
    return CopyLibrary(library)
