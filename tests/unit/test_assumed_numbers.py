"""Records list `assumed` where a changed number moves what the simulator measures: a number or two of each
table. validation/assumed_numbers.py changes all numbers of every model.
"""

from __future__ import annotations

from functools import cache

import pytest

from assumed_numbers import Machine, numbers_of, only_assumed
from byteways.plan.case import Buffer, Case, Flow
from byteways.run.shared.request import CaseRequest
from byteways.simulate import load
from byteways.simulate.basis import rests_on

MIB = 2**20


def request(interface: str, source: str, destination: str, executor: str, size: int) -> CaseRequest:
    ends = [Buffer.parse(end) for end in (source, destination)]
    case = Case(interface, "unidirectional", (Flow(*ends, executor),), size)
    cores = ((0,), (1,)) if case.ranks else ()
    return CaseRequest(case, budget_s=0.001, precision=0.5, rounds=1, key=1, cores=cores)


#: Those of ranks first, as Machine has them.
REQUESTS = (
    request("mpi", "0/cpu0:pageable", "1/cpu0:pageable", "cpu0", 1024),
    request("xccl", "0/gpu0:device", "1/gpu1:device", "gpu0", 1024),
    request("copy", "gpu0:device", "gpu1:device", "gpu0", 64 * MIB),
    request("copy", "cpu0:pageable", "gpu0:device", "gpu0", 64 * MIB),
    request("prefetch", "cpu0:managed", "gpu0:managed", "gpu0", 64 * MIB),
    request("memcpy", "cpu0:pageable", "cpu0:pageable", "cpu0", 64 * MIB),
    request("pointer-chase", "gpu0:device", "gpu0:device", "gpu0", 16 * MIB),
    request("event", "gpu0:device", "gpu0:device", "gpu0", 8),
    request("allocate", "gpu0:device", "gpu0:device", "gpu0", 64 * MIB),
)
#: A number or two of each table, and the case that it moves.
MOVED = {
    "mpi.send_ns": "mpi",
    "xccl.ll_step_ns": "xccl",
    "rates.engine-peer-write.efficiency": "copy",
    "links.0.peak_bytes_per_s": "copy",
    "staging.to.0.bytes_per_s": "copy",
    "managed.prefetch_to_gpu_bytes_per_s": "prefetch",
    "cpu.core_copy_bytes_per_s": "memcpy",
    "gpu.cache_latency_ns": "pointer-chase",
    "calls.event_ns": "event",
    "memory.granule_ns": "allocate",
}


@cache
def machine() -> Machine:
    return Machine(load("h200-x4"), REQUESTS)


#: Those tested each time: a number of messages, of a rate and of a call.
QUICK = ("mpi.send_ns", "links.0.peak_bytes_per_s", "calls.event_ns")


@pytest.mark.parametrize(
    ("key", "interface"),
    [
        pytest.param(*moved, marks=() if moved[0] in QUICK else pytest.mark.slow, id=moved[0])
        for moved in MOVED.items()
    ],
)
def test_what_a_number_moves_lists_it(key: str, interface: str) -> None:
    """Catches a rule of `rests_on` that leaves out a number which the simulator uses."""
    moved = [*machine().moved_by(key, range(len(REQUESTS)))]
    assert interface in [one.case.interface for one in moved]
    alone = only_assumed(machine().model, key)
    assert all("assumed" in rests_on(one.case, alone) for one in moved)


def test_a_case_that_does_not_list_its_number_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a check that passes whatever records say."""
    monkeypatch.setattr("assumed_numbers.rests_on", lambda case, model: [])
    assert [one.case.interface for one in machine().missing("calls.event_ns")] == ["event"]


def test_every_assumed_number_is_changed() -> None:
    """Catches tables of a model that the check passes over."""
    model = load("elcap-mi300a")
    tables = {key.split(".")[0] for key in numbers_of(model, every=False)}
    assert tables >= {"calls", "cpu", "gpu", "managed", "memory", "mpi", "rates", "staging", "xccl"}
