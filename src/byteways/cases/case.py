"""A case: interface, pattern, flows, size, cache, options, process environment. Pure data.

A case is the same on every machine: its `case_id` is a hash of its definition, not of where it ran.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import Any

from byteways.base.text import Sentence
from byteways.cases.applications import OF_XCCL
from byteways.cases.case_path import path_of, places
from byteways.cases.interface_rows import BARRIER, UCX
from byteways.cases.interfaces import APPLICATIONS, COLLECTIVES, INTERFACES, MULTI_PAIR
from byteways.cases.options import LAUNCH, TRANSPORT

#: Patterns in which all ranks take part.
OF_ALL_RANKS = (*COLLECTIVES, MULTI_PAIR, BARRIER, *APPLICATIONS)
PATTERNS = (
    *("unidirectional", "bidirectional", "fan-out", "fan-in", "fan-bidirectional", "two-pairs", "ring"),
    "host-and-ring",
    *("bisection", "all-pairs", "transfers", "interference"),
    *OF_ALL_RANKS,
)
CACHES = ("cold", "warm")

#: A host's name: letters, digits, dots and hyphens (RFC 1123), and underscores, which some sites use.
HOST_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_BUFFER = re.compile(
    rf"^(?:(?P<host>{HOST_NAME}):|(?P<rank>\d+)/)?(?P<device>[a-z]+\d+):(?P<memory>[a-z-]+)"
    r"(?:@(?P<first_touch>[a-z]+\d+))?$"
)


@dataclass(frozen=True, order=True)
class Buffer:
    """device + memory + first touch, written `gpu0:device` or `cpu0:pageable@gpu1`.

    With several processes, the rank of the owner comes first: `1/gpu1:device`. With several hosts, the host
    does: `node7:gpu1:device`; its rank then follows from its place in the case, and is not written.
    """

    device: str
    memory: str
    first_touch: str | None = None  # None: the owning device
    rank: int | None = None  # None: there is only one process
    host: str | None = None  # None: there is only one host

    @classmethod
    @lru_cache(maxsize=4096)  # a run has thousands of cases of few buffers
    def parse(cls, text: str) -> Buffer:
        """Parses the text. Raises ValueError if it is not a buffer."""
        match = _BUFFER.match(text)
        if match is None:
            raise ValueError(f"'{text}' is not a buffer; write device:memory or device:memory@first-touch")
        rank = None if match["rank"] is None else int(match["rank"])
        return cls(match["device"], match["memory"], match["first_touch"], rank, match["host"])

    def __str__(self) -> str:
        touched = f"@{self.first_touch}" if self.first_touch else ""
        return f"{self.place}:{self.memory}{touched}"

    @property
    def place(self) -> str:
        """`gpu0`, `1/gpu1` for rank 1, or `node7:gpu1`."""
        if self.host is not None:
            return f"{self.host}:{self.device}"
        return self.device if self.rank is None else f"{self.rank}/{self.device}"


@dataclass(frozen=True)
class Flow:
    """One stream of bytes of a case. For a pointer chase, source and destination are the same buffer.

    `interface`, `options` and `size_bytes` are overrides for a background flow; None and empty inherit from
    the case.

    For a collective, source and destination are the buffers of the first rank; `others` has (send buffer,
    receive buffer) of the other ranks in order.
    """

    source: Buffer
    destination: Buffer
    executor: str
    second_source: Buffer | None = None  # for interfaces that read two arrays; None: next to the first
    partner: str | None = None  # for interfaces with a responding device
    interface: str | None = None
    options: Mapping[str, int | str | bool] = field(default_factory=dict, hash=False)
    size_bytes: int | None = None
    others: tuple[tuple[Buffer, Buffer], ...] = ()

    @property
    def path(self) -> str:
        if self.partner is not None:
            return f"{self.executor}<>{self.partner}"
        if self.others:
            return places([source for source, _ in self.pairs])
        return f"{self.source.place}>{self.destination.place}"

    @property
    def pairs(self) -> tuple[tuple[Buffer, Buffer], ...]:
        """(send buffer, receive buffer) of every rank of a collective."""
        return ((self.source, self.destination), *self.others)

    @property
    def ranks(self) -> tuple[int, ...]:
        """Ranks that take part; empty for a single process."""
        ends = (end for pair in self.pairs for end in pair)
        return tuple(dict.fromkeys(end.rank for end in ends if end.rank is not None))

    @property
    def sources(self) -> tuple[Buffer, ...]:
        return (self.source,) if self.second_source is None else (self.source, self.second_source)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Sources, then the destination; for a collective those of every rank in rank order."""
        further = (end for pair in self.others for end in pair)
        return (*self.sources, self.destination, *further)

    @cached_property
    def devices(self) -> tuple[str, ...]:
        """Executor, partner and owners of buffers, each once."""
        partner = (self.partner,) if self.partner else ()
        return tuple(dict.fromkeys((self.executor, *partner, *(end.device for end in self.buffers))))

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        """Hosts that take part, in order of appearance; empty within one host."""
        ends = (end for pair in self.pairs for end in pair)
        return tuple(dict.fromkeys(end.host for end in ends if end.host is not None))

    def to_json(self) -> dict[str, Any]:
        """Returns JSON data without absent fields, so that new fields do not change existing case ids."""
        data: dict[str, Any] = {
            "source": str(self.source),
            "destination": str(self.destination),
            "executor": self.executor,
        }
        if self.second_source is not None:
            data["second_source"] = str(self.second_source)
        if self.partner is not None:
            data["partner"] = self.partner
        if self.interface is not None:
            data["interface"] = self.interface
        if self.options:
            data["options"] = dict(sorted(self.options.items()))
        if self.size_bytes is not None:
            data["size_bytes"] = self.size_bytes
        if self.others:
            data["others"] = [[str(source), str(destination)] for source, destination in self.others]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Flow:
        if len(data) == 3:
            return _plain_flow(data["source"], data["destination"], data["executor"])
        second = data.get("second_source")
        return cls(
            Buffer.parse(data["source"]),
            Buffer.parse(data["destination"]),
            data["executor"],
            None if second is None else Buffer.parse(second),
            data.get("partner"),
            data.get("interface"),
            dict(data.get("options", {})),
            data.get("size_bytes"),
            tuple((Buffer.parse(source), Buffer.parse(to)) for source, to in data.get("others", ())),
        )


