"""What the variables of Slurm say of a job, and what byteways does with its nodes."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path

import pytest

from byteways.base.errors import BytewaysError
from byteways.cli import allocated_hosts as allocated
from byteways.cli.allocated_hosts import (
    allocated_hosts,
    check_started_on_one_host,
    doubt_about_this_host,
)
from byteways.cli.run_task import default_folder
from byteways.measuring.shared.allocation import Allocation
from byteways.measuring.shared.launchers import find_launcher
from byteways.plan.suite import load

JOB = {"SLURM_JOB_ID": "12", "SLURM_JOB_NODELIST": "n[1-2]", "SLURMD_NODENAME": "n2"}
ARRAY = {**JOB, "SLURM_ARRAY_JOB_ID": "11", "SLURM_ARRAY_TASK_ID": "3"}
STEP = {**JOB, "SLURM_STEP_NUM_TASKS": "2"}

Scontrol = Callable[[str], None]


def test_nobody_is_in_a_job_without_its_variables() -> None:
    """Catches a job of Slurm on a machine without it, and one known by a part of its variables."""
    assert Allocation.of({}) is None and Allocation.of({"SLURM_JOB_ID": "12"}) is None
    assert Allocation.of(JOB) == Allocation("12", "n[1-2]", 1, "n2")
    assert Allocation.of(ARRAY) == Allocation("11_3", "n[1-2]", 1, "n2")
    assert Allocation.of(STEP) == Allocation("12", "n[1-2]", 2, "n2")


@pytest.fixture
def scontrol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scontrol:
    """Makes a program scontrol that runs this line of shell; without a call there is none."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def write(line: str) -> None:
        (tmp_path / "scontrol").write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / "scontrol").chmod(0o755)

    return write


@pytest.mark.parametrize(
    ("line", "nodes"),
    [
        (None, ("n1", "n2")),
        ('[ "$*" = "show hostnames n[1-2]" ] && echo cabinet1 && echo cabinet2', ("cabinet1", "cabinet2")),
        ("echo 'Invalid hostlist' >&2; exit 1", ("n1", "n2")),
        ("kill -9 $$", ("n1", "n2")),
    ],
    ids=["none", "prints", "fails", "dies"],
)
def test_scontrol_expands_the_nodes_where_it_can(
    scontrol: Scontrol, line: str | None, nodes: tuple[str, ...]
) -> None:
    """Catches a list that is expanded otherwise than Slurm does, and a job that needs scontrol."""
    if line is not None:
        scontrol(line)
    allocation = Allocation.of(JOB)
    assert allocation is not None and allocation.nodes() == nodes


def test_a_list_that_nobody_can_read(scontrol: Scontrol) -> None:
    """Catches a traceback for a list that neither scontrol nor byteways can read."""
    scontrol("exit 1")
    allocation = Allocation.of({**JOB, "SLURM_JOB_NODELIST": "bgq[000x133]"})
    assert allocation is not None
    with pytest.raises(BytewaysError, match="cannot read the nodes of Slurm job 12") as error:
        allocation.nodes()
    assert "'000x133'" in (error.value.cause or "") and "--hosts FILE" in (error.value.hint or "")


def test_which_node_this_is(scontrol: Scontrol, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a node known by its host name alone, a name that an outer job left in the environment, and a
    login host that is taken for a node.
    """
    for host, name in (("login1", "n2"), ("n1.site.org", "n1"), ("login1", "n7"), ("login1", "")):
        monkeypatch.setattr(platform, "node", lambda host=host: host)
        variables = {**JOB, "SLURMD_NODENAME": "n2" if name == "n2" else "n7" if name else ""}
        allocation = Allocation.of(variables)
        assert allocation is not None
        wanted = name if name in ("n1", "n2") else None
        assert allocation.own_node() == wanted
        assert (doubt_about_this_host(variables) is None) == (wanted is not None)
        if wanted:
            assert allocation.required_node() == wanted
    with pytest.raises(BytewaysError, match="this host is no node of Slurm job 12") as error:
        allocation.required_node()
    assert error.value.cause == "this is login1, the nodes are n[1-2]"
    assert "srun --overlap -N 1 -n 1 byteways run" in (error.value.hint or "")


def test_srun_starts_ranks_on_this_node(scontrol: Scontrol, tmp_path: Path) -> None:
    """Catches ranks on the first node of the job, or on all of them, while another node is planned."""
    (tmp_path / "srun").write_text("#!/bin/sh\n")
    (tmp_path / "srun").chmod(0o755)
    line = find_launcher(None, {**JOB, "PATH": str(tmp_path)}).command(4, ["P"])
    assert line[-5:] == ["-N", "1", "--ntasks-per-node=4", "--nodelist=n2", "P"]
    with pytest.raises(BytewaysError, match="this host is no node of Slurm job 12"):
        find_launcher(None, {**JOB, "SLURMD_NODENAME": "n3", "PATH": str(tmp_path)})


@pytest.mark.parametrize(
    ("suite", "launcher", "variables", "hosts"),
    [
        ("mpi", None, JOB, "n1,n2"),
        ("collectives", "srun", JOB, "n1,n2"),
        ("mpi", "mpirun -f {hostfile}", JOB, "n1,n2"),
        ("mpi", "mpirun -n {ranks}", JOB, None),
        ("mpi", "mpirun '", JOB, None),
        ("collectives", "local", JOB, None),
        ("quick", None, JOB, None),
        ("launch-modes", None, JOB, None),  # threads of one process
        ("message-rate", None, JOB, None),  # pairs within a host
        ("mpi", None, {**JOB, "SLURM_JOB_NODELIST": "n2"}, None),
        ("mpi", None, {}, None),
    ],
)
def test_a_job_of_several_nodes_measures_between_them(
    scontrol: Scontrol,
    capsys: pytest.CaptureFixture[str],
    suite: str,
    launcher: str | None,
    variables: dict[str, str],
    hosts: str | None,
) -> None:
    """Catches a suite between processes that measures one of the nodes, one of a host that is taken for it,
    and nodes that a launcher does not get to know.
    """
    assert allocated_hosts(load(suite), launcher, False, variables) == hosts
    said = capsys.readouterr().err
    assert ("2 nodes of Slurm job 12, n[1-2]" in said and "--ranks 2" in said) == (hosts is not None)
    assert allocated_hosts(load(suite), launcher, True, variables) is None


def test_a_step_of_several_tasks_is_refused() -> None:
    """Catches two runs that each start ranks on all hosts."""
    check_started_on_one_host(JOB)
    check_started_on_one_host({})
    with pytest.raises(BytewaysError, match="srun has started byteways 2 times") as error:
        check_started_on_one_host(STEP)
    assert error.value.cause == "SLURM_STEP_NUM_TASKS is 2"
    assert allocated.ON_A_NODE in (error.value.hint or "") and "--ranks 2" in (error.value.hint or "")


def test_each_element_of_an_array_has_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches two elements on one host whose runs begin in one second and take the same folder."""
    names = []
    for element in ("3", "4"):
        for name, value in {**ARRAY, "SLURM_ARRAY_TASK_ID": element}.items():
            monkeypatch.setenv(name, value)
        names.append(default_folder(load("mpi"), None).name)
    assert [name.rpartition("-")[2] for name in names] == ["job11_3", "job11_4"]
