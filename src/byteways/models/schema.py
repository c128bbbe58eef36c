"""Keys of a machine model with their types, and which are optional.

native/simulator/model.hpp defines the meaning of each key; those of `topology` are for discovery only. The
types that a file is read with, and the JSON Schema, are generated from this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, defstruct

from byteways.base.quantities import QUANTITIES
from byteways.machine.link_rates import PCIE_GENERATIONS
from byteways.models.model import Fit, Source

MODEL_VENDORS = ("amd", "nvidia")
MODEL_LINK_KINDS = ("xgmi", "nvlink", "pcie", "numa", "nic", "network")


@dataclass(frozen=True)
class ModelKey:
    """One key. Everything except names is written `[value, "source"]`.

    `neutral` is the default of an optional key; None: the key is required.
    """

    kind: str  # "text", "texts" (names, without a source), "number", "whole", "truth", "wholes"
    neutral: int | float | bool | None = None
    words: tuple[str, ...] = ()
    least: float = 0.0
    most: float = 1e18

    @property
    def sourced(self) -> bool:
        return self.kind not in ("text", "texts")


#: What follows a value in the file.
SourceText = Annotated[
    str,
    Meta(
        description="a key of `sources` and the place there, `assumed: why`, "
        "or `fitted: ` and a key of `sources`",
        extra_json_schema={"pattern": "^[a-z0-9-]+: .+"},
    ),
]
_WITHOUT_SOURCE = Meta(
    extra={
        "problem": "without a source",
        "hint": 'write [value, "source_key: where"], or with "assumed: why" or "fitted: source_key"',
    }
)

#: Limits per machine: above any real one, but still fast to simulate. Cores per domain and total (check.py).
MOST_MODEL_GPUS, MOST_MODEL_DOMAINS, MOST_MODEL_CORES = 256, 64, 4096

_NUMBER, _WHOLE, _TRUTH = ModelKey("number"), ModelKey("whole"), ModelKey("truth")
_POSITIVE = ModelKey("number", least=1e-9)
#: A part of a nominal rate: nothing is faster than its link or memory.
_SHARE = ModelKey("number", least=1e-6, most=1.0)
_SHARE_OR_NONE = ModelKey("number", 0.0, most=1.0)
#: Bytes/s: less than a megabyte a second is probably meant as GB/s, and would take years of virtual time.
_MOST_SPEED = QUANTITIES["bandwidth"].most
_SPEED = ModelKey("number", least=1e6, most=_MOST_SPEED)
_SPEED_OR_NONE = ModelKey("number", 0.0, most=_MOST_SPEED)
_OPERATIONS = ModelKey("number", least=1e6)

#: Keys of every kind of rate.
_RATE = {
    "fixed_ns": _NUMBER,
    "efficiency": _SHARE,
    "cap_bytes_per_s": _SPEED_OR_NONE,
    "duplex_efficiency": _SHARE_OR_NONE,
}


def _rate_names(interface: str) -> tuple[str, ...]:
    return (
        f"{interface}-local",
        *(f"{interface}-{w}-{a}" for w, a in product(("peer", "host"), ("read", "write"))),
    )


#: Rates that a model must have, by vendor, and optional ones.
_ENGINE = _rate_names("engine")
NEEDED_RATES: Mapping[str, tuple[str, ...]] = {
    "amd": (*_rate_names("kernel"), *_ENGINE[1:], *_rate_names("blit")),
    "nvidia": (*_rate_names("kernel"), *_ENGINE[1:], "blit-local"),
}
KNOWN_RATES = tuple(name for one in ("kernel", "bulk", "engine", "blit") for name in _rate_names(one))

#: Keys by table; "" is the top level. Tables in REPEATED_TABLES may be repeated.
MODEL_TABLES: Mapping[str, Mapping[str, ModelKey]] = {
    "": {
        "name": ModelKey("text"),
        "title": ModelKey("text"),
        "vendor": ModelKey("text", words=MODEL_VENDORS),
        "runtime_version": _WHOLE,
        "hosts": ModelKey("whole", 0, most=64),
        "network_latency_ns": ModelKey("number", 0.0),
        "network_efficiency": _SHARE_OR_NONE,
        "noise": _NUMBER,
        "seed": _WHOLE,
    },
    "features": {
        "pageable_access": _TRUTH,
        "host_access": _TRUTH,
        "managed_memory": _TRUTH,
        "gpu_domains": ModelKey("truth", False),
    },
    "gpu": {
        "count": ModelKey("whole", least=1, most=MOST_MODEL_GPUS),
        "name": ModelKey("text"),
        "architecture": ModelKey("text"),
        "multiprocessors": ModelKey("whole", least=1),
        "multiply_adds_per_s": _OPERATIONS,
        "memory_bytes": ModelKey("whole", least=1),
        "cache_bytes": ModelKey("whole", least=1),
        "memory_bytes_per_s": _SPEED,
        "copy_engines": ModelKey("whole", least=1),
        "peer_copy_engines": ModelKey("whole", least=1),
        "hardware_queues": ModelKey("whole", least=1),
        "resident_threads": ModelKey("whole", 0),
        "kernel_overlap": ModelKey("number", 0.0),
        "queue_depth": ModelKey("whole", least=1),
        "thread_bytes_per_s": _SPEED_OR_NONE,
        "bulk_block_bytes_per_s": _SPEED_OR_NONE,
        "domains": ModelKey("wholes"),
        "pci_addresses": ModelKey("texts"),
        "l1_bytes": ModelKey("whole", 0),
        "l1_latency_ns": ModelKey("number", 0.0),
        "l2_bytes": ModelKey("whole", 0),
        "l2_latency_ns": ModelKey("number", 0.0),
        "cache_latency_ns": _POSITIVE,
        "memory_latency_ns": _POSITIVE,
        "memory_wait_ns": _NUMBER,
        "peer_latency_ns": _POSITIVE,
        "peer_span_bytes": ModelKey("whole", 0),
        "peer_far_latency_ns": ModelKey("number", 0.0),
        "hop_latency_ns": _NUMBER,
        "host_latency_ns": _POSITIVE,
        "routed_efficiency": _SHARE,
    },
    "cpu": {
        "domains": ModelKey("whole", least=1, most=MOST_MODEL_DOMAINS),
        "cores": ModelKey("whole", least=1, most=MOST_MODEL_CORES),
        "name": ModelKey("text"),
        "architecture": ModelKey("text"),
        "memory_bytes": ModelKey("whole", least=1),
        "read_bytes_per_s": _SPEED,
        "write_bytes_per_s": _SPEED,
        "core_copy_bytes_per_s": _SPEED,
        "core_stream_bytes_per_s": _SPEED,
        "call_ns": _NUMBER,
        "team_ns": _NUMBER,
        "core_multiply_adds_per_s": _OPERATIONS,
        "core_remote_bytes_per_s": _SPEED,
        "gpu_touched_part": ModelKey("number", 0.0, most=1.0),
        "memory_latency_ns": _POSITIVE,
        "remote_latency_ns": _POSITIVE,
        "memory_wait_ns": ModelKey("number", 0.0),
    },
    "cpu.caches": {"bytes": ModelKey("whole", least=1), "latency_ns": _POSITIVE, "copy_bytes_per_s": _SPEED},
    "links": {
        "kind": ModelKey("text", words=MODEL_LINK_KINDS),
        "pairs": ModelKey("texts"),
        "width": ModelKey("whole", least=1),
        "peak_bytes_per_s": _SPEED,
        "duplex_bytes_per_s": _SPEED_OR_NONE,
        "switch_blocking": ModelKey("number", 0.0),
    },
    "managed": {
        "kernels_migrate": _TRUTH,
        "source_copies": ModelKey("truth", False),
        "remote_efficiency": _SHARE_OR_NONE,
        "fault_ns": _NUMBER,
        "fault_peer_ns": ModelKey("number", 0.0),
        "to_gpu_bytes_per_s": _SPEED,
        "to_host_bytes_per_s": _SPEED,
        "peer_bytes_per_s": _SPEED,
        "prefetch_ns": _NUMBER,
        "prefetch_peer_ns": ModelKey("number", 0.0),
        "prefetch_to_gpu_bytes_per_s": _SPEED,
        "prefetch_to_host_bytes_per_s": _SPEED,
        "prefetch_peer_bytes_per_s": _SPEED,
    },
    "staging.to": {"up_to_bytes": ModelKey("whole", 0), "fixed_ns": _NUMBER, "bytes_per_s": _SPEED},
    "staging.from": {"up_to_bytes": ModelKey("whole", 0), "fixed_ns": _NUMBER, "bytes_per_s": _SPEED},
    "calls": {
        "enqueue_ns": _NUMBER,
        "synchronize_ns": _NUMBER,
        "query_ns": _NUMBER,
        "clock_ns": _NUMBER,
        "event_ns": _NUMBER,
        "launch_ns": _NUMBER,
        "empty_kernel_ns": ModelKey("number", 0.0),
        "batches_overlap": ModelKey("truth", False),
        "batch_host_ns": ModelKey("number", 0.0),
        "batch_peer_ns": ModelKey("number", 0.0),
    },
    "memory": {
        "call_ns": _NUMBER,
        "page_ns": _NUMBER,
        "lock_page_ns": _NUMBER,
        "granule_ns": _NUMBER,
        "release_part": _NUMBER,
    },
    "mpi": {
        "eager_bytes": _WHOLE,
        "send_ns": _NUMBER,
        "receive_ns": _NUMBER,
        "handshake_ns": _NUMBER,
        "ipc_from_bytes": ModelKey("whole", 0),
        "core_device_bytes_per_s": _SPEED_OR_NONE,
        "ipc_core_bytes": ModelKey("whole", 0),
        "ipc_core_ns": ModelKey("number", 0.0),
        "copy_ns": ModelKey("number", 0.0),
        "engine_ns": ModelKey("number", 0.0),
        "engine_system_part": ModelKey("number", 0.0, most=1.0),
        "registration_ns": _NUMBER,
        "registers_once": _TRUTH,
        "staging_bytes": ModelKey("whole", least=4096),
        "gpu_aware": _TRUTH,
        "ipc_by_engine": _TRUTH,
        "core_reductions": ModelKey("truth", False),
        "shared_cell_bytes": ModelKey("whole", 0),
        "kernel_reductions_from_bytes": ModelKey("whole", 0),
    },
    "xccl": {
        "channels": ModelKey("whole", least=1),
        "ll_step_ns": _NUMBER,
        "simple_step_ns": _NUMBER,
        "ll128_step_ns": ModelKey("number", 0.0),
        "call_ns": _NUMBER,
        "further_launch_part": ModelKey("number", 1.0, most=1.0),
        "further_call_ns": ModelKey("number", 0.0),
        "ll_efficiency": _SHARE,
        "simple_efficiency": _SHARE,
    },
    **{f"rates.{name}": _RATE for name in KNOWN_RATES},
    "topology": {
        "memory_clock_mhz": ModelKey("whole", least=1),
        "memory_bus_bits": ModelKey("whole", least=1),
        "pcie_generation": ModelKey("whole", 0, most=max(PCIE_GENERATIONS)),
        "pcie_width": ModelKey("whole", 0, most=32),
        "virtual": ModelKey("truth", False),
        "cache_sharing": ModelKey("wholes"),
        # Of a GPU: of its compute units, and of the node. 0: not shown.
        "dies": ModelKey("whole", 0),
        "compute_partitions": ModelKey("wholes", 0),
        "clock_mhz": ModelKey("whole", 0),
        "power_limit_watts": ModelKey("whole", 0),
        "l1_kib": ModelKey("whole", 0),
        "l1_instruction_kib": ModelKey("whole", 0),
        "l1_instruction_sharing": ModelKey("whole", 0),
        "cache_line_bytes": ModelKey("whole", 0),
    },
}
#: Tables that a model may lack: no message of MPI is simulated then (measuring/work/simulated_ranks.py).
OPTIONAL_TABLES = ("mpi",)
REPEATED_TABLES = ("cpu.caches", "links", "staging.to", "staging.from")
#: Tables for readers or for discovery, not for the simulator.
OFF_THE_SHEET = ("title", "sources", "fit", "topology")


def needed_tables(vendor: str) -> tuple[str, ...]:
    """Returns the tables that a model of this vendor must have."""
    rates = tuple(f"rates.{name}" for name in NEEDED_RATES[vendor])
    always = (name for name in MODEL_TABLES if not name.startswith("rates.") and name not in OPTIONAL_TABLES)
    return (*always, *rates)


def children(name: str) -> tuple[str, ...]:
    """Returns the names of the tables directly inside a table."""
    start = f"{name}." if name else ""
    inner = (table[len(start) :] for table in MODEL_TABLES if table.startswith(start) and table != name)
    return tuple(dict.fromkeys(table.split(".")[0] for table in inner if table))


@cache
def _type_of(key: ModelKey) -> Any:
    if key.kind == "text":
        return Literal[key.words] if key.words else str
    if key.kind == "texts":
        return Annotated[list[str], Meta(min_length=1)]
    value: Any = {
        "truth": bool,
        "whole": Annotated[int, Meta(ge=int(key.least), le=int(key.most))],
        "wholes": Annotated[list[Annotated[int, Meta(ge=0)]], Meta(min_length=1)],
        "number": Annotated[float, Meta(ge=key.least, le=key.most)],
    }[key.kind]
    return Annotated[tuple[value, SourceText], _WITHOUT_SOURCE]


def _fields_of(rows: Mapping[str, ModelKey]) -> list[Any]:
    """Returns the fields of a table; an optional one is UNSET by default."""
    return [(key, _type_of(row), *([] if row.neutral is None else [UNSET])) for key, row in rows.items()]


@cache
def _rate_struct() -> Any:
    """Returns the Struct that all rates share."""
    return defstruct("rate", _fields_of(_RATE), kw_only=True, forbid_unknown_fields=True)


def _struct_of(name: str, *more: tuple[str, Any, Any] | tuple[str, Any]) -> Any:
    """Returns the Struct of a table with those inside it; an optional table is UNSET by default."""
    fields = _fields_of(MODEL_TABLES.get(name, {}))
    for child in children(name):
        path = f"{name}.{child}" if name else child
        inner = _rate_struct() if name == "rates" else _struct_of(path)
        table = Annotated[list[inner], Meta(min_length=1)] if path in REPEATED_TABLES else inner  # type: ignore[valid-type]
        fields.append((child, table, *([UNSET] if name == "rates" or path in OPTIONAL_TABLES else [])))
    names = {key[0].replace("-", "_"): key[0] for key in [*fields, *more]}
    named = [(name, *entry[1:]) for name, entry in zip(names, [*fields, *more], strict=True)]
    return defstruct(name or "machine", named, kw_only=True, forbid_unknown_fields=True, rename=names)


@cache
def machine_struct() -> Any:
    """Returns the Struct of a whole file."""
    return _struct_of("", ("sources", dict[str, Source]), ("fit", Fit, UNSET))
