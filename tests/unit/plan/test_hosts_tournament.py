"""Which hosts meet when: every pair once, every host busy, samples that cover each class of links."""

from __future__ import annotations

import re
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from byteways.base.errors import BytewaysError
from byteways.plan.hosts.names import Host, expand, hosts_of, read_hosts
from byteways.plan.hosts.places import seats_of
from byteways.plan.hosts.plan import make_hosts_plan
from byteways.plan.hosts.rule import DEFAULT_EACH, PairRule, Tournament
from byteways.plan.hosts.tournament import round_of, rounds_of, seats_in_round
from tests.unit import planning

MESSAGES = 'interface = "mpi"\nsource = "cpu*:pageable"\ndestination = "cpu*:pageable"\nsize = "8B"\n'
HALO = MESSAGES.replace('"mpi"', '"halo"').replace("8B", "32KiB") + 'pattern = "halo"\n'
ON_GPUS = HALO.replace("cpu*:pageable", "gpu*:device")
DIRECT = MESSAGES.replace('"mpi"', '"direct"').replace("cpu*:pageable", "gpu*:device") + (
    'pattern = "allreduce"\n'
)
LAUNCH = 'options = { launch = "thread" }'


def hosts(count: int, groups: int = 0) -> tuple[Host, ...]:
    return tuple(Host(f"n{number}", f"g{number % groups}" if groups else "") for number in range(count))


@settings(max_examples=60, deadline=None)
@given(count=some.integers(2, 65))
def test_all_meet_once_and_all_are_busy(count: int) -> None:
    """Catches a pair that never meets or meets twice, a host twice in a round, and one that idles."""
    met: Counter[tuple[int, int]] = Counter()
    pauses: Counter[int] = Counter()
    for number in range(rounds_of(count)):
        pairs = list(seats_in_round(count, number))
        busy = [seat for pair in pairs for seat in pair]
        assert len(busy) == len(set(busy)) == count - count % 2
        pauses.update(set(range(count)) - set(busy))
        met.update((min(pair), max(pair)) for pair in pairs)
        assert all(round_of(count, *pair) == number for pair in pairs)
    assert met == Counter({(a, b): 1 for b in range(count) for a in range(b)})
    assert rounds_of(count) == count - 1 + count % 2
    assert pauses == (Counter(dict.fromkeys(range(count), 1)) if count % 2 else Counter())


@settings(max_examples=60, deadline=None)
@given(count=some.integers(2, 40), round_=some.integers(0, 3))
def test_a_tournament_has_every_pair(count: int, round_: int) -> None:
    """Catches drawn seats that lose or double a host."""
    tournament = Tournament(hosts(count), PairRule())
    pairs = [pair for met in tournament.meetings(round_) for pair in met.groups]
    assert len(pairs) == len(set(pairs)) == count * (count - 1) // 2 == tournament.pairs
    assert all(0 <= first < second < count for first, second in pairs)


@settings(max_examples=100, deadline=None)
@given(count=some.integers(4, 60), each=some.integers(2, 8), groups=some.integers(0, 8), seed=some.integers())
def test_a_sample_gives_each_host_its_pairs_and_each_class_one(
    count: int, each: int, groups: int, seed: int
) -> None:
    """Catches a host with more pairs than others, and a class of links that the draw left out."""
    listed = hosts(count, min(groups, count))
    tournament = Tournament(listed, PairRule("sample", each, seed))
    pairs = [pair for met in tournament.meetings(0) for pair in met.groups]
    assert len(pairs) == len(set(pairs)) == tournament.pairs
    met = Counter(number for pair in pairs for number in pair)
    rounds = min(each, rounds_of(count))
    assert tournament.rounds == rounds
    assert set(met.values()) <= ({rounds} if count % 2 == 0 else {rounds - 1, rounds})
    wanted = {tournament.link_class(a, b) for b in range(count) for a in range(b)}
    assert {tournament.link_class(*pair) for pair in pairs} == wanted
    again = Tournament(listed, PairRule("sample", each, seed))
    assert [one.groups for one in again.meetings(0)] == [one.groups for one in tournament.meetings(0)]


