"""A suite: the keys of its file, and its sweeps with their places in the file. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from msgspec import Meta, Struct, field, structs

from byteways.base.toml_reading import TextList, TomlPlace
from byteways.plan.suite_values import (
    Buffers,
    CacheWords,
    End,
    EndGlobs,
    Executors,
    GpuWords,
    InterfaceWords,
    OptionAxis,
    PatternWords,
    Sizes,
    TransferSets,
    When,
)

T = TypeVar("T", bound="SweepTable")
#: Least rounds for a ranking: two runs differ by more than the interval of one round.
LEAST_RANKED = 3
#: Rounds of a case at most, further ones included: of ten, the median would scatter by no more than a
#: twentieth less.
MOST_ROUNDS = 9

Precision = Annotated[float, Meta(ge=1e-4, le=0.5)]
CaseBudget = Annotated[float, Meta(ge=0.001, le=3600)]
Pairs = Literal["all", "near", "per-link-class", "near-per-link-class", "first"]
#: Choices of pairs whose host memory is that nearest to the GPU.
NEAR = ("near", "near-per-link-class")
SameDevice = Literal["only", "never", "also"]
#: Option values by name.
SweepOptions = Mapping[str, OptionAxis]
OptionAxes = Annotated[SweepOptions, Meta(examples=["{ blocks = [8, 16] }"])]
Variables = Annotated[Mapping[str, TextList], Meta(examples=['{ HSA_ENABLE_SDMA = "0" }'])]


class SweepTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of a sweep: axes of which every value is combined with every other.

    An interface with one buffer has `buffer` in place of source and destination. Background flows use
    `beside_interface` and `beside_size`; if empty, they equal the measured flow. Higher `priority` is kept
    longer when time is short.
    """

    name: str
    interfaces: InterfaceWords = field(name="interface")
    patterns: PatternWords = field(name="pattern", default=PatternWords(("unidirectional",)))
    sources: Buffers = field(name="source", default=Buffers())
    destinations: Buffers = field(name="destination", default=Buffers())
    buffers: Buffers = field(name="buffer", default=Buffers())
    executors: Executors = field(name="executor", default=Executors(("both",)))
    sizes: Sizes = field(name="size", default=Sizes())
    counts: Sizes = field(name="count", default=Sizes())  # of blocks, in place of their size in all
    caches: CacheWords = field(name="cache", default=CacheWords(("cold",)))
    options: OptionAxes = {}
    environment: Variables = {}
    pairs: Pairs = "all"
    gpus: GpuWords = GpuWords()
    transfers: TransferSets = TransferSets()
    halves: Literal["worst", "all"] = "worst"  # of a bisection
    groups: Literal["all", "powers", "every"] = "all"  # of ranks: all; 2, 4, 8 … and all; 2, 3, 4 … and all
    same_device: SameDevice | None = None  # None: also, but never where pairs run concurrently
    second_sources: Buffers = field(name="second_source", default=Buffers())
    arrays: Literal["ends", "source"] = "ends"  # whose memory has the arrays of a STREAM kernel
    partners: EndGlobs = field(name="partner", default=EndGlobs(("destination",)))
    cores: Literal["any", "pairs"] = "any"  # pairs: every pair of cores is a case
    when: When = When("always")
    beside_sources: Buffers = field(name="beside_source", default=Buffers())
    beside_destinations: Buffers = field(name="beside_destination", default=Buffers())
    beside_interfaces: InterfaceWords = field(name="beside_interface", default=InterfaceWords())
    beside_executor: End = End("source")
    beside_sizes: Sizes = field(name="beside_size", default=Sizes())
    beside_options: OptionAxes = {}
    precision: Precision | None = None  # None: the suite's
    case_budget_s: CaseBudget | None = None
    priority: Annotated[float, Meta(ge=0.0, le=9.0)] = 5

    def replaced(self: T, **changes: Any) -> T:
        """Returns the sweep with other values in some fields."""
        return structs.replace(self, **changes)


class Sweep(SweepTable, frozen=True, kw_only=True):
    """A checked sweep, with the defaults of suite and interface. `sources` has the buffer of a chase."""

    precision: float
    case_budget_s: float
    priority: int
    origin: TomlPlace  # for errors that depend on the machine
    devices: tuple[str, ...] = ()  # that globs mean on a large machine (device_sample.py); empty: all

    @property
    def nearest_alone(self) -> bool:
        """Whether host memory is that of the NUMA domain nearest to the GPU."""
        return self.pairs in NEAR

    @property
    def one_of_each_class(self) -> bool:
        """Whether it has one pair for each class of links."""
        return self.pairs in ("per-link-class", "near-per-link-class")


class SuiteFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of a suite; each sweep is read with its own place."""

    name: str
    title: str
    rounds: Annotated[float, Meta(ge=1, le=100)] = LEAST_RANKED
    precision: Precision = 0.01
    case_budget_s: CaseBudget = 1.0
    budget_s: Annotated[float, Meta(ge=1, le=86400)] | None = None
    self_pairs: bool = False
    sweep: Any = None


@dataclass(frozen=True)
class Suite:
    """A parsed suite: `text` is the complete file, for the manifest.

    `case_budget_s` is the sampling time of a case over all its rounds.
    """

    name: str
    title: str
    text: str
    rounds: int
    precision: float
    case_budget_s: float
    budget_s: float | None  # time budget of the whole run; None: unlimited
    sweeps: tuple[Sweep, ...]
    self_pairs: bool = False  # messages also between two ranks on one GPU, as with --self
