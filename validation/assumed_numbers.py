"""Whether a record lists `assumed` wherever an assumed number of its machine model decides the value.

    python validation/assumed_numbers.py [MACHINE ...] [--only KEY]

Each number of a model is changed by CHANGE, whatever its source, since another model may assume it. The cases
of assumed_numbers.toml are measured again on the simulated machine, without noise. A case whose time moves by
more than MOVED must rest on the number: were it the only assumed one of the model, the record would list
`assumed`. Prints a row for each model. Exit status 1: a case does not list what moves it.

A case is measured with all numbers changed at once that it does not rest on. Times grow and rates shrink, so
that no change hides another. If its time moves, the numbers are halved until single ones are left. Those that
have no slower side (thresholds, counts, parts) are changed in a measurement of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from byteways.cases.case import Case, PlannedCase
from byteways.cases.options import RANK_ORDER
from byteways.measuring.conduct.dry_run import dry_plan
from byteways.measuring.conduct.simulation import Simulation
from byteways.measuring.shared.launchers import job_for
from byteways.measuring.shared.options import RunOptions
from byteways.measuring.shared.request import CaseRequest
from byteways.measuring.shared.simulator import simulator_path
from byteways.models import MachineModel, load, names, sheet
from byteways.models.basis import CHANGE, MOVED, numbers_behind, rests_on
from byteways.models.model import ASSUMED_SOURCE, FITTED_SOURCE, FactValue, SourcedValue
from byteways.plan.ranks import BY_DEVICE
from byteways.plan.suite import load as load_suite

SUITE = Path(__file__).with_suffix(".toml")
#: Keys and tables that no time follows from: the noise is set to 0, and discovery alone reads the others.
WITHOUT_TIME = ("noise", "seed", "runtime_version", "hosts", "topology", "features", "gpu.count")
#: Counts that only change by whole devices, which is another machine.
OF_ANOTHER_MACHINE = ("cpu.domains", "gpu.domains", "memory_bytes")


@dataclass(frozen=True)
class Missing:
    """A case that a number moves and that does not list it."""

    key: str
    case: Case

    def __str__(self) -> str:
        case = self.case
        options = " ".join(f"{name}={value}" for name, value in case.options.items())
        memories = dict.fromkeys(end.memory for flow in case.flows for end in case.buffers_of(flow))
        where = f"{case.path} ({', '.join(memories)}) by {','.join(case.executors)}, {case.cache}"
        return f"{self.key}: {case.interface} {case.pattern} {where}, {case.size_bytes} B {options}"


@dataclass(frozen=True)
class Machine:
    """A model with the planned cases of the suite."""

    model: MachineModel
    requests: tuple[CaseRequest, ...]

    @classmethod
    def of(cls, model: MachineModel, suite: str = str(SUITE)) -> Machine:
        simulation, options = Simulation(model), RunOptions(rounds=1)
        planned = dry_plan(load_suite(suite), options, simulation=simulation).plan.cases
        running = [one for one in planned if one.reason is None and not one.case.environment]
        topology = simulation.topology()
        job = job_for(running, options, topology, simulated=True)

        def request(one: PlannedCase) -> CaseRequest:
            made = CaseRequest.of(one, one.budget_s)
            if not one.case.ranks or job is None:
                return made
            order = str(one.case.options.get(RANK_ORDER.name, BY_DEVICE))
            kinds = {kind: len(topology.names(kind)) for kind in ("cpu", "gpu")} if topology.hosts else {}
            cores = tuple(rank.cores for rank in job.layout(topology, order))
            return replace(made, cores=cores, devices_of_host=kinds)

        requests = sorted(map(request, running), key=lambda one: not one.case.ranks)
        return cls(model, tuple(requests))

    @cached_property
    def times(self) -> list[float | None]:
        """Median times of the model as it is, by request."""
        return self.times_with({}, range(len(self.requests)))

    def times_with(self, numbers: Mapping[str, float], indices: Sequence[int]) -> list[float | None]:
        """Median times of requests in ns with other numbers; None: not measured. In a process of its own,
        because a process simulates one machine.
        """
        facts = {
            **self.model.facts,
            "noise": SourcedValue(0.0, "assumed: none"),
            **{key: replace(self.model.facts[key], value=value) for key, value in numbers.items()},
        }
        text = sheet(replace(self.model, facts=facts))
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            try:
                answer = json.dumps(measured(text, [self.requests[index] for index in indices]))
                os.write(writer, answer.encode())
            except BaseException:
                traceback.print_exc()
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            answer = pipe.read()
        os.waitpid(child, 0)
        if not answer:
            raise RuntimeError(f"{self.model.name} was not simulated with {dict(numbers)}")
        times: list[float | None] = json.loads(answer)
        return times

    def moved_by(self, keys: Sequence[str], indices: Sequence[int]) -> list[int]:
        """Returns the requests of these whose time moves if these numbers change together."""
        times = self.times_with({key: changed(key, self.model.facts[key].value) for key in keys}, indices)
        return [index for index, now in zip(indices, times, strict=True) if self._moved(index, now) > MOVED]

    def _moved(self, index: int, now: float | None) -> float:
        was = self.times[index]
        return abs(now / was - 1) if was and now else 0.0

    def missing(self, keys: Sequence[str], indices: Sequence[int]) -> list[Missing]:
        """Returns which of these numbers move which of these requests, each by itself."""
        if not keys or not indices or not (moved := self.moved_by(keys, indices)):
            return []
        if len(keys) == 1:
            return [Missing(keys[0], self.requests[index].case) for index in moved]
        half = len(keys) // 2
        return [*self.missing(keys[:half], moved), *self.missing(keys[half:], moved)]

    def unlisted(self, keys: Sequence[str]) -> list[tuple[tuple[str, ...], list[int]]]:
        """Returns the groups of numbers to change together, each with the measured requests whose records
        would not list `assumed` if these numbers alone were.
        """
        always = only_assumed(self.model, "")
        groups: dict[tuple[str, ...], list[int]] = {}
        for index, request in enumerate(self.requests):
            if self.times[index] and ASSUMED_SOURCE not in rests_on(request.case, always):
                listed = numbers_behind(request.case, self.model)
                silent = [key for key in keys if key not in listed]
                for has_side in (True, False):
                    group = tuple(key for key in silent if (slower(key) != 0) is has_side)
                    groups.setdefault(group, []).append(index)
        return [*groups.items()]


def slower(key: str) -> int:
    """Whether operations become slower if the number grows (1) or shrinks (-1); 0: it is neither's."""
    if key.endswith("_ns"):
        return 1
    return -1 if key.endswith(("_per_s", "efficiency")) else 0