def test_rounds_of_a_suite_repeat_the_pairs_of_a_sample_and_reseat_a_tournament() -> None:
    """Catches a sample whose pairs have one round each, which nothing can rank; and a tournament that
    measures the same pairs at the same time again.
    """
    drawn = Tournament(hosts(20), PairRule("sample", 4))
    of_round = [sorted(pair for met in drawn.meetings(round_) for pair in met.groups) for round_ in range(3)]
    assert of_round[0] == of_round[1] == of_round[2]
    every = Tournament(hosts(20), PairRule())
    at_once = [{met.groups for met in every.meetings(round_)} for round_ in range(2)]
    assert not at_once[0] & at_once[1]


def test_planning_ten_thousand_hosts_takes_little_memory() -> None:
    """Catches a plan that holds its fifty million pairs."""
    topology, capabilities = planning.two_cores
    suite = planning.suite(MESSAGES)
    tracemalloc.start()
    try:
        plan = make_hosts_plan(suite, hosts(10_000), PairRule(), topology, capabilities)
        first = next(iter(plan.meetings()))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (plan.tournament.pairs, plan.tournament.rounds, len(first.groups)) == (49_995_000, 9999, 5000)
    assert plan.records == 2 * 49_995_000  # a message in each direction
    assert most < 50e6
    assert plan.estimated_s > 9999 * plan.cases[0].estimated_s


@pytest.mark.parametrize(
    ("text", "rule"),
    [("all", PairRule()), ("sample", PairRule("sample", DEFAULT_EACH)), ("sample:3", PairRule("sample", 3))],
)
def test_rules(text: str, rule: PairRule) -> None:
    """Catches a rule that is read as another."""
    assert PairRule.parse(text) == rule


@pytest.mark.parametrize("text", ["", "some", "all:3", "sample:", "sample:0", "sample:-1", "sample:x"])
def test_wrong_rules(text: str) -> None:
    """Catches a mistake that measures all pairs."""
    with pytest.raises(BytewaysError, match="neither 'all' nor 'sample'"):
        PairRule.parse(text)


def test_a_file_of_hosts(tmp_path: Path) -> None:
    """Catches comments, blank lines and groups that become hosts."""
    path = tmp_path / "nodes.txt"
    path.write_text("# rack 1\nnode-1.site.org switch1\n\n  x1000c0s0b0n0   # a comment\n10.1.2.3 switch_2\n")
    assert read_hosts(path) == (
        Host("node-1.site.org", "switch1"),
        Host("x1000c0s0b0n0"),
        Host("10.1.2.3", "switch_2"),
    )
    path.write_text("n[1-2]-ib,login switch1\nn[08-10]\n")
    assert read_hosts(path) == (
        *(Host(name, "switch1") for name in ("n1-ib", "n2-ib", "login")),
        *(Host(name) for name in ("n08", "n09", "n10")),
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n[1-2]", "n1 n2"),
        ("n[01-03,7]-ib", "n01-ib n02-ib n03-ib n7-ib"),
        ("r[1-2]n[8-10],login", "r1n8 r1n9 r1n10 r2n8 r2n9 r2n10 login"),
        ("n[098-101]", "n098 n099 n100 n101"),
        ("a,b", "a b"),
    ],
)
def test_compressed_lists_of_hosts(tmp_path: Path, text: str, names: str) -> None:
    """Catches zeros in front that are lost, a comma within a bracket that separates names, and an option that
    is taken for a file.
    """
    assert expand(text) == names.split()
    assert hosts_of(text) == tuple(Host(name) for name in names.split())
    path = tmp_path / "nodes.txt"
    path.write_text("n0\nn1\n")
    assert hosts_of(str(path)) == (Host("n0"), Host("n1"))


