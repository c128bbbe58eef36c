"""A program with a change made from outside: other variables, other memory for its large allocations, or
copies of PyTorch by a plan.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from byteways.base.errors import BytewaysError
from byteways.base.spelling import closest
from byteways.ext.watch.launching import (
    LOADING_VARIABLES,
    MEMORY_COLLECTOR,
    OWN_VARIABLES,
    PRELOAD_VARIABLE,
    SEPARATORS,
    WatchLaunch,
    preloaded,
)

#: Kinds of memory for large allocations, of native/watch/allocations.
TRIED_MEMORY = ("pinned", "registered", "managed", "hugepage")
#: Read by native/watch/allocations: the kind, and the size in bytes from which on an allocation is changed.
TRIED_MEMORY_VARIABLE, THRESHOLD_VARIABLE = "BYTEWAYS_WATCH_MEMORY", "BYTEWAYS_WATCH_THRESHOLD"
#: Large copies of PyTorch by a copy plan, and the variable with its file that watch/hook reads.
COPIES, COPIES_VARIABLE = "copies", "BYTEWAYS_WATCH_COPIES"
#: What Python loads at its start, in place of a sitecustomize of the user, which it loads in turn.
HOOK = Path(__file__).parent / "hook"
#: Single copies that are submitted together: nothing outside a program knows how long a copy may wait.
REFUSED_BATCH = "batch"
#: Smaller allocations stay as they are: registering a page costs some microseconds.
USUAL_THRESHOLD = 256 * 2**10
#: Between two values of a variable.
_COMMA = re.compile(r"(?<!\\),")


@dataclass(frozen=True)
class ProgramChange:
    """A change; without any the program is as it is."""

    name: str = ""  # `UCX_TLS=tcp`, `pinned`
    variables: dict[str, str] = field(default_factory=dict)
    memory: str = ""  # of TRIED_MEMORY; empty: as it is
    plan: Path | None = None  # by which large copies of PyTorch are made; None: they are PyTorch's

    @property
    def folder_name(self) -> str:
        """Its name in that of a folder."""
        return "".join(one if one.isalnum() or one in "=_-." else "_" for one in self.name)[:60] or "as-it-is"

    def apply(self, launch: WatchLaunch, libraries: Path, threshold: int = USUAL_THRESHOLD) -> None:
        """Changes how a program is started.

        Args:
            launch: From watch_launch(), with the variables of this change.
            libraries: Where the collectors are.
            threshold: Bytes from which on an allocation is in other memory.
        """
        if self.plan is not None:
            before = launch.environment.get("PYTHONPATH")
            launch.environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(HOOK), before)))
            launch.environment[COPIES_VARIABLE] = str(self.plan)
            launch.collectors.append(COPIES)
        if not self.memory:
            return
        launch.preload([preloaded(libraries, MEMORY_COLLECTOR)])
        launch.environment[TRIED_MEMORY_VARIABLE] = self.memory
        launch.environment[THRESHOLD_VARIABLE] = str(threshold)
        launch.collectors.append("memory")


def changes_of(
    settings: Sequence[str], tried: Sequence[str], plan: Path | None = None
) -> list[ProgramChange]:
    """Returns the changes that are asked for, the program as it is first.

    Args:
        settings: `VARIABLE=one,other`: a change for each value; `\\,` is a comma of a value.
        tried: Kinds of memory for large allocations, and COPIES.
        plan: The file of the plan for COPIES.

    Raises:
        BytewaysError: A setting has no variable or is named twice, or what is to be tried is unknown, cannot
            be done from outside, or lacks its plan.
    """
    found = [ProgramChange()]
    for text in settings:
        variable, equals, values = text.partition("=")
        if not equals or not variable.replace("_", "").isalnum():
            raise BytewaysError(f"'{text}' sets no variable", hint="--set NCCL_ALGO=Ring,Tree")
        _check_variable(variable)
        found += [
            ProgramChange(f"{variable}={value}", {variable: value})
            for value in (one.replace(r"\,", ",") for one in _COMMA.split(values))
        ]
        if variable == PRELOAD_VARIABLE:
            _check_preloaded(found)
    found += [_tried(word, plan) for word in tried]
    names = [one.name for one in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BytewaysError(f"{twice} is to be tried twice", hint="name it once")
    return found


def _check_variable(variable: str) -> None:
    """Raises BytewaysError for a variable by which the program loads the collectors."""
    if variable in LOADING_VARIABLES or variable.startswith(OWN_VARIABLES):
        raise BytewaysError(
            f"--set cannot change {variable}",
            cause="watch sets it itself, so that the program loads the collectors",
            hint="try another variable; LD_PRELOAD may have further libraries",
        )


def _check_preloaded(changes: Sequence[ProgramChange]) -> None:
    """Raises BytewaysError for a library that is not there: the linker would start the program without it."""
    for change in changes:
        for name in SEPARATORS.split(change.variables.get(PRELOAD_VARIABLE, "")):
            if os.sep in name and not Path(name).is_file():
                raise BytewaysError(
                    f"--set {PRELOAD_VARIABLE}: there is no file {name}",
                    cause="the dynamic linker would leave it out and start the program",
                    hint="name the file of a shared library",
                )


def _tried(word: str, plan: Path | None) -> ProgramChange:
    if word in TRIED_MEMORY:
        return ProgramChange(word, memory=word)
    if word == REFUSED_BATCH:
        raise BytewaysError(
            "--try batch cannot be done from outside a program",
            cause="a copy that waits to be submitted with others may come after the program has read its "
            "destination, or freed its source",
            hint="in the program: byteways.copy_blocks, bw_copy_blocks, or the driver's batched call",
        )
    if word != COPIES:
        raise BytewaysError(f"unknown --try '{word}'", hint=closest(word, (*TRIED_MEMORY, COPIES)))
    if plan is None or not plan.is_file():
        raise BytewaysError(
            "--try copies needs a copy plan",
            cause=f"there is no file {plan}" if plan else "none is named, and this host has none",
            hint="byteways plan --measure -o machine.plan; then --plan machine.plan",
        )
    return ProgramChange(COPIES, plan=plan.absolute())
