"""Variants: the properties in which two cases of equal path and size may differ, with their labels."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from byteways.cases.case import Buffer
from byteways.cases.interfaces import INTERFACES
from byteways.cases.memory import is_device
from byteways.cases.option_set import NO_OPTIONS, OptionSet
from byteways.record.record import Record

#: Which end issues a transfer, by access.
ISSUED_BY = {
    "read": "the destination",
    "write": "the source",
    "remote": "a third device",
}
#: What libraries between ranks are called where a record does not say which one it was.
LIBRARY_NAMES = {"mpi": "MPI", "ucx": "UCX", "xccl": "NCCL/RCCL"}


def issued_by(access: str) -> str:
    """`issued by the source`; '' if both buffers are on the device that issues."""
    return f"issued by {ISSUED_BY[access]}" if access in ISSUED_BY else ""


def interface_name(interface: str, library: str = "") -> str:
    """Returns an interface as people call it: `copy`, `MPI`, `NCCL ping-pong`.

    Args:
        interface: The code of an interface.
        library: The library that its record names.
    """
    between = INTERFACES[interface].between
    if between not in LIBRARY_NAMES or not interface.startswith(between):
        return interface
    named = library if between == "xccl" and library else LIBRARY_NAMES[between]
    return f"{named}{interface.removeprefix(between).replace('-', ' ', 1)}"


@dataclass(frozen=True, order=True)
class Variant:
    """The properties in which two cases of equal path and size may differ."""

    interface: str
    access: str
    source: str  # memory, with `@device kind` if first touched by another device
    destination: str
    cache: str
    options: OptionSet = NO_OPTIONS
    environment: OptionSet = NO_OPTIONS
    library: str = field(default="", compare=False)  # that its record names

    @property
    def managed(self) -> bool:
        return any(memory.startswith("managed") for memory in (self.source, self.destination))

    @cached_property
    def host_memory(self) -> str:
        """The memory kind other than plain GPU memory; empty if both are plain.

        Managed memory may be at either end, even a GPU's, and ranks have buffers in memory of both: these are
        named with the other end.
        """
        ends = {self.source, self.destination}
        if len(ends) > 1 and "device" in ends and (self.managed or INTERFACES[self.interface].between):
            return f"{self.source} > {self.destination}"
        named = dict.fromkeys(memory for memory in (self.source, self.destination) if memory != "device")
        return " > ".join(named)

    @property
    def issued(self) -> str:
        """`issued by the source`; '' where no choice is left.

        Between host memory and a GPU the GPU issues the transfer, so that the direction implies which end it
        is. Managed memory may be at either end.
        """
        if INTERFACES[self.interface].buffers == "one":
            return "by another device" if self.access == "remote" else ""
        one_gpu_end = is_device(self.source) != is_device(self.destination)
        implied = one_gpu_end and not self.managed and self.access != "remote"
        return "" if implied or INTERFACES[self.interface].between else issued_by(self.access)

    @cached_property
    def name(self) -> str:
        """The name of the method in tables, charts, sentences and labels: `copy issued by the source`."""
        return self.named()

    @property
    def settings(self) -> str:
        """All of the name but the interface: `issued by the source with pinned memory (blocks=8)`."""
        return self.named("")

    def to_json(self) -> dict[str, str]:
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return fields | {"options": self.options.text(), "environment": self.environment.text()}

    def without_option(self, name: str) -> Variant:
        """Returns the variant with an option left open."""
        return replace(self, options=self.options.without(name))

    def named(self, what: str | None = None, *, memory: bool = True, access: bool = True) -> str:
        """Returns the name with parts of it left out.

        Args:
            what: Instead of the interface, such as the library.
            memory: Whether to name the memory other than plain GPU memory.
            access: Whether to name the end that issues the transfer. Between ranks both take part.
        """
        parts = [interface_name(self.interface, self.library) if what is None else what]
        parts += [self.issued] * access
        parts += [f"with {self.host_memory} memory"] * (memory and bool(self.host_memory))
        options = [self.options.text(), self.environment.text(), "warm" if self.cache == "warm" else ""]
        if any(options):
            parts.append(f"({', '.join(filter(None, options))})")
        return " ".join(filter(None, parts))


#: A run has some hundred variants and many thousands of cells: equal ones are one object, with its texts.
_same = lru_cache(maxsize=1 << 14)(Variant)


def variant_of(record: Record, source: Buffer, destination: Buffer, common: Collection[str]) -> Variant:
    """Returns the variant of a record with these buffers; options in `common` are left out."""
    return _same(
        record.interface,
        record.access,
        _memory(source),
        _memory(destination),
        record.cache,
        OptionSet(record.options).without(*common),
        OptionSet(record.environment),
        (record.evidence and record.evidence.library) or "",
    )


def _memory(buffer: Buffer) -> str:
    touch = buffer.first_touch
    if touch in (None, buffer.device):
        return buffer.memory
    # Without the index, so that the same operation by a neighbouring device is the same variant.
    return f"{buffer.memory}@{str(touch).rstrip('0123456789')}"
