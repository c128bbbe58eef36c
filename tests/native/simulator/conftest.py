"""The toys: C++ programs against the simulator's own parts, compiled once for all tests here."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cache import HEADERS, ROOT, cached, headers, version

HERE = Path(__file__).parent
NATIVE = ROOT / "native"
#: Where the build of the package leaves the objects of the simulator's library.
BUILT = "build/*/CMakeFiles/byteways_sim.dir"

#: What a toy printed: key -> the values of each of its lines.
Told = dict[str, list[list[str]]]
#: play(toy, sheet) runs a toy, on the machine of a sheet where it needs one.
Play = Callable[..., Told]


def _is_entry_point(source: Path) -> bool:
    return source.stem.endswith("api") or source.stem.startswith("api")


def _built(source: Path, changed_s: float) -> Path | None:
    """The object that the build made of a source; None where none is newer than the source and all headers.

    Args:
        changed_s: When the last header changed.
    """
    found = [*ROOT.glob(f"{BUILT}/{source.relative_to(ROOT)}.o")]
    newest = max(found, key=lambda path: path.stat().st_mtime, default=None)
    if newest is None or newest.stat().st_mtime <= max(source.stat().st_mtime, changed_s):
        return None
    return newest


@pytest.fixture(scope="session")
def toys() -> Path:
    """The program; the simulator's sources but for the vendors' entry points are part of it, as the build has
    compiled them. Of what changed since, a source is compiled alone, a header with all sources.
    """
    sources = [each for each in (NATIVE / "simulator").glob("*.cpp") if not _is_entry_point(each)]
    sources += (NATIVE / "interfaces").glob("*/simulated.cpp")
    sources += HERE.glob("*.cpp")
    options = ["-std=c++20", "-O1", "-w", "-pthread"]
    command = ["g++", *options, f"-I{NATIVE}", f"-I{HERE}"]
    common = [version("g++"), *options, headers(NATIVE, HERE)]

    changed_s = max(path.stat().st_mtime for path in NATIVE.rglob("*") if path.suffix in HEADERS)

    def compiled(source: Path) -> Path:
        if built := _built(source, changed_s):
            return built

        def make(path: Path) -> None:
            subprocess.run([*command, "-c", source, "-o", path], check=True)

        return cached(f"{source.parent.name}.{source.stem}.o", [*common, source], make)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, sorted(sources)))
    return cached(
        "toys",
        [*common, *objects],
        lambda path: subprocess.run([*command, *objects, "-o", path], check=True),
    )


@pytest.fixture
def play(toys: Path, tmp_path: Path) -> Play:
    def run(toy: str, sheet: str = "", timeout_s: float = 120) -> Told:
        command: list[str | Path] = [toys, toy]
        if sheet:
            (tmp_path / "sheet").write_text(sheet, encoding="utf-8")
            command.append(tmp_path / "sheet")
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s)
        assert done.returncode == 0, f"{toy} ended with {done.returncode}: {done.stderr}"
        told: Told = {}
        for line in done.stdout.splitlines():
            key, *values = line.split(" ")
            told.setdefault(key, []).append(values)
        return told

    return run
