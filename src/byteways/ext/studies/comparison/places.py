"""Map the places of a study to another machine: pairs with links of the same class represent each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from byteways.base.text import Sentence
from byteways.ext.studies.published.study import Study, StudyPlace
from byteways.machine.model import Topology
from byteways.machine.packages import package_of, packed, spread
from byteways.machine.routes import link_class, nodes_of, route
from byteways.models import load as load_model
from byteways.models.topology import topology_of
from byteways.plan.legality import kind_of

#: Link classes by ordered pair of GPUs of this machine.
_Classes = dict[tuple[str, str], "_Class"]
#: Classes that are not a direct link.
INDIRECT = ("routed", "local", "no link")
NEAR_PREFIX = "near "


@dataclass(frozen=True)
class Located:
    """A place on this machine: its devices with a note, or the reason why it has none."""

    place: StudyPlace
    devices: tuple[str, ...] | None
    reason: Sentence = ""  # a phrase for messages, if `devices` is None
    note: str = ""  # which local link or device represents the source's
    why: Sentence = ""  # the part of `reason` that concerns this machine
    named: tuple[str, ...] | None = None  # devices with the source's names, whatever link connects them


def locate(study: Study, topology: Topology) -> dict[str, Located]:
    """Returns every place of the study on this machine, by name."""
    first = study.models[0]
    gpus = topology.names("gpu")
    pairs = [(gpu, other) for gpu in gpus for other in gpus if gpu != other]
    classes = {pair: _class(topology, *pair) for pair in pairs}
    located: dict[str, Located] = {}
    for place in study.places.values():
        new = _locate(place, _source_topology(place.model or first), topology, classes)
        located[place.name] = _once(new, located.values(), topology)
    return located


def _once(located: Located, before: Iterable[Located], here: Topology) -> Located:
    """Rejects a pair that already represents a place of equal rank: a second would add no information."""
    place = located.place
    missing = [name for name in place.devices if kind_of(name) == "gpu" and name not in here.names()]
    if located.devices is None or place.rank is None or place.order or not missing:
        return located
    for other in before:
        equal = other.place.rank == place.rank and other.place.model == place.model
        if equal and other.devices and set(other.devices) == set(located.devices):
            count = len(here.names("gpu"))
            why = f"this machine has {count} GPUs"
            return Located(place, None, f"{missing[0]} is not here: {why}", why=why)
    return located


@cache
def _source_topology(model: str) -> Topology:
    return topology_of(load_model(model))


def _locate(place: StudyPlace, there: Topology, here: Topology, classes: _Classes) -> Located:
    if place.order:
        return _in_order(place, here)
    if place.ranks > len(here.names("gpu")):
        why = f"this machine has {len(here.names('gpu')) or 'none'}"
        return Located(place, None, f"it needs {place.ranks} ranks with a GPU each, and {why}")
    gpus = list(dict.fromkeys(name for name in place.devices if kind_of(name) == "gpu"))
    if len(gpus) == 2:
        return _locate_pair(place, (gpus[0], gpus[1]), there, here, classes)
    return _named(place, {}, there, here)


def _in_order(place: StudyPlace, here: Topology) -> Located:
    """Takes as many GPUs as the source used, in the source's order."""
    count, order = len(place.devices), (packed if place.order == "packed" else spread)(here)
    if len(order) < count:
        return Located(place, None, f"it needs {_gpus(count)}, and this machine has {len(order) or 'none'}")
    chosen = tuple(sorted(order[:count], key=here.names("gpu").index))
    packages = package_of(here)
    if place.order == "packed" and len({packages[gpu] for gpu in chosen}) == len(chosen) > 1:
        return Located(place, None, "no two GPUs of this machine share a package")
    note = "" if set(chosen) == set(place.devices) else f"{', '.join(chosen)} for {', '.join(place.devices)}"
    return Located(place, chosen, note=note)


def _gpus(count: int) -> str:
    return f"{count} GPUs" if count > 1 else "one GPU"


def _locate_pair(
    place: StudyPlace, pair: tuple[str, str], there: Topology, here: Topology, classes: _Classes
) -> Located:
    """Returns the same pair if its link class matches, else the first pair of that class, else by width."""
    wanted = _class(there, *pair)
    if _same(classes.get(pair), wanted):
        return _named(place, {}, there, here)
    alike = next((ends for ends, known in classes.items() if _same(known, wanted)), None)
    if alike:
        note = f"{'>'.join(alike)} for {'>'.join(pair)}, both {wanted.name}"
        return _named(place, dict(zip(pair, alike, strict=True)), there, here, note)
    if not classes:
        return Located(
            place, None, f"it needs two GPUs, and this machine has {len(here.names('gpu')) or 'none'}"
        )
    direct = _by_width(classes)
    if place.rank is None or place.rank > len(direct):
        why = _links_here(classes, direct, here)
        reason = f"no equivalent of {place.meaning} ({wanted.name}) here: {why}"
        named = place.devices if set(place.devices) <= set(here.names()) else None
        return Located(place, None, reason, why=why, named=named)
    known, ends = direct[place.rank - 1]
    ends = pair if classes.get(pair) == known else ends
    note = f"{'>'.join(ends)} ({known.name}) for {'>'.join(pair)} ({wanted.name})"
    if ends == pair:
        note = f"{'>'.join(ends)}, connected by {known.name}, for {wanted.name}"
    return _named(place, dict(zip(pair, ends, strict=True)), there, here, note)


