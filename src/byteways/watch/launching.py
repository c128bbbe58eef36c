"""The environment in which a watched program and all that it starts load the collectors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from byteways.watch.elf import obstacle
from byteways.watch.problems import Problem

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
#: The libraries beside the native core.
MPI_COLLECTOR = "byteways_watch_mpi.so"
MEMCPY_COLLECTOR = "byteways_watch_memcpy.so"
GPU_COLLECTOR = "byteways_watch.so"

#: What LD_PRELOAD splits its value at (ld.so(8)).
_SEPARATORS = re.compile(r"[ :]")
#: What rocprofiler-register splits the names of tools at.
_TOOL_SEPARATORS = re.compile(r"[ :,]")


@dataclass
class WatchLaunch:
    """How to start a program that is watched."""

    environment: dict[str, str]
    collectors: list[str] = field(default_factory=list)  # that may watch it: mpi …
    problems: list[Problem] = field(default_factory=list)


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
    added = [libraries / MPI_COLLECTOR]
    launch.collectors += ["mpi"]
    if memcpy_bytes is not None:
        added.append(libraries / MEMCPY_COLLECTOR)
        launch.environment[MEMCPY_VARIABLE] = str(memcpy_bytes)
        launch.collectors += ["memcpy"]
    _preload(launch, program, added)
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


def _preload(launch: WatchLaunch, program: Path, added: list[Path]) -> None:
    """Adds libraries to those that the user preloads, where the linker can load them."""
    if found := obstacle(program):
        launch.problems.append(found)
        # Whatever such a program starts may be watched; one of another C library would not start.
        if found.code in ("other-c-library", "other-architecture"):
            return
    if any(_SEPARATORS.search(str(path)) for path in added):
        launch.problems.append(Problem("unusable-path", str(added[0].parent)))
        return
    before = [name for name in _SEPARATORS.split(launch.environment.get("LD_PRELOAD", "")) if name]
    after = [str(path) for path in added if str(path) not in before]
    launch.environment["LD_PRELOAD"] = ":".join([*before, *after])
