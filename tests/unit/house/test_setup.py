"""The set-up: tool checks under a fake PATH, the list of allowed skips, what files must agree on."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import conftest

ROOT = Path(__file__).parents[3]
CHECK_TOOLS = ROOT / "scripts" / "check_tools.sh"
FIND_DRIVER = ROOT / "scripts" / "find_driver.sh"
GOOD_PYTHON = 'echo "3.11.2 headers venv"'
GOOD_COMPILER = "exit 0"
OLD_COMPILER = 'case "$1" in --version) echo "c++ (Debian) 8.3.0"; echo more;; *) exit 1;; esac'


def tools(folder: Path, **programs: str) -> dict[str, str]:
    """An environment whose PATH holds these shell programs and nothing else."""
    folder.mkdir()
    for name, body in programs.items():
        program = folder / name.replace("_", ".")
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {"PATH": str(folder)}


def run(script: Path, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", str(script), *arguments], env=environment, capture_output=True, text=True, check=False
    )


def error_lines(environment: dict[str, str]) -> list[str]:
    """The message of a check that must fail, after checking that it is one error with causes and one hint."""
    result = run(CHECK_TOOLS, environment)
    assert result.returncode == 2
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert [line.split(":")[0] for line in lines] == ["error", *["  caused by"] * (len(lines) - 2), "hint"]
    return lines


def test_good_tools_are_named(tmp_path: Path) -> None:
    """Catches a check that refuses what works, or that hands the Makefile something it cannot evaluate."""
    environment = tools(tmp_path / "bin", python3=GOOD_PYTHON, **{"c++": GOOD_COMPILER})
    result = run(CHECK_TOOLS, environment)
    assert result.returncode == 0, result.stderr
    bin_folder = tmp_path / "bin"
    assert result.stdout == f"python='{bin_folder}/python3'\ncompiler='{bin_folder}/c++'\n"


def test_real_tools_pass(tmp_path: Path) -> None:
    """Catches a probe program that a good Python or compiler does not understand."""
    result = run(CHECK_TOOLS, {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", str(tmp_path))})
    assert result.returncode == 0, result.stderr


def test_no_python(tmp_path: Path) -> None:
    """Catches a build that starts, and fails obscurely, where there is no Python."""
    what, cause, hint = error_lines(tools(tmp_path / "bin", **{"c++": GOOD_COMPILER}))
    assert what == "error: no usable Python 3.10 or newer"
    assert "python3" in cause
    assert "PYTHON=" in hint


@pytest.mark.parametrize(
    ("answer", "cause", "hint"),
    [
        ("3.9.18 headers venv", "Python 3.9.18, older than 3.10", "PYTHON="),
        ("2.7.18 headers", "Python 2.7.18, older than 3.10", "PYTHON="),
        ("3.11.2 venv", "no C headers: Python.h is missing", "apt install python3.11-dev"),
        ("3.12.1 headers", "no venv module", "apt install python3.12-venv"),
    ],
)
def test_unusable_python(tmp_path: Path, answer: str, cause: str, hint: str) -> None:
    """Catches a Python that is found and cannot do the work being taken, or refused without saying why."""
    environment = tools(tmp_path / "bin", python3=f'echo "{answer}"', **{"c++": GOOD_COMPILER})
    lines = error_lines(environment)
    assert cause in lines[1]
    assert hint in lines[2]


def test_second_python_is_taken_when_the_first_is_too_old(tmp_path: Path) -> None:
    """Catches giving up at an old `python3` although a newer one is installed beside it."""
    environment = tools(
        tmp_path / "bin",
        python3='echo "3.8.1 headers venv"',
        python3_12=GOOD_PYTHON,
        **{"c++": GOOD_COMPILER},
    )
    assert f"python='{tmp_path}/bin/python3.12'" in run(CHECK_TOOLS, environment).stdout


def test_shim_of_an_inactive_version_is_passed_over(tmp_path: Path) -> None:
    """Catches believing a version manager's `python3.13` that only prints an error."""
    environment = tools(
        tmp_path / "bin",
        python3="exit 127",
        python3_13="exit 127",
        python3_10=GOOD_PYTHON,
        **{"c++": GOOD_COMPILER},
    )
    assert f"python='{tmp_path}/bin/python3.10'" in run(CHECK_TOOLS, environment).stdout