def _links_here(classes: _Classes, direct: list[tuple[_Class, tuple[str, str]]], here: Topology) -> str:
    """Describes which link classes this machine has between GPUs."""
    if not direct:
        return "no two GPUs of this machine have a direct link"
    if len(direct) > 1:
        return f"links between GPUs here are {', '.join(known.name for known, _ in direct)}"
    known, ends = direct[0]
    between = nodes_of(ends[0], route(here, *ends))[1:-1]
    switch = " through a switch" if any(node not in here.names() for node in between) else ""
    if len(classes) == 2:
        return f"the only GPU pair here is connected by {known.name}{switch}"
    alike = all(other == known for other in classes.values())
    every = (
        "all GPU pairs have the same link class" if alike else "all links between GPUs have the same class"
    )
    return f"{every} here, by {known.name}{switch}"


@dataclass(frozen=True)
class _Class:
    """A link class between two GPUs, with the nominal peak per direction of the narrowest link (bytes/s)."""

    name: str
    peak_bytes_per_s: float | None


def _class(topology: Topology, first: str, second: str) -> _Class:
    known = [link.peak_bytes_per_s for link in route(topology, first, second) if link.peak_bytes_per_s]
    return _Class(link_class(topology, first, second), min(known, default=None))


def _same(known: _Class | None, other: _Class) -> bool:
    """Whether name and peak are equal (×2 of MI300A is not ×2 of MI250X); an unknown peak matches any."""
    if known is None or known.name != other.name:
        return False
    peaks = known.peak_bytes_per_s, other.peak_bytes_per_s
    return None in peaks or peaks[0] == peaks[1]


def _by_width(classes: _Classes) -> list[tuple[_Class, tuple[str, str]]]:
    """Returns the classes of direct links with their first pair, widest first."""
    first: dict[_Class, tuple[str, str]] = {}
    for ends, known in classes.items():
        if known.name not in INDIRECT:
            first.setdefault(known, ends)
    return sorted(first.items(), key=lambda entry: -(entry[0].peak_bytes_per_s or 0.0))


def _named(
    place: StudyPlace, stands_for: dict[str, str], there: Topology, here: Topology, note: str = ""
) -> Located:
    """Fills in devices of this machine; "near a" becomes the CPU next to the device that represents a."""
    devices: list[str] = []
    for name in place.devices:
        if name.startswith(NEAR_PREFIX):
            anchor = devices["abcd".index(name.removeprefix(NEAR_PREFIX))]
            devices.append(here.nearest_cpu(anchor))
            continue
        devices.append(stands_for.get(name, name))
        if devices[-1] not in here.names():
            kind = kind_of(devices[-1])
            count = len(here.names(kind))
            words = {"gpu": ("GPU", "GPUs"), "cpu": ("NUMA domain", "NUMA domains")}[kind]
            have = f"{count or 'no'} {words[count != 1]}"
            reason = f"{devices[-1]} is not here: this machine has {have}"
            return Located(place, None, reason, why=f"this machine has {have}")
    kinds = {kind_of(name) for name in devices}
    if len(devices) == 2 and kinds == {"cpu", "gpu"}:
        shared = _shares(devices, here)
        if shared != _shares(_resolved(place.devices, there), there):
            how = "share" if shared else "do not share"
            reason = f"{' and '.join(sorted(devices))} {how} one memory here, unlike in the source"
            return Located(place, None, reason)
    return Located(place, tuple(devices), note=note)


def _resolved(devices: Sequence[str], topology: Topology) -> list[str]:
    """Returns the devices of a place on the source's machine."""
    devices_there: list[str] = []
    for name in devices:
        anchor = (
            devices_there["abcd".index(name.removeprefix(NEAR_PREFIX))]
            if name.startswith(NEAR_PREFIX)
            else ""
        )
        devices_there.append(topology.nearest_cpu(anchor) if anchor else name)
    return devices_there


def _shares(devices: list[str], topology: Topology) -> bool:
    """Whether the GPU of a CPU-GPU pair shares that CPU's memory."""
    cpu, gpu = sorted(devices)
    return gpu in topology.names() and topology.device(gpu).shares_memory_with == cpu
