"""`byteways watch`: runs a program unchanged, and says what it moved, how, and how long that took."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from byteways.base.errors import BytewaysError, ExitStatus
from byteways.base.settings import copy_plan_file
from byteways.base.units import parse_size
from byteways.console.terminal import say
from byteways.ext.watch.changes import COPIES, changes_of
from byteways.ext.watch.folder import make_folder, read_watch_folder
from byteways.ext.watch.verbs.watch_show import WatchShown
from byteways.ext.watch.verbs.watched_command import WATCH_USAGE, Command, observe, program_named

if TYPE_CHECKING:
    from byteways.models.model import MachineModel

_READ = ("byteways", "watch", "--read")
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
    against: Annotated[
        Path | None,
        typer.Option(
            "--against", help="Say what it would gain by the best methods of this run.", metavar="RUN"
        ),
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure",
            help="Measure what it moved, within this time, and compare it with that: '60s'.",
            metavar="TIME",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help=r"Run it again with each value of a variable: NCCL_ALGO=Ring,Tree; '\,' is a comma of one.",
            metavar="VAR=A,B",
        ),
    ] = None,
    tried: Annotated[
        list[str] | None,
        typer.Option(
            "--try",
            help="Run it again with its large allocations in other memory (pinned, registered, managed, "
            "hugepage), or PyTorch's copies by a plan (copies).",
            metavar="CHANGE",
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option("--plan", help="The plan of --try copies. [default: this host's plan]", metavar="FILE"),
    ] = None,
    repeat: Annotated[
        int, typer.Option("--repeat", help="With --set and --try: how often each is run.", min=1, max=1000)
    ] = 3,
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine",
            help="Run it on simulated AMD GPUs: a name from `list machines` or a TOML file.",
            metavar="MODEL",
        ),
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--html", help="Write it as a page, too.", metavar="FILE")
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print all that was seen as JSON, after a command on standard error."),
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Print every row.")] = False,
) -> int:
    """Run a program unchanged and say what it moved, how and for how long; exit as the program does."""
    shown = WatchShown(against, page, as_json=as_json, every=every)
    changes = changes_of(settings or (), tried or (), _plan(plan, tried or ()))
    running = memcpy is not None or machine is not None or len(changes) > 1
    measure_s = _limit(measure, against, bool(traces))
    if traces:
        if read is not None or running:
            raise BytewaysError("--import goes with no --read and runs nothing", hint=_IMPORT_USAGE)
        return _import([*traces, *(Path(word) for word in command or [])], out, shown)
    if read is not None:
        if command or out is not None or running:
            raise BytewaysError("--read goes with no command and none of its options", hint=WATCH_USAGE)
        return _read(read, shown, measure_s)
    if not command:
        raise BytewaysError("no command to watch", hint=WATCH_USAGE)
    memcpy_bytes = _size(memcpy) if memcpy is not None else None
    model = _machine_to_simulate(machine) if machine is not None else None
    if model is not None and len(changes) > 1:
        raise BytewaysError(
            "--machine goes with no --set and --try",
            cause="a program takes its own time, whatever the simulated one of its copies is",
            hint="try changes on the machine itself",
        )
    watched = Command(program_named(command[0]), command, memcpy_bytes, model)
    shown.check()
    folder = out or _default_folder(watched.program)
    if len(changes) > 1:
        from byteways.ext.watch.verbs.watch_trials import run_trials

        return run_trials(watched, folder, changes, repeat, shown, as_json=as_json, measure_s=measure_s)
    make_folder(folder)
    ended, problems = observe(watched, folder, changes[0])
    if measure_s is not None:
        _measure_after(folder, shown, measure_s)
    shown.after(folder, problems)
    return ended.as_shell


def _plan(given: Path | None, tried: Sequence[str]) -> Path | None:
    """Returns the plan of --try copies. Raises BytewaysError if one is given for nothing."""
    if COPIES in tried:
        from byteways.cli.run_task import name_writers

        plan = given or copy_plan_file()
        name_writers(plan)
        return plan
    if given is not None:
        raise BytewaysError("--plan is for --try copies", hint="add --try copies, or leave --plan out")
    return None


def _limit(measure: str | None, against: Path | None, importing: bool) -> float | None:
    """Returns the seconds of --measure; None without it. Raises BytewaysError."""
    if measure is None:
        return None
    from byteways.ext.watch.verbs.watch_measure import seconds_of

    if against is not None:
        raise BytewaysError("--measure and --against exclude each other", hint="leave out one of them")
    if importing:
        raise BytewaysError(
            "--import measures nothing",
            hint="first the traces, then: byteways watch --read FOLDER --measure 60s",
        )
    return seconds_of(measure)


def _read(folder: Path, shown: WatchShown, measure_s: float | None) -> int:
    """Prints what an earlier watch has seen, beside a run that is measured now where that is asked for."""
    if measure_s is not None:
        from byteways.ext.watch.verbs.watch_measure import measure_program

        shown.compare_with(measure_program(read_watch_folder(folder), folder, measure_s))
    return shown.folder(folder)


def _measure_after(folder: Path, shown: WatchShown, measure_s: float) -> None:
    """Measures what a command has moved. A failure here changes neither its exit status nor what was seen."""
    from byteways.cli import print_error
    from byteways.ext.watch.verbs.watch_measure import measure_program

    try:
        shown.compare_with(measure_program(read_watch_folder(folder), folder, measure_s))
    except BytewaysError as error:
        print_error(error)


def _import(traces: list[Path], out: Path | None, shown: WatchShown) -> int:
    from byteways.ext.watch.verbs.watch_import import import_traces

    if option := next((str(trace) for trace in traces if str(trace).startswith("-")), None):
        what = f"the option {option} comes after the traces"
        raise BytewaysError(what, hint=f"name --import first: {_IMPORT_USAGE}")
    folder = import_traces(traces, out)
    shown.folder(folder)
    say(f"to see it again: {shlex.join([*_READ, str(folder)])}")
    return ExitStatus.GOOD


def _machine_to_simulate(name: str) -> MachineModel:
    """Returns the model of --machine. Raises BytewaysError if it has no GPUs of AMD."""
    from byteways.models import load

    model = load(name)
    if model.vendor != "amd" or not model.whole("gpu.count"):
        raise BytewaysError(
            f"{model.name} has no AMD GPUs",
            cause="a program is watched on a simulated machine through HIP alone",
            hint="--machine frontier-mi250x; byteways list machines has others",
        )
    return model


def _size(text: str) -> int:
    """Returns the size of --memcpy. Raises BytewaysError."""
    try:
        return parse_size(text)
    except ValueError as error:
        raise BytewaysError("--memcpy takes a size", cause=str(error), hint="--memcpy 64KiB") from error


def _default_folder(program: Path) -> Path:
    """Returns `byteways-watch-mpiexec-20261127-063615`."""
    return Path(f"byteways-watch-{program.name}-{time.strftime('%Y%m%d-%H%M%S')}")
