"""Comparisons with other programs of several ranks (benchmarks/*_peer.py): like with like, truly."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import particles_peer
import peer_runs
import rank_slices
import xccl_peer
from benchmarks.peers import torch_allreduce
from byteways.plan.interfaces import INTERFACES
from byteways.plan.suite import parse
from byteways.units import parse_size
from tests.report import run_builder
from tests.report.rank_runs import send_xccl
from tests.report.run_builder import GIB, Builder

FILE = "/opt/torch/nvidia/nccl/lib/libnccl.so.2"


def test_interval_has_the_quantile_of_its_number_of_pairs() -> None:
    """Catches a quantile for ten pairs whatever their number, and an interval of ratios themselves."""
    # ±ln 2: s / √2 = ln 2, t(1) = 12.7062, half-width 8.80728.
    assert peer_runs.ratio_text([0.5, 2.0]) == "ratio 1.000 (0.000 to 6682.651)"
    # e^±0.01 three times each: s = 0.010954, t(5) = 2.5706, half-width 0.011496.
    assert peer_runs.ratio_text([0.990050, 1.010050] * 3) == "ratio 1.000 (0.989 to 1.012)"


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


def test_plain_loop_knows_the_messages(tmp_path: Path) -> None:
    """Catches numbers that the loop would read as others, and messages that lie over each other."""
    file = particles_peer.trips_file(131072, tmp_path)
    store, part, trips, *numbers = map(int, Path(file).read_text(encoding="ascii").split())
    assert (store, part, trips) == (131072 // 8 + part, 4 * 10 * 16, 4)
    left = iter(numbers)
    for _ in range(2 * trips):
        end = sent = 0
        for _ in range(next(left)):
            in_store, in_messages, words = next(left), next(left), next(left)
            assert in_store >= end and in_messages == sent and words % 16 == 0
            end, sent = in_store + words, sent + words
        assert sent == 10 * 16 and end <= 131072 // 8
    assert list(left) == []


@pytest.mark.parametrize("text", ["1", "0", "x"])
def test_one_pair_is_refused(text: str) -> None:
    """Catches a comparison that ends in a division by zero after all its runs."""
    with pytest.raises(ValueError):
        peer_runs.pairs_of(text)


def test_open_mpi_binds_no_rank() -> None:
    """Catches ranks of Open MPI bound to one core each, which both programs bind otherwise."""
    assert peer_runs.launcher_of("", "mpiexec (OpenRTE) 4.1.6").endswith("-n {ranks} --bind-to none")
    assert peer_runs.launcher_of("/m/bin/", "HYDRA build details") == "/m/bin/mpiexec -n {ranks}"


def test_suite_is_one_sweep_of_the_sizes() -> None:
    """Catches keys that byteways refuses, and a suite of other memory, caches or timing."""
    suite = parse(xccl_peer.suite(), file="peer.toml")
    (sweep,) = suite.sweeps
    assert list(sweep.sizes) == [parse_size(size) for size in ("16MiB", "64MiB", "256MiB")]
    assert sweep.interfaces == ("xccl",) and sweep.patterns == ("allreduce",)
    assert sweep.caches == ("warm",) and suite.rounds == 1


def test_versions_are_read_alike(tmp_path: Path) -> None:
    """Catches equal versions called different, and a record without one taken for any."""
    assert xccl_peer.version_text(22803) == "2.28.3" and xccl_peer.version_text(2708) == "2.7.8"
    build = Builder(run_builder.topology(2))
    send_xccl(build, GIB, 360.0)
    assert xccl_peer.told_versions(build.records) == {"2.28.3"}
    build.measure("copy", [("gpu0:device", "gpu1:device", "gpu0")], 390.0)
    assert xccl_peer.told_versions(build.records) == {"2.28.3", ""}


def test_other_versions_are_not_compared(tmp_path: Path) -> None:
    """Catches a ratio of two versions of the library, told as one of two programs."""
    peers = xccl_peer.Peers(tmp_path, "mpiexec", 2, "python", FILE, "2.28.3")
    peers.require_same("byteways", {"2.28.3"})
    with pytest.raises(SystemExit, match=r"byteways ran with 2\.27\.5, and PyTorch loads 2\.28\.3"):
        peers.require_same("byteways", {"2.27.5"})
    with pytest.raises(SystemExit, match="an unknown version"):
        peers.require_same("byteways", {"", "2.28.3"})


def test_pytorch_gets_the_sizes_that_were_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches sizes asked for in place of those rounded to whole words, and the wrong library named."""
    build = Builder(run_builder.topology(2))
    send_xccl(build, GIB + 24, 360.0)
    given: dict[str, Any] = {}

    def own_records(*arguments: Any) -> Any:
        given["environment"] = arguments[-1]
        return build.records[:1]

    def launched(launcher: str, ranks: int, words: list[str], environment: dict[str, str]) -> str:
        given["words"] = words
        return "NCCL version 2.28.3\n" + json.dumps({"version": 22803, "times_ns": {words[-1]: [3, 1, 2]}})

    monkeypatch.setattr(xccl_peer, "own_records", own_records)
    monkeypatch.setattr(xccl_peer, "launched", launched)
    peers = xccl_peer.Peers(tmp_path, "mpiexec", 2, "python", FILE, "2.28.3")
    assert list(peers.ours(0)) == [("allreduce", GIB + 24)]
    assert peers.theirs(0) == {("allreduce", GIB + 24): 2}
    assert given["environment"]["BYTEWAYS_LIBNCCL"] == FILE and given["words"][-1] == str(GIB + 24)


