"""What conductor and workers tell each other, each message declared once, and the check of what arrives.

protocol.py shows a conversation. Requests to measure are in request.py, the answers to them in
work/outcome_fields.py. Workers load the standard library alone, so that messages are plain dictionaries with
types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    TypedDict,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from byteways.record.part_types import ChoiceFields

if TYPE_CHECKING:
    from byteways import _core

T = TypeVar("T")

#: A message before its check: an object of JSON.
Message = Mapping[str, object]


class MissingFunction(TypedDict):
    """A function that a library lacks."""

    name: str
    introduced_in: str
    required: bool


class UcxFound(TypedDict):
    """The UCX that an MPI has loaded."""

    version: str
    path: str
    preloaded: bool


class LibraryFields(TypedDict, total=False):
    """A report on a vendor's library: the fields of `_core.LibraryReport`, as manifests have them."""

    library: str
    usable: bool
    path: str
    found_by: str
    version: str
    searched: list[str]
    reason: str
    hint: str
    missing: list[MissingFunction]
    ucx: UcxFound


def library_fields(report: _core.LibraryReport) -> LibraryFields:
    """Returns a report as messages and manifests have it."""
    return {
        "library": report.library,
        "usable": report.usable,
        "path": report.path,
        "found_by": report.found_by,
        "version": report.version,
        "searched": report.searched,
        "reason": report.reason,
        "hint": report.hint,
        "missing": [
            {"name": one.name, "introduced_in": one.introduced_in, "required": one.required}
            for one in report.missing
        ],
    }


class DeviceFields(TypedDict, total=False):
    """A device as the native core tells it."""

    name: str
    runtime: str
    runtime_version: str
    model: str
    uuid: str
    pci_address: str
    architecture: str
    numa_domain: int
    multiprocessors: int
    memory_bytes: int
    last_level_cache_bytes: int
    memory_bytes_per_s: int
    copy_engines: int
    pageable_access: bool
    host_access: bool
    free_bytes: int  # of a GPU; 0: unknown


class _Process(TypedDict):
    host: str  # as its kernel names it
    pid: int


class RankFacts(_Process, total=False):
    """What a rank says of its process before anything is opened."""

    byteways: str  # version
    boot_id: str  # of the kernel; empty: unknown
    cores: list[int]
    reaches: bool  # the socket of the conductor; of a run between hosts, and only among its ranks
    device: str | None  # in the current case; the conductor adds it


class Hello(TypedDict, total=False):
    """The first message of a worker."""

    did: str
    pid: int
    error: str  # why it cannot measure
    clock_step_ns: int | None  # of a machine that is not simulated; None: its clock stands still
    mpi: LibraryFields
    ranks: list[RankFacts]  # of those that measure together
    speaker: int  # the rank that speaks for all hosts


class _Answer(TypedDict, total=False):
    did: str


class Request(TypedDict):
    """What all requests have."""

    do: str


class ProbeRequest(TypedDict, total=False):
    """What a probe is to try: everything where it lacks a list (work/capabilities.py, Asked)."""

    do: str
    launcher: str | None
    interfaces: Sequence[str]
    granted: Sequence[str]
    gpus: Sequence[str]


class Refusal(TypedDict, total=False):
    """An answer to `probe` or `devices`: the runtimes cannot be opened."""

    did: str
    error: str
    lacks: str


class DevicesAnswer(_Answer):
    devices: dict[str, DeviceFields]


class _Described(_Answer):
    capabilities: Message  # the fields of machine.model.Capabilities, which checks them
    libraries: list[LibraryFields]
    method_version: int


class ProbeAnswer(_Described, total=False):
    """What a machine offers."""

    leaving: bool  # it is the worker's last answer: what it tried has ruined a GPU


class PlacesRequest(TypedDict):
    do: str
    cores: Sequence[Sequence[int]]  # of each rank in the plan
    gpus: bool  # whether any rank uses one


class _Place(TypedDict):
    gpus: dict[str, str]


class Place(_Place, total=False):
    """What a rank can use (rank_places.py)."""

    allowed: list[int]


class PlacesAnswer(_Answer):
    places: list[Place]


class ChoicesAnswer(_Answer):
    choices: list[ChoiceFields]


class ClockAnswer(_Answer):
    clock_ns: int


def read(kind: type[T], message: object) -> T:
    """Returns a message, or a part of one, as what it is meant to be. It stays as it is: fields of newer
    versions are in it.

    Args:
        kind: A TypedDict, or another type that JSON has values of.
        message: As json.loads() returned it.

    Raises:
        KeyError: It lacks a field.
        ValueError: A field is of another type.
    """
    _check(message, kind, "")
    return cast(T, message)


def _check(value: object, kind: object, where: str) -> None:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        _check_any(value, inner, where)
    elif is_typeddict(kind):
        if not isinstance(value, Mapping):
            raise _other(value, "an object", where)
        required, fields = _fields(kind)
        if lacking := required - value.keys():
            raise KeyError(_below(where, min(lacking)))
        for name, one in value.items():
            if name in fields:
                _check(one, fields[name], _below(where, name))
    elif origin in (dict, Mapping):
        if not isinstance(value, Mapping):
            raise _other(value, "an object", where)
        for name, one in value.items():
            _check(one, inner[1], _below(where, name))
    elif origin in (list, tuple, Sequence):
        if not isinstance(value, (list, tuple)) or (origin is tuple and len(value) != len(inner)):
            raise _other(value, "a list", where)
        if not set(map(type, value)) <= _OF_JSON.get(inner[0], frozenset()):  # thousands of numbers
            for place, one in enumerate(value):
                _check(one, inner[0], f"{where}[{place}]")
    elif kind is not object and type(value) not in _OF_JSON[kind]:
        raise _other(value, _NAMES[kind], where)


def _check_any(value: object, kinds: Sequence[object], where: str) -> None:
    """Raises what the first of the types lacks if the value is of none of them."""
    first: Exception | None = None
    for kind in kinds:
        try:
            _check(value, kind, where)
            return
        except (KeyError, ValueError) as error:
            first = first or error
    if first is not None:
        raise first


@cache
def _fields(kind: object) -> tuple[frozenset[str], dict[str, object]]:
    """Returns which fields a TypedDict requires, and the type of each that it has."""
    return kind.__required_keys__, get_type_hints(kind)  # type: ignore[attr-defined]


#: The types of values that JSON gives for one that is declared.
_OF_JSON: Mapping[object, frozenset[type]] = {
    str: frozenset({str}),
    bool: frozenset({bool}),
    int: frozenset({int}),
    float: frozenset({float, int}),
    NoneType: frozenset({NoneType}),
}
_NAMES: Mapping[object, str] = {
    str: "text",
    bool: "true or false",
    int: "an integer",
    float: "a number",
    NoneType: "null",
}


def _below(where: str, name: object) -> str:
    return f"{where}.{name}" if where else str(name)


def _other(value: object, wanted: str, where: str) -> ValueError:
    return ValueError(f"{where or 'the message'} is {value!r:.40}, not {wanted}")
