"""Which rank has which device: orders of a sweep, and twins that share a GPU."""

from __future__ import annotations

from dataclasses import replace

import pytest

from byteways.base.errors import BytewaysError
from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.shared.launchers import Job, Launcher, job_for
from byteways.measuring.shared.options import RunOptions
from byteways.plan.planner import Plan, make_plan
from byteways.plan.ranks import layout, order_mistake, twins_of
from byteways.plan.suite import parse
from tests.unit.plan.test_ranks import host

GPUS = 'source = "gpu*:device"\ndestination = "gpu*:device"\nsize = "1MiB"\n'
CPUS = 'source = "cpu*:pageable"\ndestination = "cpu*:pageable"\nsize = "8B"\n'


def plan_of(sweep: str, ranks: int, *machine: object, with_self: bool = False) -> Plan:
    cache = "" if '"halo"' in sweep else 'cache = "warm"\n'
    text = f'name = "toy"\ntitle = "t"\nrounds = 1\n[[sweep]]\nname = "s"\n{cache}{sweep}'
    return make_plan(parse(text, file="toy.toml"), *machine, ranks=ranks, with_self=with_self)  # type: ignore[arg-type]


def devices(case: Case) -> list[str]:
    return [case.devices_of_ranks[rank] for rank in case.ranks]


@pytest.mark.parametrize(
    ("order", "gpus", "domains"),
    [
        ("devices", ["gpu0", "gpu1"], ["cpu0", "cpu0"]),
        ("packed", ["gpu0", "gpu1"], ["cpu0", "cpu0"]),
        ("spread", ["gpu0", "gpu2"], ["cpu0", "cpu1"]),
        ("reversed", ["gpu3", "gpu2"], ["cpu1", "cpu1"]),
        ("2,0,1,3", ["gpu2", "gpu0"], ["cpu1", "cpu0"]),
    ],
)
def test_orders_of_gpus(order: str, gpus: list[str], domains: list[str]) -> None:
    """Catches a rank on another GPU than its order says, or far from its GPU's cores."""
    ranks = layout(host(2, 8, 4)[0], 2, order)
    assert [rank.gpu for rank in ranks] == gpus
    assert [rank.cpu for rank in ranks] == domains
    cores = [core for rank in ranks for core in rank.cores]
    assert len(cores) == len(set(cores))


@pytest.mark.parametrize(
    ("order", "domains"),
    [
        ("devices", "0101"),
        ("spread", "0101"),
        ("packed", "0011"),
        ("reversed", "1010"),
        ("1,1,0,0", "1100"),
    ],
)
def test_orders_of_domains(order: str, domains: str) -> None:
    """Catches ranks without GPUs that an order leaves where they are."""
    assert "".join(rank.cpu[3:] for rank in layout(host(2, 2)[0], 4, order)) == domains


def test_ranks_without_a_gpu_keep_their_domains() -> None:
    """Catches an order of GPUs that moves the ranks that have none, or gives one GPU to two ranks."""
    ranks = layout(host(2, 8, 2)[0], 4, "reversed")
    assert [(rank.cpu, rank.gpu) for rank in ranks] == [
        *(("cpu1", "gpu1"), ("cpu0", "gpu0")),
        *(("cpu0", None), ("cpu1", None)),
    ]


@pytest.mark.parametrize(
    ("order", "gpus", "said"),
    [
        ("0,9,1,2", 4, "rank_order '0,9,1,2': this machine has no gpu9"),
        ("0,1,1,2", 4, "rank_order '0,1,1,2' gives gpu1 to 2 ranks"),
        ("0,1", 4, "rank_order '0,1' places 2 of 4 ranks"),
        ("0,3", 0, "rank_order '0,3': this machine has no cpu3"),
        ("0,0", 0, "rank_order '0,0' places 2 of 4 ranks"),
    ],
)
def test_orders_that_do_not_fit(order: str, gpus: int, said: str) -> None:
    """Catches an order for another machine that is used as far as it goes."""
    topology = host(2, 8, gpus)[0]
    assert order_mistake(topology, 4, order) == said
    with pytest.raises(ValueError, match="rank_order"):
        layout(topology, 4, order)


