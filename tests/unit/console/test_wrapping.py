"""Fixed-width columns: nothing is lost, and no line is wider than asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byteways.console.wrapping import aligned, fitted, width_of, wrapped


@given(st.text(alphabet="ab1 %×≈£漢\n\té", max_size=60), st.integers(2, 30))
def test_wrapped_text_is_whole_and_fits(text: str, width: int) -> None:
    """Catches lost or doubled characters, and lines that a terminal would break again."""
    lines = wrapped(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(width_of(line) <= width for line in lines)
    assert not any("\n" in line or "\t" in line for line in lines)


def test_words_stay_whole_where_they_fit() -> None:
    """Catches breaks within words, and values that run into each other."""
    assert wrapped("no significant difference from copy", 22) == ["no significant", "difference from copy"]
    assert wrapped("gpu0>gpu1 391  gpu1>gpu0 392", 20) == ["gpu0>gpu1 391", "gpu1>gpu0 392"]
    assert wrapped("gpu0>gpu1 391  x", 20) == ["gpu0>gpu1 391  x"]
    assert wrapped("a hipHostMallocCoherent", 8) == ["a", "hipHostM", "allocCoh", "erent"]
    assert wrapped("", 5) == [""]


def test_a_number_keeps_its_unit() -> None:
    """Catches '88' at the end of a line with '%' below, and a cut number where there is no room for both."""
    assert wrapped("NVLink4 ×18 393 GB/s, 87 % of peak", 13) == ["NVLink4 ×18", "393 GB/s,", "87 % of peak"]
    assert wrapped("takes 5 s or 4 KiB", 8) == ["takes", "5 s or", "4 KiB"]
    assert wrapped("copy 27 GB/s, ≈ kernel", 15) == ["copy 27 GB/s,", "≈ kernel"]
    assert wrapped("12345 GB/s", 6) == ["12345", "GB/s"]
    assert wrapped("of 2 samples", 9) == ["of 2", "samples"]


def test_columns_are_aligned() -> None:
    """Catches a column aligned to the wrong side, one that moves below a wide character, and blanks at the
    end of lines.
    """
    rows = [("name", "GB/s"), ("漢字", "1.5"), ("one two", "10"), ("x", "")]
    assert list(aligned(rows, [5, 4], {1}, 2)) == [
        "name   GB/s",
        "漢字    1.5",
        "one      10",
        "two",
        "x",
    ]


@given(st.text("ab 12%\n\t£漢", max_size=8), st.text("ab 12", max_size=6))
def test_a_plain_row_is_aligned_like_any_other(name: str, figure: str) -> None:
    """Catches a short way for plain rows that aligns otherwise than the general one, of
    wide characters.
    """
    plain = list(aligned([(name, figure)], [6, 4], {1}, 2))
    first, *further = aligned([(name, figure, "漢")], [6, 4, 2], {1}, 2)
    assert plain == [first.removesuffix("漢").rstrip(), *further]


@pytest.mark.parametrize(
    ("room", "widths"),
    [(100, [20, 30, 8]), (48, [20, 20, 8]), (28, [11, 9, 8]), (5, [11, 4, 8])],
)
def test_wide_columns_give_way_first(room: int, widths: list[int]) -> None:
    """Catches columns that shrink below their longest word, and an endless loop where nothing fits."""
    assert fitted([20, 30, 8], [11, 4, 8], room) == widths