def changed(key: str, value: FactValue) -> float:
    """Returns a number changed by CHANGE: to its slower side, or upwards."""
    assert isinstance(value, (int, float))
    new = value * (1 + (slower(key) or 1) * CHANGE)
    return round(new) if isinstance(value, int) else new


def only_assumed(model: MachineModel, key: str) -> MachineModel:
    """The model with every number fitted but this one; with an empty key, every number."""
    sources = {True: f"{ASSUMED_SOURCE}: a guess", False: f"{FITTED_SOURCE}: elsewhere"}
    facts = {
        name: replace(fact, source=sources[name == key]) if fact.source else fact
        for name, fact in model.facts.items()
    }
    return replace(model, facts=facts)


def measured(machine: str, requests: Sequence[CaseRequest]) -> list[float | None]:
    """Median times in ns on the machine of a sheet, as a worker measures them."""
    from byteways.measuring.work.answer import guarded
    from byteways.measuring.work.measuring import NativeMeasurer
    from byteways.measuring.work.simulated_ranks import SimulatedRanks

    ranks = SimulatedRanks(simulator_path(), machine)
    times = [_median(guarded(partial(ranks.measure, one)).outcome) for one in requests if one.case.ranks]
    native = NativeMeasurer.open(machine)
    for request in requests[len(times) :]:
        native.restart(request.key)
        times.append(_median(guarded(partial(native.measure, request)).outcome))
    return times


def _median(outcome: Mapping[str, object]) -> float | None:
    times = outcome.get("time_ns")
    return float(times["median"]) if outcome["status"] == "measured" and isinstance(times, dict) else None


def numbers_of(model: MachineModel) -> list[str]:
    """Keys of the numbers to change."""
    return [
        key
        for key, fact in model.facts.items()
        if fact.source
        and isinstance(fact.value, (int, float))
        and not isinstance(fact.value, bool)
        and fact.value
        and not key.startswith(WITHOUT_TIME)
        and not key.endswith(OF_ANOTHER_MACHINE)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("machine", nargs="*", help="names of models; default: all")
    parser.add_argument("--only", default="", help="only keys that begin like this")
    asked = parser.parse_args()
    found: dict[str, list[Missing]] = {}
    print(f"{'model':18} {'numbers':>8} {'cases':>6} {'not listed':>11} {'seconds':>8}")
    for name in asked.machine or names():
        start = time.monotonic()
        machine = Machine.of(load(name))
        keys = [key for key in numbers_of(machine.model) if key.startswith(asked.only)]
        cases = sum(time_ns is not None for time_ns in machine.times)
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            groups = pool.map(machine.missing, *zip(*machine.unlisted(keys), strict=True))
            found[name] = [one for group in groups for one in group]
        took = time.monotonic() - start
        print(f"{name:18} {len(keys):8} {cases:6} {len(found[name]):11} {took:8.0f}", flush=True)
    for name, missing in found.items():
        for one in missing:
            print(f"{name}: {one}")
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