def test_chosen_python_is_not_replaced(tmp_path: Path) -> None:
    """Catches silently using another Python than the one the user named."""
    environment = tools(tmp_path / "bin", python3=GOOD_PYTHON, **{"c++": GOOD_COMPILER})
    lines = error_lines({**environment, "PYTHON": "/nowhere/python3"})
    assert "/nowhere/python3" in lines[1]


def test_no_compiler(tmp_path: Path) -> None:
    """Catches a missing compiler being left for CMake to report in thirty lines."""
    lines = error_lines(tools(tmp_path / "bin", python3=GOOD_PYTHON))
    assert lines[0] == "error: no C++ compiler"
    assert "apt install g++" in lines[-1]


def test_compiler_too_old(tmp_path: Path) -> None:
    """Catches an old compiler being taken, and an error that does not say which compiler it was."""
    lines = error_lines(tools(tmp_path / "bin", python3=GOOD_PYTHON, **{"c++": OLD_COMPILER}))
    assert lines[0] == "error: the C++ compiler is too old for C++20"
    assert lines[1] == "  caused by: c++ (c++ (Debian) 8.3.0) does not compile a C++20 program"


def test_newer_compiler_beside_an_old_one_is_taken(tmp_path: Path) -> None:
    """Catches refusing a machine whose default compiler is old but which has a newer one too."""
    environment = tools(
        tmp_path / "bin", python3=GOOD_PYTHON, **{"c++": OLD_COMPILER, "g++-13": GOOD_COMPILER}
    )
    assert f"compiler='{tmp_path}/bin/g++-13'" in run(CHECK_TOOLS, environment).stdout


def test_make_stops_before_anything_is_made(tmp_path: Path) -> None:
    """Catches a half-made .venv left behind by a set-up that cannot work."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    for name in ("Makefile", "pyproject.toml", "CMakeLists.txt"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "native").mkdir()
    (tmp_path / "tests").mkdir()
    command = ["make", "setup", "CXX=/nowhere/g++"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith(
        "error: no C++ compiler\n  caused by: nothing is called /nowhere/g++\nhint: "
    )
    assert not (tmp_path / ".venv").exists()


def test_driver_is_found_by_the_linker_and_in_usual_places(tmp_path: Path) -> None:
    """Catches a GPU machine being set up without NVRTC, whichever way its driver is installed."""
    listed = 'echo "libcuda.so.1 (libc6,x86-64) => /lib/libcuda.so.1"'
    grep = f'exec {shutil.which("grep")} "$@"'
    assert run(FIND_DRIVER, tools(tmp_path / "listed", ldconfig=listed, grep=grep)).returncode == 0
    nothing = tools(tmp_path / "nothing", ldconfig="exit 0", grep=grep)
    empty = tmp_path / "empty"
    assert run(FIND_DRIVER, nothing, str(empty)).returncode == 1
    empty.mkdir()
    (empty / "libcuda.so.1").touch()
    assert run(FIND_DRIVER, nothing, str(empty)).returncode == 0


@pytest.mark.parametrize(
    ("version", "extra"),
    [
        ("NVIDIA UNIX x86_64 Kernel Module  535.288.01  Tue Jan  2 03:04:05 UTC 2026", "cuda12"),
        ("NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build", "cuda"),
        ("something else", "cuda"),
    ],
)
def test_extra_suits_the_driver(tmp_path: Path, version: str, extra: str) -> None:
    """Catches NVRTC 13 where the driver loads only what NVRTC 12 compiles."""
    (tmp_path / "libcuda.so.1").touch()
    (tmp_path / "version").write_text(f"NVRM version: {version}\nGCC version: 12.2.0\n", encoding="utf-8")
    programs = {name: f'exec {shutil.which(name)} "$@"' for name in ("grep", "sed")}
    environment = tools(tmp_path / "bin", ldconfig="exit 0", **programs)
    environment["DRIVER_VERSION"] = str(tmp_path / "version")
    assert run(FIND_DRIVER, environment, str(tmp_path)).stdout == f"{extra}\n"


def test_build_tools_agree_with_pyproject() -> None:
    """Catches the Makefile installing other build tools than `pip install .` would fetch."""
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    requires = re.search(r"^requires = \[(.*)\]$", pyproject, re.MULTILINE)
    assert requires is not None
    wanted = re.findall(r'"([^"]+)"', requires[1])
    wanted += [f"cmake{re.search(r'cmake.version = .(>=[0-9.]+)', pyproject)[1]}"]  # type: ignore[index]
    wanted += [f"ninja{re.search(r'ninja.version = .(>=[0-9.]+)', pyproject)[1]}"]  # type: ignore[index]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    listed = re.search(r"^BUILD_TOOLS := (.*)$", makefile, re.MULTILINE)
    assert listed is not None
    assert re.findall(r"'([^']+)'", listed[1]) == wanted


def test_one_sentence_says_what_it_is() -> None:
    """Catches the package index, the package, the citation and the README describing several programs."""
    import byteways

    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    described = re.search(r'^description = "(.*)"$', pyproject, re.MULTILINE)
    assert described is not None
    assert " ".join((byteways.__doc__ or "").split()).startswith(described[1])
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert described[1] in " ".join(citation.split())
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert described[1].rstrip(".") in " ".join(readme.split())


SKIPPING = """
import pytest

