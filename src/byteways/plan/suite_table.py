"""One table of a suite file during parsing: typed values, and messages with file, line and key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from byteways.aliases import ALIASES, AmbiguousError, ends, meanings, translated
from byteways.errors import BytewaysError
from byteways.plan.spelling import closest
from byteways.plan.suite_types import Origin

T = TypeVar("T")


@dataclass(frozen=True)
class SuiteTable:
    """One table of the file, with its location and name for messages."""

    data: Mapping[str, Any]
    origin: Origin
    label: str

    def fail(self, key: str, problem: str, hint: str | None = None) -> NoReturn:
        what = f"{self.origin.at(key)}: {self.label}, key '{key}': {problem}"
        raise BytewaysError(what, hint=hint)

    def know_only(self, keys: Iterable[str]) -> None:
        keys = tuple(keys)
        for key in self.data:
            if key not in keys:
                self.fail(key, "unknown key", self._key_hint(key, keys))

    @staticmethod
    def _key_hint(key: str, keys: Iterable[str]) -> str:
        """Suggests the key for another tool's word, or the one with the most similar spelling."""
        keys = tuple(keys)
        meant = [word for word in meanings("key", key) if word in keys]
        return f"write {' or '.join(meant)}" if meant else closest(key, keys)

    def number(self, key: str, default: float, low: float, high: float) -> float:
        value = self.data.get(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.fail(key, f"{kind_of_value(value)} instead of a number")
        if not low <= value <= high:
            self.fail(key, f"{value} is out of range", f"write a number from {low:g} to {high:g}")
        return float(value)

    def whole(self, key: str, default: int, low: int, high: int) -> int:
        value = self.number(key, default, low, high)
        if value != int(value):
            self.fail(key, f"{value:g} is not an integer")
        return int(value)

    def text(self, key: str, default: str | None = None) -> str:
        value = self.data.get(key, default)
        if value is None:
            self.fail(key, "missing")
        if not isinstance(value, str) or not value.strip():
            self.fail(key, f"{kind_of_value(value)} instead of a string")
        return value

    def word(self, key: str, valid: Iterable[str], default: str) -> str:
        value = self.text(key, default)
        if value not in tuple(valid):
            self.fail(key, f"'{value}' is not a valid value", closest(value, valid))
        return value

    def texts(self, key: str, default: str | None = None) -> tuple[str, ...]:
        """Returns a string or list of strings as distinct values."""
        value = self.data.get(key, default)
        if value is None:
            self.fail(key, "missing")
        items = value if isinstance(value, list) else [value]
        if not items:
            self.fail(key, "the list is empty")
        for item in items:
            if not isinstance(item, str) or not item.strip():
                self.fail(key, f"{kind_of_value(item)} instead of a string")
        return tuple(dict.fromkeys(items))

    def words(self, key: str, kind: str, valid: Iterable[str], default: str | None = None) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.known(key, kind, value, valid) for value in self.texts(key, default)))

    def known(self, key: str, kind: str, word: str, valid: Iterable[str]) -> str:
        """Translates a word of the file, which may be another tool's (byteways.aliases)."""
        valid = tuple(valid)
        try:
            ours = translated(kind, word, valid) if kind in ALIASES else word
        except AmbiguousError as error:
            self.fail(key, str(error), error.hint)
        if ours not in valid:
            self.fail(key, f"unknown {kind} '{word}'", ends(word) or closest(word, valid))
        return ours

    def below(self, key: str, data: Mapping[str, Any]) -> SuiteTable:
        """Returns the nested table under a key."""
        origin = Origin(self.origin.file, self.origin.lines, (*self.origin.place, key))
        return SuiteTable(data, origin, f"{self.label}, {key}")

    def converted(self, key: str, convert: Callable[[Any], T], value: Any) -> T:
        """Returns `convert(value)`; a ValueError becomes a message with the line."""
        try:
            return convert(value)
        except ValueError as error:
            self.fail(key, str(error))


def kind_of_value(value: object) -> str:
    if isinstance(value, str):
        return "an empty string" if not value.strip() else f"the string '{value}'"
    kinds = {bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "a table"}
    return kinds.get(type(value), f"a {type(value).__name__}")
