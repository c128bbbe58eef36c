"""Asks NCCL or RCCL what it chooses for the collectives of a plan: an untimed process for each environment.

The library tells in its log, which would disturb timing. So a process of its own carries out each collective
with one thread for all GPUs, and reads the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from byteways.cases.case import Case
from byteways.measuring.shared.library_log import has_choice
from byteways.record.library_choice import LibraryChoice

#: Seconds for a case of the probe, and for what it opens first.
CASE_S, OPENING_S = 5.0, 60.0

#: What the choice depends on, besides the environment.
ChoiceKey = tuple[str, int, tuple[str, ...], tuple[str, ...], object]
Environment = tuple[tuple[str, str], ...]
#: Carries out cases with the variables of an environment, within some seconds. Returns the choices as JSON.
ProbeChoices = Callable[[Mapping[str, str], list[dict[str, Any]], float], list[dict[str, Any]]]


class LibraryChoices:
    """What was found, by environment and collective."""

    def __init__(self) -> None:
        self._planned: dict[Environment, dict[ChoiceKey, Case]] = {}
        self._found: dict[Environment, dict[ChoiceKey, dict[str, Any]]] = {}

    def plan(self, cases: Iterable[Case]) -> None:
        """Adds cases that will be measured."""
        for case in filter(has_choice, cases):
            self._planned.setdefault(_environment(case), {}).setdefault(_key(case), case)

    def untried(self, case: Case) -> bool:
        return has_choice(case) and _key(case) not in self._found.get(_environment(case), {})

    def learn(self, case: Case, probe: ProbeChoices) -> None:
        """Asks for all planned cases with the environment of this one."""
        self.plan([case])
        environment = _environment(case)
        planned = self._planned[environment]
        cases = [_of_probe(one).identity() for one in planned.values()]
        try:
            told = probe(dict(environment), cases, OPENING_S + CASE_S * len(cases))
        except ProbeFailed as failure:
            told = [LibraryChoice(reason=f"the probe failed: {failure}").to_json()] * len(cases)
        self._found[environment] = dict(zip(planned, told, strict=True))

    def of(self, case: Case) -> dict[str, Any] | None:
        """Returns the record's `library_choice`; None for what has none."""
        return self._found.get(_environment(case), {}).get(_key(case)) if has_choice(case) else None


class ProbeFailed(Exception):  # noqa: N818 - a state, not a mistake
    """The probe died, hung or did not start."""


def _environment(case: Case) -> Environment:
    return tuple(sorted(case.environment.items()))


def _key(case: Case) -> ChoiceKey:
    memories = tuple(sorted({buffer.memory for flow in case.flows for buffer in flow.buffers}))
    return case.pattern, case.size_bytes, case.devices, memories, case.options.get("in_place")


def _of_probe(case: Case) -> Case:
    """Returns the case as one thread carries it out, once at a time."""
    kept = {name: value for name, value in case.options.items() if name == "in_place"}
    return replace(case, options={**kept, "launch": "single", "batch": 1}, environment={})
