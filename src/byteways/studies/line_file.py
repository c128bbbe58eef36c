"""Reads the lines of study.toml: methods of the source. One table may stand for a whole grid of lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from byteways.studies.shapes import (
    AXIS,
    FLAG,
    ONE_OR_TEXTS,
    PRINTS,
    STRING,
    STRING_TABLE,
    VALUE_TABLE,
    Keys,
)
from byteways.studies.study import Ends, StudyLine

_LINE = Keys(
    {"says": STRING, "interface": STRING, "executor": STRING},
    {
        **dict.fromkeys(("source", "destination", "buffer", "pattern"), ONE_OR_TEXTS),
        **dict.fromkeys(("second_source", "cache", "count", "note", "simulated_by", "otherwise"), STRING),
        "sources": STRING_TABLE,
        "destinations": STRING_TABLE,
        "environment": STRING_TABLE,
        "options": VALUE_TABLE,
        "together": FLAG,
        "submits": FLAG,
        "nearest_host": FLAG,
        "published": PRINTS,
        "each": AXIS,
    },
)
#: Value of `executor`: the device of the source buffer, where `sources` are of several devices.
OF_SOURCE = "source"


def read_lines(data: Mapping[str, Any]) -> dict[str, StudyLine]:
    """Parses the table of lines.

    Raises:
        KeyError, TypeError, ValueError: The data are invalid.
    """
    lines: dict[str, StudyLine] = {}
    for name, entry in data.items():
        _LINE.check(f"line '{name}'", entry)
        for told, plain in _expanded(name, entry):
            if told in lines:
                raise ValueError(f"two lines have the name '{told}'")
            lines[told] = _line(told, plain)
    return lines


def _expanded(name: str, entry: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the lines that a table stands for, each with its name.

    `each` has a line per value of an option: `copy, 128 threads`. A list of patterns has one per pattern:
    `MPI, allreduce`. `sources` and `destinations` have one per pair, by their names: `MPI, malloc > managed`.
    """
    if ("sources" in entry) != ("destinations" in entry):
        raise ValueError(f"line '{name}' needs both 'sources' and 'destinations', or neither")
    if "each" in entry:
        ((option, values),) = entry["each"].items()
        options = entry.get("options", {})
        rest = {key: value for key, value in entry.items() if key != "each"}
        for value in values:
            more = {"options": {**options, option: value}, "published": ()}
            yield from _expanded(f"{name}, {value} {option}", {**rest, **more})
    elif isinstance(entry.get("pattern"), list):
        for pattern in entry["pattern"]:
            yield from _expanded(f"{name}, {pattern}", {**entry, "pattern": pattern})
    elif "sources" in entry:
        rest = {key: value for key, value in entry.items() if key not in ("sources", "destinations")}
        for source, buffer in entry["sources"].items():
            executor = buffer.partition(":")[0] if entry["executor"] == OF_SOURCE else entry["executor"]
            for destination, other in entry["destinations"].items():
                ends = {"source": buffer, "destination": other, "executor": executor}
                yield f"{name}, {source} > {destination}", {**rest, **ends, "cell": (source, destination)}
    else:
        yield name, entry


def _line(name: str, entry: Mapping[str, Any]) -> StudyLine:
    def each(key: str) -> list[str]:
        value = entry[key]
        return [value] if isinstance(value, str) else list(value)

    if "buffer" in entry:
        pairs = [(buffer, buffer) for buffer in each("buffer")]
    else:
        sources, destinations = each("source"), each("destination")
        if len(sources) == len(destinations):  # pairwise; otherwise all combinations with the single one
            pairs = list(zip(sources, destinations, strict=True))
        else:
            pairs = [(source, destination) for source in sources for destination in destinations]
    return StudyLine(
        name,
        entry["says"],
        entry["interface"],
        tuple(Ends(*pair, entry["executor"], entry.get("second_source")) for pair in pairs),
        entry.get("pattern", "unidirectional"),
        entry.get("cache", "cold"),
        entry.get("environment", {}),
        entry.get("options", {}),
        entry.get("together", False),
        entry.get("count", ""),
        entry.get("submits", False),
        tuple(entry.get("published", ({},))),
        entry.get("note", ""),
        entry.get("cell", ()),
        entry.get("simulated_by", ""),
        entry.get("otherwise", ""),
        entry.get("nearest_host", False),
    )
