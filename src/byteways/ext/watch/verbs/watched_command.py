"""Runs a command with collectors, and completes the folder of what they saw."""

from __future__ import annotations

import errno
import os
import platform
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from byteways import __version__
from byteways.base.devices import is_gpu
from byteways.base.errors import BytewaysError
from byteways.console.terminal import say
from byteways.ext.watch.changes import ProgramChange
from byteways.ext.watch.copies import problems_of_copies
from byteways.ext.watch.folder import (
    PROCESSES,
    LinkBytes,
    WatchManifest,
    read_snapshots,
    snapshot_files,
    write_manifest,
)
from byteways.ext.watch.launching import COLLECTORS, WatchLaunch, usable_libraries, watch_launch
from byteways.ext.watch.problems import Problem, sentence
from byteways.ext.watch.running import Ended, run_command
from byteways.machine.link_counters import LinkReading, begin_reading, finish_reading

if TYPE_CHECKING:
    from byteways.models.model import MachineModel

WATCH_USAGE = "byteways watch -- mpiexec -n 4 ./program; byteways watch --read FOLDER"


@dataclass(frozen=True)
class Command:
    """What is run and counted."""

    program: Path
    words: Sequence[str]  # the program's name as the user wrote it, and its arguments
    memcpy_bytes: int | None = None  # size from which memcpy and memmove are counted; None: they are not
    model: MachineModel | None = None  # of the machine whose GPUs are simulated; None: those of this one


