"""Options and variables as pairs: when sets are equal, their text, and that no code passes joined ones."""

from __future__ import annotations

import pytest

from byteways.cases.option_set import NO_OPTIONS, OptionSet


def test_the_order_of_names_says_nothing() -> None:
    """Catches two methods of equal options that are taken for different ones."""
    one, other = OptionSet({"submit": "batch", "blocks": 8}), OptionSet({"blocks": 8, "submit": "batch"})
    assert one == other and hash(one) == hash(other) and {one, other} == {one}
    assert one == {"submit": "batch", "blocks": 8} and one != OptionSet({"blocks": 8})
    assert [*one.items()] == [("blocks", 8), ("submit", "batch")]


def test_what_is_left_out_leaves_the_rest() -> None:
    """Catches an option that is found as a part of another one's name or value."""
    options = OptionSet({"submit": "batch", "block_bytes": 4096, "blocks": 8})
    assert options.without("block") == options
    assert options.without("blocks", "submit", "window") == {"block_bytes": 4096}
    assert options.without(*options) == NO_OPTIONS and not NO_OPTIONS
    assert options.get("submit") == "batch" and options.get("window") is None


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, ""),
        ({"submit": "graph", "blocks": 8}, "blocks=8 submit=graph"),
        ({"piece_bytes": 4 * 2**20, "gate": False}, "gate=false piece_bytes=4MiB"),
        ({"UCX_TLS": "tcp, self", "HSA_XNACK": "1"}, "HSA_XNACK=1 UCX_TLS=tcp, self"),
    ],
)
def test_text(values: dict[str, int | str | bool], text: str) -> None:
    """Catches an option that is not written as a suite has it."""
    options = OptionSet(values)
    assert options.text() == str(options) == text
    assert len(options.words()) == len(values)


def test_sets_sort_as_their_texts() -> None:
    """Catches a number beside a word that cannot be compared."""
    sets = [OptionSet({"blocks": value}) for value in (8, 16, "all")] + [NO_OPTIONS]
    assert [one.text() for one in sorted(sets)] == ["", "blocks=16", "blocks=8", "blocks=all"]
