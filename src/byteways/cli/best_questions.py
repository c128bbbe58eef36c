"""What `byteways best` asks besides one transfer: scattered blocks, those of a KV cache, and a load."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from byteways.base.errors import BytewaysError

if TYPE_CHECKING:
    from byteways.cases.kv_cache import CacheBlocks
    from byteways.cases.question import Question

Load = Annotated[
    str | None,
    typer.Option(
        "--load",
        help="How long so many bytes take into this GPU: allocation, page faults, reading, copy, relays.",
        metavar="SIZE",
    ),
]
Blocks = Annotated[
    str | None,
    typer.Option(
        "--blocks",
        help="Scattered blocks, number and size: '1024x16KiB', or a file with a count and a size in each "
        "line; in place of SIZE.",
        metavar="NxSIZE|FILE",
    ),
]
Model = Annotated[
    str | None,
    typer.Option("--model", help="The blocks of a model's KV cache: 'llama-70b'; in place of SIZE."),
]
TensorParallel = Annotated[int, typer.Option("--tp", help="With --model: GPUs that share the KV heads.")]
BlockTokens = Annotated[int, typer.Option("--block-tokens", help="With --model: tokens of a cache block.")]
Tokens = Annotated[int, typer.Option("--tokens", help="With --model: tokens whose cache is moved.")]
Layers = Annotated[int | None, typer.Option("--layers", help="Layers, in place of the model's.")]
KvHeads = Annotated[int | None, typer.Option("--kv-heads", help="KV heads, in place of the model's.")]
HeadSize = Annotated[
    int | None, typer.Option("--head-size", help="Elements of a head, in place of the model's.")
]
Latent = Annotated[
    int | None, typer.Option("--latent", help="Elements of a latent vector (MLA), in place of the model's.")
]
ElementBytes = Annotated[
    int | None, typer.Option("--element-bytes", help="Bytes of an element of the cache; 1 for FP8.")
]


def cache_of(
    model: str | None, tp: int, block_tokens: int, tokens: int, **numbers: int | None
) -> CacheBlocks | None:
    """Returns the blocks of a KV cache; None if neither a model nor a number of one is given.

    Raises:
        BytewaysError: As cache_blocks().
    """
    from byteways.cases.kv_cache import BLOCK_TOKENS, CONTEXT_TOKENS, cache_blocks

    usual = (tp, block_tokens, tokens) == (1, BLOCK_TOKENS, CONTEXT_TOKENS)
    if model is None and usual and not any(value is not None for value in numbers.values()):
        return None
    return cache_blocks(model, tp=tp, block_tokens=block_tokens, tokens=tokens, **numbers)


def asked_of_blocks(
    ends: tuple[str, str],
    blocks: str | None,
    cache: CacheBlocks | None,
    run: str | None,
    more: Path | None,
    within: str,
    memory: str | None,
    pattern: str,
) -> tuple[Question, Path | None]:
    """Returns the question about scattered blocks, and the run, which follows the devices.

    Raises:
        BytewaysError: Blocks are given twice, or with a size; or as question().
    """
    from byteways.cases.question import question
    from byteways.plan.block_files import named_blocks

    if blocks is not None and cache is not None:
        raise BytewaysError(
            "--blocks and the numbers of a model both say which blocks", hint="leave out one of them"
        )
    found = cache.blocks if cache else named_blocks(blocks or "")  # which a size without number is not
    if more is not None:
        hint = f"devices, then the run: byteways best {ends[0]} {ends[1]} --blocks {found.written} RUN"
        raise BytewaysError(f"'{run}' is too much: the blocks have a size", hint=hint)
    asked = question(*ends, found, within=within, memory=memory, pattern=pattern)
    return asked, None if run is None else Path(run)


def asked_of_load(
    gpu: str, load: str, run: str | None, more: str | None, within: str, memory: str | None, pattern: str
) -> tuple[Question, Path | None]:
    """Returns the question of --load, and the run, which follows the GPU.

    Raises:
        BytewaysError: Words or options are given that a load does not have.
    """
    from byteways.plan.load_question import load_question

    if more is not None:
        hint = f"one GPU, then the run: byteways best --load {load} {gpu} RUN"
        raise BytewaysError(f"'{more}' is too much for --load", hint=hint)
    for option, given in (
        ("--within", within != "process"),
        ("--memory", memory is not None),
        ("--pattern", pattern != "unidirectional"),
    ):
        if given:
            hint = "a load is answered for pinned, registered and pageable memory, and for all GPUs at once"
            raise BytewaysError(f"{option} is not for --load", hint=hint)
    return load_question(gpu, load), None if run is None else Path(run)