def test_an_order_is_an_axis() -> None:
    """Catches an order that places no rank, cases that do not tell it, and one placement measured twice."""
    orders = 'options = { rank_order = ["spread", "packed", "devices", "0,1", "3,2,1,0"] }\n'
    plan = plan_of(f'interface = "xccl"\npattern = "allreduce"\n{orders}{GPUS}', 4, *host(2, 8, 4))
    assert {str(one.case.options.get("rank_order")): devices(one.case) for one in plan.cases} == {
        "None": ["gpu0", "gpu1", "gpu2", "gpu3"],
        "spread": ["gpu0", "gpu2", "gpu1", "gpu3"],
        "3,2,1,0": ["gpu3", "gpu2", "gpu1", "gpu0"],
    }
    assert [*plan.notes] == [
        "sweep 's': rank_order 'packed' places the ranks as 'devices' does here",
        "sweep 's': rank_order '0,1' places 2 of 4 ranks",
    ]
    for one in plan.cases:
        assert Case.from_json(one.case.identity()) == one.case


@pytest.mark.parametrize("order", ['"sprad"', '"1"', "7", '"0,x"'])
def test_mistyped_orders(order: str) -> None:
    """Catches a mistake that nobody hears of."""
    with pytest.raises(BytewaysError, match=r"toy.toml:\d+: sweep 's', key 'options.rank_order'"):
        plan_of(f'interface = "mpi"\noptions = {{ rank_order = {order} }}\n{CPUS}', 2, *host(2))


def test_twins_share_the_gpu_of_a_rank() -> None:
    """Catches a pair on one GPU that was not asked for, and a twin that takes part in anything else."""
    machine = host(2, 8, 4)
    pairs = f'interface = "mpi"\npattern = ["unidirectional", "bidirectional"]\n{GPUS}'
    plain = [one.case for one in plan_of(pairs, 3, *machine).cases]
    assert not any(case.flows[0].source.device == case.flows[0].destination.device for case in plain)
    more = [one.case.path for one in plan_of(pairs, 3, *machine, with_self=True).cases]
    own = [f"{rank}/gpu{rank}{sign}{rank + 3}/gpu{rank}" for sign in (">", "<>") for rank in range(3)]
    assert sorted(more) == sorted([*(case.path for case in plain), *own])
    whole = plan_of(f'interface = "mpi"\npattern = "allreduce"\n{GPUS}', 3, *machine, with_self=True)
    assert [one.case.ranks for one in whole.cases] == [(0, 1, 2)]
    of_hosts = plan_of(f'interface = "mpi"\n{CPUS}', 3, *machine, with_self=True)
    assert {rank for one in of_hosts.cases for rank in one.case.ranks} == {0, 1, 2}


def test_nccl_takes_one_rank_per_gpu() -> None:
    """Catches a communicator that NCCL refuses in the middle of a run."""
    plan = plan_of(f'interface = "xccl"\n{GPUS}', 2, *host(1, 8, 2), with_self=True)
    reasons = {one.case.path: one.reason for one in plan.cases}
    told = "NCCL and RCCL take one rank per GPU, and 0/gpu0 and 2/gpu0 share one"
    assert reasons["0/gpu0>2/gpu0"] == told and reasons["0/gpu0>1/gpu1"] is None


@pytest.mark.parametrize("transport", ["mpi", "xccl"])
def test_kernels_of_each_rank_need_a_gpu(transport: str) -> None:
    """Catches a rank without a GPU in a pattern of kernels: it leaves, and the others wait for it."""
    halo = f"""interface = "halo"
pattern = "halo"
source = "cpu*:registered"
destination = "cpu*:registered"
executor = "gpu*"
size = "1MiB"
options = {{ transport = "{transport}" }}"""
    plan = plan_of(halo, 4, *host(4, 8, 2))
    told = "each rank executes kernels on a GPU, and 4 ranks have 2 GPUs"
    assert {one.reason for one in plan.cases} == {told}


