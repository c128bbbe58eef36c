"""Files in the current directory never become code of a run, whatever their names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from byteways.run.conduct.process import WorkerProcess
from byteways.run.shared.library_paths import library_directories
from byteways.settings import module_command
from byteways.start import without_current_directory

#: Innocent names of a user's own files that hide modules of the standard library.
NAMES = ("json.py", "select.py", "statistics.py", "socket.py", "runpy.py", "typing.py", "msgspec.py")


@pytest.fixture
def shadowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, full of files that end a Python that imports them."""
    folder = tmp_path / "own"
    folder.mkdir()
    for name in NAMES:
        (folder / name).write_text("raise SystemExit('code of the current directory')\n")
    monkeypatch.chdir(folder)
    return folder


def test_worker(shadowed: Path, tmp_path: Path) -> None:
    """Would catch a worker that imports, or only looks into, the folder that the user happens to be in."""
    worker = WorkerProcess(tmp_path / "log")
    assert Path(f"/proc/{worker.pid}/cwd").resolve() == shadowed
    worker.stop()
    assert "code of the current directory" not in (tmp_path / "log").read_text()


@pytest.mark.parametrize("path", ["", ":/nosuch", "."])
def test_no_child_searches_the_current_directory(
    shadowed: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Would catch an exporter or compiling child with the folder, or a PYTHONPATH with an empty part."""
    monkeypatch.setenv("PYTHONPATH", path)
    for module in (
        "byteways.run.work.exporter",
        "byteways.run.work.compile_kernels",
        "byteways.run.work.worker",
    ):
        done = subprocess.run([*module_command(module), "--help"], capture_output=True, text=True)
        assert "code of the current directory" not in done.stderr, module
    told = subprocess.run(module_command("site"), capture_output=True, text=True)
    assert f"'{shadowed}'" not in told.stdout and "sys.path" in told.stdout


def test_command_line(shadowed: Path) -> None:
    """Would catch `byteways` itself importing from there: what it loads late, a verb at a time."""
    program = Path(sys.executable).with_name("byteways")
    for command in ([str(program)], [sys.executable, str(Path(program))]):
        done = subprocess.run([*command, "list", "suites"], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_package_itself_may_lie_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a checkout that cannot be used from its own source folder."""
    import byteways

    home = Path(byteways.__file__).parents[1]
    monkeypatch.chdir(home)
    assert without_current_directory(["", "/usr/lib"]) == [str(home), "/usr/lib"]
    monkeypatch.chdir("/")
    assert without_current_directory(["", "lib", "/usr/lib"]) == ["/usr/lib"]


def test_no_library_of_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch ./_rocm_sdk_core/lib/libamdhip64.so being loaded before the one of /opt/rocm."""
    for folder in ("_rocm_sdk_core/lib", "nvidia/cuda_nvrtc/lib", "torch/lib", "own/lib"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    relative = {"CUDA_HOME": "own", "ROCM_PATH": "."}
    assert library_directories(relative, ["", ".", "own"], tmp_path / "nosuch") == []
