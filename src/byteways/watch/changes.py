"""A program with a change made from outside: other variables, or other memory for its large allocations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from byteways.errors import BytewaysError
from byteways.plan.spelling import closest
from byteways.watch.launching import WatchLaunch

#: Kinds of memory for large allocations, of native/watch/allocations.
TRIED_MEMORY = ("pinned", "registered", "managed", "hugepage")
#: Read by native/watch/allocations: the kind, and the size in bytes from which on an allocation is changed.
TRIED_MEMORY_VARIABLE, THRESHOLD_VARIABLE = "BYTEWAYS_WATCH_MEMORY", "BYTEWAYS_WATCH_THRESHOLD"
MEMORY_LIBRARY = "byteways_watch_memory.so"
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
        if not self.memory:
            return
        preloaded = launch.environment.get("LD_PRELOAD", "")
        launch.environment["LD_PRELOAD"] = ":".join(
            filter(None, (preloaded, str(libraries / MEMORY_LIBRARY)))
        )
        launch.environment[TRIED_MEMORY_VARIABLE] = self.memory
        launch.environment[THRESHOLD_VARIABLE] = str(threshold)
        launch.collectors.append("memory")


def changes_of(settings: Sequence[str], memories: Sequence[str]) -> list[ProgramChange]:
    """Returns the changes that are asked for, the program as it is first.

    Args:
        settings: `VARIABLE=one,other`: a change for each value; `\\,` is a comma of a value.
        memories: Kinds of memory for large allocations.

    Raises:
        BytewaysError: A setting has no variable or is named twice, or a kind is unknown.
    """
    found = [ProgramChange()]
    for text in settings:
        variable, equals, values = text.partition("=")
        if not equals or not variable.replace("_", "").isalnum():
            raise BytewaysError(f"'{text}' sets no variable", hint="--set NCCL_ALGO=Ring,Tree")
        found += [
            ProgramChange(f"{variable}={value}", {variable: value})
            for value in (one.replace(r"\,", ",") for one in _COMMA.split(values))
        ]
    for memory in memories:
        if memory not in TRIED_MEMORY:
            raise BytewaysError(f"unknown --try '{memory}'", hint=closest(memory, TRIED_MEMORY))
        found.append(ProgramChange(memory, memory=memory))
    names = [one.name for one in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BytewaysError(f"{twice} is to be tried twice", hint="name it once")
    return found
