"""What a study is. reading.py reads it from its folder; what a run makes of it is in analyse/studies.

A **line** is a method of the source as cases of ours: interface, memories, executor. A **place** is where the
source measured: a pair of its devices, to which those of another machine may correspond. A line at a place
at a size is one figure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from byteways.plan.case import Buffer, Flow
from byteways.plan.suite_types import Suite
from byteways.studies.values import Value

#: Letters of a place's devices, in their order.
LETTERS = "abcd"
#: How a figure is shown: over size; lines by places at one size; the highest of all sizes; lines by sizes;
#: every pair of devices; and how many links the way between every pair has, which nothing measures.
KINDS = ("curve", "table", "highest", "map", "matrix", "hops")
#: What figures are shown in.
UNITS = ("GB/s", "of peak", "ns", "µs")
#: In which a place takes GPUs of any machine.
ORDERS = ("packed", "spread")


@dataclass(frozen=True)
class Place:
    """Where the source measured. `devices` are its names; one may be "near a": the CPU next to that one.

    `rank` counts the classes of direct links between GPUs from the widest, 1: which class stands for the
    source's on a machine that does not have it. None: nothing else stands for it.
    """

    name: str
    devices: tuple[str, ...]
    meaning: str
    rank: int | None = None
    model: str = ""  # of the system, where it is not the study's first
    #: `packed` or `spread`: as many GPUs of any machine, in that order, each with the host; '': these.
    order: str = ""


@dataclass(frozen=True)
class Ends:
    """The buffers of a line, of a letter each: `a:device`, or `c:pageable@a`."""

    source: str
    destination: str
    executor: str
    second_source: str | None = None

    @property
    def letters(self) -> frozenset[str]:
        """Of the devices that it takes."""
        buffers = [text for text in (self.source, self.destination, self.second_source) if text]
        named = {text.partition(":")[0] for text in buffers}
        named |= {text.rpartition("@")[2] for text in buffers if "@" in text}
        return frozenset({*named, self.executor})

    def flow(self, devices: Sequence[str]) -> Flow:
        """The flow at a place with these devices, one for each letter at least."""
        named = dict(zip(LETTERS, devices, strict=False))

        def buffer(text: str) -> Buffer:
            letter, _, rest = text.partition(":")
            memory, _, toucher = rest.partition("@")
            device, first = named[letter], named[toucher] if toucher else None
            return Buffer(device, memory, None if first == device else first)

        second = buffer(self.second_source) if self.second_source else None
        return Flow(buffer(self.source), buffer(self.destination), named[self.executor], second)


@dataclass(frozen=True)
class Line:
    """A method of the source as cases of ours. Of `ends` the first are the source's own; the others stand
    for it where a runtime has no such memory.
    """

    name: str
    says: str  # what the source did
    interface: str
    ends: tuple[Ends, ...]
    pattern: str = "unidirectional"
    cache: str = "cold"
    environment: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    together: bool = False  # the place's GPUs at once, each with the host next to it and in both directions
    count: str = ""  # `per-direction`: of a figure that counts what is read and written, one of the two
    submits: bool = False  # the time is what the host takes to enqueue one, not until one has ended
    published: tuple[Mapping[str, str], ...] = ({},)  # how its values are told, where not by `ends`
    note: str = ""  # what is done otherwise here

    def fits(self, place: Place) -> bool:
        """Whether the place has a device for every letter."""
        return all(ends.letters <= set(LETTERS[: len(place.devices)]) for ends in self.ends)


@dataclass(frozen=True)
class Figure:
    """A figure or table of the source."""

    id: str
    title: str
    locator: str
    kind: str
    unit: str
    lines: tuple[str, ...]
    places: tuple[str, ...]
    size_bytes: int | None  # of tables; None: the largest there is
    note: str = ""


@dataclass(frozen=True)
class Check:
    """What a sentence demands of figures: the keys of a kind, as the file has them.

    `any` has no keys but `readings`: the sentence may be read in several ways, and one of them is enough.
    """

    kind: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""  # how the sentence is read
    readings: tuple[Check, ...] = ()

    def leaves(self) -> Iterator[Check]:
        """Itself, or its readings."""
        for reading in self.readings:
            yield from reading.leaves()
        if not self.readings:
            yield self


@dataclass(frozen=True)
class Claim:
    """What a source says, with the checks that all have to hold.

    Either `quote`, the source's sentence word by word, or `says`, what it shows in our words.
    """

    id: str
    locator: str
    checks: tuple[Check, ...]
    quote: str = ""
    says: str = ""
    note: str = ""
    #: The model of the system that the sentence speaks of; it is tested on such GPUs alone. '': the study's
    #: first, and the sentence is tried on any.
    machine: str = ""

    @property
    def text(self) -> str:
        """As it is shown: in quotation marks what is one."""
        inner = self.quote.replace("“", "‘").replace("”", "’")
        return f"“{inner}”" if self.quote else self.says

    def leaves(self) -> Iterator[Check]:
        """All checks, readings one by one."""
        for check in self.checks:
            yield from check.leaves()


@dataclass(frozen=True)
class Study:
    """A published work, as far as it can be measured again."""

    key: str
    title: str
    authors: str
    year: int
    address: str
    about: str
    sources: tuple[str, ...]  # keys in published.csv and in machine models, the work itself first
    models: tuple[str, ...]  # of the systems it was measured on
    statistic: str
    ambient: tuple[str, ...]  # variables that the source set for every process, whatever they do there
    timing: str  # how the source timed
    defects: tuple[str, ...]  # known mistakes and contradictions in the source
    differences: tuple[str, ...]  # what is done otherwise here
    places: Mapping[str, Place]
    lines: Mapping[str, Line]
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]
    values: tuple[Value, ...]
    suite: Suite
    folder: str = ""  # of a study that does not come with byteways
