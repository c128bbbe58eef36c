"""A GPU whose driver takes no kernels: what its own cases say, and those of the ranks that wait for it."""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.shared.request import CaseRequest
from byteways.measuring.shared.simulator import simulator_path
from byteways.measuring.work.simulated_ranks import SimulatedRanks
from tests.asked import asked
from tests.native import simulated as toy

MIB = 2**20


def between(interface: str, memory: str, kind: str) -> CaseRequest:
    """The request for an all-reduce of two ranks."""
    first, second = (Buffer(f"{kind}{rank}", memory, rank=rank) for rank in range(2))
    flow = Flow(first, first, first.device, others=((second, second),))
    case = Case(interface, "allreduce", (flow,), MIB, "warm")
    return asked(case, budget_s=0.05, cores=((0,), (1,)))


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("machine", [toy.nvidia, toy.amd], ids=["CUDA", "HIP"])
def test_one_rank_without_kernels_ends_the_case_of_all(rank: int, machine: Any) -> None:
    """Catches ranks that wait for ever for one whose kernels do not load, one that is not named, and a later
    case that fails with it.
    """

    def scene() -> list[dict[str, Any]]:
        sheet = machine(faults__0=f"no-kernels:gpu{rank}")
        _core.load_machine(simulator_path(), sheet)
        ranks = SimulatedRanks(simulator_path(), sheet)
        cases = between("direct", "device", "gpu"), between("mpi", "pageable", "cpu")
        return [ranks.measure(case).outcome for case in cases]

    failed, after = toy.apart(scene)
    assert failed["status"] == "failed"
    assert failed["reason"].startswith((f"rank {rank}: kernel: ", f"rank {rank} failed in set-up: "))
    assert "the driver refuses what" in failed["reason"] and f"on gpu{rank}" in failed["reason"]
    assert after["status"] == "measured" and after["verified"]
