"""Machine sheets that are none: each is refused with the key that is wrong."""

from __future__ import annotations

import pytest

from tests.native import simulated as sim

from .conftest import Play

SHEET = sim.nvidia()


def with_value(key: str, value: str) -> str:
    lines = [line for line in SHEET.splitlines() if not line.startswith(f"{key}\t")]
    return "\n".join([*lines, f"{key}\t{value}"])


@pytest.mark.parametrize(
    ("sheet", "words"),
    [
        (SHEET.replace("gpu.count\t", "gpu.count "), "no key and value with a tab between"),
        (f"{SHEET}noise\t0\n", "'noise': given twice"),
        (f"{SHEET}gpu.speed\t1\n", "'gpu.speed': nothing reads it"),
        (f"{SHEET}links.7.kind\tnvlink\n", "'links.7.kind': nothing reads it"),
        (SHEET.replace("calls.clock_ns", "calls.clock"), "'calls.clock_ns': missing"),
        (with_value("calls.clock_ns", "-1"), "'calls.clock_ns': '-1' is no number of 0 or more"),
        (with_value("calls.clock_ns", "fast"), "'fast' is no number"),
        (with_value("calls.clock_ns", "nan"), "'nan' is no number"),
        (with_value("calls.clock_ns", ""), "'' is no number"),
        (with_value("gpu.count", "1.5"), "'gpu.count': not a whole number"),
        (with_value("gpu.count", "9000000000"), "'gpu.count': too large"),
        (with_value("links.0.pairs.0", "gpu0"), "'gpu0' is no pair such as gpu0-gpu1"),
        (with_value("staging.to.0.up_to_bytes", "4096"), "the last step must be for all larger sizes"),
        ("", "missing"),
    ],
)
def test_refused(play: Play, sheet: str, words: str) -> None:
    """Would catch a typing mistake that becomes a default."""
    told = play("load", sheet or "\n")
    assert told["failure"][0][0] == "0"
    assert words in " ".join(told["failure"][0])


def test_read(play: Play) -> None:
    """Would catch a sheet that is refused for a fraction of zero or an empty line."""
    assert play("load", with_value("gpu.count", "2.0") + "\n\n") == {"name": [["toy-n"]]}
