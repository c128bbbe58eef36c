"""The program of check_table.cpp, built once, and the folder of the shims."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from byteways.measuring.shared.simulator import native_folder
from tests.cache import cached, headers, version

NATIVE = Path(__file__).parents[2] / "native"
SOURCES = (
    Path(__file__).with_name("check_table.cpp"),
    NATIVE / "runtimes/mpi/mpi.cpp",
    NATIVE / "runtimes/mpi/library.cpp",
    NATIVE / "runtimes/mpi/names.cpp",
    NATIVE / "runtimes/mpi/gpu_transport.cpp",
    NATIVE / "runtimes/library.cpp",
)


@pytest.fixture(scope="session")
def check_table() -> Path:
    command = ["g++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{NATIVE}"]

    def make(path: Path) -> None:
        subprocess.run([*command, *SOURCES, "-o", path, "-ldl"], check=True)
        path.chmod(0o755)

    return cached("check_table", [version("g++"), *command, headers(NATIVE), *SOURCES], make)


@pytest.fixture(scope="session")
def shims() -> str:
    return str(native_folder())
