"""NVRTC and hipRTC by the C interface they share: both compile the device kernels without a GPU.

As a script it compiles one file by hipRTC in a process of its own, because hipRTC 5.2 aborts the one it is in
when it does not know the architecture.
"""

from __future__ import annotations

import argparse
import ctypes
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

#: Device sources and the headers that they include, by their paths in this folder.
NATIVE = Path(__file__).parents[2] / "native"
SOURCES = sorted(str(path.relative_to(NATIVE)) for path in (NATIVE / "interfaces").glob("*/*.cu"))
HEADERS = sorted(
    {
        str(path.relative_to(NATIVE))
        for pattern in ("*/*.cuh", "device/*.hpp", "*/arguments.hpp")
        for path in (NATIVE / "interfaces").glob(pattern)
    }
)
NO_LIBRARY = 3  # exit status of the script


class RuntimeCompiler:
    """One library that exports `<prefix>CreateProgram` and its kin."""

    def __init__(self, library: ctypes.CDLL, prefix: str) -> None:
        self._library, self._prefix = library, prefix

    def version(self) -> tuple[int, int]:
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._call("Version", ctypes.byref(major), ctypes.byref(minor))
        return major.value, minor.value

    def compile(self, source: str, options: Sequence[str], output: str) -> bytes:
        """What `<prefix>Get<output>` ("CUBIN", "Code") gives for one of SOURCES.

        Raises:
            RuntimeError: A call failed; with its code, and the compiler's log where there is one.
        """
        texts = (ctypes.c_char_p * len(HEADERS))(*((NATIVE / name).read_bytes() for name in HEADERS))
        names = (ctypes.c_char_p * len(HEADERS))(*(name.encode() for name in HEADERS))
        given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        program = ctypes.c_void_p()
        text = (NATIVE / source).read_bytes()
        self._call("CreateProgram", ctypes.byref(program), text, source.encode(), len(HEADERS), texts, names)
        try:
            self._call("CompileProgram", program, len(options), given)
        except RuntimeError as error:
            raise RuntimeError(f"{error}: {self._get('ProgramLog', program).decode()}") from None
        return self._get(output, program)

    def _get(self, what: str, program: ctypes.c_void_p) -> bytes:
        size = ctypes.c_size_t()
        self._call(f"Get{what}Size", program, ctypes.byref(size))
        data = ctypes.create_string_buffer(size.value)
        self._call(f"Get{what}", program, data)
        return data.raw

    def _call(self, name: str, *arguments: object) -> None:
        code = getattr(self._library, self._prefix + name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{self._prefix}{name} returned {code}")


def open_hiprtc() -> tuple[str, RuntimeCompiler] | None:
    """Returns the first library that contains hipRTC, its own or the HIP runtime, with its file name."""
    for stem in ("libhiprtc.so", "libamdhip64.so"):
        for suffix in ("", ".7", ".6", ".5"):
            try:
                library = ctypes.CDLL(stem + suffix)
            except OSError:
                continue
            if hasattr(library, "hiprtcCreateProgram"):
                return stem + suffix, RuntimeCompiler(library, "hiprtc")
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compile", nargs=3, metavar=("SOURCE", "ARCHITECTURE", "FILE"))
    chosen = parser.parse_args().compile
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # an abort is expected: no core file
    found = open_hiprtc()
    if found is None:
        return NO_LIBRARY
    name, compiler = found
    if chosen:
        source, architecture, file = chosen
        options = (f"--offload-arch={architecture}", "-std=c++17", "-O3")
        Path(file).write_bytes(compiler.compile(source, options, "Code"))
    else:
        print(name, *compiler.version())
    return 0


if __name__ == "__main__":
    sys.exit(main())
