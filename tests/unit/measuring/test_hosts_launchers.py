"""Command lines that start a rank on each host, hosts that cannot be reached, and what hosts say."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from byteways.base.errors import BytewaysError
from byteways.machine.model import Device, Link, Nic, Topology
from byteways.measuring.hosts import launchers, reach, states
from byteways.measuring.hosts.facts import cores_of_rank, ends_of, number_on_host, placed, sharing
from byteways.measuring.hosts.job import HostsJob
from byteways.measuring.hosts.launchers import HostsLauncher, find_hosts_launcher
from byteways.measuring.shared.allocation import Allocation
from byteways.measuring.shared.launchers import Launcher

FAMILIES = [
    ("MPICH", ("mpiexec", "-n", "{ranks}"), "mpiexec -n N -f F -ppn R P"),
    ("Open MPI", ("mpirun", "-n", "{ranks}"), "mpirun -n N --hostfile F --map-by ppr:R:node P"),
    ("Slurm", ("srun", "-n", "{ranks}"), "srun -n N -N 2 --nodelist=F --ntasks-per-node=R P"),
    ("Flux", ("flux", "run", "-n", "{ranks}"), "flux run -n N -N 2 --requires=host:a,b P"),
]


@pytest.mark.parametrize(("name", "words", "line"), FAMILIES, ids=[family[0] for family in FAMILIES])
def test_families(monkeypatch: pytest.MonkeyPatch, name: str, words: tuple[str, ...], line: str) -> None:
    """Catches ranks that a launcher places elsewhere than on their host, and too few of them."""
    monkeypatch.setattr(launchers, "find_launcher", lambda given=None: Launcher(name, words))
    for each in (1, 4):
        found = find_hosts_launcher(ranks_per_host=each)
        wanted = line.replace("-n N", f"-n {2 * each}").replace("R", str(each))
        assert " ".join(found.line(["a", "b"], Path("F"), ["P"])) == wanted
    assert find_hosts_launcher(ranks_per_host=1).worker_words(["a", "b"]) == ["--ranks", "2"]
    told = find_hosts_launcher(ranks_per_host=4).worker_words(["a", "b"])
    assert told == ["--ranks", "8", "--ranks-per-host", "4"]


def test_a_launcher_that_is_not_known_needs_all_of_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches all ranks on one host with a launcher that nobody told of the others."""
    monkeypatch.setattr(launchers, "find_launcher", lambda given=None: Launcher("mpiexec", ("mpiexec",)))
    with pytest.raises(BytewaysError, match="does not know how to pass hosts to mpiexec"):
        find_hosts_launcher()
    with pytest.raises(BytewaysError, match="does not say which hosts to use: mpiexec -n 4") as error:
        find_hosts_launcher("mpiexec -n 4")
    assert "{hostfile}" in (error.value.hint or "")


def test_a_given_launcher(tmp_path: Path) -> None:
    """Catches placeholders that stay in the line."""
    program = tmp_path / "launch"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    found = find_hosts_launcher(f"{program} --on {{hosts}} -np {{ranks}}")
    assert found.line(["a", "b"], Path("F"), ["P"]) == [str(program), "--on", "a,b", "-np", "2", "P"]
    found = find_hosts_launcher(f"{program} --on {{hosts}} -np {{ranks}} -ppn {{ranks_per_host}}", 3)
    assert found.line(["a", "b"], Path("F"), ["{ranks}"])[1:] == [
        *("--on", "a,b", "-np", "6", "-ppn", "3", "{ranks}")
    ]


def test_hosts_that_cannot_be_reached_are_found_by_halves(tmp_path: Path) -> None:
    """Catches a host that is blamed for another, and a search that starts a program for each host."""
    program, calls = tmp_path / "launch", tmp_path / "calls"
    program.write_text(
        f"#!/bin/sh\necho x >> {calls}\nfor host in $(cat $1); do case $host in n3|n6)\n"
        'echo "ssh: connect to host $host: No route to host" >&2; exit 255;; esac; done\n'
    )
    program.chmod(0o755)
    launcher = find_hosts_launcher(f"{program} {{hostfile}} {{ranks}}")
    names = [f"n{number}" for number in range(32)]
    found = reach.search(launcher, names)
    assert found.not_tried == () and found.failed == {
        name: f"no program starts there: ssh: connect to host {name}: No route to host"
        for name in ("n3", "n6")
    }
    assert len(calls.read_text().split()) < 20
    assert reach.search(launcher, ["n0", "n1"]) == reach.HostSearch({})


