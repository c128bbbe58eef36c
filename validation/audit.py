"""What `byteways audit` says of numbers whose truth is known: plausible ones, and planted mistakes.

    python validation/audit.py [--most N]

prints recorded bandwidths and times (examples) and published ones as other programs print them, with their
units, digits and counts, and audits them on the machine that they were measured on, and on the nominal
machine that their GPUs name. None may be impossible. Then it makes the mistakes that people make, each with
several programs and machines: the audit must name at least LEAST_NAMED of them with the right cause.

The exit status is 1 if a plausible number is impossible, or too few mistakes are named.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from audit_plants import Plant, plants
from audit_texts import texts_of
from byteways.cases.case import Case
from byteways.cases.interfaces import COLLECTIVES, counts_as_stream
from byteways.ext.audit.imported.reader import Found
from byteways.ext.audit.imported.scan import scan_text
from byteways.ext.audit.imported.value import ForeignValue, Hints, Operation, Unit
from byteways.ext.audit.judging.audit import ReadFile, audited
from byteways.ext.audit.judging.machine import machines_of
from byteways.ext.audit.judging.verdict import HIGH_NUMBER, IMPOSSIBLE_NUMBER, LOW_NUMBER, AuditedValue
from byteways.machine.model import Topology
from byteways.machine.nominal import NOMINAL_MACHINES, nominal_topology
from byteways.models.library import load as load_model
from byteways.models.topology import topology_of
from byteways.record.record import Record
from byteways.record.run_folder import RunFolder
from byteways.verdicts.checks.normal import Normal, read_normal
from published_values import foreign, load, machines, references

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))
from unpack_examples import EXAMPLES, fleet, unpack

#: Part of the planted mistakes that must be named with the right cause.
LEAST_NAMED = 0.95
#: Programs that print transfers within a process, and messages between ranks: unit, digits, statistic.
_OF_TRANSFERS = (
    ("nvbandwidth", Unit("GB/s"), 2, "median"),
    ("TransferBench", Unit("GB/s"), 3, "mean"),
    ("p2pBandwidthLatencyTest", Unit("GB/s"), 2, "mean"),
    ("bandwidthTest", Unit("GB/s"), 1, "mean"),
)
_OF_MESSAGES = (
    ("osu_bw", Unit("MB/s"), 2, "mean"),
    ("ucx_perftest", Unit("MiB/s", "MB/s"), 2, "mean"),
    ("IMB-MPI1", Unit("MB/s"), 2, "mean"),
)
#: Interfaces that have a counterpart in such programs.
_TRANSFERS = ("copy", "kernel", "kernel-bulk", "memcpy", "memcpy-mt", "memcpy-stream")


@dataclass(frozen=True)
class Tally:
    """What was said of plausible numbers."""

    name: str
    verdicts: Counter[str]
    impossible: tuple[AuditedValue, ...]
    bounded: int  # how many have a limit
    again: bool = False  # of numbers that were audited on another machine before


def printed(value: float, unit: Unit, digits: int) -> str:
    """Returns a number as a program prints it; with more digits where it would be zero."""
    text = f"{value / unit.factor:.{digits}f}"
    return text if float(text) > 0 else f"{value / unit.factor:.{digits + 4}f}"


def values_of(record: Record, turn: int) -> Iterator[ForeignValue]:
    """Yields what other programs print of a result; nothing if none measures such a case."""
    case = Case.from_json(record.definition)
    rate = record.bandwidth_bytes_per_s
    if rate is None or record.beyond_limit or case.hosts or {*case.options} - {"timing"}:
        return  # programs do not print options such as a number of blocks
    flow = case.flows[0]
    ends = str(flow.source), str(flow.destination)
    if case.pattern in COLLECTIVES and case.interface in ("xccl", "mpi"):
        yield from _collective(record, case)
    elif case.pattern not in ("unidirectional", "bidirectional"):
        return
    elif counts_as_stream(case.interface):
        if case.size_bytes >= 2**27:  # a program for memory asks for arrays beyond the caches
            operation = Operation(case.interface, case.pattern, *ends, flow.executor)
            unit = Unit("MB/s")
            text = printed(rate, unit, 3)
            args = ("extreme",)
            yield ForeignValue(
                1,
                "BabelStream",
                "MBytes/sec",
                text,
                unit,
                "max",
                "read+write",
                case.size_bytes,
                operation,
                args,
            )
    elif case.interface in _TRANSFERS or case.interface in ("mpi", "xccl"):
        programs = _OF_TRANSFERS if case.interface in _TRANSFERS else _OF_MESSAGES
        name, unit, digits, statistic = programs[turn % len(programs)]
        operation = Operation(case.interface, case.pattern, *ends, flow.executor)
        counts = record.counts
        if name.startswith("p2p") and flow.source.device == flow.destination.device:
            rate, counts = 2 * rate, "read+write"
        text = printed(rate, unit, digits)
        yield ForeignValue(1, name, unit.name, text, unit, statistic, counts, case.size_bytes, operation)


def _collective(record: Record, case: Case) -> Iterator[ForeignValue]:
    ranks = len(case.members)
    memory = case.flows[0].source.memory
    operation = Operation(case.interface, case.pattern, f"?:{memory}", f"?:{memory}", ranks=ranks)
    other = record.other_count
    unit = Unit("GB/s")
    name = f"{case.pattern}_perf"
    if record.bandwidth_bytes_per_s is None or other is None:
        return
    rates = {"bus": record.bandwidth_bytes_per_s, "algorithm": other["bytes_per_s"]}
    for counts, rate in rates.items():
        text = printed(rate, unit, 2)
        yield ForeignValue(1, name, counts, text, unit, "mean", counts, case.size_bytes, operation)
    time = Unit("us")
    text = printed(1e9 * case.size_bytes / rates["algorithm"], time, 2)
    yield ForeignValue(1, name, "time", text, time, "mean", "algorithm", case.size_bytes, operation)


def tally(
    name: str, values: Iterable[ForeignValue], topology: Topology, normal: Normal, *, again: bool = False
) -> Tally:
    """Audits numbers that were measured."""
    found = ReadFile(name, tuple(Found("validation", 1, [value]) for value in values))  # of no common table
    judgement = audited([found], topology, normal, machine=name)
    bad = tuple(one for one in judgement.values if one.verdict == IMPOSSIBLE_NUMBER)
    bounded = sum(one.bound is not None for one in judgement.values)
    return Tally(name, Counter(one.verdict for one in judgement.values), bad, bounded, again)


def as_texts(name: str, topology: Topology, records: list[Record], normal: Normal) -> Iterator[Tally]:
    """Yields what is said of a run's results after they were written as other programs do, and read."""
    for number, (program, text) in enumerate(texts_of(records, topology)):
        scan = scan_text(io.BytesIO(text.encode()))
        wrong = [*scan.mistakes, *(one for output in scan.outputs for one in output.mistakes)]
        if wrong or not scan.outputs:
            raise ValueError(f"the text of {program} is not read: {wrong}")
        judgement = audited([ReadFile(name, tuple(scan.outputs))], topology, normal, machine=name)
        bad = tuple(one for one in judgement.values if one.verdict == IMPOSSIBLE_NUMBER)
        verdicts = Counter(one.verdict for one in judgement.values)
        yield Tally(f"{name}, text {number} of {program}", verdicts, bad, 0, again=True)


