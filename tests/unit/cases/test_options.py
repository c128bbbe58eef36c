"""Which values each option of an interface takes."""

from __future__ import annotations

import pytest

from byteways.cases import options
from byteways.cases.options import Option, Span

SPANS = {
    "batch": (1, 2**20),
    "window": (1, 4096),
    "blocks": (1, 2**31 - 1),
    "threads": (1, 4096),
    "stream": (0, 1023),
    "copy_engine": (0, 31),
    "pause_ns": (0, 10**9),
    "width_bytes": (8, 2**31 - 1),
    "pitch_bytes": (8, 2**31 - 1),
    "block_bytes": (8, 2**31 - 8),
    "relays": (0, 63),
    "piece_bytes": (4096, 2**40),
    "depth": (1, 64),
    "chunk_bytes": (16, 227 * 1024),
    "stages": (1, 32),
    "core": (0, 4095),
    "partner_core": (0, 4095),
    "columns": (1, 256),
    "access_bytes": (4, 128),
    "fields": (1, 64),
    "depth_cells": (1, 16),
    "width_cells": (1, 2**24),
    "crossing": (1, 250),
    "message_bytes": (128, 2**24),
    "batches": (1, 1000),
}
ALL = {each.name: each for each in vars(options).values() if isinstance(each, Option)}


def test_every_span_is_checked_here() -> None:
    """Would catch an option with a range that no test checks."""
    assert set(SPANS) == {name for name, option in ALL.items() if option.span}


@pytest.mark.parametrize("name", SPANS)
def test_numbers_from_the_least_to_the_most(name: str) -> None:
    """Catches a limit that is off by one: it refuses what the driver takes, or plans what it refuses."""
    span, (least, most) = ALL[name].span, SPANS[name]
    assert span is not None
    for value in (least, most):
        assert span.wrong(name, value) is None
    for value in (least - 1, most + 1):
        said = span.wrong(name, value)
        assert said == f"{name} must be from {least} to {most} ({span.why}), not {value}"


def test_numbers_between_the_steps() -> None:
    """Would catch numbers that an option takes although they are not among its steps."""
    span = Span(8, 64, "it", step=8)
    assert [value for value in range(70) if span.wrong("x", value) is None] == list(range(8, 65, 8))
    assert span.wrong("x", 12) == "x must be a multiple of 8, not 12"


def test_truths_are_what_has_neither_numbers_nor_words_nor_names() -> None:
    """Would catch a boolean option that takes other values."""
    assert {name for name, option in ALL.items() if option.is_truth} == {"gate", "energy"}