def test_a_host_without_a_start_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches hosts taken for reachable because the search gave up before it tried them."""
    broken = {"n1", "n6"}
    monkeypatch.setattr(
        reach, "_wrong", lambda launcher, hosts, tick: "no route" if broken & {*hosts} else None
    )
    launcher: Any = None
    names = [f"n{number}" for number in range(8)]
    tried = [reach.search(launcher, names, most_starts=most) for most in (1, 2, 4, 5, 100)]
    assert [found.not_tried for found in tried] == [
        tuple(names),
        tuple(names),
        ("n1", "n2", "n3", "n4", "n5", "n6", "n7"),
        ("n2", "n3", "n4", "n5", "n6", "n7"),
        (),
    ]
    assert [sorted(found.failed) for found in tried] == [[], [], [], ["n1"], ["n1", "n6"]]


def test_a_launcher_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a search that waits for ever, and a launcher that is left behind."""
    program, pid = tmp_path / "launch", tmp_path / "pid"
    program.write_text(f"#!/bin/sh\necho $$ > {pid}\nexec sleep 1000\n")
    program.chmod(0o755)
    monkeypatch.setattr(reach, "LAUNCH_LIMIT_S", 0.2)
    found = reach.search(find_hosts_launcher(f"{program} {{hostfile}} {{ranks}}"), ["n0"])
    assert found.failed["n0"].startswith("no program started there within")
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_states_of_ranks_on_other_hosts(tmp_path: Path) -> None:
    """Catches a stopped rank that its host does not tell, other programs for ranks, a host that does not
    answer and takes what the others say with it, and a launcher's own words in a line.
    """
    commands = {
        7: f"python -m {launchers.HOSTS_WORKER_MODULE} --ranks 2",
        8: "python other",
        9: "",
        10: launchers.HOSTS_WORKER_MODULE,
    }
    for pid, command in commands.items():
        (tmp_path / "proc" / str(pid)).mkdir(parents=True)
        (tmp_path / "proc" / str(pid) / "cmdline").write_bytes(command.replace(" ", "\0").encode() + b"\0")
    (tmp_path / "proc" / "self").mkdir()
    (tmp_path / "proc" / "11").mkdir()
    lines = states.lines_of(tmp_path / "proc", "n1", {7: "T", 8: "T", 9: "S", 10: None}.get)
    assert lines == ["byteways-rank n1 7 T"]
    program = tmp_path / "launch"
    program.write_text(f"#!/bin/sh\necho '[n1] {lines[0]}'\necho 'byteways-rank n0 7 S' \"$@\"\nexit 1\n")
    program.chmod(0o755)
    found = states.states_on(find_hosts_launcher(f"{program} {{hosts}} {{ranks}}", 4), ["n0", "n1"])
    assert found == {("n1", 7): "T", ("n0", 7): "S"}
    assert states.stopped_on(found, "n1", 7)
    assert not states.stopped_on(found, "n0", 7) and not states.stopped_on(found, "n1", 8)


def test_words_for_one_host_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches Slurm's -N 1, with which all ranks of a run between hosts are on one of them."""
    found = Launcher("Slurm", ("srun", "--overlap"), one_host_words=("-N", "1"))
    monkeypatch.setattr(launchers, "find_launcher", lambda given=None: found)
    line = find_hosts_launcher().line(["a"], Path("F"), ["P"])
    assert line == ["srun", "--overlap", "-N", "1", "--nodelist=F", "--ntasks-per-node=1", "P"]


def test_ranks_are_placed_by_name() -> None:
    """Catches ranks that are taken for their neighbours: Slurm sorts the hosts that it is given."""
    ranks = [{"host": name} for name in ("n10.site.org", "n2.site.org", "n9")]
    assert placed(["n2", "n9", "n10"], ranks) == ["n10", "n2", "n9"]
    assert placed(["n2.site.org", "n9", "n10"], ranks) == ["n10", "n2.site.org", "n9"]
    assert placed(["10.0.0.1", "10.0.0.2", "10.0.0.3"], ranks) == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
    assert placed(["n2", "n9", "n11"], ranks) == ["", "n2", "n9"]


