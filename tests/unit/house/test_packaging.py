"""What is published, as users get it: wheel and source distribution, complete, in fresh environments."""

from __future__ import annotations

import io
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "src" / "byteways"
#: Not part of a package: what Python and editors leave behind.
LEFTOVERS = ("__pycache__", ".so")
#: Beside the native module, which loads it.
SIMULATOR = "byteways/libbyteways_sim.so"
#: For other programs.
COPY_LIBRARY = {"byteways/libbyteways_copy.so", "byteways/include/byteways_copy.h"}
SHIMS = {f"byteways/byteways_mpi_{abi}.so" for abi in ("standard", "mpich", "openmpi")}
#: What watched programs load.
COLLECTORS = {f"byteways/byteways_watch{name}.so" for name in ("", "_mpi", "_memcpy", "_memory")}
#: By the word that a loader has for its machine: those that are preloaded, and for 32 bits empty libraries.
LOADERS = {"x86_64": ("x86_64", "haswell"), "aarch64": ("aarch64",)}.get(platform.machine(), ())
SMALL_LOADERS = ("i386", "i486", "i586", "i686") if platform.machine() == "x86_64" else ()
PRELOADED, EMPTY = (
    {
        f"byteways/preload/{loader}/byteways_watch_{name}.so"
        for loader in loaders
        for name in ("mpi", "memcpy", "memory")
    }
    for loaders in (LOADERS, SMALL_LOADERS)
)


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
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `make wheel` would fill."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, ROOT / "scripts" / "build_wheels.py", "--out", folder, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def sdist(published: Path) -> Path:
    (found,) = published.glob("*.tar.gz")
    return found


@pytest.fixture(scope="module")
def wheel(published: Path) -> Path:
    (found,) = published.glob("*.whl")
    return found


def installed(file: Path, folder: Path, path: str | None = None) -> Path:
    """The programs' folder of a new environment with this file and what it depends on, and nothing else."""
    venv.create(folder, with_pip=True, symlinks=True)
    programs = folder / "bin"
    pip = [programs / "python", "-m", "pip", "install", "--quiet", "--no-compile"]
    run(*pip, file, cwd=folder, path=path or str(programs))
    return programs


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, installed where PATH has neither compiler nor make."""
    return installed(wheel, tmp_path_factory.mktemp("fresh"))


def package_files() -> set[str]:
    """Every file below src/ but what only its readers need, as it is named in a wheel."""
    read_only = ("README.md", ".d.ts", "quotations.csv")
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and not path.name.endswith(read_only))
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
    assert {"byteways/py.typed", "byteways/_core.pyi", "byteways/plan/suites/quick.toml"} <= names
    assert [name for name in names if name.startswith("byteways/_core.") and name.endswith(".so")]
    assert {SIMULATOR, *COPY_LIBRARY, *SHIMS, *COLLECTORS, *PRELOADED, *EMPTY} <= names
    assert [name for name in names if name.endswith("licenses/LICENSE")]


def test_wheel_has_nothing_else(wheel: Path) -> None:
    """Catches tests, native sources or build files that slip into users' site-packages."""
    with zipfile.ZipFile(wheel) as archive:
        names = {each for each in archive.namelist() if ".dist-info/" not in each and not each.endswith("/")}
    extra = {name for name in names - package_files() if not name.startswith("byteways/_core.")}
    assert extra == {SIMULATOR, *COPY_LIBRARY, *SHIMS, *COLLECTORS, *PRELOADED, *EMPTY}


def libraries_of(library: bytes) -> list[str]:
    """The libraries that the dynamic linker loads with one; others it may ask for by name."""
    from elftools.elf.elffile import ELFFile  # with auditwheel, of the slow tests' tools

    tags = ELFFile(io.BytesIO(library)).get_section_by_name(".dynamic").iter_tags("DT_NEEDED")
    return [tag.needed for tag in tags]


def test_wheel_runs_on_an_old_system(wheel: Path) -> None:
    """Catches a symbol of a newer glibc, a C++ library that the machine must bring, and a wheel for one
    version of Python where it could serve all later ones.
    """
    assert any(int(minor) <= 28 for minor in re.findall(r"manylinux_2_(\d+)_", wheel.name))
    assert ("-abi3-" in wheel.name) == (sys.version_info >= (3, 12))
    with zipfile.ZipFile(wheel) as archive:
        for name in (each for each in archive.namelist() if each.endswith(".so") and each not in EMPTY):
            content = archive.read(name)
            needed = [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", content)]
            assert needed and max(needed) <= 28, name
            assert not [one for one in libraries_of(content) if "c++" in one], name


def test_sdist_has_sources_and_no_tests(sdist: Path) -> None:
    """Catches a source distribution that cannot be built or redistributed, or is as large as a checkout."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"LICENSE", "README.md", "CMakeLists.txt", "pyproject.toml", "native/core/error.hpp"}
    assert wanted <= names
    elsewhere = (".ci/", ".venv/", "benchmarks/", "build/", "examples/", "scripts/", "tests/", "validation/")
    assert not [name for name in names if name.startswith(elsewhere)]
    assert sdist.stat().st_size < 2e6


def test_installed_sdist_works(sdist: Path, tmp_path: Path) -> None:
    """Catches sources that only this checkout can build: pip fetches all tools but the compiler."""
    programs = installed(sdist, tmp_path / "fresh", path=os.environ["PATH"])
    where = run(programs / "python", "-c", "import byteways; print(byteways.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(tmp_path)
    shown = run(programs / "byteways", "topo", "--machine", "h200-x4", cwd=tmp_path, path=str(programs))
    assert "NVIDIA H200" in shown


def test_installed_wheel_works(fresh: Path, tmp_path: Path) -> None:
    """Catches an import, a suite or a native function that only the source tree makes work."""
    where = run(fresh / "python", "-c", "import byteways; print(byteways.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(fresh.parent)
    assert "quick" in run(fresh / "byteways", "list", "suites", cwd=tmp_path, path=str(fresh))
    plan = run(fresh / "byteways", "run", "quick", "--dry-run", cwd=tmp_path, path=str(fresh))
    assert "cpu0" in plan
    assert list(tmp_path.iterdir()) == []
    simulated = ("run", "quick", "--machine", "h200-x4", "--out", tmp_path / "R")
    assert "Simulated" in run(fresh / "byteways", *simulated, cwd=tmp_path, path=str(fresh))
    assert (tmp_path / "R" / "report.html").exists()
    shutil.rmtree(tmp_path / "R")
    run(fresh / "python", "-m", "byteways.cli.schema", tmp_path, cwd=tmp_path)
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
