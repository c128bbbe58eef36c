"""Finds the line of a key in a TOML text, for messages; the parser itself does not report it."""

from __future__ import annotations

import re
from collections.abc import Mapping

#: A table or key: ("rounds",), ("sweep", 2), ("sweep", 2, "size"), ("sweep", 2, "options", "blocks").
TomlPath = tuple[str | int, ...]

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""^\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=(.*)$""")
_STRING = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']*\'')


def _names(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in dotted.split(".")]


def _open_brackets(text: str) -> int:
    """Returns the number of brackets left open on a line, ignoring strings and comments."""
    bare = _STRING.sub("", text).split("#")[0]
    return sum(bare.count(mark) for mark in "[{") - sum(bare.count(mark) for mark in "]}")


def key_lines(text: str) -> Mapping[TomlPath, int]:
    """Returns the line numbers (from 1) of all tables and keys of a valid TOML text.

    Keys of an inline table have the line of the table.
    """
    lines: dict[TomlPath, int] = {}
    tables: dict[TomlPath, int] = {}  # [[…]] by name: index of the last one
    table: TomlPath = ()
    depth = 0
    quotes = ""  # the currently open triple quotes
    for number, line in enumerate(text.splitlines(), 1):
        if quotes:
            quotes = "" if quotes in line else quotes
            continue
        if depth > 0:
            depth += _open_brackets(line)
            continue
        if header := _HEADER.match(line):
            names = tuple(_names(header[2]))
            if header[1] == "[[":
                tables[names] = tables.get(names, -1) + 1
            table = ()
            for count, name in enumerate(names, 1):
                table = (*table, name)
                if names[:count] in tables:
                    table = (*table, tables[names[:count]])
            lines.setdefault(table, number)
        elif key := _KEY.match(line):
            place = table
            for name in _names(key[1]):
                place = (*place, name)
                lines.setdefault(place, number)
            depth = max(0, _open_brackets(key[2]))
            for mark in ('"""', "'''"):
                quotes = mark if key[2].count(mark) == 1 else quotes
    return lines


def line_of(lines: Mapping[TomlPath, int], place: TomlPath) -> int | None:
    """Returns the line of a key, or of the nearest enclosing table that has one."""
    while place:
        if place in lines:
            return lines[place]
        place = place[:-1]
    return None
