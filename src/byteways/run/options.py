"""What a user asked of a run beside the suite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from byteways.plan.suite_types import Suite


@dataclass(frozen=True)
class Options:
    """Filters, time, rounds, precision and repetition. Kept in the manifest, so that it can be made again."""

    only: tuple[str, ...] = ()
    sizes: str | None = None
    budget_s: float | None = None  # None: the suite's own
    rounds: int | None = None
    precision: float | None = None
    for_s: float | None = None  # repeat the suite for so long; None: once
    ranks: int | None = None  # processes of cases between ranks; None: one for each GPU, at least two
    launcher: str | None = None  # command that starts them; None: find one

    def to_json(self) -> dict[str, Any]:
        return {
            "only": [*self.only],
            "sizes": self.sizes,
            "budget_s": self.budget_s,
            "rounds": self.rounds,
            "precision": self.precision,
            "for_s": self.for_s,
            "ranks": self.ranks,
            "launcher": self.launcher,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Options:
        """Raises ValueError when they are none, or of another version."""
        from byteways.decoding import converted

        known = {entry.name for entry in fields(cls)}
        if unknown := [name for name in data if name not in known]:
            raise ValueError(f"unknown option '{unknown[0]}'")
        return converted(data, cls)

    def applied(self, suite: Suite) -> Suite:
        """The suite with rounds and precision as asked; a repeated one is planned round by round."""
        if self.for_s is not None:
            suite = replace(suite, rounds=1)
        if self.rounds is not None:
            suite = replace(suite, rounds=self.rounds)
        if self.precision is not None:
            sweeps = tuple(replace(sweep, precision=self.precision) for sweep in suite.sweeps)
            suite = replace(suite, precision=self.precision, sweeps=sweeps)
        return suite
