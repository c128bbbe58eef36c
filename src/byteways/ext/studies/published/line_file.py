"""Reads the lines of study.toml: methods of the source. One table may stand for a whole grid of lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

from msgspec import Meta, Struct, structs

from byteways.base.toml_reading import TomlPlace
from byteways.ext.studies.published.study import Ends, StudyLine

#: Value of `executor`: the device of the source buffer, where `sources` are of several devices.
OF_SOURCE = "source"
_Texts = str | Annotated[list[str], Meta(min_length=1)]
_Scalar = str | int | float | bool
_ListOfOne = Annotated[dict[str, list[_Scalar]], Meta(min_length=1, max_length=1)]


class LineTable(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a line; StudyLine explains those that it has, too."""

    says: str
    interface: str
    executor: str
    source: _Texts = ""
    destination: _Texts = ""
    buffer: _Texts = ""
    pattern: _Texts = "unidirectional"
    second_source: str | None = None
    cache: str = "cold"
    environment: dict[str, str] = {}
    options: dict[str, _Scalar | list[_Scalar]] = {}
    earlier_options: dict[str, _Scalar] | None = None
    together: bool = False
    count: str = ""
    submits: bool = False
    published: tuple[dict[str, str], ...] = ({},)
    note: str = ""
    simulated_by: str = ""
    otherwise: str = ""
    nearest_host: bool = False
    sources: dict[str, str] | None = None
    destinations: dict[str, str] | None = None
    each: _ListOfOne | None = None


#: Keys that lines have as their tables do.
_AS_WRITTEN = {*LineTable.__struct_fields__} & {*StudyLine.__dataclass_fields__}


def read_lines(place: TomlPlace, tables: Mapping[str, LineTable]) -> Iterator[StudyLine]:
    """Yields the lines of a file. Raises BytewaysError for one without buffers."""
    for name, table in tables.items():
        own = place.below(name)
        if (table.sources is None) != (table.destinations is None):
            own.fail("", "it needs both 'sources' and 'destinations', or neither")
        for key in () if table.sources is not None or "buffer" in own.value else ("source", "destination"):
            if key not in own.value:
                own.fail(key, "missing")
        yield from _expanded(name, table, ())


def _expanded(name: str, table: LineTable, cell: tuple[str, ...]) -> Iterator[StudyLine]:
    """Yields the lines that a table stands for, each with its name.

    `each` has a line per value of an option: `copy, 128 threads`. A list of patterns has one per pattern:
    `MPI, allreduce`. `sources` and `destinations` have one per pair, by their names: `MPI, malloc > managed`.
    """
    if table.each is not None:
        ((option, values),) = table.each.items()
        for value in values:
            options = {**table.options, option: value}
            own = structs.replace(table, each=None, options=options, published=())
            yield from _expanded(f"{name}, {value} {option}", own, cell)
    elif not isinstance(table.pattern, str):
        for pattern in table.pattern:
            yield from _expanded(f"{name}, {pattern}", structs.replace(table, pattern=pattern), cell)
    elif table.sources is not None and table.destinations is not None:
        for source, buffer in table.sources.items():
            executor = buffer.partition(":")[0] if table.executor == OF_SOURCE else table.executor
            for destination, other in table.destinations.items():
                ends = {"source": buffer, "destination": other, "executor": executor}
                own = structs.replace(table, sources=None, destinations=None, **ends)
                yield from _expanded(f"{name}, {source} > {destination}", own, (source, destination))
    else:
        yield _line(name, table, cell)


def _line(name: str, table: LineTable, cell: tuple[str, ...]) -> StudyLine:
    def each(value: str | list[str]) -> list[str]:
        return [value] if isinstance(value, str) else value

    sources, destinations = each(table.buffer or table.source), each(table.buffer or table.destination)
    if len(sources) == len(destinations):  # pairwise; otherwise all combinations with the single one
        pairs = list(zip(sources, destinations, strict=True))
    else:
        pairs = [(source, destination) for source in sources for destination in destinations]
    ends = tuple(Ends(*pair, table.executor, table.second_source) for pair in pairs)
    given = {key: getattr(table, key) for key in _AS_WRITTEN}
    return StudyLine(name, ends=ends, cell=cell, **given)
