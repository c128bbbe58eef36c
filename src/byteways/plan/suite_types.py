"""What a suite holds once it is read: sweeps, and where each stands in its file. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from byteways.plan.toml_lines import Place, line_of

#: Rounds below which nothing can be ranked: two runs differ by more than the interval of one round is.
LEAST_RANKED = 3


@dataclass(frozen=True)
class BufferGlob:
    """A pattern for buffers, `gpu*:device` or `cpu*:pageable@gpu*`; any part may be a glob."""

    device: str
    memory: str
    first_touch: str | None
    text: str


@dataclass(frozen=True)
class Origin:
    """The file a sweep was read from, for messages about what only the machine at hand can tell is wrong."""

    file: str
    lines: Mapping[Place, int] = field(default_factory=dict)
    place: Place = ()

    def at(self, key: str) -> str:
        """`my.toml:12`, the line of `key` or of its sweep."""
        line = line_of(self.lines, (*self.place, key))
        return f"{self.file}:{line}" if line else self.file


@dataclass(frozen=True)
class Sweep:
    """A product of cases: every value of every axis with every other.

    `executors` holds "source", "destination", "both" or globs of devices. A chase walks `sources` alone and
    has no `destinations`. `second_sources` and `partners` are of the interfaces that have them. What disturbs
    does so in the ways of `beside_interfaces`, with `beside_sizes`; none: as the measured flow is done. Axes
    of options and environment are swept as well. Higher `priority` is kept longer when time is short.
    """

    name: str
    interfaces: tuple[str, ...]
    patterns: tuple[str, ...]
    sources: tuple[BufferGlob, ...]
    destinations: tuple[BufferGlob, ...]
    executors: tuple[str, ...]
    sizes: tuple[int, ...]
    caches: tuple[str, ...]
    options: Mapping[str, tuple[int | str | bool, ...]]
    environment: Mapping[str, tuple[str, ...]]
    pairs: str
    gpus: tuple[str, ...]  # which GPUs take part in a fan; none: all
    halves: str  # "worst" or "all" halves of a bisection
    groups: str  # of ranks in a collective: "all", or "powers": 2, 4, 8 … and all
    same_device: str | None  # None: "also" for unidirectional and chase, "never" for the rest
    beside_sources: tuple[BufferGlob, ...]
    beside_destinations: tuple[BufferGlob, ...]
    beside_interfaces: tuple[str, ...]
    beside_executor: str  # "source", "destination" or a device
    beside_sizes: tuple[int, ...]
    beside_options: Mapping[str, tuple[int | str | bool, ...]]
    second_sources: tuple[BufferGlob, ...]
    cores: str  # "any", or "pairs" of cores, each
    partners: tuple[str, ...]  # "source", "destination" or globs of devices
    when: str
    precision: float
    case_budget_s: float
    priority: int
    origin: Origin


@dataclass(frozen=True)
class Suite:
    """A suite as read: `text` is the file word for word, for the manifest.

    A case has `case_budget_s` of sampling time over all its rounds together.
    """

    name: str
    title: str
    text: str
    rounds: int
    precision: float
    case_budget_s: float
    budget_s: float | None  # total time the whole is planned to fit in; None: as long as it takes
    sweeps: tuple[Sweep, ...]