def recorded() -> Iterator[tuple[str, Topology, list[Record]]]:
    """Yields all recorded runs of examples."""
    unpack()
    folders = [path.parent for path in sorted(EXAMPLES.rglob("run.json"))]
    for folder in [*folders, *fleet()]:
        run = RunFolder(folder)
        yield folder.parent.name + "/" + folder.name, run.topology, list(run.records)


def plausible(normal: Normal, most: int | None = None) -> Iterator[Tally]:
    """Yields what is said of recorded and published values; of at most so many runs."""
    for name, topology, records in islice(recorded(), most):
        values = [value for turn, record in enumerate(records) for value in values_of(record, turn)]
        yield tally(name, values, topology, normal)
        yield from as_texts(name, topology, records, normal)
        gpus = {int(gpu.name[3:]): gpu.model for gpu in topology.devices if gpu.kind == "gpu"}
        known = machines_of([Hints(gpus=gpus)])
        if len(known) == 1:
            yield tally(f"{name} on {known[0].name}", values, known[0].topology, normal, again=True)
    for name in machines():
        values = [one for one in map(foreign, load(name)) if one is not None]
        yield tally(f"published of {name}", values, topology_of(load_model(name)), normal)
    for name in NOMINAL_MACHINES:
        published = (foreign(value) for value in references() if value.machine == name)
        values = [one for one in published if one is not None]
        yield tally(f"published of {name}", values, nominal_topology(name), normal)


def named(plant: Plant, normal: Normal) -> AuditedValue:
    """Returns the verdict on a planted mistake."""
    found = ReadFile("planted", (Found("validation", 1, [plant.value]),))
    return audited([found], plant.topology, normal, machine=plant.machine).values[0]


def right(plant: Plant, judgement: AuditedValue) -> bool:
    """Whether a mistake is found, and its cause among those that fit."""
    causes = [cause.code for cause in judgement.causes]
    return judgement.verdict in (IMPOSSIBLE_NUMBER, HIGH_NUMBER, LOW_NUMBER) and plant.cause in causes


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--most", type=int, help="runs to read (default: all)")
    most = arguments.parse_args().most
    normal = read_normal(None)
    total: Counter[str] = Counter()
    numbers = bounded = 0
    bad: list[AuditedValue] = []
    for one in plausible(normal, most):
        total += one.verdicts
        bad += one.impossible
        if not one.again:
            numbers += sum(one.verdicts.values())
            bounded += one.bounded
        print(f"{one.name:58}{sum(one.verdicts.values()):7}{len(one.impossible):5} impossible")
    print(f"{numbers} plausible numbers, {bounded} with a limit; {sum(total.values())} verdicts:")
    print(f"  {dict(total.most_common())}; {len(bad)} impossible")
    for judgement in bad[:20]:
        print(f"  impossible: {judgement.value}\n    {judgement.bound}")
    wrong, every = [], plants(normal)
    for plant in every:
        judgement = named(plant, normal)
        if not right(plant, judgement):
            wrong.append(plant)
            causes = ", ".join(cause.code for cause in judgement.causes) or "none"
            print(
                f"  {plant.name}: {judgement.verdict}, {causes} instead of {plant.cause}; {judgement.counted}"
            )
    part = 1 - len(wrong) / len(every)
    print(f"{len(every)} planted mistakes: {len(every) - len(wrong)} named with the right cause ({part:.0%})")
    return int(bool(bad) or part < LEAST_NAMED)


if __name__ == "__main__":
    sys.exit(main())