@settings(max_examples=50, deadline=None)
@given(
    numbers=some.lists(some.integers(0, 999), min_size=1, max_size=20, unique=True), width=some.integers(1, 5)
)
def test_any_list_of_numbers_is_expanded(numbers: list[int], width: int) -> None:
    """Catches a number that is lost, doubled or written with another width."""
    words = [f"{number:0{width}d}" for number in numbers]
    assert expand(f"n[{','.join(words)}]x") == [f"n{word}x" for word in words]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("n[1-2", "a bracket that is not closed"),
        ("n1],n2", "not opened"),
        ("n[[1-2]]", "within another"),
        ("n[2-1]", "the range 2-1 in 'n\\[2-1\\]' counts down"),
        ("n[a-b]", "'a-b' in .* is neither a number nor a range such as 1-4"),
        ("n[1,]", "'' in .* is neither a number"),
        ("n[1-9999999]", "names more than 100,000 hosts"),
        ("n[1-999]m[1-999]", "names more than 100,000 hosts"),
        ("n1,n1", "host 'n1' appears twice"),
        ("n1,,n2", "'' is not a name"),
        ("n1,$(id)", "is not a name"),
    ],
)
def test_wrong_lists_of_hosts(text: str, cause: str) -> None:
    """Catches a list that names other hosts than it says, and one that fills the memory."""
    with pytest.raises(BytewaysError, match="cannot read the hosts") as error:
        hosts_of(text)
    assert re.search(cause, error.value.cause or "") and "n[01-03,7]-ib" in (error.value.hint or "")


def test_a_list_of_one_host() -> None:
    """Catches a tournament of one, and a list longer than a path that ends in a traceback."""
    with pytest.raises(BytewaysError, match="has one host, and a pair needs two"):
        hosts_of("n[1]")
    assert len(hosts_of(",".join(f"node{number:05d}" for number in range(2000)))) == 2000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names no host"),
        ("n0\n", "has one host, and a pair needs two hosts"),
        ("n0\nn1\nn0\n", ":3: host 'n0' appears twice"),
        ("n0\nn1 a b\n", ":2: 'n1 a b' has more than a host and its group"),
        ("n0\n-rf\n", ":2: '-rf' is not a name"),
        ("n0\nn1;reboot\n", ":2: 'n1;reboot' is not a name"),
        ("n0\nn1 $(id)\n", ":2: '\\$\\(id\\)' is not a name"),
        ("n0\n" + "n" * 300, ":2: 'n+' is not a name"),
        ("n0\nn[1-2\n", ":2: 'n\\[1-2' has a bracket that is not closed"),
        ("n[0-1]\nn1 switch\n", ":2: host 'n1' appears twice"),
    ],
)
def test_wrong_files_of_hosts(tmp_path: Path, text: str, said: str) -> None:
    """Catches a mistake in the file that a launcher gets to see."""
    path = tmp_path / "nodes.txt"
    path.write_text(text)
    with pytest.raises(BytewaysError, match=said):
        read_hosts(path)


def test_files_that_are_none(tmp_path: Path) -> None:
    """Catches a traceback for a file that is missing or no text."""
    with pytest.raises(BytewaysError) as missing:
        read_hosts(tmp_path / "nowhere")
    assert missing.value.cause == "No such file or directory"
    (tmp_path / "binary").write_bytes(b"n0\n\xff\xfe\n")
    with pytest.raises(BytewaysError, match="cannot read the hosts"):
        read_hosts(tmp_path / "binary")


def test_cases_of_a_pair() -> None:
    """Catches a direction that is not measured, a round trip measured twice, other sweeps, and case ids that
    depend on the place of a host in the file.
    """
    topology, capabilities = planning.two_cores
    suite = planning.suite(
        MESSAGES + 'pattern = ["unidirectional", "bidirectional", "allreduce"]',
        MESSAGES.replace('"mpi"', '"mpi-ping-pong"'),
        planning.MEMCPY,
    )
    plan = make_hosts_plan(suite, hosts(3), PairRule(), topology, capabilities)
    paths = [
        (planned.case.interface, plan.planned(planned, (0, 2), 0).case.path) for planned in plan.of_pairs
    ]
    assert paths == [
        ("mpi", "n0:cpu0>n2:cpu0"),
        ("mpi", "n2:cpu0>n0:cpu0"),
        ("mpi", "n0:cpu0<>n2:cpu0"),
        ("mpi-ping-pong", "n0:cpu0>n2:cpu0"),
    ]
    assert plan.notes == ("sweep 's2' is within a host",)
    other = make_hosts_plan(suite, hosts(3)[::-1], PairRule(), topology, capabilities)
    ids = [plan.planned(planned, (0, 2), 1).case.case_id for planned in plan.of_pairs]
    back = [other.planned(planned, (2, 0), 1).case.case_id for planned in other.of_pairs]
    assert ids == back and len(set(ids)) == 4
    case = plan.planned(plan.of_pairs[1], (0, 2), 0).case
    assert (case.hosts, case.ranks, case.access) == (("n2", "n0"), (0, 1), "write")
    assert type(case).from_json(case.identity()) == case


