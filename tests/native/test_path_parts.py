"""How a transfer is split over paths (interfaces/route/parts.hpp), for the interface and the copy library."""

from __future__ import annotations

import itertools
import random
import subprocess
from pathlib import Path

import pytest

from tests.cache import cached, version

ROOT = Path(__file__).parents[2]
HEADER = ROOT / "native" / "interfaces" / "route" / "parts.hpp"
SOURCE = Path(__file__).parent / "paths" / "split.cpp"
PAGE, WORD = 4096, 8


def splits(asked: list[tuple[int, list[float]]]) -> list[list[int]]:
    """The bytes of each path, for (bytes, weights) of each transfer."""
    command = ["c++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'native'}", str(SOURCE)]
    program = cached(
        "path_parts",
        [version("c++"), *command, SOURCE, HEADER],
        lambda path: subprocess.run([*command, "-o", path], check=True),
    )
    lines = "".join(f"{size} {' '.join(map(repr, weights))}\n" for size, weights in asked)
    told = subprocess.run([program], input=lines, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [[int(word) for word in line.split()] for line in told.splitlines()]


def test_every_path_gets_its_share_in_whole_grains() -> None:
    """Catches an empty part while another could be split, parts that are lost or odd, and a share that is not
    the one asked for.
    """
    draw = random.Random(5)
    asked = [(size, [1.0] * paths) for size, paths in itertools.product(range(70), range(1, 6))]
    for _ in range(3000):
        paths, bits = draw.randint(1, 9), draw.randint(1, 42)
        weights = [draw.choice([1e-9, 1.0, draw.random(), 10 ** draw.uniform(-3, 6)]) for _ in range(paths)]
        asked.append((draw.getrandbits(bits), weights))
    for (size, weights), parts in zip(asked, splits(asked), strict=True):
        paths = len(weights)
        grain = next((one for one in (PAGE, WORD, 1) if size // paths >= one), 1)
        assert sum(parts) == size and len(parts) == paths
        odd = [path for path, part in enumerate(parts) if part % grain != 0]
        assert odd in ([], [0]) or (len(odd) == 1 and parts[0] == grain)
        assert min(parts) >= (grain if size >= paths else 0) and (size >= paths or max(parts) <= 1)
        for part, weight in zip(parts[1:], weights[1:], strict=True):
            wanted = size * weight / sum(weights)
            least, most = max(grain, wanted - grain), max(grain, wanted)
            if all(size * one / sum(weights) >= grain for one in weights):
                assert least - 1 <= part <= most + 1


@pytest.mark.parametrize(
    ("size", "weights", "parts"),
    [
        (3 * PAGE, [1.0, 0.0], [2 * PAGE, PAGE]),  # a path without a share is measured, too
        (2 * PAGE + 5, [0.5, 0.5], [PAGE + 5, PAGE]),  # what is left over goes directly
        (2 * PAGE - 1, [1.0, 1.0], [PAGE + 7, PAGE - WORD]),  # no page for each: words
        (10 * PAGE, [0.0, 1.0, 1.0], [PAGE, 4 * PAGE, 5 * PAGE]),
        (3 * PAGE + 5, [0.0, 1.0], [PAGE, 2 * PAGE + 5]),  # directly goes one page alone
        (1, [1.0, 1.0, 1.0], [1, 0, 0]),  # more paths than bytes
        (100 * PAGE, [310000.0, 350000.0, 340000.0], [31 * PAGE, 35 * PAGE, 34 * PAGE]),  # of a copy plan
    ],
)
def test_examples(size: int, weights: list[float], parts: list[int]) -> None:
    assert splits([(size, weights)]) == [parts]