@lru_cache(maxsize=4096)
def _plain_flow(source: str, destination: str, executor: str) -> Flow:
    """Returns a flow without anything else: most are, and a run has few different ones."""
    return Flow(Buffer.parse(source), Buffer.parse(destination), executor)


@dataclass(frozen=True)
class Case:
    """One thing to measure. `interference` measures `flows[0]` only, other patterns all flows."""

    interface: str
    pattern: str
    flows: tuple[Flow, ...]
    size_bytes: int
    cache: str = "cold"
    options: Mapping[str, int | str | bool] = field(default_factory=dict)  # blocks, threads, stages, …
    environment: Mapping[str, str] = field(default_factory=dict)  # fixed per process: HSA_ENABLE_SDMA …

    def identity(self) -> dict[str, Any]:
        """Returns the definition as canonical JSON data; inverse of from_json."""
        return {
            "interface": self.interface,
            "pattern": self.pattern,
            "flows": [flow.to_json() for flow in self.flows],
            "size_bytes": self.size_bytes,
            "cache": self.cache,
            "options": dict(sorted(self.options.items())),
            "environment": dict(sorted(self.environment.items())),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Case:
        return cls(
            data["interface"],
            data["pattern"],
            with_ranks_of_hosts(tuple(Flow.from_json(flow) for flow in data["flows"])),
            data["size_bytes"],
            data["cache"],
            dict(data["options"]),
            dict(data["environment"]),
        )

    @cached_property
    def case_id(self) -> str:
        """Returns 16 hexadecimal digits of the SHA-256 of identity()."""
        text = json.dumps(self.identity(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def category(self) -> str:
        return INTERFACES[self.interface].category

    @property
    def worker(self) -> str:
        """The worker kind that measures it (plan.interfaces.Interface.worker); `threads` where ranks are no
        processes of their own.
        """
        return INTERFACES[self.interface].worker if self.launch == LAUNCH.default else "threads"

    @property
    def launch(self) -> str:
        """The launch mode between ranks: `process`, `thread` or `single`."""
        return str(self.options.get(LAUNCH.name, LAUNCH.default))

    @property
    def transport(self) -> str:
        """How an application pattern carries its messages; empty for anything else."""
        chosen = TRANSPORT in INTERFACES[self.interface].options
        return str(self.options.get(TRANSPORT.name, TRANSPORT.default)) if chosen else ""

    @property
    def by_xccl(self) -> bool:
        """Whether NCCL or RCCL carries it, alone or beside MPI."""
        return INTERFACES[self.interface].library == "xccl" or self.transport in OF_XCCL

    @property
    def by_mpi(self) -> bool:
        """Whether MPI carries its data, or the small messages among them, as they are in memory."""
        return INTERFACES[self.interface].between == "mpi" and self.transport in ("", "mpi", "hybrid")

    @property
    def by_ucx(self) -> bool:
        """Whether UCX carries it, without MPI."""
        return INTERFACES[self.interface].between == UCX

    def interface_of(self, flow: Flow) -> str:
        return flow.interface or self.interface

    def buffers_of(self, flow: Flow) -> tuple[Buffer, ...]:
        """Returns sources, destination, or the single buffer; the second source defaults to the first."""
        row = INTERFACES[self.interface_of(flow)]
        if row.buffers == "one":
            return (flow.source,)
        if flow.second_source is None and row.sources > 1:
            return (flow.source, flow.source, flow.destination)
        return flow.buffers

    def arrays_of(self, flow: Flow) -> tuple[tuple[Buffer, ...], tuple[Buffer, ...]]:
        """Returns (buffers read, buffers written) of a flow."""
        arrays, row = self.buffers_of(flow), INTERFACES[self.interface_of(flow)]
        if row.scattered and row.sources and row.writes:  # an update reads what it writes
            return arrays, arrays
        return (arrays[:-1], arrays[-1:]) if row.writes else (arrays, ())

    def options_of(self, flow: Flow) -> Mapping[str, int | str | bool]:
        """Returns a flow's options: its own if it has its own interface, otherwise the case's."""
        return self.options if flow.interface is None else flow.options

    def size_of(self, flow: Flow) -> int:
        """Returns the bytes of one operation of the flow, or its working set."""
        return self.size_bytes if flow.size_bytes is None else flow.size_bytes

    def cache_of(self, flow: Flow) -> str:
        """Returns the cache state; background flows with their own interface are always cold."""
        return self.cache if flow.interface is None else "cold"

    @property
    def path(self) -> str:
        """The devices as connected by the pattern (case_path.py)."""
        return path_of(self, of_all_ranks=self.pattern in OF_ALL_RANKS)

    @property
    def ranks(self) -> tuple[int, ...]:
        """Ranks that take part, ascending; empty for a single process."""
        return tuple(sorted(self.members))

    @property
    def members(self) -> tuple[int, ...]:
        """Ranks that take part, in the order of the case's communicator."""
        return tuple(dict.fromkeys(rank for flow in self.flows for rank in flow.ranks))

    @property
    def devices_of_ranks(self) -> dict[int, str]:
        """The device of each rank that takes part."""
        ends = (end for flow in self.flows for pair in flow.pairs for end in pair)
        return {end.rank: end.device for end in ends if end.rank is not None}

    @property
    def hosts(self) -> tuple[str, ...]:
        """Hosts that take part, in order of appearance; empty within one host."""
        return hosts_of(self.flows)

    @property
    def hosts_of_ranks(self) -> tuple[str, ...]:
        """The host of each rank; empty within one host. Hosts may have several ranks."""
        ends = (end for flow in self.flows for pair in flow.pairs for end in pair)
        found = {end.rank: end.host for end in ends if end.rank is not None and end.host is not None}
        return tuple(found[rank] for rank in sorted(found))

    @property
    def executors(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(flow.executor for flow in self.flows))

    @property
    def devices(self) -> tuple[str, ...]:
        """All distinct devices: executors, partners and owners of buffers."""
        return tuple(dict.fromkeys(device for flow in self.flows for device in flow.devices))

    @property
    def access(self) -> str:
        """How the executor of the first flow accesses memory: `read`, `write`, `local`, `remote`."""
        flow = self.flows[0]
        owns_source, owns_destination = (
            flow.executor == flow.source.device,
            flow.executor == flow.destination.device,
        )
        if flow.source.host != flow.destination.host:
            return "write"  # the sender's host executes
        if owns_source and owns_destination:
            return "local"
        if owns_destination:
            return "read"
        return "write" if owns_source else "remote"


#: The fields that identify a case; a record has them, too.
IDENTITY_FIELDS = tuple(one.name for one in fields(Case))


def hosts_of(flows: Iterable[Flow]) -> tuple[str, ...]:
    """Returns the hosts of flows in order of appearance; empty within one host."""
    return tuple(dict.fromkeys(host for flow in flows for host in flow.hosts))


def on_hosts(flow: Flow, name: Callable[[Buffer], Buffer]) -> Flow:
    """Returns a flow with `name` applied to the buffers of all its ranks."""
    others = tuple((name(source), name(destination)) for source, destination in flow.others)
    return replace(flow, source=name(flow.source), destination=name(flow.destination), others=others)


def with_ranks_of_hosts(flows: tuple[Flow, ...]) -> tuple[Flow, ...]:
    """Returns the flows with their ranks: of messages one for each host, in order of appearance; of an
    operation of all ranks one for each pair of buffers. Flows within one host are unchanged.
    """
    hosts = hosts_of(flows)
    if not hosts:
        return flows
    if any(flow.others for flow in flows):
        return tuple(_numbered(flow) for flow in flows)

    ranks = {host: rank for rank, host in enumerate(hosts)}

    def placed(end: Buffer) -> Buffer:
        return end if end.host is None else replace(end, rank=ranks[end.host])

    return tuple(on_hosts(flow, placed) for flow in flows)


def _numbered(flow: Flow) -> Flow:
    """Returns the flow of an operation of all ranks with the number of each."""
    (source, destination), *others = (
        (replace(sends, rank=rank), replace(receives, rank=rank))
        for rank, (sends, receives) in enumerate(flow.pairs)
    )
    return replace(flow, source=source, destination=destination, others=tuple(others))


@dataclass(frozen=True)
class PlannedCase:
    """A case in a run's plan: to be measured in round `round`, or skipped with a reason."""

    case: Case
    sweep: str  # name of the sweep that requested it
    round: int
    budget_s: float  # sampling time of this round
    precision: float
    reason: Sentence | None = None  # why it is skipped or left out; None: it will run
    estimated_s: float = 0.0  # estimated wall time, including allocation
    spare: bool = False  # left out for lack of time only; runs if time remains
    rounds: int = 1  # total rounds of the case; required samples are counted over all of them
    reason_code: str | None = None  # of `reason`, for programs (plan.reasons, legality.rules)
    priority: int = 5  # of its sweep: what is left out first where a run turns out slower than planned

    @property
    def key(self) -> tuple[str, int]:
        return self.case.case_id, self.round
