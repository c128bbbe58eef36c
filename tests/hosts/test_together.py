"""Collectives and application patterns of all hosts together, between network namespaces: host memory, MPI
over TCP, no GPU and no network hardware (`make test-hosts`).
"""

from __future__ import annotations

import re
from collections import Counter

import pytest

from byteways.record.record import Record
from tests.hosts.conftest import MESSAGES, Hosts
from tests.hosts.test_tournament import MEANWHILE, once
from tests.mpi import jobs

pytestmark = pytest.mark.hosts
COUNT = 4
SWEEPS = """
[[sweep]]
name = "pipelined"
interface = "mpi"
pattern = ["allreduce", "allgather"]
source = "cpu*:pageable"
destination = "cpu*:pageable"
cache = "warm"
size = ["8B", "16KiB"]

[[sweep]]
name = "isolated"
interface = "mpi"
pattern = "allreduce"
source = "cpu*:pageable"
destination = "cpu*:pageable"
cache = "warm"
size = "8B"
options = {{ timing = "isolated" }}

[[sweep]]
name = "barrier"
interface = "mpi-barrier"
pattern = "barrier"
source = "cpu*:pageable"
destination = "cpu*:pageable"
size = "8B"
"""
#: Of those: allreduce and allgather of two sizes, one isolated, and a barrier.
CASES = 6
#: An exchange of halos in a grid of 2 × 2 hosts.
HALO = """
[[sweep]]
name = "halo"
interface = "halo"
pattern = "halo"
source = "cpu*:pageable"
destination = "cpu*:pageable"
size = "32KiB"
options = {{ fields = 2 }}
"""


def path_of(record: Record) -> str:
    return record.path.partition(":")[2]


@pytest.mark.parametrize("installation", [jobs.MPICH, jobs.OPEN_MPI], ids=lambda each: each.name)
def test_four_hosts_together(between_hosts: Hosts, installation: jobs.Installation) -> None:
    """Catches collectives that reach two hosts only, clocks of two hosts for those of four, data that arrive
    wrong, and a record that does not name its hosts.
    """
    ahead_s = {"n1": 7200, "n3": 86400}
    files = {f"clock-{host}": str(s) for host, s in ahead_s.items()}
    done = between_hosts(COUNT, sweeps=SWEEPS, installation=installation, files=files)
    records = done.run.records
    assert done.status == 0, done.said
    assert len(records) == CASES == done.run.manifest["planned"] and once(records)
    assert "all 4 hosts together" in done.said
    names = [f"n{number}" for number in range(COUNT)]
    for record in records:
        assert record.status == "measured" and record.verified, record.reason
        assert path_of(record) == "n[0-3]:cpu0" and list(record.hosts or ()) == names
        assert record.peak_bytes_per_s is None and record.tournament is None
        assert record.ranks is not None and [rank["host"] for rank in record.ranks] == names
        for name, rank in zip(names, record.ranks, strict=True):
            clock = rank["clock"]
            difference_ns = 1e9 * (ahead_s.get(name, 0) - ahead_s.get("n0", 0))
            assert abs(clock["offset_ns"] - difference_ns) <= clock["uncertainty_ns"] + 1
            assert rank["begin_ns"] < 3600e9
        assert record.clocks is not None and record.clocks["reference"] == "n0"
        assert record.clocks["uncertainty_ns"] > 0


@pytest.mark.parametrize("installation", [jobs.MPICH, jobs.OPEN_MPI], ids=lambda each: each.name)
def test_two_ranks_on_each_of_two_hosts(between_hosts: Hosts, installation: jobs.Installation) -> None:
    """Catches collectives of one rank on each host, clocks of one host for those of another, and
    ranks of one host that pass for two hosts.
    """
    ahead_s = {"n1": 7200}
    files = {f"clock-{host}": str(s) for host, s in ahead_s.items()}
    sweeps = MESSAGES + SWEEPS + HALO
    done = between_hosts(2, "--ranks-per-host", "2", sweeps=sweeps, installation=installation, files=files)
    message, *records = done.run.records
    assert done.status == 0 and len(records) == CASES + 1 == done.run.manifest["planned"] - 1, done.said
    assert message.path == "n0:cpu0>n1:cpu0" and message.status == "measured", message.reason
    assert message.tournament is not None and list(message.hosts or ()) == ["n0", "n1"]
    names = ["n0", "n0", "n1", "n1"]
    for record in records:
        assert record.status == "measured" and record.verified, record.reason
        assert path_of(record) == "n0:0-1/cpu0,n1:0-1/cpu0"
        assert list(record.hosts or ()) == ["n0:cpu0", "n1:cpu0"]
        assert record.ranks is not None and [rank["host"] for rank in record.ranks] == names
        assert {rank["device"] for rank in record.ranks} == {"cpu0"}
        for name, rank in zip(names, record.ranks, strict=True):
            difference_ns = 1e9 * (ahead_s.get(name, 0) - ahead_s.get("n0", 0))
            clock = rank["clock"]
            assert abs(clock["offset_ns"] - difference_ns) <= clock["uncertainty_ns"] + 1
    gathers = {record.size_bytes for record in records if record.pattern == "allgather"}
    assert gathers == {32, 16384}  # an element for each of four ranks


def test_halos_in_a_grid_of_hosts(between_hosts: Hosts) -> None:
    """Catches application patterns whose neighbours are on no other host."""
    done = between_hosts(COUNT, sweeps=HALO)
    (record,) = done.run.records
    assert done.status == 0 and record.status == "measured" and record.verified, done.said
    assert path_of(record) == "n[0-3]:cpu0"


def test_a_stopped_rank_costs_a_case_and_is_named(between_hosts: Hosts) -> None:
    """Catches a rank of another host that is stopped while all wait for it, and is not named. Its state is
    known there alone, so that the run waits until the time of the case has passed.
    """
    done = between_hosts(3, sweeps=SWEEPS, beside=MEANWHILE.format(signal="STOP"))
    records = done.run.records
    assert done.status == 1 and len(records) == CASES and once(records), done.said
    (lost,) = (record for record in records if record.status != "measured")
    assert lost.status == "lost" and re.search(
        r"rank 2 \(cpu0, process \d+ on n2\) is stopped", lost.reason or ""
    )


def test_the_others_go_on_without_an_unreachable_host(between_hosts: Hosts) -> None:
    """Catches one host that costs the collectives of all."""
    done = between_hosts(COUNT, sweeps=SWEEPS, files={"unreachable-n2": ""})
    assert done.status == 1 and "host n2 is excluded: no program starts there: ssh:" in done.said
    found = Counter((record.status, path_of(record)) for record in done.run.records)
    assert found == {("skipped", "n[0-3]:cpu0"): CASES, ("measured", "n0:cpu0,n1:cpu0,n3:cpu0"): CASES}
    assert once(done.run.records)
