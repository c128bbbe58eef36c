"""A program of the table: how it is built and started, and what of its output varies from run to run."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

#: How each MPI starts ranks, also more than there are cores.
LAUNCHERS = {
    "mpich": "mpiexec.mpich",
    "openmpi": "mpiexec.openmpi --oversubscribe",
    "intel": "$INTEL/bin/mpiexec.hydra",
}


@dataclass(frozen=True)
class Build:
    """What is made once, in a folder of its own, which commands know as $BUILD."""

    name: str
    script: (
        str  # of a shell that ends at the first failure; $OWN has our sources, $SOURCES the source packages
    )
    needs: tuple[str, ...] = ()  # programs, or files


@dataclass(frozen=True)
class Program:
    """A command that is run alone and under each collector.

    Lines of output, errors and the exit status must be equal. `vary` says what may differ: each pattern is
    replaced by its text. That nothing else varies is shown by two runs alone, which must agree as well.
    """

    name: str
    command: str  # of a shell; $BUILD, $OWN
    build: Build | None = None
    mpi: str = ""  # a key of LAUNCHERS; empty: no MPI
    group: str = ""  # whose row of the table has it
    status: int | None = 0  # with which it ends alone, so that it does what it is here for; None: any
    needs: tuple[str, ...] = ()  # programs beyond those of the build
    vary: tuple[tuple[str, str], ...] = ()
    any_order: bool = False  # lines of several processes come as they come
    errors: bool = True  # whether what it writes to standard error is compared
    direct: bool = False  # started by `byteways watch` itself, without a shell in between
    limit_s: float = 120.0  # alone
    environment: dict[str, str] = field(default_factory=dict)
    optional: bool = False  # left out, and counted, where it takes longer alone or differs from run to run
    counted: bool = True  # with MPI: whether its calls are counted a second time
    known: str = ""  # a limitation by which it may differ, which docs/guides/watch.md explains; in the table
    quick: bool = False  # one of those that `make test-slow` runs

    @property
    def row(self) -> str:
        """The name of its row in the table."""
        return self.group or self.name

    def comparable(self, text: str) -> list[str]:
        """Returns lines of output without what varies from run to run."""
        for pattern, replacement in self.vary:
            text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
        lines = [line.rstrip() for line in text.splitlines()]
        return sorted(lines) if self.any_order else lines


def ranks(mpi: str, number: int, command: str) -> str:
    """Returns a command that starts another on so many ranks."""
    return f"{LAUNCHERS[mpi]} -n {number} {command}"
