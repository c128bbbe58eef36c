"""Recorded results in the text that other programs write: read back by the importers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from byteways.cases.case import Case
from byteways.machine.model import Topology
from byteways.record.record import Record

_NCCL_TESTS = {
    "allreduce": ("all_reduce_perf", "sum"),
    "allgather": ("all_gather_perf", "none"),
    "reduce-scatter": ("reduce_scatter_perf", "sum"),
    "alltoall": ("alltoall_perf", "none"),
}
#: What nvbandwidth copies (its default), and the nearest size that runs have.
_LARGE = range(2**28, 2**30 + 1)


def texts_of(records: Iterable[Record], topology: Topology) -> Iterator[tuple[str, str]]:
    """Yields the name of a program and what it would have written of a run's results."""
    usable = [record for record in records if record.bandwidth_bytes_per_s and not record.beyond_limit]
    cases = [(record, Case.from_json(record.definition)) for record in usable]
    plain = [(record, case) for record, case in cases if not case.options and not case.environment]
    for text in _matrices(plain, topology):
        yield "nvbandwidth", text
    for text in _collectives(plain, topology):
        yield "nccl-tests", text
    for text in _messages(plain):
        yield "osu_bw", text


def _gpus(topology: Topology) -> list[str]:
    return [device.model for device in topology.devices if device.kind == "gpu"]


def _matrices(plain: list[tuple[Record, Case]], topology: Topology) -> Iterator[str]:
    """Yields copies and kernels between GPUs of a large size, each GPU writing and each reading."""
    for interface, mover in (("copy", "ce"), ("kernel", "sm")):
        for access in ("write", "read"):
            cells: dict[tuple[int, int], float] = {}
            for record, case in plain:
                flow = case.flows[0]
                ends = flow.source.device, flow.destination.device
                between = all(end.startswith("gpu") for end in ends) and ends[0] != ends[1]
                devices = {flow.source.memory, flow.destination.memory} == {"device"}
                if (case.interface, case.pattern, case.access) != (interface, "unidirectional", access):
                    continue
                if between and devices and case.size_bytes in _LARGE and record.bandwidth_bytes_per_s:
                    row, column = ends if access == "write" else ends[::-1]
                    cells[int(row[3:]), int(column[3:])] = record.bandwidth_bytes_per_s / 1e9
            if cells:
                yield _matrix(f"device_to_device_memcpy_{access}_{mover}", cells, _gpus(topology))


def _matrix(test: str, cells: dict[tuple[int, int], float], gpus: list[str]) -> str:
    lines = ["nvbandwidth Version: v0.8"]
    lines += [f"Device {at}: {model} (00000000:{at + 16:02x}:00)" for at, model in enumerate(gpus)]
    mover = test[-2:].upper()
    arrow = "<-" if "_write_" in test else "->"
    lines += ["", f"Running {test}.", f"memcpy {mover} GPU(row) {arrow} GPU(column) bandwidth (GB/s)"]
    numbers = range(len(gpus))
    lines.append("  " + "".join(f"{column:10}" for column in numbers))
    for row in numbers:
        texts = (f"{cells[row, column]:.2f}" if (row, column) in cells else "N/A" for column in numbers)
        lines.append(f"{row:2}" + "".join(f"{text:>10}" for text in texts))
    return "\n".join([*lines, "", f"SUM {test} {sum(cells.values()):.2f}", ""])


def _collectives(plain: list[tuple[Record, Case]], topology: Topology) -> Iterator[str]:
    rows: defaultdict[tuple[str, int], dict[int, tuple[float, float]]] = defaultdict(dict)
    for record, case in plain:
        if case.interface == "xccl" and case.pattern in _NCCL_TESTS and record.other_count:
            rates = float(record.other_count["bytes_per_s"]), record.bandwidth_bytes_per_s or 0.0
            rows[case.pattern, len(case.members)][case.size_bytes] = rates
    for (pattern, ranks), sizes in rows.items():
        name, reduction = _NCCL_TESTS[pattern]
        lines = [f"# Collective test starting: {name}", f"# nThread 1 nGpus {ranks}", "#", "# Using devices"]
        lines += [
            f"#  Rank {at:2} Group  0 Pid  {4200 + at} on  node-a device {at:2} [0000:{at:02x}:00] {model}"
            for at, model in enumerate(_gpus(topology)[:ranks])
        ]
        half = "    time   algbw   busbw  #wrong"
        lines.append("#       size         count      type   redop    root " + half * 2)
        lines.append(
            "#        (B)    (elements)                           " + "    (us)  (GB/s)  (GB/s)       " * 2
        )
        for size, (algorithm, bus) in sorted(sizes.items()):
            half = f" {1e6 * size / algorithm:9.2f} {algorithm / 1e9:7.2f} {bus / 1e9:7.2f} {0:6}"
            lines.append(f" {size:11} {size // 4:13} {'float':>9} {reduction:>7} {-1:7}" + half * 2)
        yield "\n".join([*lines, "# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 1", ""])


def _messages(plain: list[tuple[Record, Case]]) -> Iterator[str]:
    rows: dict[int, float] = {}
    for record, case in plain:
        ends = {case.flows[0].source.memory, case.flows[0].destination.memory}
        if (case.interface, case.pattern) == ("mpi", "unidirectional") and ends == {"device"}:
            rows[case.size_bytes] = (record.bandwidth_bytes_per_s or 0.0) / 1e6
    if rows:
        lines = [f"{size:<10}{rate:18.2f}" for size, rate in sorted(rows.items())]
        begin = [
            "# OSU MPI-CUDA Bandwidth Test v7.2",
            "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)",
        ]
        yield "\n".join([*begin, "# Size      Bandwidth (MB/s)", *lines, ""])
