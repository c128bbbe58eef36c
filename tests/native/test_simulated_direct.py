"""Direct collectives on a toy machine: what they take to the nanosecond; the layout of their arguments."""

from __future__ import annotations

import ctypes
import itertools
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.shared.simulator import simulator_path
from byteways.measuring.work.simulated_ranks import SimulatedRanks
from kernel_arguments import INTERFACES
from tests.asked import asked
from tests.gpu import test_direct as on_gpus
from tests.native import simulated as toy

LAUNCH_NS = toy.FIXED_NS["kernel"]
#: A store halfway to a peer, and a look at the own cache: half of 800 ns, and 100.
FLAG_NS, FIRST_LOAD_NS = 500.0, 800.0
RATE = toy.RATES["kernel-peer-read"]


def measured(pattern: str, size: int, sheet: str = "", **options: str) -> dict[str, Any]:
    """The outcome between two ranks of a toy machine, in a process of its own."""
    ends = [Buffer(f"gpu{rank}", "device", rank=rank) for rank in range(2)]
    flow = Flow(ends[0], ends[0], "gpu0", others=((ends[1], ends[1]),))
    case = Case("direct", pattern, (flow,), size, "warm", options)
    request = asked(case, precision=0.05, key=3)

    def scene() -> dict[str, Any]:
        ranks = SimulatedRanks(simulator_path(), sheet or toy.nvidia())
        return ranks.measure(request).outcome

    outcome: dict[str, Any] = toy.apart(scene)
    return outcome


def time_of(pattern: str, size: int, **options: str) -> float:
    outcome = measured(pattern, size, **options)
    assert outcome["status"] == "measured" and outcome["verified"], outcome["reason"]
    return float(outcome["time_ns"]["median"])


def moving(size: float) -> float:
    return size / RATE * 1e9


def test_a_word_with_flags_takes_a_launch_and_a_flag() -> None:
    """Catches a barrier before or behind protocol LL, and bytes of flags that are not counted."""
    assert time_of("allreduce", 8) == pytest.approx(LAUNCH_NS + FLAG_NS + moving(16), abs=2)
    assert time_of("allreduce", 8, submit="persistent") == pytest.approx(FLAG_NS + moving(16), rel=0.01)
    longer = time_of("allgather", 256 * toy.KIB, protocol="LL")
    assert longer == pytest.approx(LAUNCH_NS + FLAG_NS + moving(2 * 128 * toy.KIB), rel=0.001)


@pytest.mark.parametrize(
    ("pattern", "algorithm", "share"),
    [
        ("allgather", "auto", 0.5),
        ("reduce-scatter", "auto", 0.5),
        ("alltoall", "auto", 0.5),
        ("allreduce", "one-shot", 1.0),
        ("allreduce", "two-shot", 1.0),
    ],
)
def test_between_barriers_each_pair_moves_its_share(pattern: str, algorithm: str, share: float) -> None:
    """Catches two-shot that moves all data to every rank, and a barrier that takes nothing."""
    size = 16 * toy.MIB
    fixed = LAUNCH_NS + 2 * FLAG_NS + FIRST_LOAD_NS
    taken = time_of(pattern, size, algorithm=algorithm, protocol="simple")
    assert taken == pytest.approx(fixed + moving(share * size), rel=0.001)


@pytest.mark.parametrize(
    ("fault", "place"), [("hang:gpu0>gpu1", "the beginning"), ("link-fails:gpu0-gpu1:after=40", "the end")]
)
def test_a_kernel_gives_up_at_either_barrier(fault: str, place: str) -> None:
    """Catches a wait for data that never come, and a message that does not tell at which flag."""
    outcome = measured("alltoall", 4 * toy.MIB, toy.nvidia(faults__0=fault))
    assert outcome["status"] == "failed"
    assert f"waited 10 s for the flag of rank 1 at {place} of operation" in outcome["reason"]


ONE_SHOT, TWO_SHOT = "one-shot", "two-shot"


