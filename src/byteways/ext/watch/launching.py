"""The environment in which a watched program and all that it starts load the collectors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from byteways.base.errors import BytewaysError
from byteways.base.private_folder import private_folder
from byteways.ext.watch.elf import obstacle
from byteways.ext.watch.problems import Problem

#: Read by native/watch/snapshot.cpp.
FOLDER_VARIABLE = "BYTEWAYS_WATCH"
START_VARIABLE = "BYTEWAYS_WATCH_START"
#: Read by native/watch/memcpy.
MEMCPY_VARIABLE = "BYTEWAYS_WATCH_MEMCPY"
#: Read by native/watch/gpu: files of CUPTI, separated by colons.
CUPTI_VARIABLE = "BYTEWAYS_WATCH_CUPTI"
#: By which CUDA's driver loads a library into each program (CUDA driver API, cuInit).
_INJECTION = "CUDA_INJECTION64_PATH"
#: By which NCCL, from 2.27 on with this interface, and RCCL load a profiler (NCCL's environment variables).
_PLUGIN = "NCCL_PROFILER_PLUGIN"
#: By which HIP's runtime loads tools of rocprofiler-sdk, several beside each other (rocprofiler-register).
_TOOLS = "ROCP_TOOL_LIBRARIES"
#: Variables by which a program loads the collectors: they have no other value while it is watched.
LOADING_VARIABLES = (_INJECTION, _PLUGIN, _TOOLS)
#: How the names of byteways' own variables begin.
OWN_VARIABLES = FOLDER_VARIABLE
#: The libraries beside the native core.
MPI_COLLECTOR = "byteways_watch_mpi.so"
MEMCPY_COLLECTOR = "byteways_watch_memcpy.so"
GPU_COLLECTOR = "byteways_watch.so"
MEMORY_COLLECTOR = "byteways_watch_memory.so"
COLLECTORS = (MPI_COLLECTOR, MEMCPY_COLLECTOR, GPU_COLLECTOR, MEMORY_COLLECTOR)

PRELOAD_VARIABLE = "LD_PRELOAD"
#: What LD_PRELOAD splits its value at (ld.so(8)).
SEPARATORS = re.compile(r"[ :]")
#: Sanitizers of compilers, which end a program where another library comes before them.
_SANITIZER = re.compile(r"^lib(clang_rt\.)?[a-z]*san[.-]")
#: What rocprofiler-register splits the names of tools at.
_TOOL_SEPARATORS = re.compile(r"[ :,]")
#: What no path in a variable may have: the above, and the beginning of a word that ld.so replaces.
_UNUSABLE = re.compile(r"[\s:,$]")
#: Beside the collectors: what is preloaded, below the word that glibc's loader puts in place of $PLATFORM.
#: Another C library knows no such word, and passes over a file that is not there (CMakeLists.txt).
_PRELOADED, _LOADER = "preload", "$PLATFORM"
#: A link in a watch's folder, while the program runs.
_LINK = "libraries"


@dataclass
class WatchLaunch:
    """How to start a program that is watched."""

    environment: dict[str, str]
    collectors: list[str] = field(default_factory=list)  # that may watch it: mpi …
    problems: list[Problem] = field(default_factory=list)
    loads_libraries: bool = True  # whether the program can be started with libraries of ours

    def preload(self, added: Sequence[Path]) -> None:
        """Adds libraries before those that the user preloads, which may hide calls from what comes later."""
        if not self.loads_libraries:
            return
        before = [name for name in SEPARATORS.split(self.environment.get(PRELOAD_VARIABLE, "")) if name]
        first = [name for name in before if _SANITIZER.search(Path(name).name)]
        new = [str(path) for path in added if str(path) not in before]
        rest = [name for name in before if name not in first]
        self.environment[PRELOAD_VARIABLE] = ":".join([*first, *new, *rest])


def preloaded(libraries: Path, name: str) -> Path:
    """Returns the path by which LD_PRELOAD names a collector."""
    return libraries / _PRELOADED / _LOADER / name if (libraries / _PRELOADED).is_dir() else libraries / name


@contextmanager
def usable_libraries(libraries: Path, folder: Path) -> Iterator[Path]:
    """Provides a path of the collectors that variables can have, while a program runs; else theirs.

    Args:
        libraries: Where the collectors are.
        folder: The absolute folder of the snapshots, which other hosts reach as well.
    """
    if not _UNUSABLE.search(str(libraries)):
        yield libraries
        return
    with ExitStack() as made:
        link = folder / _LINK
        try:
            if _UNUSABLE.search(str(folder)):
                link = made.enter_context(private_folder()) / _LINK  # of this host alone
            link.symlink_to(libraries)
        except (OSError, BytewaysError):  # a full disk
            link = libraries
        else:
            made.callback(link.unlink, missing_ok=True)
        yield link


def watch_launch(
    program: Path,
    folder: Path,
    libraries: Path,
    start_ns: int,
    environment: Mapping[str, str],
    memcpy_bytes: int | None = None,
    cupti: Sequence[Path] = (),
) -> WatchLaunch:
    """Returns the environment for a program.

    Args:
        program: The file that is run.
        folder: The absolute folder of the snapshots.
        libraries: Where the collectors are.
        start_ns: When the time line begins, in ns since 1970.
        environment: The user's; what it has is kept.
        memcpy_bytes: Size from which memcpy and memmove are counted; None: they are not.
        cupti: Files of CUPTI to try.
    """
    launch = WatchLaunch(dict(environment))
    if outer := environment.get(FOLDER_VARIABLE):
        launch.problems.append(Problem("nested-watch", outer))
    launch.environment |= {FOLDER_VARIABLE: str(folder), START_VARIABLE: str(start_ns)}
    launch.environment.pop(MEMCPY_VARIABLE, None)  # of an outer watch
    added = [MPI_COLLECTOR]
    launch.collectors += ["mpi"]
    if memcpy_bytes is not None:
        added.append(MEMCPY_COLLECTOR)
        launch.environment[MEMCPY_VARIABLE] = str(memcpy_bytes)
        launch.collectors += ["memcpy"]
    _preload(launch, program, libraries, added)
    _inject(launch, libraries / GPU_COLLECTOR, cupti)
    return launch


def _inject(launch: WatchLaunch, library: Path, cupti: Sequence[Path]) -> None:
    """Lets CUDA's driver, NCCL and HIP load the collector; the first two load one tool alone."""
    launch.environment[CUPTI_VARIABLE] = ":".join(map(str, cupti))
    for variable, collector, problem in (
        (_INJECTION, "cuda", "cuda-injection-taken"),
        (_PLUGIN, "nccl", "nccl-profiler-taken"),
    ):
        taken = launch.environment.get(variable)
        if taken and Path(taken).name != library.name:
            launch.problems.append(Problem(problem, taken))
        else:
            launch.environment[variable] = str(library)
            launch.collectors.append(collector)
    tools = [one for one in _TOOL_SEPARATORS.split(launch.environment.get(_TOOLS, "")) if one]
    if not _TOOL_SEPARATORS.search(str(library)):
        tools += [str(library)] if str(library) not in tools else []
        launch.environment[_TOOLS] = ":".join(tools)
        launch.collectors.append("hip")


def _preload(launch: WatchLaunch, program: Path, libraries: Path, names: Sequence[str]) -> None:
    """Adds libraries to those that the user preloads, where the linker can load them."""
    added = [preloaded(libraries, name) for name in names]
    if found := obstacle(program):
        # Whatever such a program starts may be watched.
        launch.problems.append(found)
        if found.code in ("other-c-library", "other-architecture") and _LOADER not in str(added[0]):
            launch.loads_libraries = False  # one of another C library would not start
    if launch.loads_libraries and any(SEPARATORS.search(str(path)) for path in added):
        launch.problems.append(Problem("unusable-path", str(libraries)))
        launch.loads_libraries = False
    launch.preload(added)
