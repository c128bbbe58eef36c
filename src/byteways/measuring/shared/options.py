"""The user's options of a run, besides the suite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from shlex import quote
from typing import Any

from byteways.base.errors import BytewaysError
from byteways.base.text import restored
from byteways.plan.suite_types import Suite

#: The launcher that is no command: the worker starts the ranks itself.
_OWN_LAUNCHER = "local"


@dataclass(frozen=True)
class RunOptions:
    """Filters, time, rounds, precision and repetition; kept in the manifest to repeat the run."""

    only: tuple[str, ...] = ()
    sizes: str | None = None
    budget_s: float | None = None  # None: the suite's own budget
    rounds: int | None = None
    precision: float | None = None
    for_s: float | None = None  # repeat the suite for this many seconds; None: once
    ranks: int | None = None  # number of ranks; None: one per GPU, at least two
    launcher: str | None = None  # command that starts the ranks; None: search for one
    hosts: str | None = None  # file of hosts; None: a run on one host
    pairs: str | None = None  # which of them meet: "all", "sample"
    ranks_per_host: int | None = None  # None: one
    with_self: bool = False  # messages also between two ranks on one GPU
    all_devices: bool = False  # of a large machine, not a sample

    def to_json(self) -> dict[str, Any]:
        between: dict[str, Any] = {"hosts": self.hosts, "pairs": self.pairs} if self.hosts else {}
        if self.hosts and self.ranks_per_host:
            between["ranks_per_host"] = self.ranks_per_host
        own = {name: True for name in ("with_self", "all_devices") if getattr(self, name)}
        return {
            "only": [*self.only],
            "sizes": self.sizes,
            "budget_s": self.budget_s,
            "rounds": self.rounds,
            "precision": self.precision,
            "for_s": self.for_s,
            "ranks": self.ranks,
            "launcher": self.launcher,
            **between,
            **own,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunOptions:
        """Raises ValueError if the data are invalid or from another version."""
        from byteways.base.decoding import converted

        known = {entry.name for entry in fields(cls)}
        if unknown := [name for name in data if name not in known]:
            raise ValueError(f"unknown option '{unknown[0]}'")
        found: RunOptions = converted(data, cls)
        # The manifest holds paths as text.escaped() wrote them.
        return replace(
            found,
            launcher=None if found.launcher is None else restored(found.launcher),
            hosts=None if found.hosts is None else restored(found.hosts),
        )

    def check_launcher(self, folder: Path, given: str | None) -> None:
        """Checks that the user repeats the launcher of a run that is resumed: whoever wrote its folder chose
        the command.

        Args:
            folder: Of the run, whose options these are.
            given: The launcher of the command line.

        Raises:
            BytewaysError: It is missing or differs; the hint is the command to type.
        """
        if given == self.launcher or (given is None and self.launcher == _OWN_LAUNCHER):
            return
        again = f"byteways run --resume {quote(str(folder))}"
        if self.launcher is None:
            what = "--resume takes its plan from the run folder; --launcher cannot change it"
            raise BytewaysError(what, cause="this run has no launcher of its own", hint=again)
        what = f"{folder} names the command that starts its ranks, which runs only if you give it, too"
        hint = f"if you trust it: {again} --launcher {quote(self.launcher)}"
        cause = f"its launcher is {self.launcher!r}" + (f", not {given!r}" if given is not None else "")
        raise BytewaysError(what, cause=cause, hint=hint)

    def applied(self, suite: Suite) -> Suite:
        """Returns the suite with these rounds and precision; a repeated suite is planned round by round."""
        if self.for_s is not None:
            suite = replace(suite, rounds=1)
        if self.rounds is not None:
            suite = replace(suite, rounds=self.rounds)
        if self.precision is not None:
            sweeps = tuple(sweep.replaced(precision=self.precision) for sweep in suite.sweeps)
            suite = replace(suite, precision=self.precision, sweeps=sweeps)
        return suite
