"""The table of what may run where, and the reason of each refusal.

tests/unit/said/legality.txt has every interface with every memory, option and size on seven machines; here is
what depends on more: first touch, variables, what a probe found, room.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from byteways.cases.case import Buffer, Case, Flow
from byteways.cases.interfaces import INTERFACES
from byteways.cases.memory import MEMORIES, OWNERS
from byteways.machine.model import PLAIN_COPY, Capabilities, Offer
from byteways.plan.footprint import buffers, footprint
from byteways.plan.legality import REACH_TABLE, Reach, interface_offer, memory_offer, refusal
from tests.unit.legality import (
    APU,
    COHERENT,
    FRONTIER,
    GIB,
    H200X4,
    MIB,
    NO_PEER,
    TWO_CORES,
    TWO_DOMAINS,
    Machine,
    case,
    reason,
    team,
    within,
)

RANKS = tuple(Buffer("cpu0", "pageable", rank=rank) for rank in range(2))
ALLREDUCE = Case(
    "mpi", "allreduce", (Flow(RANKS[0], RANKS[0], "cpu0", others=((RANKS[1], RANKS[1]),)),), MIB, "warm"
)

GPUS = tuple(Buffer(f"gpu{rank}", "device", rank=rank) for rank in range(2))
BY_UCX = Case("ucx", "unidirectional", (Flow(*RANKS, "cpu0"),), MIB, "warm")

IN_A_WINDOW = Case(
    *("xccl", "allgather", (Flow(GPUS[0], GPUS[0], "gpu0", others=((GPUS[1], GPUS[1]),)),), MIB, "warm"),
    {"registration": "window"},
)

UNKNOWN_MEMORY = (
    H200X4[0],
    replace(H200X4[1], calls={"gpu0": {PLAIN_COPY: Offer(False, "HIP 6.2: invalid argument")}}),
)


@pytest.mark.parametrize(
    ("machine", "what"),
    [
        (COHERENT, case("kernel", "cpu0:pageable@gpu0", "gpu1:device", "gpu1")),
        (TWO_DOMAINS, case("memcpy", "cpu0:pageable@cpu1", "cpu1:hugepage", "cpu0")),
        (FRONTIER, case("copy", "gpu0:device-fine", "gpu1:managed-coarse@gpu0", "gpu0")),
        (FRONTIER, within(case("copy", "gpu0:device", "gpu1:device", "gpu0"), HSA_ENABLE_SDMA="0")),
        (FRONTIER, within(case("kernel", "cpu0:pageable", "gpu1:device", "gpu1"), HSA_XNACK="1")),
        (FRONTIER, within(case("memcpy", "cpu0:pageable@gpu1", "cpu0:pageable", "cpu0"), HSA_XNACK="1")),
        (FRONTIER, within(case("memcpy", "cpu0:pageable", "cpu0:pageable", "cpu0"), GLIBC_TUNABLES="")),
        (H200X4, within(case("copy", "gpu0:device", "gpu1:device", "gpu0"), HSA_XNACK="1")),  # nobody says
        (TWO_CORES, within(ALLREDUCE, UCX_TLS="sm", OMPI_MCA_coll_tuned_allreduce_algorithm="3")),
        (TWO_CORES, within(ALLREDUCE, OMP_NUM_THREADS="2")),
        (TWO_CORES, within(BY_UCX, UCX_TLS="sm")),
        (COHERENT, case("kernel", "cpu0:registered@gpu0", "gpu1:device", "gpu1")),
        (H200X4, case("copy", "gpu0:pool@gpu1", "gpu0:device@gpu1", "gpu0")),
        (TWO_DOMAINS, case("copy", "cpu0:pinned@cpu1", "cpu0:write-combined@gpu0", "gpu0")),
        (UNKNOWN_MEMORY, case("copy", "cpu0:registered", "gpu0:device", "gpu0")),
        (UNKNOWN_MEMORY, case("copy", "cpu0:pageable", "gpu1:device", "gpu1")),  # nothing is known of it
        (APU, case("memcpy", "gpu0:device@cpu1", "gpu1:device@gpu0", "cpu0")),
    ],
)
def test_what_is_legal(machine: Machine, what: Case) -> None:
    """Catches a case that could be measured and is refused."""
    assert reason(what, machine) is None


REFUSED = [
    (H200X4, IN_A_WINDOW, "a window is of memory that NCCL or RCCL allocates"),
    (H200X4, case("kernel", "cpu0:pageable", "gpu0:device", "gpu0"), "no pageable memory access"),
    (NO_PEER, case("kernel", "gpu0:device", "gpu1:device", "gpu0"), "no peer access: the driver refused it"),
    (H200X4, case("pointer-chase", "gpu0:managed", "gpu0:managed", "cpu0"), "on gpu0 would migrate"),
    (
        UNKNOWN_MEMORY,
        case("copy", "gpu0:device", "cpu0:hugepage", "gpu0"),
        "copies of hugepage memory, which the runtime neither allocated nor registered, are refused: HIP 6.2",
    ),
    (
        (H200X4[0], replace(H200X4[1], granted={})),
        case("kernel", "gpu0:pool", "gpu1:device", "gpu1"),
        "gpu1 has no verified access to pool memory of gpu0",
    ),
    (
        H200X4,
        case("copy", "gpu0:ipc@gpu1", "gpu1:device", "gpu1"),
        "gpu1 cannot touch gpu0:ipc@gpu1 first: another process allocates and fills it",
    ),
    (
        H200X4,
        case("copy", "gpu0:device@cpu0", "gpu1:device", "gpu1"),
        "cpu0 cannot touch gpu0:device@cpu0 first: cpu0 cannot address device memory of gpu0",
    ),
    (
        NO_PEER,
        case("copy", "gpu1:device@gpu0", "gpu1:device", "gpu1"),
        "gpu0 cannot touch gpu1:device@gpu0 first: gpu0 and gpu1 have no peer access",
    ),
    (
        H200X4,
        case("copy", "cpu0:registered@gpu0", "gpu0:device", "gpu0"),
        "gpu0 cannot touch cpu0:registered@gpu0 first: kernels of gpu0 cannot touch registered memory",
    ),
    (
        H200X4,
        replace(case("prefetch", "cpu0:managed", "gpu0:managed", "gpu0"), cache="warm"),
        "migrates each region once",
    ),
    (
        H200X4,
        case("prefetch", "cpu0:managed", "gpu0:managed", "gpu0", 128 * GIB),
        "needs 128 GiB of managed memory, and gpu0 has ",
    ),
    (
        H200X4,
        replace(case("kernel", "cpu0:pinned", "gpu0:device", "gpu0"), options={"migration": "off"}),
        "option migration needs managed memory, and cpu0>gpu0 has none",
    ),
    (
        FRONTIER,
        replace(case("kernel", "cpu0:managed", "gpu0:device", "gpu0"), options={"migration": "on-demand"}),
        "migrate the pages they touch only with HSA_XNACK=1",
    ),
    (
        FRONTIER,
        within(
            replace(case("kernel", "cpu0:managed", "gpu0:device", "gpu0"), options={"migration": "off"}),
            HSA_XNACK="1",
        ),
        "with HSA_XNACK=1 kernels of gpu0 migrate the pages",
    ),
    (
        TWO_DOMAINS,
        case("copy", "cpu0:pageable@gpu0", "gpu0:device", "gpu0"),
        "gpu0 cannot touch cpu0:pageable@gpu0",
    ),
    (
        H200X4,
        case("copy", "gpu0:managed@cpu0", "gpu0:device", "gpu0"),
        "cpu0 cannot touch gpu0:managed@cpu0 first",
    ),
    (
        H200X4,
        case("copy", "gpu0:device", "gpu0:device", "gpu0", 64 * GIB),
        "need 128 GiB of gpu0, and 105.1 GiB",
    ),
    (TWO_CORES, case("memcpy", "cpu0:pageable", "cpu0:pageable", "cpu0", 10 * GIB), "need 20 GiB of cpu0"),
    (
        FRONTIER,
        within(case("kernel", "cpu0:pageable", "gpu1:device", "gpu1"), HSA_XNACK="0"),
        "it has no pageable memory access",
    ),
    (
        FRONTIER,
        within(case("kernel", "cpu0:pageable", "gpu1:device", "gpu1"), CUDA_LAUNCH_BLOCKING="1"),
        "CUDA_LAUNCH_BLOCKING is read by CUDA, and gpu1 is driven by hip",
    ),
    (
        FRONTIER,
        within(case("memcpy", "cpu0:pageable", "cpu0:pageable", "cpu0"), HSA_XNACK="0"),
        "HSA_XNACK is read by ROCm, and cpu0 is driven by host",
    ),
    (
        TWO_CORES,
        within(ALLREDUCE, NCCL_ALGO="Ring"),
        "NCCL_ALGO is read by NCCL and RCCL, which mpi does not use",
    ),
    (TWO_CORES, within(BY_UCX, OMPI_MCA_pml="ob1"), "OMPI_MCA_pml is read by MPI, which ucx does not use"),
    (
        H200X4,
        within(case("copy", "gpu0:device", "gpu1:device", "gpu0"), UCX_TLS="sm"),
        "UCX_TLS is read by MPI, which copy does not use",
    ),
]


@pytest.mark.parametrize(("machine", "what", "sentence"), REFUSED)
def test_what_is_refused_and_why(machine: Machine, what: Case, sentence: str) -> None:
    """Catches an illegal case that is tried, and a reason that names the wrong cause."""
    assert sentence in (reason(what, machine) or "")


def test_prefetches_to_domains_that_the_call_cannot_name() -> None:
    """Catches a prefetch to a far domain that is tried, and one to the near domain that is not."""
    topology, found = TWO_DOMAINS
    offer = {"prefetch-to-domain": Offer(False, "the call names no domain")}
    unnamed = (topology, replace(found, calls={"gpu0": offer, "gpu3": offer}))
    assert topology.device("gpu0").numa_domain == 0 and topology.device("gpu3").numa_domain == 1
    there = {
        (executor, to): reason(case("prefetch", f"{executor}:managed", f"{to}:managed", executor), unnamed)
        for executor in ("gpu0", "gpu3")
        for to in ("cpu0", "cpu1")
    }
    assert there["gpu0", "cpu0"] is None and there["gpu3", "cpu1"] is None
    lands = "the pages would land on {}, the NUMA domain of {}, and not on {}: the call names no domain"
    assert there["gpu0", "cpu1"] == lands.format("cpu0", "gpu0", "cpu1")
    assert there["gpu3", "cpu0"] == lands.format("cpu1", "gpu3", "cpu0")
    back = case("prefetch", "cpu1:managed", "gpu0:managed", "gpu0")
    assert reason(back, unnamed) is None  # gpu3 brings its pages back
    assert reason(case("prefetch", "gpu0:managed", "cpu1:managed", "gpu0"), TWO_DOMAINS) is None


def test_every_combination_has_a_verdict() -> None:
    """Catches a word of the vocabulary that the table does not know, and an empty reason."""
    for interface, kind in REACH_TABLE:
        assert interface in INTERFACES
        assert kind in ("cpu", "gpu")
        assert set(REACH_TABLE[interface, kind]) == set(MEMORIES) == set(OWNERS)
    devices = ("cpu0", "gpu0", "gpu1")
    for interface, source, executor, memory in itertools.product(INTERFACES, devices, devices, MEMORIES):
        what = case(interface, f"{source}:{memory}", f"{source}:{memory}", executor)
        verdict = reason(what)
        assert verdict is None or verdict.strip()


def test_conditions_are_all_in_use() -> None:
    """Catches a condition that nothing names any more."""
    assert {reach for row in REACH_TABLE.values() for reach in row.values()} == set(Reach)


def test_without_a_probe_nothing_is_believed() -> None:
    """Catches peers, memory and bulk copies that are assumed because nobody said no."""
    topology, capabilities = H200X4
    unknown = Capabilities()
    assert "no runtime reports" in memory_offer("device", "gpu0", unknown).reason
    assert not interface_offer("kernel-bulk", "gpu0", unknown).available
    assert interface_offer("copy", "gpu0", unknown).available
    alone = replace(capabilities, peer={})
    what = case("kernel", "gpu0:device", "gpu1:device", "gpu0")
    assert refusal(what, topology, alone) == "gpu0 and gpu1 have no verified peer access"
    untold = replace(capabilities, pageable_access={})
    assert refusal(case("kernel", "cpu0:pageable", "gpu0:device", "gpu0"), topology, untold)


def test_a_team_has_no_more_threads_than_cores() -> None:
    """Catches a team that the native core refuses or whose threads take turns, or all cores refused."""
    assert reason(team(2), TWO_CORES) is None
    assert reason(team(3), TWO_CORES) == "3 threads of memcpy-mt exceed the 2 cores of cpu0"
    topology, capabilities = TWO_CORES
    unknown = replace(topology, devices=(replace(topology.devices[0], cores=()),)), capabilities
    assert reason(team(4096), unknown) is None
    assert "threads must be from 1 to 4096" in (reason(team(99999), unknown) or "")
    kernel = replace(case("kernel", "gpu0:device", "gpu0:device", "gpu0"), options={"threads": 1024})
    assert reason(kernel) is None


def test_streams_are_judged_by_all_of_their_arrays() -> None:
    """Catches a third array that nobody looked at: out of reach, out of room, or a team beyond the cores."""
    triad = case("stream-triad", "gpu0:device", "gpu0:device", "gpu0")
    assert reason(triad) is None
    away = replace(triad.flows[0], second_source=Buffer("gpu1", "device"))
    assert "no peer access" in (reason(replace(triad, flows=(away,)), NO_PEER) or "")
    local = case("stream-triad", "cpu0:pageable", "cpu0:pageable", "cpu0", 2 * GIB)
    assert footprint(local, TWO_CORES[1]) == {"cpu0": 6 * GIB}
    on_cores = case("stream-copy", "cpu0:pageable", "cpu0:pageable", "cpu0")
    assert "exceed" in (reason(replace(on_cores, options={"threads": 3}), TWO_CORES) or "")
    assert "no blocks" in (reason(replace(on_cores, options={"blocks": 2}), TWO_CORES) or "")


def test_pages_need_room_at_both_ends() -> None:
    """Catches pages that move to a GPU that has no room for them."""
    moved = case("prefetch", "cpu0:managed", "gpu0:managed", "gpu0")
    ((_, size),) = buffers(moved, H200X4[1])
    assert size > 0
    assert footprint(moved, H200X4[1]) == {"cpu0": size, "gpu0": size}
