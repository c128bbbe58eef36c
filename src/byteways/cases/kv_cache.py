"""Which blocks a paged KV cache of a language model moves: their size and number, by formula. Pure.

Inference engines keep the keys and values of `block_tokens` tokens in a block (W. Kwon et al., "Efficient
Memory Management for Large Language Model Serving with PagedAttention", SOSP 2023). Each layer has a tensor
of keys and one of values, so that a block is contiguous per layer and for K or V:

    S = block_tokens * KV heads of a GPU * head size * bytes of an element
    N = blocks of tokens * layers * 2

Tensor parallelism divides the KV heads among GPUs; a GPU has one at least. Multi-head latent attention
(DeepSeek-V2, arXiv 2405.04434, section 2.1) keeps one latent vector of a token in place of K and V, which
every GPU has as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from byteways.base.errors import BytewaysError
from byteways.base.spelling import closest
from byteways.cases.block_list import MOST_LISTED_BLOCKS, BlockList

#: Tokens of a block by default (vLLM, --block-size), and of a context that is moved.
BLOCK_TOKENS, CONTEXT_TOKENS = 16, 1024
#: Bytes of an element of a cache in 16-bit floating point.
CACHE_ELEMENT_BYTES = 2


@dataclass(frozen=True)
class CacheShape:
    """What a model keeps of each token."""

    layers: int
    kv_heads: int = 0
    head_size: int = 0
    latent: int = 0  # elements of the latent vector; 0: keys and values of heads
    element_bytes: int = CACHE_ELEMENT_BYTES
    source: str = ""

    @property
    def parts(self) -> int:
        """Tensors of a layer: keys and values, or latent vectors."""
        return 1 if self.latent else 2

    def elements(self, tp: int) -> int:
        """Returns the elements of a token in one tensor of a GPU.

        Raises:
            BytewaysError: The heads cannot be divided so.
        """
        if self.latent:
            return self.latent
        if self.kv_heads % tp and tp % self.kv_heads:
            hint = f"--tp {self.kv_heads} gives each GPU one head"
            raise BytewaysError(f"{self.kv_heads} KV heads cannot be divided among {tp} GPUs", hint=hint)
        return max(1, self.kv_heads // tp) * self.head_size


#: Multi-head latent attention of DeepSeek-V2 and V3: kv_lora_rank 512 and qk_rope_head_dim 64.
_MLA = 512 + 64


def _heads(layers: int, kv_heads: int, head_size: int, source: str) -> CacheShape:
    return CacheShape(layers, kv_heads, head_size, source=f"{source}, config.json")


#: num_hidden_layers, num_key_value_heads and head_dim (hidden_size / num_attention_heads where it is not
#: given) of the models' files on huggingface.co.
SHAPES: Mapping[str, CacheShape] = {
    "llama-8b": _heads(32, 8, 128, "meta-llama/Llama-3.1-8B"),
    "llama-70b": _heads(80, 8, 128, "meta-llama/Llama-3.1-70B"),
    "llama-405b": _heads(126, 8, 128, "meta-llama/Llama-3.1-405B"),
    "llama2-7b": _heads(32, 32, 128, "meta-llama/Llama-2-7b-hf"),
    "mixtral-8x7b": _heads(32, 8, 128, "mistralai/Mixtral-8x7B-v0.1"),
    "qwen2.5-72b": _heads(80, 8, 128, "Qwen/Qwen2.5-72B"),
    "qwen3-30b-a3b": _heads(48, 4, 128, "Qwen/Qwen3-30B-A3B"),
    "qwen3-235b-a22b": _heads(94, 4, 128, "Qwen/Qwen3-235B-A22B"),
    "deepseek-v3": CacheShape(61, latent=_MLA, source="deepseek-ai/DeepSeek-V3, config.json"),
}


@dataclass(frozen=True)
class CacheBlocks:
    """The blocks of a context that one GPU moves, and how they follow from the model."""

    model: str  # '' if all numbers are the user's
    shape: CacheShape
    tp: int
    block_tokens: int
    tokens: int

    @property
    def blocks(self) -> BlockList:
        """Size and number of the blocks; a block that the context fills in part is moved as a whole."""
        block_bytes = self.block_tokens * self.shape.elements(self.tp) * self.shape.element_bytes
        return BlockList(
            -(-self.tokens // self.block_tokens) * self.shape.layers * self.shape.parts, block_bytes
        )

    def __str__(self) -> str:
        """`llama-70b, TP 4: 16 tokens × 2 KV heads × 128 × 2 B, and 64 blocks × 80 layers × 2 (K and V)`."""
        shape = self.shape
        heads = f"latent vector of {shape.latent}"
        if not shape.latent:
            mine = max(1, shape.kv_heads // self.tp)
            heads = f"{mine} KV head{'s' * (mine > 1)} × {shape.head_size}"
        named = ", ".join(filter(None, (self.model, f"TP {self.tp}" * (self.tp > 1))))
        blocks = -(-self.tokens // self.block_tokens)
        parts = " × 2 (K and V)" if shape.parts > 1 else ""
        what = f"{self.block_tokens} tokens × {heads} × {shape.element_bytes} B"
        source = f"; {shape.source}" if shape.source else ""
        of = f"{self.tokens:,} tokens: {blocks} blocks × {shape.layers} layers{parts}{source}"
        return f"{named or 'own numbers'}: {what}; {of}"


def cache_blocks(
    model: str | None,
    *,
    tp: int = 1,
    block_tokens: int = BLOCK_TOKENS,
    tokens: int = CONTEXT_TOKENS,
    layers: int | None = None,
    kv_heads: int | None = None,
    head_size: int | None = None,
    latent: int | None = None,
    element_bytes: int | None = None,
) -> CacheBlocks:
    """Returns the blocks of a model's KV cache; numbers that are given replace those of the model.

    Raises:
        BytewaysError: The model is unknown, or numbers are missing, less than 1 or do not fit each other.
    """
    given = {
        "layers": layers,
        "kv_heads": kv_heads,
        "head_size": head_size,
        "latent": latent,
        "element_bytes": element_bytes,
    }
    own = {name: value for name, value in given.items() if value is not None}
    for name, value in {**own, "tp": tp, "block_tokens": block_tokens, "tokens": tokens}.items():
        if value < 1:
            raise BytewaysError(f"--{name.replace('_', '-')} must be 1 or more, not {value}")
    known = _known(model)
    heads = kv_heads is not None or head_size is not None  # in place of a latent vector
    shape = CacheShape(
        layers or known.layers,
        kv_heads or known.kv_heads,
        head_size or known.head_size,
        latent or (0 if heads else known.latent),
        element_bytes or known.element_bytes,
        ("with own numbers" if model else "") if own else known.source,
    )
    missing = [
        f"--{name.replace('_', '-')}"
        for name in ("layers", *(() if shape.latent else ("kv_heads", "head_size")))
        if not getattr(shape, name)
    ]
    if missing:
        hint = f"give {' and '.join(missing)} too, or a --model: {', '.join(SHAPES)}"
        raise BytewaysError("the size of a block does not follow from these numbers", hint=hint)
    found = CacheBlocks(model or "", shape, tp, block_tokens, tokens)
    if found.blocks.count > MOST_LISTED_BLOCKS:
        hint = "ask for fewer --tokens: what one call moves"
        raise BytewaysError(f"these are more than {MOST_LISTED_BLOCKS:,} blocks", hint=hint)
    return found


def _known(model: str | None) -> CacheShape:
    if model is None:
        return CacheShape(0)
    name = model.strip().casefold()
    if name not in SHAPES:
        own = "or give its numbers: --layers 80 --kv-heads 8 --head-size 128"
        raise BytewaysError(f"unknown model '{model}'", hint=f"{closest(name, SHAPES)}; {own}")
    return SHAPES[name]
