"""`byteways watch --set` and `--try`: a program with changes that are made from outside, beside itself."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from byteways.cli.terminal import echo, say
from byteways.cli.watched_command import Command, observe
from byteways.errors import BytewaysError
from byteways.json_text import json_text
from byteways.system_errors import unusable
from byteways.watch.folder import WatchFolder, make_folder, read_watch_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byteways.cli.watch_show import WatchShown
    from byteways.explain.watched.expected import ExpectedRatio
    from byteways.explain.watched.trials import ProgramRun
    from byteways.watch.changes import ProgramChange
    from byteways.watch.problems import Problem

#: Exit statuses after which no further run follows: somebody interrupts or ends the program.
_ENDING = tuple(128 + one for one in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM))
#: In the folder: what each change gave.
TRIALS_FILE = "trials.json"


def run_trials(
    command: Command,
    folder: Path,
    changes: Sequence[ProgramChange],
    repeat: int,
    shown: WatchShown,
    *,
    as_json: bool,
    measure_s: float | None = None,
) -> int:
    """Runs a program with each change as often as asked, and prints what the changes gave.

    Args:
        command: What is run.
        folder: The new folder of all runs.
        changes: The program as it is among them.
        repeat: How often each is run.
        shown: How the program as it is is shown.
        as_json: Whether JSON is printed instead of tables.
        measure_s: Seconds in which what the program moved is measured, with each setting; None: it is not.

    Returns:
        The first exit status of the program as it is that is not 0, as a shell gives it; else 0.
    """
    from byteways.cli.layout import plain
    from byteways.explain.watched.trials import trials_table, tried

    make_folder(folder, of_one=False)
    done = _run_turns(command, folder, changes, repeat)
    if done.plain and measure_s is not None and done.status not in _ENDING:
        _measure(done.plain[0][1], folder, measure_s, changes, shown)
    results = tried(done.runs)
    expected = shown.expected([found for _, found in done.plain], changes)
    _write(
        folder,
        done.runs,
        [{**one.to_json(), "predicted": _json(expected.get(one.change))} for one in results],
    )
    if as_json:
        echo((folder / TRIALS_FILE).read_text(encoding="utf-8").rstrip())
        return done.status
    if done.plain:
        shown.after(done.plain[0][0], done.known)
    say("\n".join(["", *plain(trials_table(results, expected))]))
    say(f"all runs: {folder}")
    return done.status


@dataclass
class _Turns:
    """All runs of a program."""

    runs: list[ProgramRun] = field(default_factory=list)
    known: list[Problem] = field(default_factory=list)  # that were printed
    as_it_is: list[tuple[Path, WatchFolder]] = field(default_factory=list)  # what the program moved
    status: int = 0

    @property
    def plain(self) -> list[tuple[Path, WatchFolder]]:
        """What the program as it is moved in the turns that ended well; in all of them, if none did."""
        return [one for one in self.as_it_is if one[1].manifest.exit_status == 0] or self.as_it_is


def _run_turns(command: Command, folder: Path, changes: Sequence[ProgramChange], repeat: int) -> _Turns:
    from byteways.explain.watched.trials import ProgramRun, moving_ns

    done = _Turns()
    # Each turn begins with another change: what follows what would else be the same in all of them.
    order = [
        (turn, changes[(turn + place) % len(changes)])
        for turn in range(repeat)
        for place in range(len(changes))
    ]
    for turn, change in order:
        one = folder / f"{turn + 1}-{change.folder_name}"
        make_folder(one)
        ended, problems = observe(command, one, change, done.known)
        done.known += problems
        found = _read(one)
        if not change.name:
            done.status = done.status or ended.as_shell
            done.as_it_is += [(one, found)] if found else []
        moved = moving_ns(found.watched) if found else None
        done.runs.append(ProgramRun(change.name, turn, ended.duration_ns, moved, ended.exit_status))
        if ended.as_shell in _ENDING:
            done.status = ended.as_shell
            say(f"ended after {len(done.runs)} of {len(order)} runs")
            break
    return done


def _measure(
    found: WatchFolder, folder: Path, measure_s: float, changes: Sequence[ProgramChange], shown: WatchShown
) -> None:
    """Measures what the program moved; the runs that were made are shown whatever fails here."""
    from byteways.cli import print_error
    from byteways.cli.watch_measure import measure_program

    try:
        shown.compare_with(measure_program(found, folder, measure_s, changes))
    except BytewaysError as error:
        print_error(error)


def _json(expected: ExpectedRatio | None) -> dict[str, Any] | None:
    return expected.to_json() if expected else None


def _read(folder: Path) -> WatchFolder | None:
    try:
        return read_watch_folder(folder)
    except BytewaysError:  # a full disk; the next command says so as well
        return None


def _write(folder: Path, runs: Sequence[ProgramRun], results: list[dict[str, Any]]) -> None:
    import msgspec

    from byteways.writing import write

    text = json_text({"runs": msgspec.to_builtins([*runs]), "changes": results}, indent=1)
    try:
        write(folder / TRIALS_FILE, text + "\n")
    except OSError as error:
        raise unusable(f"cannot write {folder / TRIALS_FILE}", error) from error
