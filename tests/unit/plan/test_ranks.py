"""Cases between ranks: where ranks are, which cases a sweep makes, what a rank's part of a case is."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from byteways.base.errors import BytewaysError
from byteways.cases.case import Buffer, Case, Flow
from byteways.cases.collective_counts import bus_factor
from byteways.cases.osu import is_osu, loop_of, osu_bytes, program_of
from byteways.machine.model import Capabilities, Device, Offer, Topology
from byteways.measuring.conduct.process import process_state
from byteways.measuring.conduct.rank_faults import blamed
from byteways.measuring.shared.launchers import Job, Launcher, find_launcher
from byteways.measuring.work.rank_ends import own_ends
from byteways.measuring.work.rank_worker import wrong_with
from byteways.plan.planner import make_plan
from byteways.plan.ranks import default_ranks, layout, oversubscribed
from byteways.plan.suite import parse

YES = Offer(True)
MEMORY = {"pageable": YES}


def host(domains: int = 1, cores: int = 8, gpus: int = 0) -> tuple[Topology, Capabilities]:
    """Domains with so many cores each, and GPUs spread evenly over them."""
    each = [tuple(range(at * cores, (at + 1) * cores)) for at in range(domains)]
    devices = [Device(f"cpu{at}", "cpu", "toy", cores=own, numa_domain=at) for at, own in enumerate(each)] + [
        Device(f"gpu{at}", "gpu", "toy", numa_domain=at * domains // max(1, gpus)) for at in range(gpus)
    ]
    names = [device.name for device in devices]
    own = ("mpi", "mpi-ping-pong", "mpi-put", "mpi-get", "mpi-barrier", "xccl")
    offers = {name: dict.fromkeys(own, YES) for name in names}
    memory = {name: MEMORY if name.startswith("cpu") else {"device": YES} for name in names}
    fields: dict[str, Any] = {name: {"runtime": "host", "runtime_version": "1"} for name in names}
    return Topology("node", tuple(devices)), Capabilities(fields, memory, offers, host_memory_bytes=2**34)


def cases(sweep: str, ranks: int, *machine: Any) -> list[Case]:
    warm = "" if "ping-pong" in sweep or "cache =" in sweep else 'cache = "warm"\n'
    text = f'name = "toy"\ntitle = "t"\nrounds = 1\n[[sweep]]\nname = "s"\n{warm}{sweep}'
    return [one.case for one in make_plan(parse(text, file="toy.toml"), *machine, ranks=ranks).cases]


IN_PLACE = 'options = { in_place = "yes" }\n'
ENDS = 'source = "cpu*:pageable"\ndestination = "cpu*:pageable"\nsize = ["8B", "1MiB"]\n'


@pytest.mark.parametrize(("gpus", "ranks"), [(2, [(0, 1)]), (3, [(0, 1), (0, 1, 2)])])
def test_collectives_of_gpus_are_those_of_ranks_that_have_one(
    gpus: int, ranks: list[tuple[int, ...]]
) -> None:
    """Catches no case at all where there are more ranks than GPUs, and a rank without a GPU in a group."""
    sweep = 'interface = "xccl"\npattern = "allreduce"\ngroups = "powers"\n'
    ends = 'source = "gpu*:device"\ndestination = "gpu*:device"\nsize = "8B"\n'
    assert [case.ranks for case in cases(sweep + ends, 4, *host(1, 8, gpus))] == ranks
    with pytest.raises(BytewaysError, match="no case"):
        cases(sweep + ends, 4, *host(1, 8, 1))


def test_ranks_have_a_gpu_each_and_cores_of_their_own() -> None:
    """Catches two ranks on one GPU or core, and a rank far from its GPU."""
    ranks = layout(host(2, 8, 4)[0], 4)
    assert [(rank.cpu, rank.gpu) for rank in ranks] == [
        ("cpu0", "gpu0"),
        ("cpu0", "gpu1"),
        ("cpu1", "gpu2"),
        ("cpu1", "gpu3"),
    ]
    cores = [core for rank in ranks for core in rank.cores]
    assert len(cores) == len(set(cores)) == 16
    assert not oversubscribed(ranks)


def test_more_ranks_than_gpus_or_cores() -> None:
    """Catches a rank that is given another's GPU, and one that shares a core unseen."""
    topology = host(1, 2, 1)[0]
    ranks = layout(topology, 4)
    assert [rank.gpu for rank in ranks] == ["gpu0", None, None, None]
    assert oversubscribed(ranks) and not any(rank.cores for rank in ranks)
    assert default_ranks(topology) == 2 and default_ranks(host(2, 8, 4)[0]) == 4


