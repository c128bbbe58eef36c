"""Defines a study. reading.py reads it from its folder; explain/studies compares a run with it.

A **line** is a method of the source expressed as cases: interface, memories, executor. A **place** is where
the
source measured: a pair of its devices, which may map to devices of another machine. A line at a place at a
size is one value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from byteways.cases.case import OF_ALL_RANKS, Buffer, Flow
from byteways.ext.studies.published.drawing import Drawing
from byteways.ext.studies.published.values import PublishedValue
from byteways.plan.suite_types import Suite

#: Letters of a place's devices, in order.
LETTERS = "abcd"
#: Kinds of figures: over size; lines × places at one size; the highest of all sizes; lines × sizes; every
#: pair of devices; number of links between every pair (from the topology, not measured); sources ×
#: destinations, the highest of all sizes; quotients of two lines; the best of several lines by size.
FigureKind = Literal["curve", "table", "highest", "map", "matrix", "hops", "grid", "ratio", "best"]
FigureUnit = Literal["GB/s", "of peak", "ns", "µs"]


@dataclass(frozen=True)
class StudyPlace:
    """Where the source measured. `devices` are the source's names; "near a" is the CPU nearest to device a.

    `rank` numbers the classes of direct links between GPUs, 1 is the widest. On a machine without the
    source's class, the class of the same rank represents it; None: no other class does.

    `ranks` is the number of ranks of a collective or an application, which have a GPU each; `devices` are
    then those of the first one.
    """

    name: str
    devices: tuple[str, ...]
    meaning: str
    rank: int | None = None
    model: str = ""  # of the system, if not the study's first
    #: `packed` or `spread`: use the same number of GPUs of any machine in that order, each with the host;
    #: '': fixed.
    order: str = ""
    ranks: int = 0  # 0: a place of single devices


@dataclass(frozen=True)
class Ends:
    """The buffers of a line with device letters: `a:device`, or `c:pageable@a`."""

    source: str
    destination: str
    executor: str
    second_source: str | None = None

    @property
    def letters(self) -> frozenset[str]:
        """The device letters used."""
        buffers = [text for text in (self.source, self.destination, self.second_source) if text]
        named = {text.partition(":")[0] for text in buffers}
        named |= {text.rpartition("@")[2] for text in buffers if "@" in text}
        return frozenset({*named, self.executor})

    def flow(self, devices: Sequence[str]) -> Flow:
        """Returns the flow at a place; `devices` has at least one device per letter."""
        named = dict(zip(LETTERS, devices, strict=False))

        def buffer(text: str) -> Buffer:
            letter, _, rest = text.partition(":")
            memory, _, toucher = rest.partition("@")
            device, first = named[letter], named[toucher] if toucher else None
            return Buffer(device, memory, None if first == device else first)

        second = buffer(self.second_source) if self.second_source else None
        return Flow(buffer(self.source), buffer(self.destination), named[self.executor], second)


@dataclass(frozen=True)
class StudyLine:
    """A method of the source, expressed as cases. The first of `ends` is the source's; the others replace it
    if a runtime lacks that memory.
    """

    name: str
    says: str  # what the source did
    interface: str
    ends: tuple[Ends, ...]
    pattern: str = "unidirectional"
    cache: str = "cold"
    environment: Mapping[str, str] = field(default_factory=dict)
    #: By name; a list has the values of cases of different sizes.
    options: Mapping[str, Any] = field(default_factory=dict)
    #: Options of the cases that represent these in runs without them; None: none do.
    earlier_options: Mapping[str, Any] | None = None
    together: bool = False  # all GPUs of the place concurrently, each with its nearest host, both ways
    #: `per-direction`: report one direction where the interface counts reads and writes;
    #: `half-round-trip`: of a ping-pong.
    count: str = ""
    submits: bool = False  # the time is the host's time to enqueue an operation, not its duration
    published: tuple[Mapping[str, str], ...] = ({},)  # how published values name it, if not by `ends`
    note: str = ""  # deviations of this reproduction
    cell: tuple[str, ...] = ()  # names of its source and destination in a grid; empty: in none
    #: The line that represents this one on a simulated machine, where its interface cannot run; '': none.
    simulated_by: str = ""
    otherwise: str = ""  # the line that represents this one in runs without its interface; '': none
    #: The CPU next to the GPU represents the place's: the call names no NUMA domain.
    nearest_host: bool = False

    @property
    def of_all_ranks(self) -> bool:
        """Whether all ranks of a place take part: collectives and applications."""
        return self.pattern in OF_ALL_RANKS

    def fits(self, place: StudyPlace) -> bool:
        """Whether the place has a device for every letter, and ranks if the line takes them."""
        if self.of_all_ranks != bool(place.ranks):
            return False
        return all(ends.letters <= set(LETTERS[: len(place.devices)]) for ends in self.ends)


@dataclass(frozen=True)
class Quotient:
    """A speed-up that the source gives: the time of line `of` over that of line `to`."""

    name: str
    of: str
    to: str
    published: tuple[float, float] | None  # both ends of a range, equal for one number
    locator: str = ""


@dataclass(frozen=True)
class Contest:
    """A row of a map of best interfaces: which line has the highest bandwidth, or the lowest time."""

    name: str
    lines: tuple[str, ...]
    place: str
    unit: str


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
    size_bytes: int | None  # of tables; None: the largest available, 0: the smallest
    note: str = ""
    ratios: tuple[Quotient, ...] = ()  # of kind `ratio`
    contests: tuple[Contest, ...] = ()  # of kind `best`
    drawing: Drawing = field(default_factory=lambda: Drawing("matrix"))


@dataclass(frozen=True)
class ClaimCheck:
    """A check of a claim: the keys of its kind, as in the file.

    Kind `any` has only `readings`: alternative interpretations of the sentence, of which one must hold.
    """

    kind: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""  # how the sentence is interpreted
    readings: tuple[ClaimCheck, ...] = ()

    def leaves(self) -> Iterator[ClaimCheck]:
        """Yields the check itself, or its readings."""
        for reading in self.readings:
            yield from reading.leaves()
        if not self.readings:
            yield self


@dataclass(frozen=True)
class PublishedClaim:
    """A statement of a source; all its checks must hold.

    Has either `quote`, the source's exact sentence, or `says`, the statement in our words.
    """

    id: str
    locator: str
    checks: tuple[ClaimCheck, ...]
    quote: str = ""
    says: str = ""
    note: str = ""
    #: The model of the system that the sentence is about; it is tested only on such GPUs. '': the study's
    #: first, and the claim is tested on any machine.
    machine: str = ""
    #: Where the source says otherwise, and what: values that contradict the claim agree with that.
    at_odds_with: str = ""
    #: Which document of the hardware's maker says otherwise, and what: such values agree with that.
    corrected_by: str = ""

    @property
    def text(self) -> str:
        """The statement as displayed; quotations in quotation marks."""
        inner = self.quote.replace("“", "‘").replace("”", "’")
        return f"“{inner}”" if self.quote else self.says

    def leaves(self) -> Iterator[ClaimCheck]:
        """Yields all checks, with readings individually."""
        for check in self.checks:
            yield from check.leaves()


@dataclass(frozen=True)
class Study:
    """A published work in reproducible form."""

    key: str
    title: str
    authors: str
    year: int
    address: str
    about: str
    sources: tuple[str, ...]  # keys in published.csv and in machine models, this work first
    models: tuple[str, ...]  # of the systems it was measured on
    statistic: str
    ambient: tuple[str, ...]  # variables that the source set for every process, relevant or not
    timing: str  # how the source timed
    defects: tuple[str, ...]  # known mistakes and contradictions in the source
    differences: tuple[str, ...]  # deviations of this reproduction
    places: Mapping[str, StudyPlace]
    lines: Mapping[str, StudyLine]
    figures: tuple[Figure, ...]
    claims: tuple[PublishedClaim, ...]
    values: tuple[PublishedValue, ...]
    suite: Suite
    folder: str = ""  # of a study that is not built in