@pytest.mark.parametrize(
    ("sweep", "gpus", "said"),
    [
        ('interface = "mpi"\n' + CPUS, 0, "--self has two ranks share each GPU"),
        ('interface = "memcpy"\n' + CPUS, 2, "suite 'toy' has no ranks"),
    ],
)
def test_where_no_rank_has_a_twin(sweep: str, gpus: int, said: str) -> None:
    """Catches `--self` without effect."""
    with pytest.raises(BytewaysError, match=said):
        plan_of(sweep, 2, *host(1, 8, gpus), with_self=True)


def test_a_job_starts_the_twins_and_places_them_as_the_plan_does() -> None:
    """Catches ranks that are missing, and cores of another layout than the plan's."""
    topology, offers = host(2, 8, 4)
    plan = plan_of(f'interface = "mpi"\n{GPUS}', 3, topology, offers, with_self=True)
    job = job_for(plan.cases, RunOptions(ranks=3, with_self=True), topology, simulated=True)
    assert job is not None and (job.ranks, job.twins) == (6, twins_of(topology, 3)) == (6, 3)
    placed = job.layout(topology)
    assert [(rank.gpu, rank.twin_of) for rank in placed[3:]] == [("gpu0", 0), ("gpu1", 1), ("gpu2", 2)]
    cores = [core for rank in placed for core in rank.cores]
    assert len(cores) == len(set(cores))
    plain = Job(Launcher("x", ()), 3)
    assert [rank.gpu for rank in plain.layout(topology, "reversed")] == ["gpu3", "gpu2", "gpu1"]


def test_the_first_pair_of_ranks() -> None:
    """Catches other pairs than that of the first two ranks, and their messages back."""
    machine = host(2, 8, 4)
    text = f'interface = "mpi"\npattern = ["unidirectional", "bidirectional"]\npairs = "first"\n{GPUS}'
    plan = plan_of(text, 4, *machine)
    assert [one.case.path for one in plan.cases] == ["0/gpu0>1/gpu1", "0/gpu0<>1/gpu1"]
    for interface, pairs in (("memcpy", "first"), ("mpi", "near")):
        with pytest.raises(BytewaysError, match=f"toy.toml:.*{interface} is (not )?between ranks"):
            plan_of(f'interface = "{interface}"\npairs = "{pairs}"\n{CPUS}', 2, *machine)


def test_a_suite_asks_for_twins() -> None:
    """Catches a suite's pairs on one GPU that need --self, hosts whose GPUs have one name taken for one, and
    a machine without GPUs that refuses the suite.
    """
    text = 'name = "toy"\ntitle = "t"\nrounds = 1\nself_pairs = true\n[[sweep]]\nname = "s"\ncache = "warm"\n'
    text += f'interface = "mpi"\n{CPUS}[[sweep]]\nname = "g"\nwhen = "with-gpu"\ninterface = "mpi"\n{GPUS}'
    suite = parse(text, file="toy.toml")
    topology, offers = host(1, 8, 2)
    cases = make_plan(suite, topology, offers).cases
    assert {"0/gpu0>2/gpu0", "1/gpu1>3/gpu1"} <= {one.case.path for one in cases}
    job = job_for(cases, RunOptions(), topology, simulated=True)
    assert job is not None and (job.ranks, job.twins) == (4, 2)
    without, offers = host(1, 8, 0)
    assert {one.case.path for one in make_plan(suite, without, offers).cases} == {
        "0/cpu0>1/cpu0",
        "1/cpu0>0/cpu0",
    }
    apart = tuple(Buffer("gpu0", "device", rank=rank, host=f"host{rank}") for rank in (0, 1))
    between = replace(cases[0], case=Case("mpi", "unidirectional", (Flow(*apart, "gpu0"),), 8))
    job = job_for([between], RunOptions(), topology, simulated=True)
    assert job is not None and (job.ranks, job.twins) == (2, 0)
    with pytest.raises(BytewaysError, match="key 'self_pairs': a number instead of true or false"):
        parse(text.replace("self_pairs = true", "self_pairs = 1"), file="toy.toml")
