"""Variants: the properties in which two cases of equal path and size may differ, with their labels."""

from __future__ import annotations

import json
from collections.abc import Container
from dataclasses import dataclass
from functools import cached_property, lru_cache

from byteways.plan.case import Buffer
from byteways.record.record import Record
from byteways.units import format_size

#: Which end issues a transfer, by access.
ISSUED_BY = {
    "read": "the destination",
    "write": "the source",
    "remote": "a third device",
}


@dataclass(frozen=True, order=True)
class Variant:
    """The properties in which two cases of equal path and size may differ."""

    interface: str
    access: str
    source: str  # memory, with `@device kind` if first touched by another device
    destination: str
    cache: str
    options: str
    environment: str

    @property
    def managed(self) -> bool:
        return any(memory.startswith("managed") for memory in (self.source, self.destination))

    @cached_property
    def host_memory(self) -> str:
        """The memory kind other than plain GPU memory; empty if both are plain.

        Managed memory may be at either end, even a GPU's, so it is named with the other end.
        """
        if "device" in (self.source, self.destination) and self.managed:
            return f"{self.source} > {self.destination}"
        named = dict.fromkeys(memory for memory in (self.source, self.destination) if memory != "device")
        return " > ".join(named)

    def label(self, *, memory: bool = True, access: bool = True) -> str:
        """`copy, write`, `kernel-bulk, read, pinned, blocks=8`."""
        return self._label if memory and access else self._described(memory, access)

    @property
    def settings(self) -> str:
        """All of the label but the interface: `write, pinned, blocks=8`."""
        return ", ".join(self._settings(memory=True, access=True))

    @cached_property
    def _label(self) -> str:
        return self._described(memory=True, access=True)

    def _described(self, memory: bool, access: bool) -> str:
        return ", ".join([self.interface, *self._settings(memory, access)])

    @property
    def words(self) -> str:
        """The label of a table for people: `copy, issued by the source, pinned`."""
        issued = [f"issued by {ISSUED_BY[self.access]}"] if self.access in ISSUED_BY else []
        return ", ".join([self.interface, *issued, *self._settings(memory=True, access=False)])

    def _settings(self, memory: bool, access: bool) -> list[str]:
        parts = []
        if access and self.access != "local":
            parts.append(self.access)
        if memory and self.host_memory:
            parts.append(self.host_memory)
        parts += [part for part in (self.options, self.environment) if part]
        if self.cache == "warm":
            parts.append("warm")
        return parts


#: A run has some hundred variants and many thousands of cells: equal ones are one object, with its texts.
_same = lru_cache(maxsize=1 << 14)(Variant)


def variant_of(record: Record, source: Buffer, destination: Buffer, common: Container[str]) -> Variant:
    """Returns the variant of a record with these buffers; options in `common` are left out."""
    return _same(
        record.interface,
        record.access,
        _memory(source),
        _memory(destination),
        record.cache,
        " ".join(
            f"{name}={_option(name, value)}"
            for name, value in sorted(record.options.items())
            if name not in common
        ),
        " ".join(f"{name}={value}" for name, value in sorted(record.environment.items())),
    )


def _option(name: str, value: object) -> str:
    """Formats an option as in a suite: `4MiB` for `piece_bytes`, words without quotes."""
    if name.endswith("_bytes") and isinstance(value, int) and value:
        return format_size(value).replace(" ", "")
    return json.dumps(value).replace('"', "")


def _memory(buffer: Buffer) -> str:
    touch = buffer.first_touch
    if touch in (None, buffer.device):
        return buffer.memory
    # Without the index, so that the same operation by a neighbouring device is the same variant.
    return f"{buffer.memory}@{str(touch).rstrip('0123456789')}"