def test_cases_of_all_hosts() -> None:
    """Catches blocks that hosts do not divide evenly, hosts without a buffer, a grid that hosts do not fill,
    and patterns that no host can take part in.
    """
    topology, capabilities = planning.two_cores
    collectives = MESSAGES.replace('"8B"', '["8B", "1000B"]')
    suite = planning.suite(
        collectives + 'pattern = ["allreduce", "allgather", "multi-pair"]',
        HALO + "options = { columns = [3, 2] }",
    )
    plan = make_hosts_plan(suite, hosts(3), PairRule(), topology, capabilities)
    assert not plan.of_pairs and [len(met.groups[0]) for met in plan.meetings()] == [3]
    found = [plan.planned(planned, (0, 1, 2), 0).case for planned in plan.of_all]
    told = [(case.pattern, case.size_bytes) for case in found]
    assert told == [
        ("allreduce", 8),
        ("allreduce", 1000),
        ("allgather", 24),
        ("allgather", 984),
        ("halo", 32768),
    ]
    assert all(case.ranks == (0, 1, 2) and case.hosts == ("n0", "n1", "n2") for case in found)
    assert {case.path.partition(":")[2] for case in found} == {"n[0-2]:cpu0"}
    assert plan.notes == (
        "sweep 's0': no multi-pair between hosts: they are measured in pairs anyway",
        "1 case cannot run between hosts: 3 hosts do not fill rows of 2",
    )
    assert plan.records == 5 and all(type(case).from_json(case.identity()) == case for case in found)


def test_small_sizes_that_become_one_are_one_case() -> None:
    """Catches two records of one case: blocks of 8 B and of 1 KiB are alike among a thousand hosts."""
    suite = planning.suite(MESSAGES.replace('"8B"', '["8B", "1KiB", "1MiB"]') + 'pattern = "allgather"')
    for count, sizes in ((2, [16, 1024, 1 << 20]), (1000, [8000, 1048000])):
        plan = make_hosts_plan(suite, hosts(count), PairRule(), *planning.two_cores)
        found = [plan.planned(planned, tuple(range(count)), 0).case for planned in plan.of_all]
        assert [case.size_bytes for case in found] == sizes and plan.records == len(sizes)


@pytest.mark.parametrize(
    ("sweep", "cause"),
    [
        (DIRECT, "direct collectives need peer access between GPUs, within one host"),
        (DIRECT.replace('"direct"', '"xccl"') + LAUNCH, "launch = thread needs all ranks in one process"),
        (ON_GPUS + 'options = { transport = "copies" }', "transport copies opens memory of neighbours"),
    ],
)
def test_what_hosts_cannot_do_together(sweep: str, cause: str) -> None:
    """Catches a run of nothing, and ranks that wait for memory of another host."""
    with pytest.raises(BytewaysError, match="has no case between hosts") as caught:
        make_hosts_plan(planning.suite(sweep), hosts(2), PairRule(), *planning.h200x4)
    assert cause in (caught.value.cause or "")
    assert (caught.value.hint or "").startswith("byteways run mpi --hosts FILE; without it, ")


def test_devices_of_hosts_together() -> None:
    """Catches GPUs of one host for those of all, and NCCL refused though each host has a GPU of its own."""
    suite = planning.suite(
        DIRECT.replace('"direct"', '"xccl"').replace("gpu*", "gpu2"), ON_GPUS, ON_GPUS.replace("gpu*", "gpu3")
    )
    plan = make_hosts_plan(suite, hosts(2), PairRule(), *planning.h200x4)
    found = [plan.planned(planned, (0, 1), 0).case for planned in plan.of_all]
    assert [case.path for case in found] == [
        "allreduce:n0:gpu2,n1:gpu2",
        "halo:n0:gpu0,n1:gpu0",
        "halo:n0:gpu3,n1:gpu3",
    ]
    assert [case.executors for case in found] == [("gpu2",), ("gpu0",), ("gpu3",)]


