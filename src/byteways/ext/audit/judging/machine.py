"""The machine that an output is of, from the models of GPUs that it prints."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from byteways.base.text import Sentence
from byteways.ext.audit.imported.value import Hints
from byteways.machine.model import Topology
from byteways.machine.nominal import NOMINAL_MACHINES, nominal_mark, nominal_topology
from byteways.machine.routes import FABRICS
from byteways.models import library
from byteways.models.topology import topology_of

#: Boards of the same GPU with other links.
_BOARDS = ("PCIE", "NVL", "HGX")


@dataclass(frozen=True)
class AuditMachine:
    """A machine that fits what an output contains."""

    name: str
    topology: Topology
    mark: Sentence  # the line above everything that is said of it


def machines_of(hints: Iterable[Hints]) -> tuple[AuditMachine, ...]:
    """Returns the machines whose GPUs are of the printed model, and at least as many: one for each way in
    which they are linked, the nearest in number. None without a model, or with several.

    Fewer GPUs than a machine has may be a part of it: their links are those of each GPU.
    """
    printed = [each.gpus for each in hints if each.gpus]
    models = {_words(model) for gpus in printed for model in gpus.values()}
    number = max((len(gpus) for gpus in printed), default=0)
    if len(models) != 1:
        return ()
    (words,) = models
    fitting = [one for one in _known() if _gpus(one.topology) >= number and words in _models(one.topology)]
    found: dict[frozenset[str], AuditMachine] = {}
    for one in sorted(fitting, key=lambda one: (_gpus(one.topology) != number, _gpus(one.topology))):
        found.setdefault(_links(one.topology), one)
    return tuple(found.values())


def _links(topology: Topology) -> frozenset[str]:
    return frozenset(link.link_class for link in topology.links if link.kind in FABRICS)


@cache
def _known() -> tuple[AuditMachine, ...]:
    nominal = [AuditMachine(name, nominal_topology(name), nominal_mark(name)) for name in NOMINAL_MACHINES]
    models = [
        AuditMachine(name, topology_of(library.load(name)), f"MODEL of {name}: its links and peaks")
        for name in library.names()
    ]
    return (*nominal, *models)


def _gpus(topology: Topology) -> int:
    return len(topology.names("gpu"))


def _models(topology: Topology) -> set[tuple[str, ...]]:
    return {_words(device.model) for device in topology.devices if device.kind == "gpu"}


def _words(model: str) -> tuple[str, ...]:
    """Returns `("H100",)` for `NVIDIA H100 80GB HBM3`, `("H100", "PCIE")` for `NVIDIA H100 PCIe`."""
    words = re.findall(r"[A-Z0-9]+", model.upper())
    named = [word for word in words if re.fullmatch(r"(?:GB|GH|MI|[A-Z])\d+[A-Z]*", word)]
    boards = [word for word in words if word in _BOARDS]
    return (*named[:1], *boards)
