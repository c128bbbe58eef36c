"""`byteways watch`: runs a program unchanged, and says what it moved, how, and how long that took."""

from __future__ import annotations

import errno
import os
import platform
import shlex
import shutil
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from byteways import __version__
from byteways.cli.terminal import echo, say
from byteways.errors import BytewaysError, ExitStatus
from byteways.json_text import json_text
from byteways.units import parse_size
from byteways.watch.folder import (
    PROCESSES,
    WatchFolder,
    WatchManifest,
    make_folder,
    read_watch_folder,
    snapshot_files,
    write_manifest,
)
from byteways.watch.launching import watch_launch
from byteways.watch.problems import Problem, sentence
from byteways.watch.running import run_command

if TYPE_CHECKING:
    from byteways.watch.running import Ended

_READ = ("byteways", "watch", "--read")
_USAGE = "byteways watch -- mpiexec -n 4 ./program; byteways watch --read FOLDER"
_IMPORT_USAGE = "byteways watch --import FILE… --out FOLDER"


def watch(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            help="The program and its arguments, behind `--`.", metavar="-- COMMAND", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The new folder for what was seen. [default: by program and time]"),
    ] = None,
    read: Annotated[
        Path | None, typer.Option("--read", help="Print what an earlier watch has seen.", metavar="FOLDER")
    ] = None,
    memcpy: Annotated[
        str | None,
        typer.Option("--memcpy", help="Count memcpy and memmove from this size on: '64KiB'.", metavar="SIZE"),
    ] = None,
    traces: Annotated[
        list[Path] | None,
        typer.Option(
            "--import", help="Read traces of other profilers instead; further ones follow.", metavar="FILE…"
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print all that was seen as JSON, after a command on standard error."),
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Print every row.")] = False,
) -> int:
    """Run a program unchanged and say what it moved, how and for how long; exit as the program does."""
    if traces:
        if read is not None or memcpy is not None:
            raise BytewaysError("--import goes with no --read and no --memcpy", hint=_IMPORT_USAGE)
        return _import([*traces, *(Path(word) for word in command or [])], out, as_json, every)
    if read is not None:
        if command or out is not None or memcpy is not None:
            raise BytewaysError("--read goes with no command and none of its options", hint=_USAGE)
        return _print_folder(read, as_json, every)
    if not command:
        raise BytewaysError("no command to watch", hint=_USAGE)
    program = _program(command[0])
    memcpy_bytes = _size(memcpy) if memcpy is not None else None
    folder = out or _default_folder(program)
    make_folder(folder)
    return _watch(program, command, folder, memcpy_bytes, as_json, every)


def _import(traces: list[Path], out: Path | None, as_json: bool, every: bool) -> int:
    from byteways.cli.watch_import import import_traces

    if option := next((str(trace) for trace in traces if str(trace).startswith("-")), None):
        what = f"the option {option} comes after the traces"
        raise BytewaysError(what, hint=f"name --import first: {_IMPORT_USAGE}")
    folder = import_traces(traces, out)
    _print_folder(folder, as_json, every)
    say(f"to see it again: {shlex.join([*_READ, str(folder)])}")
    return ExitStatus.GOOD


def _print_folder(folder: Path, as_json: bool, every: bool) -> int:
    found = read_watch_folder(folder)
    echo(_text(found, as_json, every))
    for problem in found.problems:
        say(f"warning: {sentence(problem)}")
    return ExitStatus.GOOD


def _watch(
    program: Path, command: list[str], folder: Path, memcpy_bytes: int | None, as_json: bool, every: bool
) -> int:
    from byteways.run.shared.library_paths import library_directories
    from byteways.run.shared.simulator import native_folder
    from byteways.watch.cupti import cupti_files

    cupti = cupti_files(program, library_directories(), os.environ)
    launch = watch_launch(
        program, folder.absolute(), native_folder(), time.time_ns(), os.environ, memcpy_bytes, cupti
    )
    for problem in launch.problems:
        say(f"warning: {sentence(problem)}")
    manifest = WatchManifest(
        version=__version__,
        command=command,
        host=platform.node(),
        started_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        options={
            "collectors": ",".join(launch.collectors),
            **({"memcpy_bytes": memcpy_bytes} if memcpy_bytes is not None else {}),
        },
        problems=launch.problems,
    )
    _write(folder, manifest)
    try:
        ended = run_command(program, command, launch.environment)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise _not_started(command[0], error) from error
    _finish(folder, manifest, ended)
    _print_after(folder, launch.problems, as_json, every)
    return ended.as_shell


def _print_after(folder: Path, known: list[Problem], as_json: bool, every: bool) -> None:
    """Prints on standard error what was seen. The command's exit status stands, whatever fails here."""
    from byteways.cli import print_error

    try:
        found = read_watch_folder(folder)
    except BytewaysError as error:
        print_error(error)
        return
    say(_text(found, as_json, every))
    for problem in found.problems:
        if problem not in known:
            say(f"warning: {sentence(problem)}")
    if not as_json:
        say(f"to see it again: {shlex.join([*_READ, str(folder)])}")


def _finish(folder: Path, manifest: WatchManifest, ended: Ended) -> None:
    """Completes the manifest."""
    import msgspec

    topology, problems = _topology()
    files = [file.name for file in snapshot_files(folder)] if (folder / PROCESSES).is_dir() else []
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


def _topology() -> tuple[dict[str, Any] | None, list[Problem]]:
    """Returns the machine as run.json has it; it never fails the command."""
    from byteways.topology.discovery import discover

    try:
        return discover().to_json(), []
    except (BytewaysError, OSError, ValueError) as error:
        return None, [Problem("topology-unknown", str(error))]


def _write(folder: Path, manifest: WatchManifest) -> None:
    try:
        write_manifest(folder, manifest)
    except OSError as error:
        say(f"warning: cannot write {folder}: {error.strerror}; what the command moves may be lost")


def _size(text: str) -> int:
    """Returns the size of --memcpy. Raises BytewaysError."""
    try:
        return parse_size(text)
    except ValueError as error:
        raise BytewaysError("--memcpy takes a size", cause=str(error), hint="--memcpy 64KiB") from error


def _program(word: str) -> Path:
    """Returns the file of a command. Raises BytewaysError if there is none that can be run."""
    found = shutil.which(word)
    if found is not None:
        return Path(found)
    if os.sep in word and Path(word).exists():
        raise BytewaysError(f"{word} cannot be run", cause=os.strerror(errno.EACCES), hint=f"chmod +x {word}")
    raise BytewaysError(
        f"no program is named {word}",
        cause=os.strerror(errno.ENOENT) if os.sep in word else "no folder of PATH has it",
        hint=f"name its file; options of watch stand before `--`: {_USAGE}",
    )


def _not_started(word: str, error: OSError) -> BytewaysError:
    hint = (
        "a script needs a first line such as #!/bin/sh"
        if error.errno == errno.ENOEXEC
        else "name another program"
    )
    return BytewaysError(f"{word} cannot be run", cause=error.strerror, hint=hint)


def _default_folder(program: Path) -> Path:
    """Returns `byteways-watch-mpiexec-20261127-063615`."""
    return Path(f"byteways-watch-{program.name}-{time.strftime('%Y%m%d-%H%M%S')}")


def _text(found: WatchFolder, as_json: bool, every: bool) -> str:
    if as_json:
        import msgspec

        return json_text(msgspec.to_builtins(found), indent=1)
    from byteways.cli.layout import plain
    from byteways.cli.watch_table import watch_table

    return "\n".join(plain(watch_table(found, every)))