@pytest.mark.parametrize(
    ("sweep", "machine", "reasons"),
    [
        (
            'interface = "xccl-ping-pong"\nsource = "gpu*:device"\ndestination = "cpu*:pageable"\nsize = 8\n',
            host(1, 8, 2),
            {
                f"kernels of {gpu} cannot touch pageable memory: it has no pageable memory access"
                for gpu in ("gpu0", "gpu1")
            },
        ),
        (
            f'interface = "mpi"\npattern = "allreduce"\n{IN_PLACE}source = "cpu*:pageable"\n'
            'destination = ["cpu*:pageable", "cpu*:pinned"]\nsize = 8\ncache = "warm"\n',
            host(1),
            {None, "in place, each rank has one buffer, and 0/cpu0:pageable and 0/cpu0:pinned are two"},
        ),
        (
            f'interface = "mpi"\noptions = {{ staging = ["library", "pinned"] }}\n{ENDS}',
            host(1),
            {
                None,
                "0/cpu0:pageable and 1/cpu0:pageable are host memory: nothing to stage",
                "1/cpu0:pageable and 0/cpu0:pageable are host memory: nothing to stage",
            },
        ),
    ],
)
def test_every_rank_can_do_its_part(sweep: str, machine: Any, reasons: set[str | None]) -> None:
    """Catches host memory given to NCCL, two buffers in place, and staging of host memory."""
    text = f'name = "toy"\ntitle = "t"\nrounds = 1\n[[sweep]]\nname = "s"\n{sweep}'
    found = make_plan(parse(text, file="toy.toml"), *machine, ranks=2).cases
    assert {one.reason for one in found} == reasons


@pytest.mark.parametrize(("gpus", "reason"), [(2, None), (0, "HSA_ENABLE_SDMA is read by ROCm, and cpu")])
def test_mpi_reads_variables_of_the_gpus_runtime(gpus: int, reason: str | None) -> None:
    """Catches a message of malloc memory that cannot be repeated without copy engines, and a variable that
    nobody reads."""
    topology, capabilities = host(2, 8, gpus)
    runtimes = {name: {"runtime": "hip" if name.startswith("gpu") else "host"} for name in topology.names()}
    machine = topology, replace(capabilities, devices=runtimes)
    text = 'name = "t"\ntitle = "t"\n[[sweep]]\nname = "s"\ninterface = "mpi"\ncache = "warm"\n'
    text += f'{ENDS}environment = {{ HSA_ENABLE_SDMA = "0" }}\n'
    found = make_plan(parse(text, file="toy.toml"), *machine, ranks=2).cases
    assert all(one.reason is None if reason is None else reason in str(one.reason) for one in found)
    assert found


OSU = 'options = { timing = "osu" }\n'
OSU_OF_ONE_THREAD = 'options = { timing = "osu", launch = "single" }\n'


@pytest.mark.parametrize(
    ("sweep", "program", "loops"),
    [
        ('interface = "mpi-ping-pong"', "osu_latency", [(100, 10_000, 1), (10, 1_000, 1)]),
        ('interface = "mpi"', "osu_bw", [(10, 100, 64), (2, 20, 64)]),
        ('interface = "mpi"\npattern = "bidirectional"', "osu_bibw", [(10, 100, 64), (2, 20, 64)]),
        ('interface = "mpi"\npattern = "multi-pair"', "osu_mbw_mr", [(10, 100, 64), (2, 20, 64)]),
        ('interface = "mpi"\npattern = "broadcast"', "osu_bcast", [(100, 1_000, 1), (10, 100, 1)]),
    ],
)
def test_loops_have_the_iterations_of_osu(
    sweep: str, program: str, loops: list[tuple[int, int, int]]
) -> None:
    """Catches a limit that is off by one, and iterations that are messages instead of windows."""
    text = f"{sweep}\n{OSU}{ENDS}".replace('"8B", "1MiB"', '"8KiB", "8200B"')
    found = sorted({case.size_bytes: case for case in cases(text, 2, *host(1))}.items())
    assert [size for size, _ in found] == [8192, 8200]
    told = [loop_of(case) for _, case in found]
    assert [(loop.skipped, loop.iterations, loop.operations) for loop in told] == loops
    assert {program_of(case) for _, case in found} == {program} and all(is_osu(case) for _, case in found)


