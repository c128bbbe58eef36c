"""A parsed machine model: facts by key path, each with its source. Pure data."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from msgspec import Meta, Struct

#: Value of a fact; a tuple for a list of numbers or names.
FactValue = str | int | float | bool | tuple[str | int | float, ...]

#: Kinds of sources outside the table of sources.
ASSUMED_SOURCE, FITTED_SOURCE = "assumed", "fitted"
#: What a number is that a source states.
NOMINAL = "nominal"
#: Key of the seed of the noise, and the largest one that a run may choose: what a JSON number holds.
NOISE_SEED, MOST_NOISE_SEED = "seed", 2**53 - 1


@dataclass(frozen=True)
class SourcedValue:
    """A value with its source; names need no source (empty)."""

    value: FactValue
    source: str = ""

    @property
    def source_key(self) -> str:
        """The key in the table of sources, or `assumed`; for a fitted number, the source it was fitted to."""
        first, _, rest = self.source.partition(":")
        return rest.split(":")[0].strip() if first == FITTED_SOURCE else first.strip()

    @property
    def assumed(self) -> bool:
        return self.source.startswith(f"{ASSUMED_SOURCE}:")

    @property
    def fitted(self) -> bool:
        return self.source.startswith(f"{FITTED_SOURCE}:")

    @property
    def kind(self) -> str:
        """`assumed`, `fitted` or `nominal`; empty for names."""
        if not self.source:
            return ""
        return ASSUMED_SOURCE if self.assumed else FITTED_SOURCE if self.fitted else NOMINAL


class Source(Struct, frozen=True, forbid_unknown_fields=True):
    """A publication, a data sheet or one of our runs."""

    title: Annotated[str, Meta(min_length=1)]
    address: Annotated[str, Meta(min_length=1)]


class CategoryError(Struct, frozen=True, forbid_unknown_fields=True):
    """Relative errors of the model over the held-out values of one category (cases/error_categories.py)."""

    values: Annotated[int, Meta(ge=1, le=10**18)]
    median_error: Annotated[float, Meta(ge=0.0, le=1e18)]
    p90_error: Annotated[float, Meta(ge=0.0, le=1e18)]


class Fit(Struct, frozen=True, forbid_unknown_fields=True):
    """Accuracy of the model, from validation/model_error.py.

    Errors are relative, over held-out bandwidths of sizes from 1 MiB; `held_out_values` is their number.
    """

    # Bounds of floats are floats: typing takes 0 and 0.0 for equal, and the schema has the one it saw first.
    fitted_values: Annotated[int, Meta(ge=0, le=10**18)]
    held_out_values: Annotated[int, Meta(ge=0, le=10**18)]
    median_error: Annotated[float, Meta(ge=0.0, le=1e18)] | None = None  # None: no values were held out
    p90_error: Annotated[float, Meta(ge=0.0, le=1e18)] | None = None
    categories: dict[str, CategoryError] = {}


@dataclass(frozen=True)
class MachineModel:
    """A checked machine model. Keys of `facts` are paths in the file: `gpu.count`, `links.0.width`."""

    name: str
    title: str
    text: str  # the complete file
    facts: Mapping[str, SourcedValue]
    sources: Mapping[str, Source]
    fit: Fit | None  # None: not evaluated

    @property
    def digest(self) -> str:
        """16 hexadecimal digits of a hash of the file."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    @property
    def vendor(self) -> str:
        return self.text_of("vendor")

    @property
    def devices(self) -> tuple[str, ...]:
        """`cpu0` … `gpu7`."""
        cpus = [f"cpu{index}" for index in range(self.whole("cpu.domains"))]
        return (*cpus, *(f"gpu{index}" for index in range(self.whole("gpu.count"))))

    @property
    def hosts(self) -> tuple[str, ...]:
        """`host0`, `host1`; empty for one host."""
        count = self.whole("hosts")
        return tuple(f"host{index}" for index in range(count)) if count > 1 else ()

    def each(self, key: str) -> int:
        """Returns a count of devices of one host: `gpu.count`, `cpu.domains`."""
        return self.whole(key) // max(1, self.whole("hosts"))

    def __contains__(self, key: str) -> bool:
        return key in self.facts

    def count(self, array: str) -> int:
        """Returns the number of tables in an array of tables: `links`, `cpu.caches`."""
        start = f"{array}."
        indices = {key[len(start) :].split(".")[0] for key in self.facts if key.startswith(start)}
        return len(indices)

    @cached_property
    def _below(self) -> Mapping[str, tuple[str, ...]]:
        """Keys of sourced numbers by key, and by table those in it; every simulated record asks."""
        found: dict[str, list[str]] = {}
        for key, fact in self.facts.items():
            parts = key.split(".") if fact.source else ()
            for end in range(len(parts)):
                found.setdefault(".".join(parts[: end + 1]), []).append(key)
        return {prefix: tuple(keys) for prefix, keys in found.items()}

    def keys_below(self, prefix: str) -> tuple[str, ...]:
        """Returns the sourced keys of a table, or the key itself; what a model leaves out has no source."""
        return self._below.get(prefix, ())

    @cached_property
    def fastest_links(self) -> float:
        """Bytes/s of all links of one device together, in one direction, of the device with the most."""
        sums: dict[str, float] = {}
        for index, ends in self.bundles:
            for end in ends & {*self.devices}:
                sums[end] = sums.get(end, 0.0) + self.number(f"links.{index}.peak_bytes_per_s")
        return max(sums.values(), default=0.0)

    @cached_property
    def fastest_core(self) -> float:
        """Bytes/s that one core copies at most."""
        caches = [f"cpu.caches.{index}.copy_bytes_per_s" for index in range(self.count("cpu.caches"))]
        return max(map(self.number, ("cpu.core_copy_bytes_per_s", "cpu.core_stream_bytes_per_s", *caches)))

    @cached_property
    def bundles(self) -> tuple[tuple[int, frozenset[str]], ...]:
        """Index in `links` and the two ends of every bundle of links."""
        return tuple(
            (index, frozenset(pair.split("-")))
            for index in range(self.count("links"))
            for pair in self.texts(f"links.{index}.pairs")
        )

    @cached_property
    def _forwarding(self) -> Mapping[str, frozenset[str]]:
        """By GPU all that xGMI connects with it: GPUs forward over such links."""
        found: dict[str, frozenset[str]] = {}
        for index, ends in self.bundles:
            if self.text_of(f"links.{index}.kind") == "xgmi" and all(end.startswith("gpu") for end in ends):
                group = ends.union(*(found.get(end, ends) for end in ends))
                found.update(dict.fromkeys(group, group))
        return found

    def forwarding_with(self, device: str) -> frozenset[str]:
        """Returns the GPUs that a GPU reaches over xGMI, itself included; empty if there are none."""
        return self._forwarding.get(device, frozenset())

    def text_of(self, key: str) -> str:
        return str(self.facts[key].value)

    def number(self, key: str) -> float:
        value = self.facts[key].value
        assert isinstance(value, (int, float))
        return float(value)

    def whole(self, key: str) -> int:
        return int(self.number(key))

    def truth(self, key: str) -> bool:
        return bool(self.facts[key].value)

    def wholes(self, key: str) -> tuple[int, ...]:
        """Returns a list; empty if it is optional and missing."""
        if not isinstance(self.facts[key].value, tuple):
            return ()
        return tuple(int(item) for item in self._items(key))

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(str(item) for item in self._items(key))

    def _items(self, key: str) -> Sequence[str | int | float]:
        value = self.facts[key].value
        assert isinstance(value, tuple)
        return value