def test_several_ranks_of_a_host_are_placed_by_name() -> None:
    """Catches ranks of two hosts that pass for those of one, with a launcher that deals them in turn."""
    ranks = [{"host": name} for name in ("k1", "k2", "k1", "k2")]
    assert placed(["k1", "k2"], ranks) == ["k1", "k2", "k1", "k2"]
    assert placed(["10.0.0.1", "10.0.0.2"], ranks) == ["10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.2"]
    assert [number_on_host(ranks, rank) for rank in range(4)] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("ranks", "cores"),
    [
        ([("a", [0, 1]), ("a", [0, 1])], [(7,), (7,)]),  # alone on their host: as planned, near to their GPUs
        ([("a", [0]), ("a", [1])], [(0,), (1,)]),  # bound by the launcher
        ([("a", [0, 1, 2, 3])] * 4, [(0,), (1,), (2,), (3,)]),  # two hosts on one kernel
        ([("a", [0, 1])] * 4, [(), (), (), ()]),
        ([("a", [0, 1]), ("b", [0, 1])], [(0, 1), (0, 1)]),
    ],
)
def test_ranks_of_a_host_have_cores_of_their_own(
    ranks: list[tuple[str, list[int]]], cores: list[tuple[int, ...]]
) -> None:
    """Catches two ranks that take turns on a core while others are idle."""
    facts = [{"boot_id": boot, "host": boot, "cores": own} for boot, own in ranks]
    assert [tuple(cores_of_rank(facts, here, 2, (7,))) for here in range(len(ranks))] == cores


def test_ranks_that_share_a_kernel_are_counted() -> None:
    """Catches network namespaces that pass for machines."""
    assert sharing([{"boot_id": boot} for boot in ("a", "b", "a", "")]) == [2, 1, 2, 1]


def test_an_end_is_known_by_its_identity_and_limited_by_the_narrowest_link() -> None:
    """Catches a device that is known by its index alone, and a peak beyond the link to the NIC."""
    nic = Nic(
        "nic0", "0000:41:00.0", port="mlx5_0", home="cpu0", peak_bytes_per_s=50e9, peak_source="400 Gb/s"
    )
    narrow = Link("nic0", "cpu0", "pcie", 1, "4.0", 31.5e9, None, "PCIe", "PCIe 4.0 ×16")
    wide = Link("gpu0", "cpu0", "pcie", 1, "5.0", 63e9, None, "PCIe", "PCIe 5.0 ×16")
    devices = (
        Device("cpu0", "cpu", "CPU", numa_domain=0),
        Device("gpu0", "gpu", "GPU", uuid="GPU-1", pci_address="0000:3b:00.0", numa_domain=0),
    )
    topology = Topology("n0", devices, links=(narrow, wide), nics=(nic,))
    told = ends_of(topology, "gpu0")
    assert (told["uuid"], told["pci_address"], told["nic"]["port"]) == ("GPU-1", "0000:3b:00.0", "mlx5_0")
    assert told["links"] == ["gpu0<>cpu0", "nic0<>cpu0"] and told["peak_bytes_per_s"] == 31.5e9
    assert told["peak_source"].startswith("nic0<>cpu0")
    with pytest.raises(KeyError):
        ends_of(topology, "gpu7")
    assert "no network interface" in ends_of(Topology("n0", devices), "cpu0")["peak_source"]


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            "srun: cluster configuration lacks support for cpu binding\n"
            "srun: error: Unable to create step for job 13: Requested node configuration is not available\n",
            "srun: error: Unable to create step for job 13: Requested node configuration is not available",
        ),
        (
            "\nssh: connect to host n3: No route to host\nmpiexec failed\n",
            "ssh: connect to host n3: No route to host",
        ),
        ("ssh: no route\n[mpiexec@n0] (demux.c:76): callback returned error status\n", "ssh: no route"),
        ("", ""),
    ],
)
def test_the_line_of_a_launcher_that_tells_what_is_wrong(said: str, line: str) -> None:
    """Catches a warning that is given as the reason, in place of the error behind it."""
    assert reach._telling_line(said) == line


def test_hosts_outside_of_the_allocation_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a run that is resumed in a job with other nodes: srun refuses each of its hosts, and nothing
    says what to do.
    """
    monkeypatch.setenv("PATH", str(tmp_path))
    said: list[str] = []
    launcher = HostsLauncher(Launcher("Slurm", ("srun",)))
    job = HostsJob(tmp_path, ["n1.site.org", "n2", "n7"], launcher, said.append, lambda: None)
    job.leave_out_others(Allocation("12", "n[1-2]", 1, "n1"))
    assert job.live == ["n1.site.org", "n2"] and job.left_out == {
        "n7": "it is no node of Slurm job 12 (n[1-2])"
    }
    job = HostsJob(tmp_path, ["n1", "n2"], launcher, said.append, lambda: None)
    with pytest.raises(BytewaysError, match="fewer than two hosts are left") as error:
        job.leave_out_others(Allocation("12", "n[2-3]", 1, "n2"))
    assert error.value.hint == "sbatch --nodelist=n1,n2 starts a job on the hosts of this run"
