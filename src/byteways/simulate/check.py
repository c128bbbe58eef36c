"""Converts the data of a machine file to a MachineModel; checks every key and reports file, line and key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from byteways.errors import BytewaysError
from byteways.plan.spelling import closest
from byteways.plan.toml_lines import TomlPath, key_lines, line_of
from byteways.simulate.model import (
    ASSUMED_SOURCE,
    FITTED_SOURCE,
    FactValue,
    Fit,
    MachineModel,
    Source,
    SourcedValue,
)
from byteways.simulate.schema import (
    FIT_KEYS,
    MODEL_TABLES,
    MOST_MODEL_CORES,
    OPTIONAL_TABLES,
    REPEATED_TABLES,
    ModelKey,
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


@dataclass
class _Reader:
    """The file being parsed, and the facts found so far."""

    file: str
    lines: Mapping[TomlPath, int]
    sources: Mapping[str, Source]
    facts: dict[str, SourcedValue] = field(default_factory=dict)

    def fail(self, place: TomlPath, problem: str, hint: str | None = None) -> NoReturn:
        line = line_of(self.lines, place) or line_of(self.lines, (*place, 0))  # of the first [[…]]
        where = f"{self.file}:{line}" if line else self.file
        raise BytewaysError(f"{where}: key '{_dotted(place)}': {problem}", hint=hint)

    def table(self, data: Mapping[str, Any], name: str, place: TomlPath) -> None:
        """Reads the facts of one table; nested tables are read separately."""
        inner = _children(name)
        for key in data:
            if key not in MODEL_TABLES.get(name, {}) and key not in inner:
                known = (*MODEL_TABLES.get(name, {}), *inner)
                self.fail((*place, key), "unknown key", closest(key, known))
        for key, kind in MODEL_TABLES.get(name, {}).items():
            path = _dotted((*place, key))
            if key in data:
                self.facts[path] = self.fact(data[key], kind, (*place, key))
            elif kind.neutral is None:
                self.fail((*place, key), "missing")
            else:
                self.facts[path] = SourcedValue(kind.neutral)
        for child in inner:
            if child not in data:
                continue
            path = f"{name}.{child}" if name else child
            if path in REPEATED_TABLES:
                for index, item in enumerate(self.items(data[child], (*place, child))):
                    self.table(item, path, (*place, child, index))
            elif not isinstance(data[child], dict):
                self.fail((*place, child), f"{_kind(data[child])} instead of a table")
            else:
                self.table(data[child], path, (*place, child))

    def items(self, value: Any, place: TomlPath) -> list[Mapping[str, Any]]:
        if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
            self.fail(place, "expected an array of tables", f"write [[{_dotted(place)}]], in double brackets")
        return value

    def fact(self, value: Any, kind: ModelKey, place: TomlPath) -> SourcedValue:
        if kind.sourced:
            if not isinstance(value, list) or len(value) != 2 or not isinstance(value[1], str):
                self.fail(
                    place,
                    f"{_kind(value)} without a source",
                    'write [value, "source_key: where"], or with "assumed: why" or "fitted: source_key"',
                )
            self.source(value[1], place)
            return SourcedValue(self.value(value[0], kind, place), value[1])
        return SourcedValue(self.value(value, kind, place))

    def source(self, text: str, place: TomlPath) -> None:
        """Checks the form of a source: `key: where`, `assumed: why`, `fitted: key`."""
        first, colon, rest = text.partition(":")
        if not colon or not rest.strip():
            self.fail(
                place, f"the source '{text}' has no location after its key", 'write "source_key: where"'
            )
        key = rest.split(":")[0].strip() if first == FITTED_SOURCE else first
        if key != ASSUMED_SOURCE and key not in self.sources:
            self.fail(
                place,
                f"the source '{key}' is not in [sources]",
                closest(key, (*self.sources, ASSUMED_SOURCE, FITTED_SOURCE)),
            )

    def value(self, value: Any, kind: ModelKey, place: TomlPath) -> FactValue:
        """Returns the value if it has the right kind."""
        if kind.kind in ("texts", "wholes"):
            one = ModelKey("text") if kind.kind == "texts" else ModelKey("whole")
            if not isinstance(value, list) or not value:
                self.fail(place, f"{_kind(value)} instead of a list")
            return tuple(self.value(item, one, place) for item in value)  # type: ignore[misc]
        if kind.kind == "text":
            if not isinstance(value, str) or not value.strip() or not value.isprintable():
                self.fail(place, f"{_kind(value)} instead of a string")
            if kind.words and value not in kind.words:
                self.fail(place, f"'{value}' is not a valid value", closest(value, kind.words))
            return value
        if kind.kind == "truth":
            if not isinstance(value, bool):
                self.fail(place, f"{_kind(value)} instead of true or false")
            return value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.fail(place, f"{_kind(value)} instead of a number")
        if kind.kind == "whole" and not isinstance(value, int):
            self.fail(place, f"{value:g} is not an integer")
        if not kind.least <= value <= kind.most:
            unit = " bytes/s" if str(place[-1]).endswith("bytes_per_s") else ""
            hint = f"write a number from {kind.least:g}{unit} to {kind.most:g}"
            self.fail(place, f"{value:g} is out of range", hint)
        return value


def read_machine(data: Mapping[str, Any], *, text: str, file: str) -> MachineModel:
    """Returns the model. Raises BytewaysError at the first error."""
    lines = key_lines(text)
    reader = _Reader(file, lines, {})
    reader.sources = _sources(reader, data.get("sources"))
    own = {key: value for key, value in data.items() if key not in ("sources", "fit")}
    reader.table(own, "", ())
    facts = reader.facts
    for table in needed_tables(str(facts["vendor"].value)):
        if table and not any(key.startswith(f"{table}.") for key in facts):
            reader.fail(tuple(table.split(".")), "missing table")
    for table in OPTIONAL_TABLES:
        if not any(key.startswith(f"{table}.") for key in facts):
            facts |= {
                f"{table}.{key}": SourcedValue(_least(kind)) for key, kind in MODEL_TABLES[table].items()
            }
    name = str(facts["name"].value)
    if not _NAME.fullmatch(name):
        reader.fail(("name",), f"'{name}' is not a valid name", "use lower-case letters, digits and hyphens")
    model = MachineModel(
        name, str(facts["title"].value), text, facts, reader.sources, _fit(reader, data.get("fit"))
    )
    _check_devices(reader, model)
    return model


def _sources(reader: _Reader, data: Any) -> dict[str, Source]:
    if not isinstance(data, dict):
        reader.fail(("sources",), "missing table of sources")
    sources: dict[str, Source] = {}
    for key, entry in data.items():
        if key in (ASSUMED_SOURCE, FITTED_SOURCE) or not _NAME.fullmatch(key):
            reader.fail(
                ("sources", key),
                f"'{key}' is not a valid source key",
                "use lower-case letters, digits and hyphens",
            )
        texts: dict[str, Any] = {"title": None, "address": None}
        texts |= entry if isinstance(entry, dict) else {}
        if set(texts) != {"title", "address"} or not all(
            isinstance(one, str) and one for one in texts.values()
        ):
            reader.fail(
                ("sources", key), "a source needs a title and an address", '{ title = "…", address = "…" }'
            )
        sources[key] = Source(texts["title"], texts["address"])
    return sources


def _fit(reader: _Reader, data: Any) -> Fit | None:
    if data is None:
        return None
    if not isinstance(data, dict):
        reader.fail(("fit",), f"{_kind(data)} instead of a table")
    for key in data:
        if key not in FIT_KEYS:
            reader.fail(("fit", key), "unknown key", closest(key, FIT_KEYS))
    counts = [reader.value(data.get(key), ModelKey("whole"), ("fit", key)) for key in FIT_KEYS[:2]]
    errors = [
        float(reader.value(data[key], ModelKey("number"), ("fit", key))) if key in data else None  # type: ignore[arg-type]
        for key in FIT_KEYS[2:]
    ]
    return Fit(int(counts[0]), int(counts[1]), errors[0], errors[1])  # type: ignore[arg-type]


def _check_devices(reader: _Reader, model: MachineModel) -> None:
    """Checks consistency between keys: counts, and the ends of links."""
    gpus, domains = model.whole("gpu.count"), model.whole("cpu.domains")
    if domains * model.whole("cpu.cores") > MOST_MODEL_CORES:
        reader.fail(("cpu", "cores"), f"cores are per domain; the total exceeds {MOST_MODEL_CORES}")
    for key in ("domains", "pci_addresses"):
        if len(model.texts(f"gpu.{key}")) != gpus:
            reader.fail(("gpu", key), f"there are {gpus} GPUs; one entry per GPU is needed")
    hosts = max(1, model.whole("hosts"))
    if hosts > 1 and model.number("network_efficiency") <= 0:
        reader.fail(("network_efficiency",), "several hosts need one above 0", "write a fraction: 0.95")
    if gpus % hosts or domains % hosts:
        reader.fail(
            ("hosts",), f"{gpus} GPUs and {domains} NUMA domains are not those of {hosts} equal hosts"
        )
    for domain in model.wholes("gpu.domains"):
        if domain >= domains:
            reader.fail(("gpu", "domains"), f"there is no NUMA domain {domain}")
    addresses = model.texts("gpu.pci_addresses")
    for address in addresses:
        if not _PCI_ADDRESS.match(address) or addresses.count(address) > 1:
            reader.fail(
                ("gpu", "pci_addresses"), f"'{address}' is not a unique PCI address", "write 0000:c1:00.0"
            )
    if len(model.wholes("topology.cache_sharing")) != model.count("cpu.caches"):
        reader.fail(("topology", "cache_sharing"), "one entry per [[cpu.caches]] table is needed")
    seen: set[frozenset[str]] = set()
    for index in range(model.count("links")):
        place: TomlPath = ("links", index, "pairs")
        for pair in model.texts(f"links.{index}.pairs"):
            ends = pair.split("-")
            if len(ends) != 2 or ends[0] == ends[1]:
                reader.fail(place, f"'{pair}' is not a pair of devices", "write gpu0-gpu1")
            for end in ends:
                outside = end in (MODEL_SWITCH, NETWORK) or _SWITCH.match(end) or _NIC.match(end)
                if end not in model.devices and not outside:
                    reader.fail(place, f"'{pair}': unknown device {end}")
            if frozenset(ends) in seen:
                reader.fail(place, f"'{pair}' appears twice")
            seen.add(frozenset(ends))
    for way in ("to", "from"):
        limits = [model.whole(f"staging.{way}.{i}.up_to_bytes") for i in range(model.count(f"staging.{way}"))]
        if limits[-1] != 0 or 0 in limits[:-1] or limits[:-1] != sorted(set(limits[:-1])):
            reader.fail(("staging", way), "sizes must increase; only the last step leaves out up_to_bytes")


def _least(kind: ModelKey) -> FactValue:
    """Returns the value of a key in a table that is missing: its default, or the least that it may have."""
    if kind.neutral is not None:
        return kind.neutral
    return False if kind.kind == "truth" else int(kind.least) if kind.kind == "whole" else kind.least


def _children(name: str) -> tuple[str, ...]:
    """Returns the names of the tables directly inside a table."""
    start = f"{name}." if name else ""
    return tuple(
        dict.fromkeys(
            table[len(start) :].split(".")[0]
            for table in MODEL_TABLES
            if table and table.startswith(start) and table != name
        )
    )


def _dotted(place: Iterable[str | int]) -> str:
    return ".".join(str(part) for part in place)


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return "an empty string" if not value.strip() else f"the string '{value}'"
    kinds = {bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "a table"}
    return kinds.get(type(value), f"a {type(value).__name__}")
