"""Programs and changes of predicted_gains.py: what runs, as it is and with each change."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from byteways.ext.watch.changes import changes_of

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples" / "watch"
#: Where `make develop` puts the wheels of MPICH and Open MPI.
WHEELS = ROOT / ".venv" / "mpi"
#: Programs of EXAMPLES that need an MPI and nothing else.
BUILT = ("halo", "particles", "fields", "gradients")
#: Copies so many MiB between two buffers of the C library, as often as it takes for 4 GiB. Both were
#: written before: pages that the first copy would map are no part of its speed.
_COPIES = """
import ctypes, sys
size = int(sys.argv[1]) << 20
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.calloc.restype = ctypes.c_void_p
one, two = (libc.calloc(1, size) for _ in range(2))
for each in (one, two):
    ctypes.memset(each, 1, size)
for _ in range((4 << 30) // size):
    ctypes.memmove(one, two, size)
"""
#: Reads a file of 64 MiB into a buffer and copies it to another one, as a load of a model does.
_LOADS = """
import ctypes, tempfile
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.calloc.restype = ctypes.c_void_p
size = 64 << 20
with tempfile.TemporaryFile() as file:
    file.write(bytes(size))
    staged, model = (libc.calloc(1, size) for _ in range(2))
    ctypes.memset(model, 1, size)
    for _ in range(40):
        file.seek(0)
        file.readinto((ctypes.c_char * size).from_address(staged))
        ctypes.memmove(model, staged, size)
"""


@dataclass(frozen=True)
class WatchedProgram:
    """A program, as it is, and the changes that are tried on it: a pair each."""

    name: str
    command: tuple[str, ...]
    settings: tuple[str, ...] = ()  # of --set
    memories: tuple[str, ...] = ()  # of --try
    variant: tuple[str, ...] = ()  # the program with a change of its own; its command
    environment: Mapping[str, str] = field(default_factory=dict)  # of the program as it is
    memcpy: str = ""  # of --memcpy
    mpi: str = ""  # the installation below WHEELS that it needs
    gpus: int = 0  # that it needs
    uses_torch: bool = False

    @property
    def changes(self) -> list[str]:
        """Names of the changes, as `byteways watch` has them."""
        tried = changes_of(self.settings, self.memories)[1:]
        return [*(["its variant"] if self.variant else []), *(one.name for one in tried)]


def programs(built: Mapping[tuple[str, str], Path]) -> Iterator[WatchedProgram]:
    """Yields all programs.

    Args:
        built: Executables of examples/watch by name and MPI; those of an MPI that is absent are left out.
    """
    if "openmpi" in {mpi for _, mpi in built}:
        yield from _open_mpi(built)
    if "mpich" in {mpi for _, mpi in built}:
        yield from _mpich(built)
    yield from _copies()
    yield from _gpus()


#: Arguments of programs whose time is mostly communication, on two ranks.
_SIZES = {
    "halo 8 KiB": ("halo", "1024", "1", "6000"),
    "halo 64 KiB": ("halo", "8192", "1", "2000"),
    "halo 512 KiB": ("halo", "65536", "1", "300"),
    "particles of 3 KiB": ("particles", "200", "50", "4000"),
    "particles of 62 KiB": ("particles", "4000", "1000", "500"),
    "fields, separate": ("fields", "separate", "15", "1024", "1500"),
    "fields, packed": ("fields", "packed", "15", "1024", "3000"),
    "gradients": ("gradients", "262144", "4", "150"),
}


def _of(built: Mapping[tuple[str, str], Path], mpi: str, words: tuple[str, ...]) -> tuple[str, ...]:
    return (str(WHEELS / mpi / "bin/mpiexec"), "-n", "2", str(built[words[0], mpi]), *words[1:])


def _open_mpi(built: Mapping[tuple[str, str], Path]) -> Iterator[WatchedProgram]:
    """Yields programs that use TCP, and take shared memory; and those that change how they send or sum."""
    for name, words in _SIZES.items():
        yield WatchedProgram(
            f"{name}, Open MPI over TCP",
            _of(built, "openmpi", words),
            settings=(r"OMPI_MCA_btl=self\,sm",),
            environment={"OMPI_MCA_btl": "self,tcp"},
            mpi="openmpi",
        )
    yield WatchedProgram(
        "fields, Open MPI",
        _of(built, "openmpi", _SIZES["fields, separate"]),
        variant=_of(built, "openmpi", ("fields", "packed", *_SIZES["fields, separate"][2:])),
        mpi="openmpi",
    )
    yield WatchedProgram(
        "gradients, Open MPI by linear sums",
        _of(built, "openmpi", ("gradients", "262144", "1", "300")),
        settings=("OMPI_MCA_coll_tuned_allreduce_algorithm=3,4",),
        environment={
            "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
            "OMPI_MCA_coll_tuned_allreduce_algorithm": "1",
        },
        mpi="openmpi",
    )


def _mpich(built: Mapping[tuple[str, str], Path]) -> Iterator[WatchedProgram]:
    """Yields programs that do without shared memory, and take it; and those with another algorithm."""
    for name in (one for one in _SIZES if one != "gradients"):
        yield WatchedProgram(
            f"{name}, MPICH by its network",
            _of(built, "mpich", _SIZES[name]),
            settings=("MPIR_CVAR_NOLOCAL=0",),
            environment={"MPIR_CVAR_NOLOCAL": "1"},
            mpi="mpich",
        )
    yield WatchedProgram(
        "gradients, MPICH by a ring",
        _of(built, "mpich", ("gradients", "262144", "1", "150")),
        settings=("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=recursive_doubling,reduce_scatter_allgather",),
        environment={"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "ring"},
        mpi="mpich",
    )
    yield WatchedProgram(
        "fields, MPICH",
        _of(built, "mpich", _SIZES["fields, separate"]),
        variant=_of(built, "mpich", ("fields", "packed", *_SIZES["fields, separate"][2:])),
        mpi="mpich",
    )


def _copies() -> Iterator[WatchedProgram]:
    for name, script, *words in (
        ("copies of 64 MiB", _COPIES, "64"),
        ("copies of 256 MiB", _COPIES, "256"),
        ("a load of 64 MiB", _LOADS),
    ):
        command = (sys.executable, "-c", script, *words)
        yield WatchedProgram(name, command, memories=("hugepage",), memcpy="1MiB")


def _gpus() -> Iterator[WatchedProgram]:
    """Yields programs of PyTorch."""
    step = str(EXAMPLES / "train_step.py")
    for name, words in (
        ("gpu training step", ("train",)),
        ("gpu inference with offload", ("infer",)),
        ("gpu swap of blocks", ("swap",)),
        ("gpu model load", ("load",)),
        ("gpu model load of large layers", ("load", "--width", "4096", "--steps", "10")),
        ("gpu inference with small layers", ("infer", "--width", "512", "--layers", "16")),
    ):
        yield WatchedProgram(
            name, (sys.executable, step, *words), memories=("pinned", "registered"), gpus=1, uses_torch=True
        )
    yield WatchedProgram(
        "gpu training step from pinned memory, 2 ranks",
        (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", step, "train", "--pinned"),
        settings=("NCCL_PROTO=LL,Simple",),
        gpus=2,
        uses_torch=True,
    )
