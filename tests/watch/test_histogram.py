"""The histogram of the collectors, in C++: exact whatever comes, and bounded."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from byteways.ext.watch import bins
from tests.cache import headers
from tests.watch.programs import HERE, compiled

NATIVE = HERE.parents[1] / "native"
SOURCES = [
    HERE / "check_histogram.cpp",
    *(NATIVE / f"watch/{name}.cpp" for name in ("histogram", "names", "clock", "output")),
]


def checks() -> Path:
    # The digest of the headers is part of the options, and so of the inputs.
    options = [
        "-std=c++20",
        "-O2",
        "-Wall",
        "-Wextra",
        f"-I{NATIVE}",
        f"-DHEADERS={headers(NATIVE / 'watch')}",
    ]
    return compiled("check_histogram", SOURCES, *options, compiler="g++")


@pytest.mark.parametrize("check", ["threads", "wide", "time_line", "anew", "counter"])
def test_histogram(check: str) -> None:
    """Catches operations lost or counted twice: by threads, with too many sizes, in hours, after a fork."""
    done = subprocess.run([checks(), check], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.returncode) == ("GOOD\n", 0)


def test_limits_are_those_of_the_format() -> None:
    """Catches a limit that readers do not expect."""
    text = (NATIVE / "watch/histogram.hpp").read_text(encoding="utf-8")
    assert f"kMostBins = {bins.MOST_BINS}," in text and f"kMostIntervals = {bins.MOST_INTERVALS};" in text
    assert f"kFirstInterval = {bins.FIRST_INTERVAL_NS:_}".replace("_", "'") in text.replace("'", "'")