def test_setting_is_of_the_library() -> None:
    """Catches NCCL's variable set to RCCL's file, so that byteways looks for another one."""
    assert xccl_peer.setting_of(FILE) == "BYTEWAYS_LIBNCCL"
    assert xccl_peer.setting_of("/opt/rocm/lib/librccl.so.1") == "BYTEWAYS_LIBRCCL"


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


class Sums:
    """As much of PyTorch as a batch needs: every event is 64 ms after the one before."""

    int64, float64 = "int64", "float64"
    ReduceOp = SimpleNamespace(MAX="max")

    def __init__(self, ranks: int) -> None:
        self.ranks, self.enqueued, self.waited = ranks, 0, 0
        clock = count(0, 64)

        class Event:
            def __init__(self, enable_timing: bool) -> None:
                assert enable_timing

            def record(self) -> None:
                self.at = next(clock)

            def synchronize(self) -> None: ...

            def elapsed_time(self, end: Any) -> float:
                return float(end.at - self.at)

        self.cuda = SimpleNamespace(Event=Event, synchronize=lambda: None)
        self.distributed = self

    def ones(self, words: int, dtype: str, device: str) -> Any:
        assert (words, dtype, device) == (4, "int64", "cuda")
        return Words(1)

    def tensor(self, values: list[float], dtype: str, device: str) -> Any:
        return SimpleNamespace(tolist=lambda: values)

    def barrier(self) -> None: ...

    def all_reduce(self, data: Any, async_op: bool = False, op: str = "sum") -> Any:
        self.enqueued += async_op
        if not async_op and op == "sum":
            data.value *= self.ranks
        return SimpleNamespace(wait=self.wait)

    def wait(self) -> None:
        self.waited += 1


class Words:
    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> Any:
        return SimpleNamespace(all=lambda: self.value == other)

    def zero_(self) -> None:
        self.value = 0


def test_batches_of_pytorch_are_of_many_operations() -> None:
    """Catches the time of a batch told as that of an operation, too few of either, and waits between them."""
    torch = Sums(2)
    times = torch_allreduce.times_of(torch, 32, 2)
    assert times == [2e6] * torch_allreduce.BATCHES  # 64 ms for 32 operations
    assert torch_allreduce.BATCHES >= 20 and torch_allreduce.OPERATIONS >= 20
    batches = torch_allreduce.BATCHES + torch_allreduce.WARM_UP
    assert torch.waited == batches and torch.enqueued == batches * torch_allreduce.OPERATIONS


def test_a_wrong_sum_of_pytorch_is_no_figure() -> None:
    """Catches times of an operation that did not add anything up."""
    with pytest.raises(SystemExit, match="wrong"):
        torch_allreduce.times_of(Sums(1), 32, 2)
