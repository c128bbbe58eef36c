"""Compare the run's hardware with a claim's source: decides what a contradicted claim says about which."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from byteways.errors import BytewaysError
from byteways.explain.studies.verdicts import DIFFERS, DIFFERS_IN_MODEL, FAILS_HERE, NOT_REPRODUCED
from byteways.plan.case import IDENTITY_FIELDS, Case
from byteways.record.record import Record
from byteways.record.simulation_mark import is_simulated, model_of
from byteways.simulate import load as load_model
from byteways.simulate import load_text
from byteways.simulate.basis import numbers_behind
from byteways.simulate.topology import topology_of
from byteways.studies.study import PublishedClaim, Study
from byteways.topology.model import Topology

#: Product names within the GPU names that runtimes report: MI250X, H200, A100.
_PRODUCT = re.compile(r"\b[A-Z]{1,3}\d{2,4}[A-Z]?\b")


@dataclass(frozen=True)
class Hardware:
    """The GPUs of a run, compared with those of a study."""

    study: Study
    topology: Topology
    manifest: Mapping[str, Any]

    @cached_property
    def _here(self) -> frozenset[str]:
        return products(self.topology)

    @property
    def simulated(self) -> bool:
        return is_simulated(self.manifest)

    def same_numbers(self, records: Iterable[Record]) -> bool:
        """Whether the same numbers of the machine model decide all these values of one size: no change of a
        number could part them.
        """
        text = (self.manifest.get("machine_model") or {}).get("text") if self.simulated else None
        if not text:
            return False
        try:
            model = load_text(text, file="the run's model")
        except BytewaysError:  # of an earlier version
            return False
        by_size: dict[int, set[frozenset[str]]] = {}
        for record in records:
            case = Case.from_json({name: getattr(record, name) for name in IDENTITY_FIELDS})
            by_size.setdefault(record.size_bytes, set()).add(numbers_behind(case, model))
        return all(len(some) == 1 for some in by_size.values())

    def elsewhere(self, claim: PublishedClaim) -> str:
        """Returns why a claim about one machine is not tested on this one; '' if it is."""
        if not claim.machine:
            return ""
        there = products_of_model(claim.machine)
        if there & self._here:
            return ""
        return f"the statement is about {named(there)}, and this machine has {named(self._here)}"

    def has(self, model: str) -> bool:
        """Whether this machine has the GPUs of a machine model."""
        return bool(products_of_model(model) & self._here)

    def own(self, claim: PublishedClaim) -> bool:
        """Whether this machine has the GPUs that the claim is about."""
        return self.has(claim.machine or self.study.models[0])

    def contradicted(self, claim: PublishedClaim) -> tuple[str, tuple[str, ...]]:
        """Returns the verdict on a claim that the values contradict, and notes on this machine."""
        if not self.own(claim):
            return DIFFERS_IN_MODEL if self.simulated else DIFFERS, ()
        if not self.simulated:
            return FAILS_HERE, ()
        here, own = model_of(self.manifest), claim.machine or self.study.models[0]
        other = f"the statement is about {own}, and {here} is another system with such GPUs"
        return NOT_REPRODUCED, () if here == own else (other,)


def products(topology: Topology) -> frozenset[str]:
    """Returns the product names of the GPUs; the full name if no product is recognised."""
    names = {topology.device(name).model for name in topology.names("gpu")}
    return frozenset(word for name in names for word in _PRODUCT.findall(name.upper()) or [name])


@cache
def products_of_model(model: str) -> frozenset[str]:
    """Returns the product names of the GPUs of a machine model."""
    return products(topology_of(load_model(model)))


def named(names: frozenset[str]) -> str:
    """Returns product names as text."""
    return " and ".join(sorted(names)) or "no GPU"
