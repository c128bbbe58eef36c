"""How the machines, software and definitions of two runs differ: what may explain different results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from byteways.answers.results.machine_names import machine
from byteways.base.text import Sentence
from byteways.cases.case import Case
from byteways.machine.model import Topology
from byteways.plan.legality.executors import libraries_of
from byteways.record.libraries import RANK_LIBRARIES, version_of
from byteways.record.record import Record
from byteways.record.simulation_mark import model_of, voice_of


@dataclass(frozen=True)
class Difference:
    """One property in which two runs differ; '' where a run does not have it."""

    what: Sentence
    first: str
    second: str


#: Options of a run that its results depend on; filters decide only which cases there are.
_OPTIONS = ("ranks", "launcher", "precision")


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Difference]:
    """Returns in which properties two manifests differ: libraries between ranks first, then the machine, then
    other software and definitions.
    """
    ones, others = dict(_properties(first)), dict(_properties(second))
    return [
        Difference(what, ones.get(what, ""), others.get(what, ""))
        for what in {**ones, **others}
        if ones.get(what, "") != others.get(what, "")
    ]


def between_machines(found: Iterable[Difference], first: Topology, second: Topology) -> list[Difference]:
    """Returns differences of unlike machines: their devices as a whole instead of each device and link."""
    parts = {*first.names(), *second.names()}
    names = {f"partition of {name}" for name in parts} | parts
    names |= {_link(link.a, link.b) for topology in (first, second) for link in topology.links}
    kept = [one for one in found if one.what not in names]
    wholes = [
        Difference("machine", machine(first), machine(second)),
        Difference("CPUs", *map(_cpus, (first, second))),
    ]
    return [one for one in (*wholes, *kept) if one.first != one.second]


def _link(a: str, b: str) -> str:
    return f"link {a}-{b}"


def _cpus(topology: Topology) -> str:
    models = dict.fromkeys(device.model for device in topology.devices if device.kind == "cpu")
    return ", ".join(models)


def carriers(manifest: Mapping[str, Any], records: Iterable[Record]) -> tuple[str, ...]:
    """Returns the libraries that carry a run's messages and collectives, with versions: `NCCL 2.28.3`.

    One that no case uses, or whose version was not recorded, is left out.
    """
    used: set[str] = set()
    for record in {record.case_id: record for record in records if record.status != "skipped"}.values():
        used |= libraries_of(Case.from_json(record.definition))
    names = [
        *(name for name in ("mpi", "ucx") if name in used),
        *(["nccl", "rccl"] if "xccl" in used else []),
    ]
    versions = {name: version_of(name, manifest.get("libraries") or ()) for name in names}
    return tuple(
        version if name == "mpi" else f"{RANK_LIBRARIES[name]} {version}"
        for name, version in versions.items()
        if version
    )


def _properties(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    libraries = [one for one in manifest.get("libraries") or () if one.get("usable", True)]
    told = {str(one.get("library")): one for one in libraries}
    for name, known in RANK_LIBRARIES.items():
        yield known, str(told.get(name, {}).get("version") or "")
    model = manifest.get("machine_model") or {}
    yield "kind", voice_of(manifest).measured
    yield "machine model", f"{model_of(manifest)} {model.get('digest', '')}".strip()
    yield "injected faults", ", ".join(model.get("faults") or ())
    yield "seed of the noise", str(model.get("seed", ""))
    host = manifest.get("host") or {}
    yield "host", str(host.get("name", ""))
    for device in manifest["topology"]["devices"]:
        if device["kind"] == "gpu":
            yield device["name"], ", ".join(filter(None, (device["model"], device.get("uuid"))))
            yield f"partition of {device['name']}", str(device.get("partition") or "")
        else:
            yield device["name"], device["model"]
    for link in manifest["topology"].get("links", ()):
        yield _link(link["a"], link["b"]), str(link["link_class"])
    yield "kernel", str(host.get("kernel", ""))
    yield "operating system", str(host.get("os", ""))
    for name, library in told.items():
        if name not in RANK_LIBRARIES:
            yield f"library {name}", str(library.get("version") or "")
    yield "path of MPI", str(told.get("mpi", {}).get("path") or "")
    for name, value in (manifest.get("environment") or {}).items():
        yield name, str(value)
    yield (
        "byteways",
        f"{manifest.get('byteways_version', '')} {(manifest.get('build') or {}).get('digest', '')}".strip(),
    )
    yield "method version", str(manifest.get("method_version", ""))
    yield "suite", str(manifest["suite"].get("name", ""))
    yield "rounds", str(manifest["suite"].get("rounds", ""))
    for name in _OPTIONS:
        yield f"option {name}", str((manifest.get("options") or {}).get(name) or "")
