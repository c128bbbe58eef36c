"""validation/fuzz_copies.py finds what it looks for, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from byteways.measuring.shared.simulator import simulator_path
from tests.native import simulated as toy
from tests.native.copy_program import Program
from validation import fuzz_copies

ROWS = [(vendor, method) for vendor in ("cuda", "hip") for method in fuzz_copies.methods(vendor)]


@pytest.fixture(autouse=True)
def _simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CUDA", "HIP"):
        monkeypatch.setenv(f"BYTEWAYS_LIB{name}", simulator_path())


@pytest.mark.parametrize(("vendor", "method"), ROWS)
def test_each_method_copies_and_nothing_differs(vendor: str, method: str) -> None:
    """Catches a row of which no list is by its method, and lists that the library copies wrongly."""
    ends = fuzz_copies.directions(vendor, method)[0]
    batches = [
        fuzz_copies.Batch(vendor, method, ends, 40, 0),
        fuzz_copies.Batch(vendor, method, ends, 1, 0, large=True),
    ]
    found = [batch.run(3) for batch in batches]
    assert [one["differences"] for one in found] == [[], []]
    assert all(one["copied"] for one in found) and found[0]["refused"] and found[0]["lists"] == 40


def test_a_block_that_is_left_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a comparison that compares a copy with itself."""
    monkeypatch.setattr(toy, "_server", None)  # a fork of this process has what is planted here
    whole = Program.copy_blocks

    def without_last(
        self: Program, to: Sequence[int], sources: Sequence[int], sizes: Sequence[int], *more: int
    ) -> int:
        return whole(self, to[:-1], sources[:-1], sizes[:-1], *more)

    monkeypatch.setattr(Program, "copy_blocks", without_last)
    found = fuzz_copies.Batch("cuda", "batch", ("host", "gpu0"), 40, 0).run(3)
    assert any("bytes of the destination" in what for what in found["differences"])


def test_an_overlap_that_is_copied_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a library that need not refuse anything."""
    monkeypatch.setattr(toy, "_server", None)
    monkeypatch.setattr(fuzz_copies, "depends_on_order", lambda *_: False)
    found = fuzz_copies.Batch("cuda", "batch", ("gpu0", "gpu0"), 40, 0).run(3)
    assert any("code -2 where 0 is right" in what for what in found["differences"])


def test_the_order_matters_where_bytes_meet() -> None:
    """Catches an oracle that takes each other's results, and not the bytes, for the truth."""

    def depends(*blocks: tuple[int, int, int], same: bool = True) -> bool:
        to, sources, sizes = (list(each) for each in zip(*blocks, strict=True))
        return fuzz_copies.depends_on_order(fuzz_copies.BlockList(to, sources, sizes, False), same)

    assert depends((0, 64, 8), (4, 96, 8)) and not depends((0, 64, 8), (8, 96, 8))
    assert depends((0, 4, 8)) and not depends((0, 4, 8), same=False)
    assert (
        not depends((0, 0, 8)) and not depends((0, 64, 8), (0, 64, 8)) and not depends((0, 64, 0), (0, 8, 8))
    )
    assert depends((0, 64, 8), (32, 4, 8)) and not depends((0, 0, 8), (32, 0, 8))


def test_a_row_without_a_copy_fails(capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a method that is never used, of which a table of zeros would say that it copies rightly."""
    row = ("relay", "hip", "host > gpu0")
    assert fuzz_copies.table({row: fuzz_copies.Tally(5, 2)})
    assert not fuzz_copies.table({row: fuzz_copies.Tally(5, 0)})
    assert not fuzz_copies.table({row: fuzz_copies.Tally(5, 2, 0, ["bytes"])})
    assert "no list was copied" in capsys.readouterr().out


def test_lists_are_of_all_kinds() -> None:
    """Catches a generator that no longer draws what has been wrong: empty, unaligned and repeated blocks."""
    lists = [fuzz_copies.draw_list(Random(seed)) for seed in range(400)]
    blocks = [list(one.blocks) for one in lists]
    assert any(not one for one in blocks)
    assert any(0 in sizes and any(sizes) for sizes in (one.sizes for one in lists))
    assert any(to % 16 or size % 16 for one in blocks for to, _, size in one)
    assert any(len(set(one)) < len(one) for one in blocks)
    assert all(0 <= max(ends) + size <= fuzz_copies.ROOM for one in blocks for *ends, size in one)
