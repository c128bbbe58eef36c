"""Scattered blocks on paper: what is refused, how large their buffers are, which cases are equal."""

from __future__ import annotations

import pytest

from byteways.base.errors import BytewaysError
from byteways.cases.block_layout import BlockLayout
from byteways.cases.case import Case, Flow
from byteways.cases.pieces import pieces_of
from byteways.plan.footprint import flow_buffer_bytes
from byteways.plan.legality import refusal
from byteways.plan.suite import parse
from tests.unit import machines

H200X4 = machines.h200x4()
KIB, MIB, GIB = 2**10, 2**20, 2**30


def case(interface: str = "kernel-blocks", size: int = MIB, **options: int | str) -> Case:
    flow = Flow.from_json({"source": "cpu0:pinned", "destination": "gpu0:device", "executor": "gpu0"})
    return Case(interface, "unidirectional", (flow,), size, options=options)


@pytest.mark.parametrize(
    ("what", "why"),
    [
        (case(block_bytes=4), "blocks are multiples of 8 bytes, and 4 is not"),
        (case(block_bytes=3 * KIB), "1 MiB is not a multiple of the block size, 3072 bytes"),
        (case(layout="strided", pitch_bytes=8 * KIB), "blocks of 16384 bytes overlap at a pitch of 8192"),
        (case(layout="strided", pitch_bytes=2**15 + 4), "pitch_bytes is a multiple of 8 bytes"),
        (case(pitch_bytes=32 * KIB), "blocks at random places have no pitch"),
        (case("bulk-blocks", block_bytes=24, size=24 * KIB), "multiples of 16 bytes, and 24 of block_bytes"),
        (case("bulk-blocks", block_sizes="2x24,1x16", size=64), "and 24 of block_sizes is not"),
        (case(block_sizes="3x1KiB,1x4KiB"), "block_sizes have together, 7168 bytes"),
        (case(block_sizes="1x1KiB", block_bytes=KIB), "block_sizes has the sizes of all blocks"),
        (case(block_sizes=",".join(["1x16KiB"] * 65)), "at most 64 sizes, not 65"),
        (case(size=GIB, block_bytes=512), "at most 1048576 blocks"),
        (case("copy-blocks", submit="graph", pace="one-at-a-time"), "cannot wait for each operation"),
        (case(size=256 * GIB, block_bytes=MIB), "its buffers need"),
    ],
)
def test_what_cannot_be_is_refused_while_planning(what: Case, why: str) -> None:
    """Catches blocks that only a worker would find out to be impossible."""
    assert why in (refusal(what, *H200X4) or "")


@pytest.mark.parametrize("interface", ["copy-blocks", "kernel-blocks", "bulk-blocks"])
def test_what_can_be_is_planned(interface: str) -> None:
    """Catches a rule for contiguous bytes or rows that refuses blocks."""
    assert refusal(case(interface), *H200X4) is None
    assert refusal(case(interface, layout="strided", pitch_bytes=64 * KIB), *H200X4) is None


@pytest.mark.parametrize(
    ("ends", "options", "why"),
    [
        (("gpu0:device", "gpu1:device"), {}, "between the host and a GPU, not on gpu0>gpu1"),
        (("cpu0:managed", "gpu0:device"), {}, "pages of managed memory would migrate"),
        (("cpu0:pinned", "gpu0:device"), {"threads": 1000}, "1000 threads exceed the"),
        (("cpu0:pageable", "gpu0:device"), {"threads": 4}, None),
        (("gpu0:device", "cpu0:pinned"), {}, None),
    ],
)
def test_what_is_packed(ends: tuple[str, str], options: dict[str, int], why: str | None) -> None:
    """Catches packing where no CPU thread has the blocks, and threads that wait for each other."""
    flow = Flow.from_json({"source": ends[0], "destination": ends[1], "executor": "gpu0"})
    told = refusal(Case("pack-blocks", "unidirectional", (flow,), MIB, options=options), *H200X4)
    assert (why in (told or "")) if why else told is None


def test_defaults() -> None:
    """Catches a worker that gets other blocks than the plan assumed."""
    what = case()
    assert pieces_of(what, what.flows[0]) == BlockLayout(((1, 16 * KIB),), "random", 32 * KIB, "both", MIB)


def test_mixed_sizes() -> None:
    """Catches counts that are not repeated up to the size, and a pitch of the smaller blocks."""
    what = case(block_sizes="3x1KiB,1x5KiB", layout="strided", size=16 * KIB)
    blocks = pieces_of(what, what.flows[0])
    assert isinstance(blocks, BlockLayout)
    assert (blocks.count, blocks.pitch_bytes, blocks.span_bytes) == (8, 10 * KIB, 80 * KIB)
    assert blocks.options["block_sizes"] == "3x1024,1x5120" and "block_bytes" not in blocks.options
    assert refusal(what, *H200X4) is None


def test_sizes_are_read_with_the_suite() -> None:
    """Catches sizes that only a worker finds out to be none, and a hint that does not help."""
    text = """
name = "mine"
title = "Mine"
[[sweep]]
name = "one"
interface = "kernel-blocks"
source = "cpu*:pinned"
destination = "gpu0:device"
size = "1MiB"
options = { block_sizes = "48x16KiB,4x64KiB" }
"""
    assert parse(text, file="mine.toml").sweeps[0].options == {"block_sizes": ("48x16KiB,4x64KiB",)}
    for wrong in ('"48x"', '"16KiB"', '"0x16KiB"', '"2x16QB"', "3", '"48x16KiB,"'):
        with pytest.raises(BytewaysError) as caught:
            parse(text.replace('"48x16KiB,4x64KiB"', wrong), file="mine.toml")
        option = (caught.value.hint or "").removeprefix("write for example ")
        with pytest.raises(BytewaysError, match="is not a multiple of") as caught:
            parse(text.replace('block_sizes = "48x16KiB,4x64KiB"', option), file="mine.toml")
        assert caught.value.hint == f"a multiple of {48 * 16 * KIB + 2 * 64 * KIB}"


@pytest.mark.parametrize(
    ("options", "span", "slots"),
    [
        ({}, 2 * MIB, 256),  # 60 MiB of cache: a rotation of 256 MiB
        ({"layout": "strided", "pitch_bytes": 16 * KIB}, MIB, 256),
        ({"layout": "strided", "pitch_bytes": 64 * KIB}, 4 * MIB, 256),
        ({"block_bytes": 16}, 2 * MIB, 128),  # half of each touched line
    ],
)
def test_buffers_rotate_over_the_lines_that_are_touched(
    options: dict[str, int | str], span: int, slots: int
) -> None:
    """Catches cold buffers whose gaps are counted as touched, so that the blocks stay in the cache."""
    what = case(**options)
    assert flow_buffer_bytes(what, what.flows[0], lambda _: 60 * MIB) == slots * span
