"""The wheel as a user gets it: from the source distribution, in a fresh environment, complete."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

import pytest
from tests.cache import FOLDER

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "byteways"
BUILD_SDIST = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
#: Not part of a package: what Python and editors leave behind.
LEFTOVERS = ("__pycache__", ".so")
#: Beside the native module, which loads it.
SIMULATOR = "byteways/libbyteways_sim.so"


def run(*command: str | Path, cwd: Path, path: str | None = None) -> str:
    """Standard output of a command that must succeed, without what would lead it back to the source tree."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PATH"] = path or f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution; what is not in it cannot be in a wheel that others build."""
    folder = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-c", BUILD_SDIST, folder, cwd=ROOT)
    (found,) = folder.glob("*.tar.gz")
    return found


@pytest.fixture(scope="module")
def wheel(sdist: Path) -> Path:
    """The wheel, built with the tools of this environment so that none is fetched again. ccache, where it is
    installed, keeps the object files from one session to the next.
    """
    folder = sdist.parent
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-cache-dir"]
    with pytest.MonkeyPatch.context() as environment:
        if shutil.which("ccache"):
            environment.setenv("CMAKE_CXX_COMPILER_LAUNCHER", "ccache")
            environment.setenv("CCACHE_BASEDIR", tempfile.gettempdir())  # where pip unpacks the sources
            environment.setenv("CCACHE_NOHASHDIR", "1")
            environment.setenv("CCACHE_DIR", os.environ.get("CCACHE_DIR", str(FOLDER / "ccache")))
        run(sys.executable, "-m", "pip", "wheel", *options, "-w", folder, sdist, cwd=folder)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs' folder of a new environment with the wheel and what it depends on, and nothing else."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=True, symlinks=True)
    programs = folder / "bin"
    run(programs / "python", "-m", "pip", "install", "--quiet", wheel, cwd=folder, path=str(programs))
    return programs


def package_files() -> set[str]:
    """Every file below src/, as it is named in a wheel."""
    files = (path for path in PACKAGE.rglob("*") if path.is_file())
    return {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in files
        if path.suffix not in LEFTOVERS and "__pycache__" not in path.parts
    }


def test_wheel_has_everything(wheel: Path) -> None:
    """Catches suites, templates, the schema or py.typed left out, and a wheel without its native module."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert package_files() <= names
    assert {"byteways/py.typed", "byteways/_core.pyi", "byteways/suites/quick.toml"} <= names
    assert [name for name in names if name.startswith("byteways/_core.") and name.endswith(".so")]
    assert SIMULATOR in names
    assert [name for name in names if name.endswith("licenses/LICENSE")]


def test_wheel_has_nothing_else(wheel: Path) -> None:
    """Catches tests, native sources or build files that slip into users' site-packages."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    extra = {name for name in names - package_files() if not name.startswith("byteways/_core.")}
    assert extra == {SIMULATOR}


def test_sdist_has_sources_and_tests(sdist: Path) -> None:
    """Catches a source distribution that cannot be built, tested or redistributed."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {
        "LICENSE",
        "README.md",
        "CMakeLists.txt",
        "Makefile",
        "native/core/error.hpp",
        "tests/conftest.py",
    }
    assert wanted <= names
    assert not [name for name in names if name.startswith((".venv/", "build/", "examples/"))]


def test_installed_wheel_works(fresh: Path, tmp_path: Path) -> None:
    """Catches an import, a suite or a native function that only the source tree makes work."""
    where = run(fresh / "python", "-c", "import byteways; print(byteways.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(fresh.parent)
    assert "quick" in run(fresh / "byteways", "list", "suites", cwd=tmp_path, path=str(fresh))
    plan = run(fresh / "byteways", "run", "quick", "--dry-run", cwd=tmp_path, path=str(fresh))
    assert "cpu0" in plan
    simulated = run(fresh / "byteways", "topo", "--machine", "h200-x4", cwd=tmp_path, path=str(fresh))
    assert "NVIDIA H200" in simulated
    assert list(tmp_path.iterdir()) == []
    run(fresh / "python", "-m", "byteways.results.schema", tmp_path, cwd=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "machine.schema.json",
        "record.schema.json",
        "run.schema.json",
        "samples.schema.json",
    ]


def test_installed_wheel_needs_no_test_tool(fresh: Path, tmp_path: Path) -> None:
    """Catches a runtime import of what only the `test` extra installs."""
    installed = run(fresh / "python", "-m", "pip", "list", "--format", "freeze", cwd=tmp_path)
    assert not {"pytest", "numpy", "jsonschema"} & {line.split("==")[0] for line in installed.splitlines()}
    run(fresh / "byteways", "doctor", "--json", cwd=tmp_path, path=str(fresh))
