"""Sizes, bandwidths and times: what is read, and what is printed."""

from __future__ import annotations

import contextlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byteways.base.units import (
    format_bandwidth,
    format_size,
    format_time,
    parse_duration,
    parse_size,
    short_time,
)
from byteways.cases.sizes import MAX_SIZE_BYTES, expand_sizes, size_filter

powers = st.integers(min_value=0, max_value=43).map(lambda exponent: 2**exponent)


@given(powers, st.integers(min_value=1, max_value=999))
def test_a_size_survives_printing_and_reading(unit: int, count: int) -> None:
    """Catches a unit that is printed but not read, or read as another (KiB as KB), and lost digits."""
    # four significant digits are printed, so whole numbers of a unit below 1000 come back exactly
    size = count * 2 ** (unit.bit_length() // 10 * 10)
    assert parse_size(format_size(size)) == size


@given(powers)
def test_powers_of_two_have_no_fraction(size: int) -> None:
    """Catches '0.25 MiB' or '1024 KiB' for what has a name of its own."""
    number, unit = format_size(size).split()
    assert number.isdigit()
    assert 1 <= int(number) < 1024 or unit == "TiB"


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *(("4096", 4096), ("64KiB", 65536), ("4k", 4096), ("1 GiB", 2**30), ("1.5MiB", 3 * 2**19)),
        ("2gi", 2**31),
        *(("64KB", 64_000), ("1MB", 10**6), ("1.5 MB", 1_500_000), ("2GB", 2 * 10**9), ("1M", 2**20)),
    ],
)
def test_sizes_are_read(text: str, size: int) -> None:
    """Catches a way of writing sizes that stops being understood."""
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "0KiB", "-4KiB", "0.3B", "0MB", "four", "1e3", "KiB"])
def test_no_size_is_refused(text: str) -> None:
    """Catches a zero size or a part of a byte being guessed at, and figures for it."""
    with pytest.raises(ValueError, match=r"size|whole"):
        parse_size(text)


@pytest.mark.parametrize(
    ("size", "said"),
    [
        *((4096, "4 KiB"), (100_000, "100 kB"), (8_000_000, "8 MB")),
        *(
            (1000, "1000 B"),
            (1500, "1.5 kB"),
            (1025, "1.001 KiB"),
            (112_800_000_000, "105.1 GiB"),
            (10**6, "1 MB"),
        ),
    ],
)
def test_sizes_in_powers_of_ten(size: int, said: str) -> None:
    """Catches a size of a publication told with digits that it does not have."""
    assert format_size(size) == said


@given(st.text(max_size=12))
def test_reading_a_size_fails_in_one_way_only(text: str) -> None:
    """Catches any text that crashes the reader (IndexError, OverflowError) or gives a size below one byte."""
    with contextlib.suppress(ValueError):
        assert parse_size(text) >= 1


@pytest.mark.parametrize(
    ("size", "sizes"),
    [
        ("64KiB", (65536,)),
        (4096, (4096,)),
        ("1KiB..8KiB", (1024, 2048, 4096, 8192)),
        ("1KiB .. 16KiB x4", (1024, 4096, 16384)),
        ("1KiB..10KiB x4", (1024, 4096, 10240)),
        ("1KiB..1KiB", (1024,)),
        (["1KiB..4KiB", "2KiB", 4096], (1024, 2048, 4096)),
    ],
)
def test_sizes_of_a_suite(size: str | int | list[str | int], sizes: tuple[int, ...]) -> None:
    """Catches a range that loses an end, or a size that is measured twice."""
    assert expand_sizes(size) == sizes


@given(powers, powers, st.integers(min_value=2, max_value=64))
def test_a_range_ascends_between_its_ends(low: int, high: int, step: int) -> None:
    """Catches an endless range, a step too far, and a missing end."""
    low, high = sorted((low, high))
    sizes = expand_sizes(f"{low}..{high} x{step}")
    assert (sizes[0], sizes[-1]) == (low, high)
    assert all(a < b <= a * step for a, b in itertools.pairwise(sizes))


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        ("1GiB..64KiB", "is decreasing"),
        ("1KiB..1MiB x1", "does not increase"),
        ("1KiB..", "is not a size"),
        ("..1KiB", "is not a size"),
        ([], "empty"),
        ("0", "positive"),
        (str(MAX_SIZE_BYTES + 1), "too large"),
        ("9" * 30 + "TiB", "too large"),
    ],
)
def test_bad_sizes_say_what_is_wrong(size: str | list[str], reason: str) -> None:
    """Catches a bad size that passes, or whose message does not name the fault."""
    with pytest.raises(ValueError, match=reason):
        expand_sizes(size)


@given(powers, powers, powers)
def test_a_size_filter_is_its_range(low: int, high: int, size: int) -> None:
    """Catches an end that is left out, and a filter of the steps of a range instead of all between."""
    low, high = sorted((low, high))
    assert size_filter(f"{low}..{high}")(size) == (low <= size <= high)
    assert size_filter(f"{low},{high}")(size) == (size in (low, high))


@pytest.mark.parametrize(
    ("bytes_per_s", "text"),
    [
        (394.1e9, "394.1 GB/s"),
        (4209e9, "4209 GB/s"),
        (55.5e9, "55.50 GB/s"),
        (1.0e9, "1.00 GB/s"),
        (2.5e6, "0.0025 GB/s"),
    ],
)
def test_bandwidth_is_decimal(bytes_per_s: float, text: str) -> None:
    """Catches GiB/s printed as GB/s, which three other tools do."""
    assert format_bandwidth(bytes_per_s) == text


@pytest.mark.parametrize(
    ("time_ns", "text"), [(824.0, "824 ns"), (6100.0, "6.1 µs"), (1.36e6, "1.36 ms"), (2.4e9, "2.4 s")]
)
def test_times_choose_their_unit(time_ns: float, text: str) -> None:
    """Catches a time in the wrong unit."""
    assert format_time(time_ns) == text


@pytest.mark.parametrize(("time_ns", "text"), [(1453.7, "1.45 µs"), (999.6, "1 µs"), (13_260.0, "13.3 µs")])
def test_short_times_have_three_digits(time_ns: float, text: str) -> None:
    """Catches digits that nobody measured, and 1000 ns that is not called a microsecond."""
    assert short_time(time_ns) == text


@pytest.mark.parametrize("digits", [300, 310, 400, 5000])
def test_numbers_of_hundreds_of_digits(digits: int) -> None:
    """Would catch an OverflowError for a size or duration of a suite or of the command line."""
    for unit in ("", "B", "kB", "TiB"):
        with contextlib.suppress(ValueError):
            assert parse_size("9" * digits + unit) >= 1
    for unit in ("s", "m", "h"):
        with pytest.raises(ValueError, match="too long"):
            parse_duration("9" * digits + unit)