@pytest.mark.skip(reason="no such tool")
def test_skipped(): ...

@pytest.mark.xfail(reason="known")
def test_expected_failure():
    assert False
"""


def test_unlisted_skip_fails_when_strict(tmp_path: Path) -> None:
    """Catches continuous integration that passes because a test could not run."""
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "allowed_skips.txt").write_text("")
    (tmp_path / "test_it.py").write_text(SKIPPING)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", ".", "--strict-skips"]
    result = subprocess.run([*command, "test_it.py"], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 1 and "1 xfailed" in result.stdout, result.stdout
    assert "test_it.py::test_skipped was skipped, and allowed_skips.txt does not list it." in result.stdout
    assert "no such tool" in result.stdout


@pytest.mark.parametrize(
    ("strict", "allowed", "outcome"),
    [
        (True, "", "failed"),
        (True, "test_it.py::test_skipped: needs a tool", "skipped"),
        (False, "", "skipped"),
    ],
)
def test_a_skip_is_allowed_if_listed_or_outside_continuous_integration(
    strict: bool, allowed: str, outcome: str
) -> None:
    """Catches a list that is not honoured, and `make test` failing on a machine that has no browser."""
    report = SimpleNamespace(outcome="skipped", nodeid="test_it.py::test_skipped[1]", longrepr="no tool")
    listed = conftest.allowed_skips(allowed)
    config: Any = SimpleNamespace(getoption=lambda name: strict, stash={conftest._allowed: listed})
    conftest.fail_unlisted_skip(report, config)
    assert report.outcome == outcome


def test_allowed_skips_exist() -> None:
    """Catches entries that outlive their test."""
    for line in (ROOT / "tests" / "allowed_skips.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            path, _, function = line.partition(": ")[0].partition("::")
            assert f"def {function}(" in (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("programs", "word"),
    [
        ({"id": "echo 1000"}, "root"),
        ({"id": "echo 0", "unshare": "exit 0"}, "mmdebstrap"),
        ({"id": "echo 0", "mmdebstrap": "exit 0", "unshare": "exit 1"}, "namespaces"),
    ],
)
def test_a_bare_machine_that_cannot_be_made_is_left_out_aloud(
    tmp_path: Path, programs: dict[str, str], word: str
) -> None:
    """Catches a stage of continuous integration that passes without a word where it did not run."""
    environment = tools(tmp_path / "bin", **programs, dirname='echo "${1%/*}"')
    command = ["/bin/bash", str(ROOT / "scripts" / "bare_machine.sh"), "trixie"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("note: bare machine left out: ") and word in line
