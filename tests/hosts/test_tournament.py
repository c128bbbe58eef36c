"""Tournaments between network namespaces: memory of the host, MPI over TCP, no GPU and no network hardware.

`make test-hosts` runs them: they need root, and nothing of the host's own network is used or changed.
"""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import pytest

from byteways.record.record import Record
from byteways.record.run_folder import LOG
from tests.hosts.conftest import Hosts
from tests.mpi import jobs

pytestmark = pytest.mark.hosts
COUNT = 4
#: Cases of a pair: a round trip, and messages in both directions.
CASES = 3
PAIRS = COUNT * (COUNT - 1) // 2


def once(records: list[Record]) -> bool:
    return set(Counter((record.case_id, record.round) for record in records).values()) == {1}


def matrix(records: list[Record]) -> dict[tuple[str, str], float]:
    """Bandwidth in bytes/s by sending and receiving host; printed."""
    found = {}
    for record in records:
        if record.bandwidth_bytes_per_s is not None:
            ends = tuple(end.partition(":")[0] for end in record.path.split(">"))
            found[ends] = record.bandwidth_bytes_per_s
    names = sorted({name for pair in found for name in pair})
    print("bandwidth, MB/s; from \\ to", *names, sep="\t")
    for a in names:
        print(a, *(f"{found[a, b] / 1e6:.1f}" if a != b else "-" for b in names), sep="\t")
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("installation", [jobs.MPICH, jobs.OPEN_MPI], ids=lambda each: each.name)
def test_four_hosts_meet_in_three_rounds(between_hosts: Hosts, installation: jobs.Installation) -> None:
    """Catches a launcher that one MPI needs otherwise, a pair that is not measured, data that arrive wrong, a
    host known by its number alone, and results that pass for those of a network.
    """
    done = between_hosts(COUNT, installation=installation)
    records = done.run.records
    assert done.status == 0, done.said
    assert len(records) == PAIRS * CASES == done.run.manifest["planned"] and once(records)
    assert all(record.status == "measured" and record.verified for record in records)
    names = [f"n{number}" for number in range(COUNT)]
    assert set(matrix(records)) == set(permutations(names, 2))
    for number in range(1, COUNT):
        assert f"round {number}/{COUNT - 1}: " in done.said
    for record in records:
        assert record.hosts is not None and record.clocks is not None and record.ranks is not None
        assert [rank["host"] for rank in record.ranks] == list(record.hosts)
        assert "one-machine" in {warning.id for warning in record.warnings}
        assert record.tournament is not None and record.tournament["rounds"] == COUNT - 1


def test_clocks_that_disagree_by_hours(between_hosts: Hosts) -> None:
    """Catches delays of ranks by the difference of two clocks that have nothing to do with each other."""
    ahead_s = {"n1": 7200, "n2": 86400}
    done = between_hosts(3, files={f"clock-{host}": str(s) for host, s in ahead_s.items()})
    assert done.status == 0, done.said
    for record in done.run.records:
        assert record.clocks is not None and record.ranks is not None
        first, second = record.clocks["reference"], record.clocks["host"]
        difference_ns = 1e9 * (ahead_s.get(second, 0) - ahead_s.get(first, 0))
        # The shortest way there and back bounds the error: a property of the estimate, not of this machine.
        assert abs(record.clocks["offset_ns"] - difference_ns) <= record.clocks["uncertainty_ns"] + 1
        assert all(rank["begin_ns"] < 3600e9 for rank in record.ranks)


def test_an_unreachable_host_is_named_and_the_others_go_on(between_hosts: Hosts) -> None:
    """Catches a run that one host prevents."""
    done = between_hosts(COUNT, files={"unreachable-n2": ""})
    assert done.status == 1 and "host n2 is excluded: no program starts there: ssh:" in done.said
    statuses = Counter((record.status, "n2" in record.path) for record in done.run.records)
    assert statuses == {("measured", False): 3 * CASES, ("skipped", True): 3 * CASES}
    assert once(done.run.records)


#: Kills (or stops) the rank on n2 as soon as there is a record. $1: folder.
MEANWHILE = """
folder=$1; shift
"$@" & run=$!
until [[ -s $folder/R/measurements.jsonl ]] || ! kill -0 $run 2>/dev/null; do sleep 0.05; done
for pid in $(ip netns pids n2); do
  grep -q hosts.worker /proc/$pid/cmdline 2>/dev/null && victim=$pid
done
kill -{signal} $victim
wait $run
"""


def test_a_rank_that_dies_costs_its_pair_and_the_rest_goes_on(between_hosts: Hosts) -> None:
    """Catches records of other pairs that are lost with the job, and a loss that names nobody."""
    done = between_hosts(COUNT, beside=MEANWHILE.format(signal="KILL"), rounds=2)
    records = done.run.records
    assert len(records) == 2 * PAIRS * CASES and once(records), done.said
    lost = [record for record in records if record.status != "measured"]
    assert done.status == 1 and len(lost) == 1, done.said
    assert "n2" in lost[0].path and "on n2) ended first" in (lost[0].reason or "")


#: Ends the run as a signal does that nothing can catch, as soon as there are records.
KILLED = """
folder=$1; shift
"$@" & run=$!
until [[ $(wc -l < $folder/R/measurements.jsonl) -gt 4 ]] 2>/dev/null; do sleep 0.05; done
kill -KILL $run
wait $run
exit 0
"""


def test_a_killed_run_is_taken_up(between_hosts: Hosts) -> None:
    """Catches a plan that cannot be made again from its rule, and records twice."""
    killed = between_hosts(COUNT, beside=KILLED, rounds=3)
    assert killed.run.manifest["state"] == "running" and len(killed.run.records) < 3 * PAIRS * CASES
    resumed = between_hosts(COUNT, "--resume", str(killed.folder))
    records = resumed.run.records
    assert resumed.status == 0, resumed.said + (resumed.folder / LOG).read_text()[-2000:]
    assert len(records) == 3 * PAIRS * CASES and once(records)
    assert resumed.run.manifest["state"] == "complete"


@pytest.mark.slow
def test_sixty_four_hosts_lose_no_record(between_hosts: Hosts) -> None:
    """Catches exchanges that deadlock or take a core while they wait, with 32 ranks to a core."""
    done = between_hosts(64, budget_s=0.01, bandwidth=False)
    records = done.run.records
    assert done.status == 0, done.said
    assert len(records) == 64 * 63 // 2 and once(records)
    assert all(record.status == "measured" and record.verified for record in records)
    pairs = {tuple(sorted(record.hosts or ())) for record in records}
    assert len(pairs) == 2016
