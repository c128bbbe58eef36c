"""Native libraries of a checkout that are built when first asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from byteways.base.errors import BytewaysError, ExitStatus
from byteways.measuring.shared import native_build
from byteways.measuring.shared.simulator import SIMULATOR_LIBRARY

#: Stands for CMake: notes its arguments, and installs the component where it is told.
FAKE_CMAKE = """#!/bin/sh
echo "$@" >>"$(dirname "$0")/calls"
case "$1" in
--build) [ ! -e "$(dirname "$0")/broken" ] || { echo "no compiler"; exit 1; } ;;
--install) echo built >"$6/byteways/lib$4.so" ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a native core that was built alone."""
    folder = tmp_path / "byteways"
    folder.mkdir()
    cmake = tmp_path / "cmake"
    cmake.write_text(FAKE_CMAKE)
    cmake.chmod(0o755)
    (tmp_path / "CMakeCache.txt").touch()
    build = {"cmake": str(cmake), "folder": str(tmp_path)}
    (folder / native_build.BUILD_TREE).write_text(json.dumps(build))
    monkeypatch.setattr(native_build, "native_folder", lambda: folder)
    return folder


def calls(folder: Path) -> list[str]:
    """The words of each call of CMake."""
    return (folder.parent / "calls").read_text().splitlines()


def test_a_missing_library_is_built_once(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a library that is built for each command, or another one than was asked for."""
    path = native_build.native_library(SIMULATOR_LIBRARY)
    assert path == checkout / SIMULATOR_LIBRARY and path.exists()
    assert native_build.native_library(SIMULATOR_LIBRARY) == path
    build, install = calls(checkout)
    assert build.split()[-2:] == ["--target", "byteways_sim"] and "--component byteways_sim" in install
    assert capsys.readouterr().err.count(SIMULATOR_LIBRARY) == 1


def test_processes_build_one_after_another(checkout: Path) -> None:
    """Catches ranks of one node that all build into the same folder."""
    program = (
        "import pathlib, sys\n"
        "from byteways.measuring.shared import native_build\n"
        "native_build.native_folder = lambda: pathlib.Path(sys.argv[1])\n"
        f"native_build.native_library({SIMULATOR_LIBRARY!r})\n"
    )
    started = [subprocess.Popen([sys.executable, "-c", program, str(checkout)]) for _ in range(3)]
    assert [one.wait() for one in started] == [0, 0, 0]
    assert [line.split()[0] for line in calls(checkout)] == ["--build", "--install"]


def test_a_failed_build_names_its_cause(checkout: Path) -> None:
    """Catches a compiler's error that nobody sees."""
    (checkout.parent / "broken").touch()
    with pytest.raises(BytewaysError) as raised:
        native_build.native_library(SIMULATOR_LIBRARY)
    assert raised.value.cause == "no compiler" and raised.value.hint
    assert raised.value.status is ExitStatus.FAILED


@pytest.mark.parametrize("text", [None, "{}", "[]", "{", '{"cmake": "/no/cmake", "folder": "/no/folder"}'])
def test_without_a_build_tree_the_library_is_missing(checkout: Path, text: str | None) -> None:
    """Catches a traceback where a wheel was damaged or the build tree was removed."""
    (checkout / native_build.BUILD_TREE).unlink()
    if text is not None:
        (checkout / native_build.BUILD_TREE).write_text(text)
    with pytest.raises(BytewaysError) as raised:
        native_build.native_library(SIMULATOR_LIBRARY)
    assert SIMULATOR_LIBRARY in raised.value.what and raised.value.hint


def test_a_missing_builder_is_named(checkout: Path) -> None:
    """Catches a virtual environment whose CMake was removed after the build."""
    (checkout.parent / "cmake").unlink()
    with pytest.raises(BytewaysError) as raised:
        native_build.native_library(SIMULATOR_LIBRARY)
    assert "cmake" in str(raised.value.cause)