def test_sizes_of_blocks_are_those_of_osu() -> None:
    """Catches OSU's size of a block taken for that of all, and a large block that is counted as small."""
    text = f'interface = "mpi"\npattern = ["alltoall", "reduce-scatter"]\n{OSU}{ENDS}'
    found = {(case.pattern, osu_bytes(case)): case for case in cases(text, 4, *host(1))}
    sizes = {key: case.size_bytes for key, case in found.items()}
    assert sizes == {
        ("alltoall", 8): 32,
        ("alltoall", 2**20): 2**22,
        ("reduce-scatter", 32): 32,
        ("reduce-scatter", 2**20): 2**20,
    }
    assert loop_of(found["alltoall", 8]).iterations == 1_000
    fixed = cases(
        f'interface = "mpi"\noptions = {{ timing = "osu", batch = 7, window = 3 }}\n{ENDS}', 2, *host(1)
    )
    assert {(loop_of(case).iterations, loop_of(case).operations) for case in fixed} == {(7, 3)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f'interface = ["mpi", "memcpy"]\n{ENDS}', "runs between processes and needs its own sweep"),
        (f'interface = "memcpy"\npattern = "allreduce"\n{ENDS}', "allreduce is a collective, and memcpy has"),
        (f'interface = "mpi"\npattern = "ring"\n{ENDS}', "mpi has no pattern ring"),
        (f'interface = "mpi-ping-pong"\npattern = "allreduce"\n{ENDS}', "has no pattern allreduce"),
        (f'interface = "mpi-put"\npattern = "multi-pair"\n{ENDS}', "mpi-put has no pattern multi-pair"),
        (f'interface = "mpi-get"\noptions = {{ sync = "lock" }}\n{ENDS}', "'lock' instead of a valid word"),
        (f'interface = "mpi-put"\noptions = {{ staging = "pinned" }}\n{ENDS}', "staging"),
        (f'interface = "mpi"\nexecutor = "both"\n{ENDS}', "mpi has no such key"),
        (f'interface = "mpi"\ngroups = "powers"\n{ENDS}', "unidirectional is no collective"),
        (f'interface = "mpi"\n{IN_PLACE}{ENDS}', "allreduce, allgather, and not unidirectional"),
        (
            f'interface = "mpi"\npattern = "reduce-scatter"\n{IN_PLACE}{ENDS}',
            "mpi in place does allreduce, allgather, and not reduce-scatter",
        ),
        (
            f'interface = "xccl"\npattern = "broadcast"\n{IN_PLACE}{ENDS}',
            "xccl in place does allreduce, allgather, reduce-scatter, and not broadcast",
        ),
        (
            f'interface = "mpi"\npattern = "allreduce"\noptions = {{ staging = "pinned" }}\n{ENDS}',
            "staging in pinned memory is for messages, and allreduce is a collective",
        ),
        (
            f'interface = "xccl"\npattern = "allreduce"\noptions = {{ calls = "messages" }}\n{ENDS}',
            "alltoall, gather, scatter can be sent as messages, and allreduce cannot",
        ),
        (
            f'interface = "xccl"\npattern = "allreduce"\n'
            f'options = {{ launch = "single", registration = "window" }}\n{ENDS}',
            "all ranks register a window at once",
        ),
        (f'interface = "mpi"\ncache = "cold"\n{OSU}{ENDS}', "OSU's programs reuse one buffer"),
        (
            f'interface = "mpi"\noptions = {{ timing = "osu", staging = "pinned" }}\n{ENDS}',
            "OSU's programs pass device memory to the library",
        ),
        (f'interface = "xccl"\n{OSU}{ENDS}', "OSU's windows of messages exist for MPI only"),
        (
            f'interface = "direct"\npattern = "allreduce"\n{OSU}{ENDS}',
            "OSU's programs have no collectives over peer memory",
        ),
        (
            f'interface = "xccl"\npattern = "allreduce"\n{OSU_OF_ONE_THREAD}{ENDS}',
            "OSU's programs wait for each call, and launch single cannot",
        ),
    ],
)
def test_mistaken_sweeps_say_what_is_wrong(text: str, said: str) -> None:
    """Catches a sweep that plans nothing, or something else than was meant."""
    with pytest.raises(BytewaysError, match=said):
        cases(text, 2, *host(1))


