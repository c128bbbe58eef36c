"""Converts the data of a machine file to a MachineModel; schema.py has the keys and kinds of values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from byteways.base.spelling import closest
from byteways.base.toml_reading import TomlPlace, kind_of_value
from byteways.models.model import ASSUMED_SOURCE, FITTED_SOURCE, FactValue, MachineModel, SourcedValue
from byteways.models.schema import (
    MODEL_TABLES,
    MOST_MODEL_CORES,
    OPTIONAL_TABLES,
    REPEATED_TABLES,
    ModelKey,
    children,
    machine_struct,
    needed_tables,
)

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")  # no "--", which is invalid in XML comments
_DEVICE = re.compile(r"^(cpu|gpu)(\d+)$")
_PCI_ADDRESS = re.compile(r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")
MODEL_SWITCH = "nvswitch"
#: A NIC, and what joins the NICs of several hosts.
_NIC, NETWORK = re.compile(r"^nic\d+$"), "network"
#: A PCIe switch with several GPUs. As in many virtual machines, discovery does not show it.
_SWITCH = re.compile(r"^switch\d+$")


def read_machine(data: Mapping[str, Any], *, text: str, file: str) -> MachineModel:
    """Returns the model. Raises BytewaysError at the first error."""
    place = TomlPlace.of(data, text, file)
    whole = place.read(machine_struct())
    for key in whole.sources:
        if key in (ASSUMED_SOURCE, FITTED_SOURCE) or not _NAME.fullmatch(key):
            hint = "use lower-case letters, digits and hyphens"
            place.below("sources").fail(key, f"'{key}' is not a valid source key", hint)
    facts = dict(_facts(place, ""))
    for table in needed_tables(whole.vendor):
        if table and not any(key.startswith(f"{table}.") for key in facts):
            place.below(*table.split(".")).fail("", "missing table")
    for table in OPTIONAL_TABLES:
        if not any(key.startswith(f"{table}.") for key in facts):
            neutral = {key: SourcedValue(_least(kind)) for key, kind in MODEL_TABLES[table].items()}
            facts |= {f"{table}.{key}": value for key, value in neutral.items()}
    if not _NAME.fullmatch(whole.name):
        hint = "use lower-case letters, digits and hyphens"
        place.fail("name", f"'{whole.name}' is not a valid name", hint)
    model = MachineModel(whole.name, whole.title, text, facts, whole.sources, whole.fit or None)
    _check_devices(place, model)
    return model


def _facts(place: TomlPlace, name: str) -> Iterator[tuple[str, SourcedValue]]:
    """Yields the facts of a table and of those inside it, with their keys."""
    for key, row in MODEL_TABLES.get(name, {}).items():
        own = place.below(key)
        value = SourcedValue(row.neutral) if own.value is None else _fact(own, row.sourced)  # type: ignore[arg-type]
        yield ".".join(map(str, own.place)), value
    for child in children(name):
        inner, path = place.below(child), f"{name}.{child}" if name else child
        if path in REPEATED_TABLES:
            for index in range(len(inner.value)):
                yield from _facts(inner.below(index), path)
        elif inner.value is not None:
            yield from _facts(inner, path)


def _fact(place: TomlPlace, sourced: bool) -> SourcedValue:
    value, source = place.value if sourced else (place.value, "")
    for text in value if isinstance(value, list) else [value]:
        if isinstance(text, str) and (not text.strip() or not text.isprintable()):
            place.fail("", f"{kind_of_value(text)} instead of a string that can be printed")
    if sourced:
        _check_source(place, source)
    return SourcedValue(tuple(value) if isinstance(value, list) else value, source)


def _check_source(place: TomlPlace, text: str) -> None:
    """Checks the form of a source: `key: where`, `assumed: why`, `fitted: key`."""
    first, colon, rest = text.partition(":")
    if not colon or not rest.strip():
        place.fail("", f"the source '{text}' has no location after its key", 'write "source_key: where"')
    key = rest.split(":")[0].strip() if first == FITTED_SOURCE else first
    sources = place.root["sources"]
    if key != ASSUMED_SOURCE and key not in sources:
        hint = closest(key, (*sources, ASSUMED_SOURCE, FITTED_SOURCE))
        place.fail("", f"the source '{key}' is not in [sources]", hint)


def _check_devices(place: TomlPlace, model: MachineModel) -> None:
    """Checks consistency between keys: counts, and the ends of links."""
    gpus, domains = model.whole("gpu.count"), model.whole("cpu.domains")
    if domains * model.whole("cpu.cores") > MOST_MODEL_CORES:
        place.below("cpu").fail("cores", f"cores are per domain; the total exceeds {MOST_MODEL_CORES}")
    for key in ("domains", "pci_addresses"):
        if len(model.texts(f"gpu.{key}")) != gpus:
            place.below("gpu").fail(key, f"there are {gpus} GPUs; one entry per GPU is needed")
    hosts = max(1, model.whole("hosts"))
    if hosts > 1 and model.number("network_efficiency") <= 0:
        place.fail("network_efficiency", "several hosts need one above 0", "write a fraction: 0.95")
    if gpus % hosts or domains % hosts:
        place.fail("hosts", f"{gpus} GPUs and {domains} NUMA domains are not those of {hosts} equal hosts")
    for domain in model.wholes("gpu.domains"):
        if domain >= domains:
            place.below("gpu").fail("domains", f"there is no NUMA domain {domain}")
    addresses = model.texts("gpu.pci_addresses")
    for address in addresses:
        if not _PCI_ADDRESS.match(address) or addresses.count(address) > 1:
            place.below("gpu").fail(
                "pci_addresses", f"'{address}' is not a unique PCI address", "write 0000:c1:00.0"
            )
    if len(model.wholes("topology.cache_sharing")) != model.count("cpu.caches"):
        place.below("topology").fail("cache_sharing", "one entry per [[cpu.caches]] table is needed")
    seen: set[frozenset[str]] = set()
    for index in range(model.count("links")):
        pairs = place.below("links", index)
        for pair in model.texts(f"links.{index}.pairs"):
            ends = pair.split("-")
            if len(ends) != 2 or ends[0] == ends[1]:
                pairs.fail("pairs", f"'{pair}' is not a pair of devices", "write gpu0-gpu1")
            for end in ends:
                outside = end in (MODEL_SWITCH, NETWORK) or _SWITCH.match(end) or _NIC.match(end)
                if end not in model.devices and not outside:
                    pairs.fail("pairs", f"'{pair}': unknown device {end}")
            if frozenset(ends) in seen:
                pairs.fail("pairs", f"'{pair}' appears twice")
            seen.add(frozenset(ends))
    for way in ("to", "from"):
        limits = [model.whole(f"staging.{way}.{i}.up_to_bytes") for i in range(model.count(f"staging.{way}"))]
        if limits[-1] != 0 or 0 in limits[:-1] or limits[:-1] != sorted(set(limits[:-1])):
            place.below("staging").fail(way, "sizes must increase; only the last step leaves out up_to_bytes")


def _least(kind: ModelKey) -> FactValue:
    """Returns the value of a key in a table that is missing: its default, or the least that it may have."""
    if kind.neutral is not None:
        return kind.neutral
    return False if kind.kind == "truth" else int(kind.least) if kind.kind == "whole" else kind.least
