"""`byteways watch` of NCCL's collectives, and of large allocations in other memory, on real GPUs."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from byteways.ext.watch.folder import read_watch_folder
from tests.gpu import watched_nccl
from tests.gpu.test_watch import COUNT, SIZES
from tests.watch.programs import PATIENCE_S, codes, watched, watching

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"),
]


def test_collectives_are_the_programs(tmp_path: Path) -> None:
    """Catches events of this machine's NCCL that are read wrongly, lost, or without their kernels' time."""
    import torch

    if torch.cuda.device_count() < watched_nccl.RANKS:
        pytest.skip("two GPUs are needed")
    program = (sys.executable, "-m", "tests.gpu.watched_nccl", tmp_path / "meeting")
    done, found = watched(tmp_path / "W", *program, variables={"NCCL_NVLS_ENABLE": "0"})
    assert done.returncode == 0, done.stderr
    assert "lost" not in codes(found)
    for size in (watched_nccl.SMALL, watched_nccl.LARGE):
        sums = [
            one
            for one in found.watched.bins
            if (one.what, one.method) == ("collective", "ncclAllReduce")
            and one.size_from == one.size_to == size
        ]
        assert sum(one.count for one in sums) == watched_nccl.COUNT * watched_nccl.RANKS, (size, sums)
        assert sum(one.bytes for one in sums) == watched_nccl.COUNT * watched_nccl.RANKS * size
        assert all(one.ranks == watched_nccl.RANKS and one.source.memory == "device" for one in sums)
        assert all({"algorithm", "protocol", "channels"} <= set(one.detail or {}) for one in sums)
        assert sum(one.time_ns or 0 for one in sums) > 0


@pytest.mark.parametrize("memory", ["pinned", "registered"])
def test_large_allocations_are_in_other_memory(tmp_path: Path, memory: str) -> None:
    """Catches a program that computes otherwise, or whose pageable copies stay pageable."""
    program = (sys.executable, "-m", "tests.gpu.watched_torch")
    done = watching("-o", tmp_path / "W", "--try", memory, "--repeat", "2", "--", *program)
    out, err = done.communicate(timeout=PATIENCE_S)
    assert done.returncode == 0 and out.count("done\n") == 4, err
    trials = json.loads((tmp_path / "W" / "trials.json").read_text(encoding="utf-8"))
    changed = [one for one in trials["runs"] if one["change"] == memory]
    assert len(changed) == 2 and all(one["exit_status"] == 0 for one in changed)
    for turn in (1, 2):
        found = read_watch_folder(tmp_path / "W" / f"{turn}-{memory}")
        up = [
            each
            for each in found.watched.bins
            if (each.what, each.destination.memory, each.size_from)
            == ("copy", "device", SIZES["pageable", "device"])
        ]
        assert {each.source.memory for each in up} == {"pinned"}, up
        assert sum(each.count for each in up) == COUNT