def test_a_rank_holds_its_own_ends() -> None:
    """Catches a rank that sends from, or receives into, another rank's buffer."""
    a, b = Buffer("cpu0", "pageable", rank=0), Buffer("cpu1", "pageable", rank=1)
    message = Case("mpi", "unidirectional", (Flow(a, b, "cpu0"),), 8)
    assert own_ends(message, 0) == (a, None) and own_ends(message, 1) == (None, b)
    pong = Case("mpi-ping-pong", "unidirectional", (Flow(a, b, "cpu0"),), 8)
    assert own_ends(pong, 0) == (a, a) and own_ends(pong, 1) == (b, b)
    both = Case("mpi", "bidirectional", (Flow(a, b, "cpu0"), Flow(b, a, "cpu1")), 8)
    assert own_ends(both, 0) == (a, a) and own_ends(both, 1) == (b, b)
    every = Case("mpi", "allreduce", (Flow(a, a, "cpu0", others=((b, b),)),), 8)
    assert own_ends(every, 1) == (b, b)


@pytest.mark.parametrize(
    ("pattern", "ranks", "factor"),
    [("allreduce", 2, 1.0), ("allreduce", 4, 1.5), ("allgather", 4, 0.75), ("broadcast", 8, 1.0)],
)
def test_bus_bandwidth_is_that_of_nccl_tests(pattern: str, ranks: int, factor: float) -> None:
    """Catches a factor that is not the one of nccl-tests, doc/PERFORMANCE.md."""
    assert bus_factor(pattern, ranks) == factor


def test_ranks_that_cannot_measure_together() -> None:
    """Catches worlds of one rank each, and ranks of two versions."""
    rank = {"host": "node", "pid": 1, "byteways": "1"}
    facts = {"mpi": {"path": "/usr/lib/libmpi.so"}, "ranks": [rank, {**rank, "byteways": "2"}]}
    assert "different versions of byteways: 1, 2" in (wrong_with(facts, 2) or "")
    assert "MPI has 2 of 3 ranks" in (wrong_with(facts, 3) or "")
    assert wrong_with({**facts, "ranks": [rank, rank]}, 2) is None


def test_a_stopped_rank_is_named() -> None:
    """Catches a hang that is blamed on nobody while one rank is stopped."""
    import os

    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        child.send_signal(signal.SIGSTOP)
        os.waitpid(child.pid, os.WUNTRACED)
        ranks = [{"host": os.uname().nodename, "pid": pid} for pid in (os.getpid(), child.pid)]
        found = blamed(ranks, process_state)
        assert str(found) == f"; rank 1 (process {child.pid} on {ranks[0]['host']}) is stopped"
        assert found.blame is not None and found.blame.rank == 1
    finally:
        child.kill()
        child.wait()


def test_the_command_has_the_number_of_ranks() -> None:
    """Catches a launcher that starts another number of ranks than asked for."""
    launcher = Launcher("given", ("mpiexec", "-n", "{ranks}"))
    assert launcher.command(4, ["program"]) == ["mpiexec", "-n", "4", "program"]
    words = Job(launcher, 4).command()
    assert words[words.index("--") + 1 :][:3] == ["mpiexec", "-n", "4"]
    assert words[words.index("--ranks") + 1] == "4"


def test_a_missing_launcher_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a traceback, and a message without advice."""
    monkeypatch.setattr(sys, "prefix", "/nonexistent")
    with pytest.raises(BytewaysError) as told:
        find_launcher(environment={"PATH": "/nonexistent"})
    assert told.value.what == "no MPI launcher found" and "--launcher" in (told.value.hint or "")
    with pytest.raises(BytewaysError, match="no program 'nompi'"):
        find_launcher("nompi -n 2", {"PATH": "/nonexistent"})
    with pytest.raises(BytewaysError, match="is not a command"):
        find_launcher('mpi "', {"PATH": "/nonexistent"})