def test_several_ranks_on_each_host() -> None:
    """Catches GPUs that two ranks of a host share, blocks of too few ranks, and a message that the wrong rank
    of a host sends.
    """
    suite = planning.suite(
        DIRECT.replace('"direct"', '"xccl"').replace("allreduce", "allgather"),
        ON_GPUS.replace("gpu*", "gpu[13]"),
        MESSAGES.replace("cpu*:pageable", "gpu[12]:device") + 'pairs = "all"',
    )
    plan = make_hosts_plan(suite, hosts(3), PairRule(), *planning.h200x4, ranks_per_host=4)
    gather, halo = (plan.planned(planned, (0, 1, 2), 0).case for planned in plan.of_all)
    assert gather.path == "allgather:n[0-2]:gpu[0-3]" and gather.size_bytes % 12 == 0
    assert gather.ranks == tuple(range(12)) and gather.hosts == ("n0", "n1", "n2")
    assert gather.hosts_of_ranks == ("n0",) * 4 + ("n1",) * 4 + ("n2",) * 4
    assert halo.path == "halo:n[0-2]:gpu1+gpu3"
    assert plan.notes == ("sweep 's1': 2 of 4 ranks of a host have such buffers",)
    assert all(type(case).from_json(case.identity()) == case for case in (gather, halo))
    seats = [seats_of(planned.case, plan.ranks_of_host) for planned in plan.of_all]
    assert seats == [[(0, "gpu0"), (1, "gpu1"), (2, "gpu2"), (3, "gpu3")], [(1, "gpu1"), (3, "gpu3")]]
    message = next(one for one in plan.of_pairs if one.case.path == "second:gpu1>first:gpu2")
    assert seats_of(message.case, plan.ranks_of_host) == [(2, "gpu2"), (1, "gpu1")]
    assert seats_of(message.case, ()) == [(0, "gpu2"), (0, "gpu1")]
    fewer = plan.planned(plan.of_all[0], (0, 2), 0).case
    assert fewer.path == "allgather:n0:gpu[0-3],n2:gpu[0-3]" and len(fewer.ranks) == 8


def test_ranks_beyond_the_gpus_measure_host_memory() -> None:
    """Catches ranks without a GPU that are left out where they are not needed, or share one."""
    suite = planning.suite(DIRECT.replace('"direct"', '"xccl"'), MESSAGES + 'pattern = "allreduce"')
    plan = make_hosts_plan(suite, hosts(2), PairRule(), *planning.h200x4, ranks_per_host=6)
    paths = [plan.planned(planned, (0, 1), 0).case.path for planned in plan.of_all]
    assert paths == ["allreduce:n0:gpu[0-3],n1:gpu[0-3]", "allreduce:n0:0-5/cpu0,n1:0-5/cpu0"]


@pytest.mark.parametrize(
    ("names", "path"),
    [
        (["a1", "a2"], "a1:cpu0,a2:cpu0"),
        (["n008", "n009", "n010", "n012"], "n[008-010]:cpu0,n012:cpu0"),
        (["n8", "n9", "n10"], "n[8-10]:cpu0"),
        (["n09", "n10", "n011"], "n09:cpu0,n10:cpu0,n011:cpu0"),
        (["a", "b", "a1", "b2"], "a:cpu0,b:cpu0,a1:cpu0,b2:cpu0"),
        (["x1c0", "x1c1", "x1c2", "x2c0"], "x1c[0-2]:cpu0,x2c0:cpu0"),
    ],
)
def test_consecutive_hosts_are_a_range(names: list[str], path: str) -> None:
    """Catches a range over hosts that are not in it."""
    suite = planning.suite(MESSAGES + 'pattern = "allreduce"')
    plan = make_hosts_plan(suite, [Host(name) for name in names], PairRule(), *planning.two_cores)
    case = plan.planned(plan.of_all[0], tuple(range(len(names))), 0).case
    assert case.path == f"allreduce:{path}"


def test_sizes_that_the_suite_lacks_are_measured_between_hosts() -> None:
    """Catches a size by name that is refused between hosts alone."""
    suite = planning.suite(MESSAGES, planning.MEMCPY)
    plan = make_hosts_plan(suite, hosts(2), PairRule(), *planning.two_cores, sizes="8B,3MiB,10MB")
    assert {planned.case.size_bytes for planned in plan.of_pairs} == {8, 3 << 20, 10_000_000}
