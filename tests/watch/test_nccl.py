"""The profiler plugin for NCCL over a fake NCCL of each version of the interface."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from byteways.ext.watch.launching import watch_launch
from tests.watch.programs import HERE, codes, collectors, compiled, watched

PLUGIN = "NCCL_PROFILER_PLUGIN"
#: Bits of what the plugin asks for: collectives, messages, kernels of channels.
MASK = 1 << 1 | 1 << 2 | 1 << 6
RANKS = 8
#: First start to last end of four staggered kernels of 1 µs.
TIME_NS = 1030


def nccl() -> Path:
    return compiled("fake_nccl", [HERE / "fake_nccl.c"])


@pytest.mark.parametrize("version", [4, 5, 6])
def test_operations_of_every_version(tmp_path: Path, version: int) -> None:
    """Catches a type of another width, a size without its ranks, and operations lost between threads."""
    count = 300  # all fit into what the plugin remembers, however the threads take turns
    done, found = watched(tmp_path / "W", nccl(), str(version), str(count))
    assert (done.returncode, done.stdout) == (0, f"0 {MASK}\n") and codes(found) == []
    bins = {one.method: one for one in found.watched.bins}
    assert len(bins) == len(found.watched.bins) == 3
    reduce, gather, send = bins["ncclAllReduce"], bins["ncclAllGather"], bins["ncclSend"]
    assert [one.count for one in (reduce, gather, send)] == [2 * count] * 3
    assert (reduce.size_to, reduce.bytes) == (4000, 2 * count * 4000)
    assert gather.size_to == 512 * RANKS  # all blocks together
    assert send.size_to == 600
    assert reduce.detail == {"algorithm": "RING", "protocol": "LL", "channels": 4}
    assert gather.detail == {"algorithm": "NVLS", "protocol": "SIMPLE", "channels": 4}
    assert (reduce.what, reduce.ranks, reduce.source.memory) == ("collective", RANKS, "device")
    assert (send.what, send.ranks, send.detail) == ("message", None, {"channels": 4})
    assert (reduce.time_ns, send.time_ns) == (2 * count * TIME_NS, 2 * count * TIME_NS)
    assert gather.time_ns is None  # a channel never told its end
    assert found.watched.processes[0].collectors == ["nccl"]


def test_without_a_watch_it_asks_for_nothing() -> None:
    """Catches a plugin that works, or fails, where no folder is named."""
    [plugin] = [one for one in collectors() if one.name == "byteways_watch.so"]
    environment = {**{k: v for k, v in os.environ.items() if k != "BYTEWAYS_WATCH"}, PLUGIN: str(plugin)}
    done = subprocess.run(
        [nccl(), "6", "1"], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "0 0\n"


def test_a_plugin_of_the_user_stays(tmp_path: Path) -> None:
    """Catches a profiler of the user that is replaced."""
    launch = watch_launch(Path("/bin/true"), tmp_path, collectors()[0].parent, 1, {PLUGIN: "inspector"})
    assert launch.environment[PLUGIN] == "inspector" and "nccl" not in launch.collectors
    assert [one.code for one in launch.problems] == ["nccl-profiler-taken"]
