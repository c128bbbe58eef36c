"""`byteways watch --set` and `--try`: a program with changes that are made from outside, beside itself."""

from __future__ import annotations

import shlex
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from byteways.base.errors import BytewaysError, ExitStatus
from byteways.base.json_text import json_text
from byteways.base.system_errors import unusable
from byteways.console.terminal import echo, say
from byteways.ext.watch.folder import WatchFolder, make_folder, read_watch_folder
from byteways.ext.watch.problems import sentence
from byteways.ext.watch.verbs.watched_command import Command, observe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byteways.ext.watch.advice.expected import ExpectedRatio
    from byteways.ext.watch.advice.trials import ProgramRun, TriedChange
    from byteways.ext.watch.changes import ProgramChange
    from byteways.ext.watch.problems import Problem
    from byteways.ext.watch.verbs.watch_show import WatchShown

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
        The first exit status of the program as it is that is not 0, as a shell gives it; else 1 if a changed
        program did not end well where the program as it is did; else 0.
    """
    from byteways.cli import print_error
    from byteways.console.layout import plain
    from byteways.ext.watch.advice.trials import trials_table, tried

    make_folder(folder, of_one=False)
    done = _run_turns(command, folder, changes, repeat)
    if done.plain and measure_s is not None and done.status not in _ENDING:
        _measure(done.plain[0][1], folder, measure_s, changes, shown)
    results = tried(done.runs)
    expected = shown.expected([found for _, found in done.plain], changes)
    _write(
        folder,
        done.runs,
        [
            {
                **one.to_json(),
                "predicted": _json(expected.get(one.change)),
                "problems": msgspec.to_builtins(done.problems.get(one.change, [])),
            }
            for one in results
        ],
    )
    table = trials_table(results, expected, {one.change: _ended(one) for one in results if one.bad_ends})
    shown.with_changes(table)
    if done.plain:
        shown.after(done.plain[0][0], done.known, quiet=as_json)
    if as_json:
        echo((folder / TRIALS_FILE).read_text(encoding="utf-8").rstrip())
    else:
        say("\n".join(["", *plain(table)]))
        say(f"all runs: {folder}")
    for name, problems in done.problems.items():
        for problem in problems:
            say(f"warning: {name}: {sentence(problem)}")
    errors = [_error(one, results, changes, folder) for one in results if one.change and one.bad_alone]
    for error in errors:
        print_error(error)
    return done.status or (ExitStatus.FAILED if errors else ExitStatus.GOOD)


def _ended(one: TriedChange) -> str:
    """Returns `SIGSEGV in 3 of 3 turns`."""
    from byteways.measuring.shared.exit_status import describe_exit

    return ", ".join(
        f"{describe_exit(end.code)} in {end.turns} of {one.of_turns} turns" for end in one.bad_ends
    )


def _error(
    one: TriedChange, results: Sequence[TriedChange], changes: Sequence[ProgramChange], folder: Path
) -> BytewaysError:
    """Returns how a changed program ended that did not end well, and what to look at."""
    change = next(each for each in changes if each.name == one.change)
    # All values of one variable: what was one value with commas, perhaps.
    values = [
        each for each in changes if change.variables and each.variables.keys() == change.variables.keys()
    ]
    none_good = {each.change for each in results if each.turns == 0}
    if len(values) > 1 and all(each.name in none_good for each in values):
        ((variable, _),) = change.variables.items()
        together = r"\,".join(each.variables[variable].replace(",", r"\,") for each in values)
        hint = f"a comma separates values; for a single one: --set {shlex.quote(f'{variable}={together}')}"
    else:
        first = folder / f"1-{change.folder_name}"
        hint = f"what it did until then: {shlex.join(['byteways', 'watch', '--read', str(first)])}"
    return BytewaysError(
        f"{one.change}: ended by {_ended(one)}",
        cause="the program as it is ended well"
        + ("" if one.turns else "; nothing of the change was measured"),
        hint=hint,
        status=ExitStatus.FAILED,
    )


@dataclass
class _Turns:
    """All runs of a program."""

    runs: list[ProgramRun] = field(default_factory=list)
    known: list[Problem] = field(default_factory=list)  # that were printed
    #: By change: what is missing in its runs alone.
    problems: dict[str, list[Problem]] = field(default_factory=dict)
    as_it_is: list[tuple[Path, WatchFolder]] = field(default_factory=list)  # what the program moved
    status: int = 0

    @property
    def plain(self) -> list[tuple[Path, WatchFolder]]:
        """What the program as it is moved in the turns that ended well; in all of them, if none did."""
        return [one for one in self.as_it_is if one[1].manifest.exit_status == 0] or self.as_it_is


def _run_turns(command: Command, folder: Path, changes: Sequence[ProgramChange], repeat: int) -> _Turns:
    from byteways.ext.watch.advice.trials import ProgramRun, moving_ns

    done = _Turns()
    seen: dict[str, list[Problem]] = {}
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
        run = ProgramRun(change.name, turn, ended.duration_ns, moved, ended.exit_status, ended.signal)
        done.runs.append(run)
        seen.setdefault(change.name, []).extend(found.problems if found else [])
        if ended.as_shell in _ENDING:
            done.status = ended.as_shell
            say(f"ended after {len(done.runs)} of {len(order)} runs")
            break
    for name, problems in seen.items():
        # The first of each kind: every turn has processes of other numbers.
        first = {one.code: one for one in reversed(problems)}
        new = [
            first[code]
            for code in first
            if code not in {one.code for one in [*seen.get("", []), *done.known]}
        ]
        if name and new:
            done.problems[name] = new
    return done


def _measure(
    found: WatchFolder, folder: Path, measure_s: float, changes: Sequence[ProgramChange], shown: WatchShown
) -> None:
    """Measures what the program moved; the runs that were made are shown whatever fails here."""
    from byteways.cli import print_error
    from byteways.ext.watch.verbs.watch_measure import measure_program

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
    from byteways.base.writing import write

    text = json_text({"runs": msgspec.to_builtins([*runs]), "changes": results}, indent=1)
    try:
        write(folder / TRIALS_FILE, text + "\n")
    except OSError as error:
        raise unusable(f"cannot write {folder / TRIALS_FILE}", error) from error
