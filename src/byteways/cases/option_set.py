"""Options of an interface, or variables of the environment, as one value: names with values. Pure data.

Text of them (`blocks=8 submit=graph`) is made where people or files read it. No code reads it again: a value
may have spaces, and which name is first says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from byteways.base.units import format_size

OptionValue = int | str | bool


class OptionSet(Mapping[str, OptionValue]):
    """Names with values, in alphabetical order whatever order they are given in. It is hashable.

    Sets sort as their texts do.
    """

    __slots__ = ("_hash", "_values")

    def __init__(self, values: Mapping[str, OptionValue] = MappingProxyType({})) -> None:
        self._values = dict(sorted(values.items()))
        self._hash = hash((*self._values.items(),))

    def __getitem__(self, name: str) -> OptionValue:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self._values == (other._values if isinstance(other, OptionSet) else other)

    def __lt__(self, other: OptionSet) -> bool:
        return self.words() < other.words()

    def __repr__(self) -> str:
        return f"OptionSet({self._values})"

    def __str__(self) -> str:
        return self.text()

    def without(self, *names: str) -> OptionSet:
        """Returns the set with some names left open."""
        return OptionSet({name: value for name, value in self._values.items() if name not in names})

    def words(self) -> tuple[str, ...]:
        """Returns `blocks=8`, `piece_bytes=4MiB`: each as in a suite, words without quotes."""
        return tuple(f"{name}={_written(name, value)}" for name, value in self._values.items())

    def text(self) -> str:
        """Returns `blocks=8 submit=graph`; empty without options."""
        return " ".join(self.words())


#: What a case has by default.
NO_OPTIONS = OptionSet()


def _written(name: str, value: OptionValue) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if name.endswith("_bytes") and isinstance(value, int) and value:
        return format_size(value).replace(" ", "")
    return str(value)
