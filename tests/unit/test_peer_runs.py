"""Comparisons with other programs of several ranks (benchmarks/*_peer.py): like with like, truly."""

from __future__ import annotations

from pathlib import Path

import pytest

import peer_runs
import rank_slices
import xccl_peer
from benchmarks.peers import torch_allreduce
from byteways.cases.interfaces import INTERFACES

FILE = "/opt/torch/nvidia/nccl/lib/libnccl.so.2"


def test_interval_has_the_quantile_of_its_number_of_pairs() -> None:
    """Catches a quantile for ten pairs whatever their number, and an interval of ratios themselves."""
    # ±ln 2: s / √2 = ln 2, t(1) = 12.7062, half-width 8.80728.
    assert peer_runs.ratio_text([0.5, 2.0]) == "ratio 1.000 (0.000 to 6682.651)"
    # e^±0.01 three times each: s = 0.010954, t(5) = 2.5706, half-width 0.011496.
    assert peer_runs.ratio_text([0.990050, 1.010050] * 3) == "ratio 1.000 (0.989 to 1.012)"


@pytest.mark.parametrize(("count", "least", "greatest"), [(5, 0, 4), (6, 0, 5), (15, 3, 11), (40, 13, 26)])
def test_interval_of_a_median(count: int, least: int, greatest: int) -> None:
    """Catches a rank too many: the 4th and the 12th of 15 values enclose the median with 96.5 %."""
    values = [*reversed(range(count))]
    assert peer_runs.interval_of_median(values) == (least, greatest)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ((0.97, 1.03), ": within 0.97 to 1.03"),
        ((0.0, 1.005), ": not known to be within 0 to 1.005"),
        ((0.0, 0.98), ": outside 0 to 0.98"),
        ((1.02, 1.03), ": outside 1.02 to 1.03"),
    ],
)
def test_a_wanted_range_holds_the_whole_interval(wanted: tuple[float, float], said: str) -> None:
    """Catches a median within a range that is told as proof, and one beyond it that is told as doubt."""
    assert peer_runs.ratio_text([0.990050, 1.010050] * 3, wanted).endswith(f"(0.989 to 1.012){said}")


def test_turns_pair_what_ran_together() -> None:
    """Catches ratios turned round, and one program that is always the first of a pair."""
    order: list[str] = []

    def run(name: str, time_ns: float) -> dict[peer_runs.Key, float]:
        order.append(name)
        return {("allreduce", 1024): time_ns * len(order)}

    lines = list(peer_runs.in_turns(2, lambda _: run("ours", 200.0), lambda _: run("theirs", 50.0)))
    assert order == ["ours", "theirs", "theirs", "ours"]
    # The geometric mean of 200 / 100 and 800 / 150.
    assert lines[0].split()[:5] == ["allreduce", "1024", "500", "and", "125"]
    assert "ratio 3.266" in lines[0]


def test_slices_take_turns() -> None:
    """Catches a loop that always follows the same program, and times that change sides."""
    order: list[tuple[str, int]] = []

    def run(name: str, number: int) -> float:
        order.append((name, number))
        return {"ours": 1.0, "theirs": 2.0}[name]

    found = rank_slices.in_slices(3, lambda number: run("ours", number), lambda number: run("theirs", number))
    assert found == [(1.0, 2.0)] * 3
    assert order == [(name, number) for number in range(3) for name in ("ours", "theirs")[:: (-1) ** number]]


@pytest.mark.parametrize(
    ("kind", "interface", "pattern"),
    [
        ("pong", "mpi-ping-pong", "unidirectional"),
        ("window", "mpi", "unidirectional"),
        ("allreduce", "mpi", "allreduce"),
        ("halo", "halo", "halo"),
        ("particles", "particles", "particles"),
    ],
)
def test_slices_measure_what_the_loop_does(kind: str, interface: str, pattern: str) -> None:
    """Catches a case of other ranks or sizes than the loop has, or of options that byteways refuses."""
    case = rank_slices.case_of(kind, 65536, 128)
    assert case.options["batch"] == 128 and set(case.options) <= set(INTERFACES[interface].takes)
    assert (case.interface, case.pattern, case.size_bytes, case.ranks) == (interface, pattern, 65536, (0, 1))


def test_batches_are_whole() -> None:
    """Catches a batch that ends in the middle of a window or of a round of trips, and an empty one."""
    assert rank_slices.batch_of("window", 450.0) == 4416 and rank_slices.batch_of("window", 1e9) == 64
    assert rank_slices.batch_of("particles", 13_000.0) == 152 and rank_slices.batch_of("particles", 1e9) == 4
    assert rank_slices.batch_of("pong", 450.0) == 4444 and rank_slices.batch_of("pong", 1e9) == 1


@pytest.mark.parametrize("text", ["1", "0", "x"])
def test_one_pair_is_refused(text: str) -> None:
    """Catches a comparison that ends in a division by zero after all its runs."""
    with pytest.raises(ValueError):
        peer_runs.pairs_of(text)


def test_open_mpi_binds_no_rank() -> None:
    """Catches ranks of Open MPI bound to one core each, which both programs bind otherwise."""
    assert peer_runs.launcher_of("", "mpiexec (OpenRTE) 4.1.6").endswith("-n {ranks} --bind-to none")
    assert peer_runs.launcher_of("/m/bin/", "HYDRA build details") == "/m/bin/mpiexec -n {ranks}"


def test_other_versions_are_not_compared(tmp_path: Path) -> None:
    """Catches a ratio of two versions of the library, told as one of two programs."""
    peers = xccl_peer.Peers(tmp_path, "mpiexec", 2, "python", FILE, "2.28.3")
    peers.require_same("byteways", {"2.28.3"})
    with pytest.raises(SystemExit, match=r"byteways ran with 2\.27\.5, and PyTorch loads 2\.28\.3"):
        peers.require_same("byteways", {"2.27.5"})
    with pytest.raises(SystemExit, match="an unknown version"):
        peers.require_same("byteways", {"", "2.28.3"})


def test_answer_is_found_among_other_lines() -> None:
    """Catches the library's own words taken for the answer, and ranks that say nothing taken for zero."""
    assert xccl_peer.read_answer('NCCL version 2.28.3\n{"a": 1}\nbye\n') == {"a": 1}
    with pytest.raises(ValueError, match="no times"):
        xccl_peer.read_answer("killed")


def test_loaded_file_is_found() -> None:
    """Catches a file of another name, and one of two libraries taken at random."""
    line = "7f00-7f01 r-xp 00000000 08:01 42 "
    maps = f"{line}                {FILE}\n{line} {FILE}\n{line} /lib/libnccl-net.so\n{line} /lib/libc.so.6\n"
    assert torch_allreduce.library_in(maps) == FILE
    with pytest.raises(SystemExit, match="no library"):
        torch_allreduce.library_in(f"{line} /lib/libc.so.6\n")
    with pytest.raises(SystemExit, match=" and "):
        torch_allreduce.library_in(f"{maps}{line} /usr/lib/libnccl.so.2.27.5\n")


def test_rank_is_what_the_launcher_tells() -> None:
    """Catches every process as rank 0, and a run without a launcher that waits for the others."""
    both = {"PMI_RANK": "0", "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}
    assert torch_allreduce.rank_and_size(both) == (1, 2)
    assert torch_allreduce.rank_and_size({"PMI_RANK": "3", "PMI_SIZE": "4"}) == (3, 4)
    with pytest.raises(SystemExit, match="no launcher"):
        torch_allreduce.rank_and_size({})