def observe(
    command: Command, folder: Path, change: ProgramChange, known: Sequence[Problem] = ()
) -> tuple[Ended, list[Problem]]:
    """Runs a command to its end.

    Args:
        command: What is run.
        folder: A new folder for what is seen.
        change: What is changed.
        known: Problems that were printed before.

    Returns:
        How it ended, and what could not be observed from the start on.

    Raises:
        BytewaysError: It cannot be started.
    """
    from byteways.ext.watch.cupti import cupti_files
    from byteways.measuring.shared.library_paths import library_directories
    from byteways.measuring.shared.native_build import native_libraries

    variables = {**os.environ, **change.variables}
    cupti = cupti_files(command.program, library_directories(), variables)
    begun, path = time.time_ns(), folder.absolute()
    try:
        with usable_libraries(native_libraries(*COLLECTORS), path) as libraries:
            launch = watch_launch(
                command.program, path, libraries, begun, variables, command.memcpy_bytes, cupti
            )
            change.apply(launch, libraries)
            for problem in launch.problems:
                if problem not in known:
                    say(f"warning: {sentence(problem)}")
            manifest = _begun(command, launch, change)
            _write(folder, manifest)
            ended, links = _counted(command, launch, libraries, folder)
    except (OSError, BytewaysError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise _not_started(command.words[0], error) if isinstance(error, OSError) else error from error
    found = problems_of_copies(folder) if change.plan is not None else []
    for problem in found:
        if problem not in known:
            say(f"warning: {sentence(problem)}")
    launch.problems += found
    _finish(folder, msgspec.structs.replace(manifest, links=links), ended, command.model)
    return ended, launch.problems


def _begun(command: Command, launch: WatchLaunch, change: ProgramChange) -> WatchManifest:
    """Returns the manifest of a program that has not run yet."""
    from byteways.measuring.conduct.simulation import Simulation

    options: dict[str, str | int | bool] = {"collectors": ",".join(launch.collectors)}
    if command.memcpy_bytes is not None:
        options["memcpy_bytes"] = command.memcpy_bytes
    if change.name:
        options["change"] = change.name
    return WatchManifest(
        version=__version__,
        command=[*command.words],
        host=platform.node(),
        started_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        options=options,
        problems=launch.problems,
        simulated=command.model is not None,
        machine_model={**Simulation(command.model).to_json()} if command.model else None,
    )


def _counted(
    command: Command, launch: WatchLaunch, libraries: Path, folder: Path
) -> tuple[Ended, list[LinkBytes]]:
    """Runs a command to its end, between two readings of the counters of links. Raises as _run() does."""
    first, started_ns = begin_reading(), time.monotonic_ns()
    try:
        ended = _run(command, launch, libraries)
        before = finish_reading(first)
    finally:
        if first is not None:
            first.end()
    used = _used_gpus(folder) if before else set()
    after = finish_reading(begin_reading()) if used else None
    return ended, link_bytes(before, after, used, started_ns) if before and after else []


def _used_gpus(folder: Path) -> set[str]:
    watched, _ = read_snapshots(snapshot_files(folder) if (folder / PROCESSES).is_dir() else [])
    devices = {end.device for one in watched.bins for end in (one.source, one.destination)}
    return {device for device in devices if device and is_gpu(device)}


def link_bytes(before: LinkReading, after: LinkReading, gpus: set[str], started_ns: int) -> list[LinkBytes]:
    """Returns what went over the links of GPUs between two readings.

    A counter of PCIe that is below 2³² says nothing: nvml.h lets NVML_FI_DEV_PCIE_COUNT_* wrap. One of an
    H200 read 3.0 GB where a program had brought at least 6.7 GB.
    """

    def more(link: str, old: int | None, new: int | None) -> int | None:
        if old is None or new is None or new < old or (link == "pcie" and new < 1 << 32):
            return None
        return new - old

    times = before.at_ns - started_ns, after.at_ns - started_ns
    found = []
    for (gpu, link), (sent, received) in sorted(after.counters.items()):
        if gpu in gpus and (gpu, link) in before.counters:
            old_sent, old_received = before.counters[gpu, link]
            moved = more(link, old_sent, sent), more(link, old_received, received)
            found.append(LinkBytes(gpu, link, *moved, *times))
    return found


def _run(command: Command, launch: WatchLaunch, libraries: Path) -> Ended:
    """Runs a command to its end. Raises OSError, or BytewaysError without a folder for temporary files."""
    if command.model is None:
        return run_command(command.program, [*command.words], launch.environment)
    from byteways.base.private_folder import private_folder
    from byteways.ext.watch.simulated import simulate_gpus
    from byteways.measuring.shared.native_build import native_library
    from byteways.measuring.shared.simulator import SIMULATOR_LIBRARY
    from byteways.models import sheet

    with private_folder() as folder:
        simulate_gpus(launch, folder, native_library(SIMULATOR_LIBRARY), sheet(command.model))
        return run_command(command.program, [*command.words], launch.environment)


def _finish(folder: Path, manifest: WatchManifest, ended: Ended, model: MachineModel | None) -> None:
    """Completes the manifest."""
    topology, problems = _topology(model)
    paths = snapshot_files(folder) if (folder / PROCESSES).is_dir() else []
    if model is not None:
        watched, _ = read_snapshots(paths)
        if not any("hip" in process.collectors for process in watched.processes):
            problems.append(Problem("hip-unused"))
    files = [file.name for file in paths]
    complete = msgspec.structs.replace(
        manifest,
        duration_ns=ended.duration_ns,
        exit_status=ended.exit_status,
        signal=ended.signal,
        processes=files,
        problems=[*manifest.problems, *problems],
        topology=topology,
    )
    _write(folder, complete)


def _topology(model: MachineModel | None) -> tuple[dict[str, Any] | None, list[Problem]]:
    """Returns the machine as run.json has it; it never fails the command."""
    try:
        if model is not None:
            from byteways.models.topology import topology_of

            return topology_of(model).to_json(), []
        from byteways.machine.discovery import discover

        return discover().to_json(), []
    except (BytewaysError, OSError, ValueError) as error:
        return None, [Problem("topology-unknown", str(error))]


def _write(folder: Path, manifest: WatchManifest) -> None:
    try:
        write_manifest(folder, manifest)
    except OSError as error:
        say(f"warning: cannot write {folder}: {error.strerror}; what the command moves may be lost")


def program_named(word: str) -> Path:
    """Returns the file of a command. Raises BytewaysError if there is none that can be run."""
    found = shutil.which(word)
    if found is not None:
        return Path(found)
    if os.sep in word and Path(word).exists():
        raise BytewaysError(f"{word} cannot be run", cause=os.strerror(errno.EACCES), hint=f"chmod +x {word}")
    raise BytewaysError(
        f"no program is named {word}",
        cause=os.strerror(errno.ENOENT) if os.sep in word else "no folder of PATH has it",
        hint=f"name its file; options of watch come before `--`: {WATCH_USAGE}",
    )


def _not_started(word: str, error: OSError) -> BytewaysError:
    hint = (
        "a script needs a first line such as #!/bin/sh"
        if error.errno == errno.ENOEXEC
        else "name another program"
    )
    return BytewaysError(f"{word} cannot be run", cause=error.strerror, hint=hint)
