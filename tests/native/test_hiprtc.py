"""The real hipRTC, where it is installed: it takes the device kernels, and where it aborts, a child ends."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cache import cached
from tests.native import runtime_compiler
from tests.native.kernel_entries import BULK, ENTRIES
from tests.native.runtime_compiler import HEADERS, NATIVE, SOURCES

#: LLVM, User Guide for AMDGPU Backend, "ELF Code Object": e_machine, and the low byte of e_flags.
EM_AMDGPU = 224
MACHINES = {"gfx90a": 0x3F, "gfx942": 0x4C}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, runtime_compiler.__file__, *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.fixture(scope="module", autouse=True)
def version() -> str:
    """Name and version of the library that holds hipRTC."""
    found = run()
    if found.returncode == runtime_compiler.NO_LIBRARY:
        pytest.skip("no library with hipRTC here (Debian: libamdhip64-5)")
    assert found.returncode == 0, found.stderr
    return found.stdout


@pytest.fixture(scope="module")
def objects(version: str) -> dict[str, bytes]:
    """Code object of every source for gfx90a, which all versions of hipRTC in use know."""
    compiler = Path(runtime_compiler.__file__)  # with its options

    def build(source: str) -> bytes:
        def make(path: Path) -> None:
            finished = run("--compile", source, "gfx90a", str(path))
            assert finished.returncode == 0, f"{source}: {finished.stderr}"

        inputs = [version, compiler, *(NATIVE / name for name in (*HEADERS, source))]
        return cached(f"{source.replace('/', '.')}.gfx90a.co", inputs, make).read_bytes()

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return dict(zip(SOURCES, threads.map(build, SOURCES), strict=True))


def machine(code: bytes) -> tuple[int, int]:
    """e_machine and the architecture byte of e_flags of a 64-bit ELF file."""
    assert code[:5] == b"\x7fELF\x02"
    (kind,) = struct.unpack_from("<H", code, 18)
    (flags,) = struct.unpack_from("<I", code, 48)
    return kind, flags & 0xFF


def test_every_source_compiles(objects: dict[str, bytes]) -> None:
    """Catches device source that only clang accepts: hipRTC has its own built-in definitions."""
    for source, code in objects.items():
        assert machine(code) == (EM_AMDGPU, MACHINES["gfx90a"]), source


def test_kernels_have_the_names_they_are_launched_by(objects: dict[str, bytes]) -> None:
    """Catches a mangled name; `.kd` marks the descriptor that hipModuleGetFunction looks up."""
    for source, names in ENTRIES.items():
        for name in names:
            assert (f"\0{name}.kd\0".encode() in objects[source]) == (source not in BULK), name


def test_an_abort_stays_in_the_child(tmp_path: Path) -> None:
    """Catches a compiler called in our own process: hipRTC 5.2 crashes on gfx942, later ones know it."""
    file = tmp_path / "gate.co"
    finished = run("--compile", "interfaces/service/gate.cu", "gfx942", str(file))
    if finished.returncode in (-signal.SIGABRT, -signal.SIGSEGV):
        assert not file.exists()
    else:
        assert finished.returncode == 0, finished.stderr
        assert machine(file.read_bytes()) == (EM_AMDGPU, MACHINES["gfx942"])
