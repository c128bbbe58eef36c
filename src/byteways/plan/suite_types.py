"""A parsed suite: sweeps with their locations in the file. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from byteways.plan.toml_lines import TomlPath, line_of
from byteways.plan.transfer_sets import TransferSet

#: Least rounds for a ranking: two runs differ by more than the interval of one round.
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
    """The file and line of a sweep, for errors that depend on the machine."""

    file: str
    lines: Mapping[TomlPath, int] = field(default_factory=dict)
    place: TomlPath = ()

    def at(self, key: str) -> str:
        """Formats `my.toml:12`, the line of `key` or of its sweep."""
        line = line_of(self.lines, (*self.place, key))
        return f"{self.file}:{line}" if line else self.file


@dataclass(frozen=True)
class Sweep:
    """A product of cases: every value of every axis with every other.

    `executors` holds "source", "destination", "both" or device globs. A chase has only `sources`, no
    `destinations`. `second_sources` and `partners` apply to interfaces that have them. Background flows use
    `beside_interfaces` and `beside_sizes`; if empty, they equal the measured flow. Options and environment
    are axes, too. Higher `priority` is kept longer when time is short.
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
    gpus: tuple[str, ...]  # which GPUs take part in a fan; empty: all
    transfers: tuple[TransferSet, ...]  # of pattern "transfers": what runs concurrently
    halves: str  # "worst" or "all" halves of a bisection
    groups: str  # of ranks in a collective: "all"; "powers": 2, 4, 8 … and all; "every": 2, 3, 4 … and all
    same_device: str | None  # None: "also" for unidirectional and chase, "never" for the rest
    beside_sources: tuple[BufferGlob, ...]
    beside_destinations: tuple[BufferGlob, ...]
    beside_interfaces: tuple[str, ...]
    beside_executor: str  # "source", "destination" or a device
    beside_sizes: tuple[int, ...]
    beside_options: Mapping[str, tuple[int | str | bool, ...]]
    second_sources: tuple[BufferGlob, ...]
    arrays: str  # "ends", or "source": the source's memory has all arrays of a STREAM kernel
    cores: str  # "any", or "pairs" for every pair of cores
    partners: tuple[str, ...]  # "source", "destination" or globs of devices
    when: str
    precision: float
    case_budget_s: float
    priority: int
    origin: Origin
    devices: tuple[str, ...] = ()  # that globs mean on a large machine (device_sample.py); empty: all


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
