"""Tiny vendor libraries, built on the spot from the function tables of the native core."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

TABLES = Path(__file__).parents[2] / "native" / "runtimes" / "cuda"
SOURCES = Path(__file__).parent / "fakes"


def symbols(table: str) -> list[str]:
    """Symbols of a function table, in its order."""
    text = (TABLES / table).read_text(encoding="utf-8")
    return re.findall(r"^BYTEWAYS_FUNCTION\(\w+, (\w+),", text, flags=re.MULTILINE)


def build(folder: Path, table: str, without: Iterable[str] = ()) -> Path:
    """A shared library with every function of `table` ("cuda.def") but those in `without`.

    What its source in fakes/ does not define answers 0 and does nothing.
    """
    left_out = set(without)
    source = (SOURCES / table).with_suffix(".cpp").read_text(encoding="utf-8")
    defined = set(re.findall(r"^(?:int|const char\*) (\w+)\(", source, flags=re.MULTILINE))
    assert left_out <= set(symbols(table)) - defined, "only stubs can be left out"
    stubs = [symbol for symbol in symbols(table) if symbol not in defined | left_out]
    name = "-".join(["lib" + table.removesuffix(".def"), *sorted(left_out)])
    text, library = folder / f"{name}.cpp", folder / f"{name}.so"
    declared = "".join(f'extern "C" int {symbol}() {{ return 0; }}\n' for symbol in stubs)
    text.write_text(source + declared, encoding="utf-8")
    subprocess.run(["g++", "-O0", "-w", "-shared", "-fPIC", "-o", library, text], check=True)
    return library
