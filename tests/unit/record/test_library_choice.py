"""What is read from the log of NCCL and RCCL, and when they are asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from byteways.measuring.conduct.library_choices import LibraryChoices, ProbeFailed
from byteways.measuring.shared.library_log import LibraryLog, has_choice
from byteways.measuring.shared.mpi_library import unloaded_reader
from byteways.plan.variables import unread_by
from byteways.record.library_choice import BY_MESSAGES, LibraryChoice, choice_of
from tests.unit.measuring.test_launch_modes import planned

#: Lines of NCCL 2.28, 2.22 and RCCL, with what stands before them.
NAMED = (
    "node:7:9 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo TREE proto LL128 channel{Lo..Hi}={0..23}\n"
    "node:7:9 [0] NCCL INFO AllGather: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0} cga 4\n"
    "node:7:9 [0] NCCL INFO AllReduce: 8 Bytes -> Algo NVLS_TREE proto SIMPLE channel{Lo..Hi}={2..3}\n"
)
NUMBERED = "INFO 64 Bytes -> Algo 0 proto 0 time 3.9\nINFO 1024 Bytes -> Algo 1 proto 2 time 7.5\n"


@pytest.mark.parametrize(
    ("log", "pattern", "choice"),
    [
        (NAMED, "allreduce", LibraryChoice("NVLSTree", "Simple", 2, "log")),
        (NAMED, "allgather", LibraryChoice("Ring", "LL", 1, "log")),
        (NAMED[:96], "allreduce", LibraryChoice("Tree", "LL128", 24, "log")),
        (NUMBERED, "allreduce", LibraryChoice("Ring", "Simple", None, "log")),
        (
            "NCCL INFO 64 Bytes -> Algo 9 proto 0 time 1",
            "reduce",
            LibraryChoice(reason="no line on it in log"),
        ),
        (NAMED, "broadcast", LibraryChoice(reason="no line on it in log")),
        (NAMED, "alltoall", LibraryChoice(reason=BY_MESSAGES)),
        ("", "allreduce", LibraryChoice(reason="no line on it in log")),
    ],
)
def test_lines_of_the_log(log: str, pattern: str, choice: LibraryChoice) -> None:
    """Catches the choice for another collective or an earlier size, channels one too few, and a guess."""
    assert choice_of(log, pattern, "log") == choice


def test_only_news_are_read(tmp_path: Path) -> None:
    """Catches the lines of an earlier case read as those of the next one."""
    log = LibraryLog(tmp_path / "log")
    assert log.news() == ""
    (tmp_path / "log").write_text("one\n")
    assert log.news() == "one\n"
    with (tmp_path / "log").open("a") as more:
        more.write("two\n")
    assert log.news() == "two\n" and log.news() == ""
    assert LibraryLog.variables(tmp_path)["NCCL_DEBUG_SUBSYS"] == "TUNING"


def test_an_environment_is_asked_once() -> None:
    """Catches a process for each case, cases of another environment, and launch modes asked apart."""
    cases = [
        one.case for one in planned('launch = ["process", "thread"], timing = ["pipelined", "isolated"]')
    ]
    asked: list[list[dict[str, Any]]] = []

    def probe(environment: Any, told: list[dict[str, Any]], limit_s: float) -> list[dict[str, Any]]:
        asked.append(told)
        return [LibraryChoice("Ring", "LL", 1, "log").to_json() for _ in told]

    choices = LibraryChoices()
    choices.plan(cases)
    assert len(cases) == 4 and choices.untried(cases[0]) and choices.of(cases[0]) is None
    choices.learn(cases[0], probe)
    assert [len(told) for told in asked] == [1]
    assert asked[0][0]["options"] == {"batch": 1, "launch": "single"}
    for case in cases:
        assert not choices.untried(case)
        assert (choices.of(case) or {})["algorithm"] == "Ring"


def test_a_probe_that_fails_is_a_reason() -> None:
    """Catches a run that ends with the probe, or that asks again for each case."""

    def probe(*_: object) -> list[dict[str, Any]]:
        raise ProbeFailed("worker ended by SIGSEGV")

    (one,) = planned('timing = "pipelined"')
    choices = LibraryChoices()
    choices.learn(one.case, probe)
    assert not choices.untried(one.case)
    assert choices.of(one.case) == LibraryChoice(reason="the probe failed: worker ended by SIGSEGV").to_json()


def test_messages_have_no_choice() -> None:
    """Catches a probe for what the library chooses nothing of."""
    (one,) = planned('timing = "pipelined"')
    assert has_choice(one.case)
    assert not has_choice(replace(one.case, pattern="multi-pair"))


@pytest.mark.parametrize(
    ("version", "variable", "why"),
    [
        (
            "Open MPI v4.1.4, package: Debian",
            "MPIR_CVAR_X",
            "MPIR_CVAR_X: read by MPICH, and this is Open MPI v4.1.4",
        ),
        ("MPICH Version:      4.2.0", "OMPI_MCA_x", "OMPI_MCA_x: read by Open MPI, and this is MPICH"),
        ("MPICH Version:      4.2.0", "MPIR_CVAR_X", ""),
        ("Open MPI v5.0.8", "OMPI_MCA_x", ""),
        ("Open MPI v5.0.8", "UCX_TLS", ""),
        (
            "MPICH Version:      4.2.0",
            "MPICH_GPU_IPC_ENABLED",
            "MPICH_GPU_IPC_ENABLED: read by Cray MPICH, and this is MPICH Version:      4.2.0",
        ),
        ("MPI VERSION    : CRAY MPICH version 8.1.28.2\nMPI BUILD", "MPICH_GPU_IPC_ENABLED", ""),
        ("MPI VERSION    : CRAY MPICH version 8.1.28.2", "OMPI_MCA_x", "OMPI_MCA_x: read by Open MPI"),
        ("Open MPI v5.0.8", "MPICH_GPU_IPC_ENABLED", "MPICH_GPU_IPC_ENABLED: read by MPICH"),
    ],
)
def test_variables_of_another_mpi(version: str, variable: str, why: str) -> None:
    """Catches the same figures told as those of six algorithms."""
    told = unread_by(version, {variable: "1"})
    assert told.startswith(why) if why else told == ""


@pytest.mark.parametrize(
    ("variable", "maps", "why"),
    [
        ("UCX_TLS", "7f00 /opt/ucx/lib/libucp.so.0.0.0", ""),
        ("UCX_TLS", "7f00 /opt/lib/libmpi.so.40", "UCX_TLS: read by UCX, which this MPI has not loaded"),
        ("UCC_CL", "7f00 /opt/ucx/lib/libucp.so.0", "UCC_CL: read by UCC, which this MPI has not loaded"),
        ("OMPI_MCA_pml", "", ""),
    ],
)
def test_variables_of_a_library_that_is_not_loaded(variable: str, maps: str, why: str) -> None:
    """Catches transports of UCX compared where Open MPI sends messages without it."""
    assert unloaded_reader({variable: "1"}, maps) == why
