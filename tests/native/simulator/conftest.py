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


def _library() -> list[Path]:
    """The simulator's sources: its own, and what each interface simulates."""
    return sorted([*(NATIVE / "simulator").glob("*.cpp"), *(NATIVE / "interfaces").glob("*/simulated.cpp")])


def _built() -> list[Path]:
    """The objects that the build made of the simulator's library; none if a source is newer."""
    changed = [path for path in NATIVE.rglob("*") if path.suffix in HEADERS] + _library()
    changed_s = max(path.stat().st_mtime for path in changed)
    for folder in ROOT.glob(BUILT):
        objects = sorted(folder.rglob("*.o"))
        if objects and min(path.stat().st_mtime for path in objects) > changed_s:
            return objects
    return []


@pytest.fixture(scope="session")
def toys() -> Path:
    """The program. The simulator's library is part of it, as the build has compiled it, or compiled here
    where sources have changed since.
    """
    options = ["-std=c++20", "-O1", "-w", "-pthread"]
    command = ["g++", *options, f"-I{NATIVE}", f"-I{HERE}"]
    common = [version("g++"), *options, headers(NATIVE, HERE)]

    def compiled(source: Path) -> Path:
        def make(path: Path) -> None:
            subprocess.run([*command, "-c", source, "-o", path], check=True)

        return cached(f"{source.parent.name}.{source.stem}.o", [*common, source], make)

    built = _built()
    sources = [*sorted(HERE.glob("*.cpp")), *([] if built else _library())]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = [*pool.map(compiled, sources), *built]
    return cached(
        "toys",
        [*common, *objects],
        lambda path: subprocess.run([*command, *objects, "-ldl", "-o", path], check=True),
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
