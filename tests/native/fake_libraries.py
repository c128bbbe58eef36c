"""Tiny vendor libraries, built on the spot from the function tables of the native core."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from tests.cache import cached, headers, version

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "native"
TABLES = {path.name: path for path in (NATIVE / "runtimes").glob("*/*.def")}
SOURCES = Path(__file__).parent / "fakes"
STUB = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
static int stub(const char* symbol) {
  if (const char* path = getenv("FAKE_CALLS"))
    if (FILE* file = fopen(path, "a")) {
      fprintf(file, "%s\\n", symbol);
      fclose(file);
    }
  const char* failing = getenv("FAKE_FAIL");
  return failing && strcmp(failing, symbol) == 0 ? 999 : 0;
}
"""


def symbols(table: str) -> list[str]:
    """Symbols of a function table, in its order."""
    text = TABLES[table].read_text(encoding="utf-8")
    return re.findall(r"^BYTEWAYS_FUNCTION\(\w+, (\w+),", text, flags=re.MULTILINE)


def build(folder: Path, table: str, without: Iterable[str] = (), also: Iterable[str] = ()) -> Path:
    """A shared library with every function of `table` ("cuda.def") but those in `without`.

    What its source in fakes/ does not define does nothing: it leaves its name in the file $FAKE_CALLS, and
    answers 0, or 999 where $FAKE_FAIL is its name. `also` names tables whose functions the same file exports.
    """
    left_out, tables = set(without), [table, *also]
    source = "\n".join((SOURCES / each).with_suffix(".cpp").read_text(encoding="utf-8") for each in tables)
    defined = set(re.findall(r"^(?:int|const char\*) (\w+)\(", source, flags=re.MULTILINE))
    everything = [symbol for each in tables for symbol in symbols(each)]
    assert left_out <= set(everything)
    stubs = [symbol for symbol in everything if symbol not in defined | left_out]
    name = "-".join(["lib" + table.removesuffix(".def"), *also, *sorted(left_out)])
    text, library = folder / f"{name}.cpp", folder / f"{name}.so"
    declared = "".join(f'extern "C" int {symbol}() {{ return stub("{symbol}"); }}\n' for symbol in stubs)
    text.write_text(hidden(source, left_out & defined) + STUB + declared, encoding="utf-8")
    command = ["g++", "-O0", "-w", "-shared", "-fPIC"]
    made = cached(
        f"{table.removesuffix('.def')}.so",
        [version("g++"), *command, text],
        lambda path: subprocess.run([*command, "-o", path, text], check=True),
    )
    shutil.copy(made, library)  # a file of the caller's own: a library is opened once by its path
    return library


def hidden(source: str, functions: Iterable[str]) -> str:
    """The source with some of its functions no longer exported."""
    for function in functions:
        source = re.sub(rf"^(int|const char\*) {function}\(", rf"\1 {function}_left_out(", source, flags=re.M)
    return source


def build_facade(folder: Path) -> Path:
    """HIP over a CUDA driver and hipRTC over NVRTC, as one library (tests/gpu)."""
    library = folder / "libhip_over_cuda.so"
    sources = [
        ROOT / "tests" / "gpu" / "hip_over_cuda.cpp",
        ROOT / "tests" / "gpu" / "hiprtc_over_nvrtc.cpp",
        NATIVE / "runtimes" / "cuda" / "driver.cpp",
        NATIVE / "runtimes" / "library.cpp",
    ]
    command = ["g++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-shared", "-fPIC"]
    command += ["-fvisibility=hidden", "-Wl,--no-undefined", "-I", str(NATIVE)]
    made = cached(
        "facade.so",
        [version("g++"), *command[:-1], headers(NATIVE, ROOT / "tests" / "gpu"), *sources],
        lambda path: subprocess.run([*command, *sources, "-ldl", "-pthread", "-o", path], check=True),
    )
    shutil.copy(made, library)
    return library
