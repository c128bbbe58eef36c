"""Launch modes on paper: who measures a case, what needs MPI, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from byteways.base.errors import BytewaysError
from byteways.cases.case import PlannedCase
from byteways.machine.model import Capabilities, Offer
from byteways.measuring.shared.launchers import LOCAL, NO_LAUNCHER, Launcher, job_for, job_of
from byteways.measuring.shared.options import RunOptions
from byteways.plan.legality import refusal
from byteways.plan.planner import make_plan
from byteways.plan.suite import parse
from tests.unit.plan.test_ranks import host

ENDS = 'source = "gpu*:device"\ndestination = "gpu*:device"\nsize = "8B"\n'
TOPOLOGY, WITH_MPI = host(1, 8, 2)
WITH_MPI = replace(WITH_MPI, calls={f"gpu{at}": {"graph": Offer(True)} for at in range(2)})
NO_MPI = replace(
    WITH_MPI,
    interface={
        name: {**offers, "mpi": Offer(False, "no library named libmpi.so")}
        for name, offers in WITH_MPI.interface.items()
    },
)


def planned(options: str, capabilities: Capabilities = WITH_MPI) -> tuple[PlannedCase, ...]:
    text = f'interface = "xccl"\npattern = "allreduce"\n{ENDS}options = {{ {options} }}\n'
    whole = f'name = "toy"\ntitle = "t"\nrounds = 1\n[[sweep]]\nname = "s"\ncache = "warm"\n{text}'
    return make_plan(parse(whole, file="toy.toml"), TOPOLOGY, capabilities, ranks=2).cases


def test_modes_are_cases_of_their_own() -> None:
    """Catches threads that a launcher starts, and the default written out as another case than left out."""
    modes = planned('launch = ["process", "thread", "single"]')
    assert [one.case.worker for one in modes] == ["ranks", "threads", "threads"]
    assert len({one.case.case_id for one in modes}) == 3
    (default,) = planned('timing = "pipelined"')
    assert default.case.case_id == modes[0].case.case_id


def test_threads_need_no_launcher() -> None:
    """Catches NCCL that is refused for want of MPI, and threads that something starts."""
    modes = planned('launch = ["thread", "single"]', capabilities=NO_MPI)
    assert [one.reason for one in modes] == [None, None]
    job = job_of(modes, has_mpi=False)
    assert job is not None and job.launcher is NO_LAUNCHER and job.ranks == 2


def test_processes_have_a_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a run of both kinds whose processes nobody starts."""
    found = Launcher("toy", ("toy",))
    monkeypatch.setattr("byteways.measuring.shared.launchers.find_launcher", lambda given: found)
    both = planned('launch = ["thread", "process"]')
    job = job_of(both)
    assert job is not None and job.launcher is found
    for capabilities, launcher in ((WITH_MPI, found), (NO_MPI, LOCAL), (None, found)):
        job = job_for(both, RunOptions(), TOPOLOGY, capabilities)
        assert job is not None and job.launcher is launcher


def test_processes_without_mpi_start_locally(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches NCCL that needs a launcher of MPI, and MPI that is started without one."""

    def missing(given: str | None) -> Launcher:
        raise BytewaysError("no MPI launcher found")

    monkeypatch.setattr("byteways.measuring.shared.launchers.find_launcher", missing)
    of_nccl = planned('launch = "process"', capabilities=NO_MPI)
    assert [one.reason for one in of_nccl] == [None]
    for given in (None, "local"):
        job = job_of(of_nccl, given)
        assert job is not None and job.launcher is LOCAL
        line = job.line().split()
        assert line[line.index("byteways.measuring.work.local_ranks") :][:4] == [
            *("byteways.measuring.work.local_ranks", "--ranks", "2", "--"),
        ]
    of_mpi = [replace(one, case=replace(one.case, interface="mpi")) for one in planned('timing = "isolated"')]
    with pytest.raises(BytewaysError, match="no MPI launcher found"):
        job_of(of_mpi)
    with pytest.raises(BytewaysError, match="--launcher local starts ranks without MPI"):
        job_of(of_mpi, "local")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"submit": "graph"}, None),
        ({"launch": "thread", "submit": "graph"}, None),
        ({"launch": "single", "submit": "graph"}, "a graph belongs to one GPU"),
        ({"submit": "batch"}, "a batched call takes copies"),
    ],
)
def test_graphs_between_ranks(options: dict[str, str], why: str | None) -> None:
    """Catches a graph refused because it is of a collective, and a combination that nothing carries out."""
    case = replace(planned('timing = "pipelined"')[0].case, options=options)
    reason = refusal(case, TOPOLOGY, WITH_MPI)
    assert reason is None if why is None else why in (reason or "")


def test_memory_of_the_library_serves_it_alone() -> None:
    """Catches copies of memory that no runtime allocates, and a library without the functions."""
    (one,) = planned('timing = "pipelined"')
    flow = one.case.flows[0]
    ends = [(replace(source, memory="xccl"), replace(to, memory="xccl")) for source, to in flow.pairs]
    case = replace(
        one.case, flows=(replace(flow, source=ends[0][0], destination=ends[0][1], others=(ends[1],)),)
    )
    memory = {name: {**kinds, "xccl": Offer(True)} for name, kinds in WITH_MPI.memory.items()}
    there = replace(WITH_MPI, memory=memory)
    assert refusal(case, TOPOLOGY, there) is None
    lacking = {
        name: {**kinds, "xccl": Offer(False, "nccl 2.18.1 lacks ncclMemAlloc")}
        for name, kinds in memory.items()
    }
    assert "lacks ncclMemAlloc" in (refusal(case, TOPOLOGY, replace(there, memory=lacking)) or "")
    copied = replace(
        flow,
        source=replace(ends[0][0], rank=None),
        destination=replace(flow.destination, rank=None),
        others=(),
    )
    copy = replace(case, interface="copy", pattern="unidirectional", flows=(copied,), options={})
    assert "for interface xccl alone" in (refusal(copy, TOPOLOGY, there) or "")
