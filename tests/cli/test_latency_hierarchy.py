"""The levels of the memory hierarchy through the whole program, on a simulated machine."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tests.cli.test_loaded_runs import ran

KIB, GIB = 2**10, 2**30
#: Caches and memory of the model of MI300A: of a core three levels and memory, of a GPU two and memory.
LEVELS = {"cpu0": 4, "gpu0": 3}


@pytest.mark.parametrize("device", LEVELS)
def test_levels_follow_from_working_sets(device: str, tmp_path: Path) -> None:
    """Catches a scan that begins beyond the first cache, that leaves sizes out, and a level that is lost."""
    records = ran(tmp_path / "run", "latency-hierarchy", "elcap-mi300a", f"sweep={device[:3]}-own")
    steps = {record["size_bytes"]: record["latency_ns"] for record in records if record["executor"] == device}
    sizes = sorted(steps)
    assert sizes[0] == KIB and sizes[-1] >= 2 * GIB
    assert all(larger == 2 * size for size, larger in pairwise(sizes))
    levels = 1 + sum(steps[larger] > 1.2 * steps[size] for size, larger in pairwise(sizes))
    assert levels == LEVELS[device]
