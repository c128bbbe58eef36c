"""Compare the run's hardware with a claim's source: decides what a contradicted claim says about which."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from byteways.base.errors import BytewaysError
from byteways.cases.case import Case
from byteways.ext.studies.comparison.verdicts import DIFFERS, DIFFERS_IN_MODEL, FAILS_HERE, NOT_REPRODUCED
from byteways.ext.studies.published.study import PublishedClaim, Study
from byteways.machine.model import Topology
from byteways.models import load as load_model
from byteways.models import load_text
from byteways.models.basis import numbers_behind
from byteways.models.model import MachineModel
from byteways.models.topology import topology_of
from byteways.record.record import Record
from byteways.record.simulation_mark import is_simulated, model_of

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

    @cached_property
    def _model(self) -> MachineModel | None:
        """The machine model of a simulated run; None if this version cannot read it."""
        text = (self.manifest.get("machine_model") or {}).get("text") if self.simulated else None
        try:
            return load_text(text, file="the run's model") if text else None
        except BytewaysError:  # of an earlier version
            return None

    def numbers_behind(self, record: Record) -> frozenset[str]:
        """Returns the numbers of the machine model that decide a simulated value."""
        if self._model is None:
            return frozenset()
        if record.case_id not in self._behind:
            case = Case.from_json(record.definition)
            self._behind[record.case_id] = numbers_behind(case, self._model)
        return self._behind[record.case_id]

    @cached_property
    def _behind(self) -> dict[str, frozenset[str]]:
        """Numbers by case."""
        return {}

    def tied_to(self, key: str) -> frozenset[str]:
        """Returns a number of the model with those that have its value by assumption, "as in the other
        direction": they change with it.
        """
        return self._ties.get(key, frozenset({key}))

    @cached_property
    def _ties(self) -> dict[str, frozenset[str]]:
        facts = self._model.facts if self._model else {}
        alike: dict[tuple[str, object], set[str]] = {}
        for key, fact in facts.items():
            if fact.source:
                quantity = key.rpartition(".")[2].rpartition("_")[2]  # ns, s, bytes, efficiency
                alike.setdefault((quantity, fact.value), set()).add(key)
        tied = [frozenset(keys) for keys in alike.values() if any(facts[key].assumed for key in keys)]
        return {key: keys for keys in tied for key in keys}

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
