"""Whose hardware a run is of, beside that of a claim's source: what a contradicted claim says of which."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from byteways.analyse.studies.verdicts import DIFFERS, FAILS_HERE, NOT_REPRODUCED
from byteways.machines import load as load_model
from byteways.machines.topology import topology_of
from byteways.results.simulated import is_simulated, model_of
from byteways.studies.study import Claim, Study
from byteways.topology.model import Topology

#: The name of a product in what runtimes call a GPU: MI250X, H200, A100.
_PRODUCT = re.compile(r"\b[A-Z]{1,3}\d{2,4}[A-Z]?\b")


@dataclass(frozen=True)
class Hardware:
    """The GPUs of a run."""

    study: Study
    topology: Topology
    manifest: Mapping[str, Any]

    @cached_property
    def _here(self) -> frozenset[str]:
        return products(self.topology)

    def elsewhere(self, claim: Claim) -> str:
        """Why a sentence about one machine is not tested on this one; '' where it is."""
        if not claim.machine:
            return ""
        there = _products_of_model(claim.machine)
        if there & self._here:
            return ""
        return f"the statement is about {_named(there)}, and this machine has {_named(self._here)}"

    def own(self, claim: Claim) -> bool:
        """Whether the GPUs are those that the claim is about."""
        return bool(_products_of_model(claim.machine or self.study.models[0]) & self._here)

    def contradicted(self, claim: Claim) -> tuple[str, tuple[str, ...]]:
        """The verdict on a claim that the figures contradict, and what is to be known of this machine."""
        if not self.own(claim):
            return DIFFERS, ()
        if not is_simulated(self.manifest):
            return FAILS_HERE, ()
        here, own = model_of(self.manifest), claim.machine or self.study.models[0]
        other = f"the statement is about {own}, and {here} is another system with such GPUs"
        return NOT_REPRODUCED, () if here == own else (other,)


def products(topology: Topology) -> frozenset[str]:
    """Names of the products that the GPUs are; the whole name where it has none."""
    names = {topology.device(name).model for name in topology.names("gpu")}
    return frozenset(word for name in names for word in _PRODUCT.findall(name.upper()) or [name])


@cache
def _products_of_model(model: str) -> frozenset[str]:
    return products(topology_of(load_model(model)))


def _named(found: frozenset[str]) -> str:
    return " and ".join(sorted(found)) or "no GPU"
