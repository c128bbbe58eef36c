"""Schema of a study's files: keys of each table, which are required, and their types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from byteways.plan.spelling import closest


@dataclass(frozen=True)
class Shape:
    """A type: a description and a test."""

    words: str
    fits: Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def _all(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(fits, value))


def _table_of(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(map(fits, value.values()))


def _is_scalar(value: Any) -> bool:
    return _is_text(value) or _is_number(value) or isinstance(value, bool)


def _is_texts(value: Any) -> bool:
    return _is_text(value) or _all(value, _is_text)


STRING = Shape("a string", _is_text)
TEXTS = Shape("a list of strings", lambda value: _all(value, _is_text))
SOME_TEXTS = Shape("a list of strings, at least one", lambda value: value != [] and _all(value, _is_text))
ONE_OR_TEXTS = Shape("a string or a list of strings", lambda value: value != [] and _is_texts(value))
VALUE_OR_VALUES = Shape(
    "a value or a list of values", lambda value: _is_texts(value) or _all(value, _is_texts)
)
WHOLE_NUMBER = Shape("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool))
ANY_NUMBER = Shape("a number", _is_number)
NUMBERS = Shape("a list of numbers", lambda value: _all(value, _is_number))
NUMBER_WITH_UNIT = Shape(
    "a number or a string with a unit", lambda value: _is_text(value) or _is_number(value)
)
FLAG = Shape("true or false", lambda value: isinstance(value, bool))
ONE_TABLE = Shape("a table", lambda value: isinstance(value, dict))
TABLE_OR_TABLES = Shape(
    "a table or a list of tables", lambda value: isinstance(value, dict) or _is_tables(value)
)
LIST_OF_TABLES = Shape("a list of tables", lambda value: _is_tables(value))
NAMED_TABLES = Shape(
    "a table of tables", lambda value: _table_of(value, lambda entry: isinstance(entry, dict))
)
STRING_TABLE = Shape("a table of strings", lambda value: _table_of(value, _is_text))
VALUE_TABLE = Shape("a table of values", lambda value: _table_of(value, _is_scalar))
AXIS = Shape(
    "a table with one list of values",
    lambda value: _table_of(value, lambda entry: _all(entry, _is_scalar)) and len(value) == 1,
)
PRINTS = Shape(
    "a list of tables of strings", lambda value: _all(value, lambda entry: _table_of(entry, _is_text))
)


def _is_tables(value: Any) -> bool:
    return _all(value, lambda entry: isinstance(entry, dict))


@dataclass(frozen=True)
class Keys:
    """The keys of a table with their types."""

    required: Mapping[str, Shape]
    optional: Mapping[str, Shape]

    def check(self, what: str, entry: object) -> None:
        """Raises ValueError if `entry` is not a table, lacks a required key or has an unknown one."""
        if not isinstance(entry, Mapping):
            raise ValueError(f"{what} is not a table")
        known = {**self.required, **self.optional}
        if unknown := [name for name in entry if name not in known]:
            raise ValueError(f"{what} has the unknown key '{unknown[0]}': {closest(unknown[0], known)}")
        if missing := [name for name in self.required if name not in entry]:
            raise ValueError(f"{what} has no '{missing[0]}'")
        for name, value in entry.items():
            if not known[name].fits(value):
                raise ValueError(f"{what} has {name} = {value!r:.60}: expected {known[name].words}")
