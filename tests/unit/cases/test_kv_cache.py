"""Blocks of a KV cache by formula, and blocks as users write them."""

from __future__ import annotations

import pytest

from byteways.base.errors import BytewaysError
from byteways.cases.block_list import BlockList, block_list
from byteways.cases.kv_cache import SHAPES, cache_blocks

KIB = 1024


@pytest.mark.parametrize(
    ("model", "tp", "block_bytes", "count"),
    [
        ("llama-70b", 1, 32 * KIB, 64 * 80 * 2),  # 16 tokens x 8 heads x 128 x 2 B
        ("llama-70b", 4, 8 * KIB, 64 * 80 * 2),  # 16 x 2 x 128 x 2
        ("llama-70b", 16, 4 * KIB, 64 * 80 * 2),  # two GPUs share a head: 16 x 1 x 128 x 2
        ("Llama2-7B", 1, 128 * KIB, 64 * 32 * 2),  # 16 x 32 x 128 x 2
        ("deepseek-v3", 1, 18 * KIB, 64 * 61),  # 16 x 576 x 2, one tensor a layer
        ("deepseek-v3", 8, 18 * KIB, 64 * 61),  # every GPU has the whole latent vector
    ],
)
def test_blocks_of_known_models(model: str, tp: int, block_bytes: int, count: int) -> None:
    """Catches a formula that is off by K and V, by the heads of a GPU, or that divides latent vectors."""
    assert cache_blocks(model, tp=tp).blocks == BlockList(count, block_bytes)


def test_own_numbers() -> None:
    """Catches numbers of the user that are ignored, or a last block in part that is left out."""
    own = cache_blocks(None, layers=80, kv_heads=8, head_size=128, tokens=17, block_tokens=16)
    assert own.blocks == BlockList(2 * 80 * 2, 32 * KIB)
    fp8 = cache_blocks("llama-70b", tp=4, element_bytes=1, block_tokens=32)
    assert fp8.blocks == BlockList(32 * 80 * 2, 8 * KIB)
    heads = cache_blocks("deepseek-v3", kv_heads=8, head_size=128)
    assert heads.blocks == BlockList(64 * 61 * 2, 32 * KIB)
    assert cache_blocks(None, layers=3, latent=576).blocks == BlockList(64 * 3, 18 * KIB)


def test_every_shape_has_a_source_and_blocks() -> None:
    """Catches a row of the table without heads or latent vector, or without its source."""
    for name, shape in SHAPES.items():
        assert shape.source and cache_blocks(name).blocks.block_bytes % KIB == 0


@pytest.mark.parametrize(
    ("model", "numbers", "said"),
    [
        ("llama-70", {}, "did you mean 'llama-70b'"),
        ("gpt", {}, "--layers 80 --kv-heads 8 --head-size 128"),
        (None, {"layers": 80}, "--kv-heads and --head-size"),
        (None, {"kv_heads": 8, "head_size": 128}, "--layers"),
        ("llama-70b", {"tp": 3}, "--tp 8"),
        ("llama-70b", {"tokens": 10**9}, "--tokens"),
    ],
)
def test_what_does_not_follow(model: str | None, numbers: dict[str, int], said: str) -> None:
    """Catches a size computed from missing numbers, or an error without what to write instead."""
    with pytest.raises(BytewaysError) as error:
        cache_blocks(model, **numbers)
    assert error.value.hint is not None and said in error.value.hint


def test_numbers_below_one() -> None:
    """Catches a division by zero, or a negative size."""
    for name in ("tp", "block_tokens", "tokens", "layers", "element_bytes"):
        with pytest.raises(BytewaysError):
            cache_blocks("llama-70b", **{name: 0})


@pytest.mark.parametrize("text", ["1024x16KiB", "1024X16k", "1024 × 16384", "1024*16KiB"])
def test_lists_of_blocks(text: str) -> None:
    """Catches a spelling that is refused, or a list that is not written as it is read."""
    assert block_list(text) == BlockList(1024, 16 * KIB)
    assert block_list(block_list(text).written) == block_list(text)


def test_a_size_that_has_no_short_form_is_written_whole() -> None:
    """Catches 16392 bytes written as 16 KiB."""
    assert block_list(BlockList(3, 16392).written) == BlockList(3, 16392)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("16KiBx1024", "--blocks 1024x16KiB"),
        ("1024", "--blocks 1024x16KiB"),
        ("0x16KiB", "--blocks 1024x16KiB"),
        ("4x0KiB", "--blocks 1024x16KiB"),
        ("x", "--blocks 1024x16KiB"),
        ("99999999x1KiB", "what one call moves"),
        ("4x1001", "--blocks 4x1008"),
    ],
)
def test_lists_that_are_none(text: str, hint: str) -> None:
    """Catches a list without blocks or in the other order, accepted or refused without the right form."""
    with pytest.raises(BytewaysError) as error:
        block_list(text)
    assert error.value.hint is not None and hint in error.value.hint
