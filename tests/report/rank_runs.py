"""Synthetic runs between ranks: messages, round trips, collectives, each with what a run would record."""

from __future__ import annotations

from byteways.cases.case import Case, Flow
from byteways.measuring.work.figures import of_all_ranks
from byteways.record.evidence import EvidenceFields
from tests.changed import replace
from tests.report import run_builder
from tests.report.run_builder import KIB, MIB, Builder

HOST = "cpu0:pageable"
#: The GPU of each rank's own number.
DEVICE = "gpu*:device"
EVIDENCE = "windows of {} messages, each acknowledged"
#: What a record of interface `xccl` has instead.
BY_XCCL = "NCCL 2.28.3: send and receive between two GPUs, one process each"


def ends(source: int, destination: int, place: str = HOST) -> tuple[str, str, str]:
    return f"{source}/{place}", f"{destination}/{place}", place.partition(":")[0]


def send(build: Builder, size: int, rate: float, *, window: int = 64, **more: object) -> None:
    """Messages from rank 0 to rank 1, with the window that the record tells."""
    flows = more.pop("flows", [ends(0, 1)])
    build.measure("mpi", flows, rate, size=size, cache="warm", **more)  # type: ignore[arg-type]
    told = EVIDENCE.format(window).replace("1 messages", "1 message")
    last = build.records[-build.rounds :]
    fields = EvidenceFields(window=window)
    build.records[-build.rounds :] = [
        replace(record, engine_evidence=told, evidence=fields) for record in last
    ]


def send_xccl(
    build: Builder, size: int, rate: float, between: tuple[int, int] = (0, 1), **more: object
) -> None:
    """Messages of NCCL from one rank's GPU to another's, each rank with the GPU of its number."""
    first, second = between
    flows = [(f"{first}/gpu{first}:device", f"{second}/gpu{second}:device", f"gpu{first}")]
    build.measure("xccl", flows, rate, size=size, **more)  # type: ignore[arg-type]
    told_by_xccl(build)


def told_by_xccl(build: Builder, evidence: str = BY_XCCL) -> None:
    """The last case was of that library."""
    last = build.records[-build.rounds :]
    said, colon, _ = evidence.partition(": ")
    fields = EvidenceFields(None, *said.split(" ")) if colon else None
    build.records[-build.rounds :] = [
        replace(record, engine_evidence=evidence, evidence=fields) for record in last
    ]


def both_ways(build: Builder, size: int, rate: float) -> None:
    flows = [ends(0, 1), ends(1, 0)]
    rates = {"0/cpu0>1/cpu0": rate / 2, "1/cpu0>0/cpu0": rate / 2}
    build.measure("mpi", flows, rates, size=size, cache="warm", pattern="bidirectional")


def trip(build: Builder, size: int, round_trip_ns: float) -> None:
    build.measure("mpi-ping-pong", [ends(0, 1)], 1.0, size=size, latency_ns=round_trip_ns, cache="warm")


def together(
    build: Builder,
    pattern: str,
    size: int,
    time_ns: float,
    ranks: int = 4,
    timing: str = "pipelined",
    interface: str = "",
    place: str = HOST,
    **more: str,
) -> None:
    """An operation of all ranks; the record has what the run would write. `more`: other options."""
    options = {**({} if timing == "pipelined" else {"timing": timing}), **more}
    interface = interface or ("mpi-barrier" if pattern == "barrier" else "mpi")
    flow, *further = (Flow.from_json(_own(rank, place)) for rank in range(ranks))
    flow = replace(flow, others=tuple((one.source, one.source) for one in further))
    case = Case(interface, pattern, (flow,), size, "warm", options)
    rate = size / time_ns
    build.measure(interface, [(HOST, HOST, "cpu0")], rate, size=size, cache="warm")
    for number in range(-build.rounds, 0):
        record = build.records[number]
        assert record.time_ns is not None
        fields = {
            "case_id": case.case_id,
            "pattern": pattern,
            "path": case.path,
            "executor": ",".join(case.executors),
            "access": case.access,
            "source": str(flow.source),
            "destination": str(flow.destination),
            "flows": [flow.to_json()],
            "options": options,
            "directions": None,
        }
        if pattern == "barrier":
            fields |= {"bandwidth_bytes_per_s": None, "latency_ns": record.time_ns.median, "counts": "call"}
        else:
            fields |= of_all_ranks(pattern, ranks, size / record.time_ns.median * 1e9)
        build.records[number] = replace(record, **fields)  # type: ignore[arg-type]
    if interface == "xccl":
        told_by_xccl(build, f"NCCL 2.28.3: {pattern} among {ranks} GPUs, one process each")


def _own(rank: int, place: str) -> dict[str, str]:
    own = place.replace("*", str(rank))
    return {"source": f"{rank}/{own}", "destination": f"{rank}/{own}", "executor": own.partition(":")[0]}


def sent() -> Builder:
    """Messages of two ranks and the plain copy of the same memory."""
    build = Builder(run_builder.topology(0))
    trip(build, 8, 840.0)
    trip(build, 4 * KIB, 2600.0)
    for size, rate, window in (
        (8, 0.02, 64),
        (4 * KIB, 3.0, 64),
        (64 * KIB, 5.0, 64),
        (MIB, 9.0, 64),
        (64 * MIB, 8.0, 1),
    ):
        send(build, size, rate, window=window)
    both_ways(build, MIB, 14.0)
    for size, rate in ((4 * KIB, 1.5), (64 * MIB, 8.0)):
        send(build, size, rate, window=1, options={"window": 1})
    build.measure("memcpy", [(HOST, HOST, "cpu0")], 12.0, size=64 * MIB, cache="warm")
    build.measure("memcpy", [(HOST, HOST, "cpu0")], 12.0, size=64 * MIB, cache="cold")
    return build


def of_all() -> Builder:
    """Collectives and a barrier of four ranks, by both timings."""
    build = Builder(run_builder.topology(0))
    for size, time_ns in ((8, 1200.0), (MIB, 400e3)):
        together(build, "allreduce", size, time_ns)
    together(build, "broadcast", MIB, 300e3)
    together(build, "allreduce", 8, 2500.0, timing="isolated")
    together(build, "barrier", 8, 900.0)
    return build
