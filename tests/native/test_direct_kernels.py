"""The kernels of direct collectives on a CPU, a fibre for each of their threads: every combination of
operation, kernel and place, with guards round all buffers. Between two barriers the fibres of one rank run as
far as they can before those of the next, so that a store where another rank still loads gives wrong sums,
every time.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cache import cached, headers, version
from tests.gpu.test_direct import WORKSPACE_BYTES, DirectArguments

HERE = Path(__file__).parent / "fibres"
NATIVE = Path(__file__).parents[2] / "native"
BLOCKS, THREADS = 3, 8
VECTOR, WORD = 16, 8
PASS = 4 * VECTOR * BLOCKS * THREADS  # bytes that a grid holds in registers
#: Bytes in front of a slot and behind it; the last of several launches is short by less.
GUARD = 4096
SLOTS, OPERATIONS = 2, 3  # the first slot is used twice
RANK_WORDS = 2 * 64 * 1024 * 16  # bytes of words with flags in a workspace, for each rank


@pytest.fixture(scope="module")
def library() -> Any:
    compiler = os.environ.get("CXX", "c++")
    source = HERE / "run.cpp"
    words = [compiler, "-std=c++20", "-O1", "-w", "-shared", "-fPIC", "-I", str(HERE), "-I", str(NATIVE)]
    kernels = sorted((NATIVE / "interfaces" / "direct").glob("*.cu"))
    inputs = [version(compiler), *words, source, *kernels, headers(NATIVE / "interfaces", HERE)]
    made = cached(
        "direct_on_fibres.so",
        inputs,
        lambda part: subprocess.run([*words, "-o", part, source], check=True, timeout=120),
    )
    return ctypes.CDLL(str(made))


@dataclass(frozen=True)
class Combination:
    operation: str
    kernel: str
    in_place: bool
    ranks: int
    size: int  # of the larger buffer

    @property
    def adds(self) -> bool:
        return self.operation in ("allreduce", "reduce-scatter")

    @property
    def block(self) -> int:
        return self.size // self.ranks

    @property
    def message(self) -> int:
        return self.size if self.operation == "allreduce" else self.block


class Memory:
    """A buffer of SLOTS slots of words, each between guards; `expected` is what all of it should hold."""

    def __init__(self, size: int, seed: int) -> None:
        self.stride = -(-size // 256) * 256 + GUARD
        words = (GUARD + SLOTS * self.stride + GUARD) // WORD
        self.words = np.random.default_rng(seed).integers(0, 2**64, words, dtype=np.uint64)
        self.expected = self.words.copy()
        self.size = size

    @property
    def address(self) -> int:
        return int(self.words.ctypes.data) + GUARD

    def slot(self, number: int) -> np.ndarray[Any, Any]:
        """Of `expected`."""
        first = (GUARD + number * self.stride) // WORD
        return self.expected[first : first + self.size // WORD]


def arguments_of(one: Combination, rank: int, memory: list[list[Memory]], spaces: Any) -> DirectArguments:
    """As native/interfaces/direct/mover.cpp makes them."""
    sources, destinations = memory
    a = DirectArguments(bytes=one.message, operations=OPERATIONS, slots=SLOTS, generation=1)
    a.slot_stride = sources[0].stride
    a.patience_ns, a.failure = 10**9, 0
    a.ranks, a.rank, a.adds, a.element_bytes = one.ranks, rank, int(one.adds), WORD
    a.block_words = THREADS
    if one.operation in ("reduce-scatter", "alltoall"):
        a.source_stride = one.block
    if one.kernel == "direct_two_shot":
        a.source_stride = -(-one.block // VECTOR) * VECTOR
    if not one.adds:
        a.destination_stride = one.block
    for other in range(one.ranks):
        own = other * one.block
        gathers = one.in_place and one.operation == "allgather"
        a.sources[other] = sources[other].address + (own if gathers else 0)
        scatters = one.in_place and one.operation == "reduce-scatter" and other == rank
        a.destinations[other] = destinations[other].address + (own if scatters else 0)
        a.workspaces[other] = spaces[other].ctypes.data
    return a


def launches(one: Combination, all_arguments: list[DirectArguments]) -> Iterator[list[DirectArguments]]:
    """Whole messages; by protocol LL a piece at a time, as through host memory, by grids of one shape."""
    if one.kernel != "direct_flagged":
        yield all_arguments
        return
    piece = BLOCKS * THREADS * WORD
    for k in range(OPERATIONS):
        for done in range(0, one.message, piece):
            made = []
            for rank, each in enumerate(all_arguments):
                part = DirectArguments.from_buffer_copy(each)
                part.first_operation, part.operations = k, 1
                part.bytes = min(piece, one.message - done)
                part.sources[rank] += done
                part.destinations[rank] += done
                made.append(part)
            yield made


def expect(one: Combination, sources: list[Memory], destinations: list[Memory]) -> None:
    """Carries out the operations on the expected content."""
    words = one.block // WORD
    for k in range(OPERATIONS):
        slot = k % SLOTS
        inputs = [source.slot(slot).copy() for source in sources]
        for rank, destination in enumerate(destinations):
            output, mine = destination.slot(slot), slice(rank * words, (rank + 1) * words)
            if one.operation == "allreduce":
                output[:] = sum(inputs[1:], inputs[0])
            elif one.operation == "reduce-scatter":
                place = mine if one.in_place else slice(0, words)
                output[place] = sum((each[mine] for each in inputs[1:]), inputs[0][mine])
            for other in range(one.ranks):
                theirs = slice(other * words, (other + 1) * words)
                if one.operation == "allgather":
                    place = theirs if one.in_place else slice(0, words)
                    output[theirs] = inputs[other][place]
                elif one.operation == "alltoall":
                    output[theirs] = inputs[other][mine]


def run(library: Any, one: Combination, order: int) -> list[str]:
    """What is wrong afterwards: buffers with their first wrong byte, 0 for the first one of the data."""
    destinations = [Memory(one.size, 100 + rank) for rank in range(one.ranks)]
    sources = destinations if one.in_place else [Memory(one.size, rank) for rank in range(one.ranks)]
    spaces = [np.zeros(WORKSPACE_BYTES + one.ranks * RANK_WORDS, np.uint8) for _ in range(one.ranks)]
    each = [arguments_of(one, rank, [sources, destinations], spaces) for rank in range(one.ranks)]
    for launch in launches(one, each):
        of_ranks = (DirectArguments * one.ranks)(*launch)
        name = one.kernel.encode()
        assert library.run_on_fibres(name, of_ranks, one.ranks, BLOCKS, THREADS, order) == 0
    expect(one, sources, destinations)
    wrong = []
    for what, buffers in (("source", sources), ("destination", destinations)):
        for rank, memory in enumerate(buffers):
            bad = np.flatnonzero(memory.words != memory.expected)
            if len(bad):
                wrong.append(f"{what} of rank {rank}: {len(bad)} words from byte {bad[0] * WORD - GUARD}")
    return wrong


#: Each combination that native/interfaces/direct/way.cpp may choose, out of place and in place. In place an
#: alltoall is not measured; copies are no kernels.
COMBINATIONS = [
    *((operation, "direct_flagged", False) for operation in ("allreduce", "reduce-scatter")),
    *((operation, "direct_flagged", False) for operation in ("allgather", "alltoall")),
    *((operation, "direct_pull", False) for operation in ("allreduce", "reduce-scatter")),
    *((operation, "direct_pull", False) for operation in ("allgather", "alltoall")),
    ("allreduce", "direct_two_shot", False),
    *((operation, "direct_flagged", True) for operation in ("allreduce", "reduce-scatter", "allgather")),
    *((operation, "direct_pull", True) for operation in ("reduce-scatter", "allgather")),
    ("allreduce", "direct_pull_in_place", True),
    ("allreduce", "direct_two_shot", True),
]


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize(("operation", "kernel", "in_place"), COMBINATIONS)
def test_every_combination_is_exact_and_stays_in_its_buffers(
    library: Any, operation: str, kernel: str, in_place: bool, order: int
) -> None:
    """Catches a rank that stores where another one still loads, a pass or tail that is left out or done
    twice, and blocks of a short last piece that move words behind it.
    """
    for ranks in (2, 3):
        for blocks in (1, 5, PASS // WORD, 2 * PASS // WORD + 7):  # words of a rank's block
            one = Combination(operation, kernel, in_place, ranks, blocks * WORD * ranks)
            assert run(library, one, order) == [], one


@pytest.mark.parametrize("order", [0, 1])
def test_the_order_of_fibres_shows_a_race(library: Any, order: int) -> None:
    """Catches a schedule under which the test above could not fail: `direct_pull` in place is a race."""
    one = Combination("allreduce", "direct_pull", True, 2, 2 * PASS)
    assert run(library, one, order)