def decided(pattern: str, algorithm: str, protocol: str, in_place: str, through_host: bool) -> str:
    """The option that is refused; "" where the combination is measured, by the contract of the kernels."""
    if in_place == "yes" and pattern == "alltoall":
        return "in_place"  # a rank would store what it has not sent yet
    if algorithm == TWO_SHOT and pattern != "allreduce":
        return "algorithm"
    if through_host and (algorithm == TWO_SHOT or protocol == "simple"):
        return "peers"  # ranks cannot load from each other's buffers
    return "protocol" if algorithm == TWO_SHOT and protocol == "LL" else ""


@pytest.mark.parametrize("through_host", [False, True])
@pytest.mark.parametrize("in_place", ["no", "yes"])
@pytest.mark.parametrize("pattern", ["allreduce", "allgather", "reduce-scatter", "alltoall"])
def test_every_combination_is_exact_or_refused(pattern: str, in_place: str, through_host: bool) -> None:
    """Catches sums of words that another rank has stored already, a combination that nobody decided about,
    and messages in pieces whose last one is short.
    """
    sheet = toy.nvidia(faults__0="false-peer:gpu0>gpu1") if through_host else ""
    for algorithm, protocol in itertools.product((ONE_SHOT, TWO_SHOT), ("LL", "simple")):
        fits = protocol == "simple" or through_host
        size = 1088 * toy.KIB if fits else 16 * toy.KIB
        options = {"algorithm": algorithm, "protocol": protocol, "in_place": in_place}
        outcome = measured(pattern, size, sheet, **options)
        refused = decided(pattern, algorithm, protocol, in_place, through_host)
        assert outcome["status"] == ("failed" if refused else "measured"), (options, outcome["reason"])
        assert f"direct: {refused} (" in outcome["reason"] if refused else outcome["verified"], options


def test_a_pass_in_place_takes_a_barrier() -> None:
    """Catches one-shot sums in place for which no rank waits between its loads and its stores."""
    size = 16 * toy.MIB
    options = {"algorithm": ONE_SHOT, "protocol": "simple"}
    apart, in_place = (
        time_of("allreduce", size, **options),
        time_of("allreduce", size, in_place="yes", **options),
    )
    vectors = 512 * 4 * 128  # of a pass: threads, in flight, two blocks on each of 64 multiprocessors
    passes = size / 16 / vectors
    assert in_place - apart == pytest.approx((passes - 1) * (FLAG_NS + FIRST_LOAD_NS), rel=0.01)


def test_ranks_do_not_share_what_has_no_handle() -> None:
    """Catches memory whose address would mean nothing to another process's GPU."""
    ends = [Buffer(f"gpu{rank}", "pool", rank=rank) for rank in range(2)]
    flow = Flow(ends[0], ends[0], "gpu0", others=((ends[1], ends[1]),))
    case = Case("direct", "allreduce", (flow,), 64, "warm", {})
    request = asked(case, precision=0.05, key=3)
    outcome = toy.apart(lambda: SimulatedRanks(simulator_path(), toy.nvidia()).measure(request).outcome)
    assert outcome["status"] == "failed"
    assert "rank 0: direct: memory (ranks open each other's device memory, and no pool" in outcome["reason"]


def test_arguments_of_the_tests_are_those_of_the_header(tmp_path: Path) -> None:
    """Catches a member that was added to the header and that the tests on GPUs would pass in its place."""
    block = on_gpus.DirectArguments
    lines = ['#include "interfaces/direct/arguments.hpp"', "#include <cstddef>", "#include <cstdio>"]
    lines += ["using namespace byteways;", "int main() {", '  std::printf("%zu", sizeof(DirectArguments));']
    for field, *_ in block._fields_:
        lines.append(f'  std::printf(" %zu", offsetof(DirectArguments, {field}));')
    lines.append('  std::printf(" %zu\\n", sizeof(DirectWorkspace));')
    source, program = tmp_path / "layout.cpp", tmp_path / "layout"
    source.write_text("\n".join([*lines, "}"]) + "\n")
    compiler = os.environ.get("CXX", "c++")
    words = [compiler, "-std=c++17", "-w", "-I", INTERFACES.parent, "-o", program, source]
    subprocess.run(words, check=True, timeout=120)
    said = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60).stdout
    offsets = [getattr(block, field).offset for field, *_ in block._fields_]
    expected = [ctypes.sizeof(block), *offsets, on_gpus.WORKSPACE_BYTES]
    assert [int(one) for one in said.split()] == expected
