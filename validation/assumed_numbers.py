"""Whether a record lists `assumed` wherever an assumed number of its machine model decides the value.

    python validation/assumed_numbers.py [MACHINE ...] [--all] [--only KEY]

Each assumed number of a model is changed by CHANGE, one at a time, and the cases of assumed_numbers.toml are
measured again on the simulated machine, without noise. A case whose time moves by more than MOVED must list
`assumed` in its `rests_on`, also if that number were the only assumed one of the model. `--all` changes every
number, whatever its source, since another model may assume it. Exit status 1: a case does not list it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from byteways.plan.case import Case, PlannedCase
from byteways.plan.options import RANK_ORDER
from byteways.plan.ranks import BY_DEVICE
from byteways.plan.suite import load as load_suite
from byteways.run.conduct.dry_run import dry_plan
from byteways.run.conduct.simulation import Simulation
from byteways.run.shared.launchers import job_for
from byteways.run.shared.options import RunOptions
from byteways.run.shared.request import CaseRequest
from byteways.run.shared.simulator import simulator_path
from byteways.simulate import MachineModel, load, names, sheet
from byteways.simulate.basis import CHANGE, MOVED, rests_on
from byteways.simulate.model import ASSUMED_SOURCE, FITTED_SOURCE, SourcedValue

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
    moved: float  # relative change of its time

    def __str__(self) -> str:
        case = self.case
        options = " ".join(f"{name}={value}" for name, value in case.options.items())
        where = f"{case.interface} {case.pattern} {case.path} by {','.join(case.executors)} {case.cache}"
        return f"{100 * self.moved:+6.1f} %  {self.key}: {where}, {case.size_bytes} B {options}"


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

    def moved_by(self, key: str, indices: Sequence[int]) -> Iterator[Missing]:
        """Yields the requests of these whose time moves with the number."""
        if not indices:
            return
        fact = self.model.facts[key]
        assert isinstance(fact.value, (int, float))
        value = fact.value * (1 + CHANGE)
        times = self.times_with({key: round(value) if isinstance(fact.value, int) else value}, indices)
        for index, now in zip(indices, times, strict=True):
            was = self.times[index]
            if was and now and abs(now / was - 1) > MOVED:
                yield Missing(key, self.requests[index].case, now / was - 1)

    def silent_on(self, key: str) -> list[int]:
        """Returns the measured requests whose records would not list `assumed` if this number alone were."""
        alone = only_assumed(self.model, key)
        return [
            index
            for index, request in enumerate(self.requests)
            if self.times[index] and ASSUMED_SOURCE not in rests_on(request.case, alone)
        ]

    def missing(self, key: str) -> list[Missing]:
        """Returns the cases that the number moves and that do not list it: only those that are silent on it
        need measuring.
        """
        return [*self.moved_by(key, self.silent_on(key))]


def only_assumed(model: MachineModel, key: str) -> MachineModel:
    """The model with every number fitted but this one."""
    fitted = f"{FITTED_SOURCE}: elsewhere"
    facts = {
        name: replace(fact, source=fitted) if fact.source else fact for name, fact in model.facts.items()
    }
    return replace(model, facts={**facts, key: replace(facts[key], source=f"{ASSUMED_SOURCE}: a guess")})


def measured(machine: str, requests: Sequence[CaseRequest]) -> list[float | None]:
    """Median times in ns on the machine of a sheet, as a worker measures them."""
    from byteways.run.work.answer import guarded
    from byteways.run.work.measuring import NativeMeasurer
    from byteways.run.work.simulated_ranks import SimulatedRanks

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


def numbers_of(model: MachineModel, every: bool) -> list[str]:
    """Keys of the numbers to change: the assumed ones, or all."""
    return [
        key
        for key, fact in model.facts.items()
        if fact.source
        and (every or fact.assumed)
        and isinstance(fact.value, (int, float))
        and not isinstance(fact.value, bool)
        and fact.value
        and not key.startswith(WITHOUT_TIME)
        and not key.endswith(OF_ANOTHER_MACHINE)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("machine", nargs="*", help="names of models; default: all")
    parser.add_argument("--all", action="store_true", help="change every number, not only the assumed ones")
    parser.add_argument("--only", default="", help="only keys that begin like this")
    asked = parser.parse_args()
    wrong = 0
    for name in asked.machine or names():
        machine = Machine.of(load(name))
        keys = [key for key in numbers_of(machine.model, asked.all) if key.startswith(asked.only)]
        cases = sum(time is not None for time in machine.times)
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            missing = [one for found in pool.map(machine.missing, keys) for one in found]
        print(
            f"{name}: {len(keys)} numbers, {cases} cases, {len(missing)} do not list what moves them",
            flush=True,
        )
        for one in missing:
            print("   ", one)
        wrong += len(missing)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
