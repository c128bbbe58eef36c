"""Argument blocks of kernels as ctypes structures, read from the C++ headers that declare them."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from pathlib import Path

INTERFACES = Path(__file__).resolve().parents[1] / "native" / "interfaces"
#: A declaration: a type, whether it is a pointer, and the names with their defaults.
_DECLARATION = re.compile(r"(?:const )?(unsigned long long|unsigned int|\w+)(\*?)\s+(.*)", re.DOTALL)
_TYPES = {"unsigned long long": ctypes.c_uint64, "unsigned int": ctypes.c_uint32, "float": ctypes.c_float}


@cache
def arguments(interface: str, name: str) -> type[ctypes.Structure]:
    """The structure `name` of an interface's arguments.hpp. Members that are not given have the
    default of the header; one without a default is 0.

    Raises:
        LookupError: The header has no such structure, or a member that is not understood.
    """
    text = (INTERFACES / interface / "arguments.hpp").read_text(encoding="utf-8")
    text = re.sub(r"//[^\n]*", "", text)
    found = re.search(rf"struct {name} {{(.*?)}};", text, re.DOTALL)
    if found is None:
        raise LookupError(f"{interface}/arguments.hpp has no structure {name}")
    fields: list[tuple[str, type]] = []
    defaults: dict[str, int] = {}
    for member in filter(None, (one.strip() for one in found[1].split(";"))):
        for field, kind, default in _members(member):
            fields.append((field, kind))
            defaults[field] = default

    def fill(self: ctypes.Structure, *given: int, **named: int) -> None:
        positional = dict(zip((field for field, _ in fields), given, strict=False))
        ctypes.Structure.__init__(self, **{**defaults, **positional, **named})

    return type(name, (ctypes.Structure,), {"_fields_": fields, "__init__": fill, "interface": interface})


def _members(text: str) -> list[tuple[str, type, int]]:
    """Name, type and default of each member of one declaration."""
    found = _DECLARATION.fullmatch(text)
    if found is None or not (found[2] or found[1] in _TYPES):
        raise LookupError(f"a member that is not understood: {text}")
    kind = ctypes.c_uint64 if found[2] else _TYPES[found[1]]
    members = []
    for one in found[3].split(","):
        name, _, default = (part.strip() for part in one.partition("="))
        if not name.isidentifier():
            raise LookupError(f"a member that is not understood: {text}")
        members.append((name, kind, _value(default)))
    return members


def _value(literal: str) -> int:
    """Value of a C++ integer literal, complemented or not; 0 of none."""
    digits = literal.removeprefix("~").rstrip("ul")
    value = int(digits or "0", 0)
    return value ^ (2**64 - 1) if literal.startswith("~") else value
