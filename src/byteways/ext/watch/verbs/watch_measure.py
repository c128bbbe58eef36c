"""`byteways watch --measure`: measures what a program moved, now, to compare the program with it."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import to_builtins

from byteways.base.errors import BytewaysError
from byteways.base.units import parse_duration
from byteways.console.terminal import say

if TYPE_CHECKING:
    from byteways.ext.watch.changes import ProgramChange
    from byteways.ext.watch.folder import WatchFolder
    from byteways.measuring.shared.options import RunOptions
    from byteways.plan.built_suite import SuiteKeys

#: In the folder of a watched program: the run that was measured for it; further ones have a number.
MEASURED_RUN = "measured"
#: Launchers of MPI, by the names of their files: what a program is started by starts the ranks of its run.
_LAUNCHERS = ("mpiexec", "mpirun", "srun")
#: Seconds of samples of a case in all its rounds: at most, and as a part of the limit over all cases.
_MOST_CASE_S, _LEAST_CASE_S, _CASES_PART = 1.0, 0.01, 0.4
#: Seconds of the limit that are no measuring: the start of the run, and its end before the limit.
_RESERVED_S = 4.0
#: Methods of a question, of which each takes the time of a case.
_METHODS = 3


def seconds_of(text: str) -> float:
    """Returns the limit of --measure. Raises BytewaysError."""
    try:
        found = parse_duration(text)
    except ValueError as error:
        raise BytewaysError("--measure takes a time", cause=str(error), hint="--measure 60s") from error
    if found <= 2 * _RESERVED_S:
        raise BytewaysError(
            f"--measure {text} is too short", cause="a run takes seconds to start", hint="--measure 60s"
        )
    return found


def measure_program(
    found: WatchFolder, folder: Path, limit_s: float, changes: Sequence[ProgramChange] = ()
) -> Path:
    """Measures what a program moved, with variables of changes too, and returns the folder of the run.

    After three rounds of all, the rest of the time goes to what predictions need (open_predictions.py).

    Args:
        found: What the program moved.
        folder: Where the run is kept: the folder of the program.
        limit_s: Seconds in all.
        changes: Of the program; their predicted gains are to be known.

    Raises:
        BytewaysError: Nothing of it can be measured here, or not within the limit.
    """
    from byteways.cli.measure_now import measure_now
    from byteways.ext.watch.advice.open_predictions import open_cases
    from byteways.ext.watch.verbs.watched_suite import suite_of_watched
    from byteways.measuring.conduct.conductor import Interrupted
    from byteways.measuring.conduct.simulation import recorded_simulation
    from byteways.measuring.conduct.time_limit import TimeLimit
    from byteways.plan.budget import BudgetError
    from byteways.record.run_folder import JOURNAL

    began = time.monotonic()
    limit = TimeLimit(limit_s, began)
    own = _new_folder(folder)
    simulation = recorded_simulation(folder, to_builtins(found.manifest))
    settings = [one.variables for one in changes if one.variables]
    suite = partial(
        suite_of_watched,
        found.watched,
        head=_head(found, limit_s, 1 + len(settings)),
        name=str(folder),
        settings=settings,
    )
    say(f"measuring what the program moved, within {limit_s:g} s")
    hint = f"a longer time, or: byteways run --from {folder}"
    try:
        with limit:
            run, planned = measure_now(
                lambda topology: suite(topology=topology),
                simulation,
                own,
                limit,
                options=_options(found),
                open_cases=partial(open_cases, watched=found.watched, changes=changes),
            )
    except Interrupted as stopped:
        if limit.over:
            raise BytewaysError(
                f"nothing was measured within {limit_s:g} s", cause="the run did not start", hint=hint
            ) from stopped
        kept = f"--against {own} uses what was measured" if (own / JOURNAL).exists() else hint
        cause = f"interrupted by {stopped}"
        raise BytewaysError("measuring has not ended", cause=cause, hint=kept) from stopped
    except BudgetError as error:
        raise BytewaysError(
            f"nothing can be measured within {limit_s:g} s", cause=error.cause, hint=hint
        ) from error
    from byteways.answers.best.answers import left_out

    say(f"measured into {own}, in {time.monotonic() - began:.1f} s")
    if missing := left_out(run, planned):
        say(f"left out for lack of time: {', '.join(missing)}")
    return own


def _new_folder(folder: Path) -> Path:
    """Returns a folder for a run that does not exist."""
    names = (f"{MEASURED_RUN}{f'-{number}' if number > 1 else ''}" for number in range(1, 10_000))
    return next(path for name in names if not (path := folder / name).exists())


def _head(found: WatchFolder, limit_s: float, settings: int) -> SuiteKeys:
    """Returns the suite's own keys: cases share the time evenly."""
    from byteways.ext.watch.questions import questions_of
    from byteways.ext.watch.verbs.watched_suite import HEAD_OF_SUITE

    cases = max(1, len(questions_of(found.watched)) * settings * _METHODS)
    case_s = min(_MOST_CASE_S, max(_LEAST_CASE_S, _CASES_PART * limit_s / cases))
    budget_s = limit_s - _RESERVED_S
    return {**HEAD_OF_SUITE, "budget_s": _digits(budget_s, 6), "case_budget_s": _digits(case_s, 3)}


def _digits(value: float, digits: int) -> float:
    """Returns a number as a user writes it: with few digits, a whole one without a point."""
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() else rounded


def _options(found: WatchFolder) -> RunOptions:
    """Returns how the ranks of the run are started: as many as the program has, by its launcher."""
    from byteways.measuring.shared.options import RunOptions

    watched = found.watched
    ranks = [one.ranks for one in watched.processes] + [one.ranks for one in watched.bins]
    command = found.manifest.command
    launched = bool(command) and Path(command[0]).name.startswith(_LAUNCHERS)
    launcher = shlex.quote(command[0]) if launched else None
    most = max(filter(None, ranks), default=None)
    return RunOptions(ranks=most, launcher=launcher)
