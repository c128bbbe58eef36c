"""GPUs that broke, calls that wait for others, and the ways that bytes take."""

from __future__ import annotations

import pytest

from byteways.models import load, sheet
from tests.native import simulated as sim

from .conftest import Play, Told
from .test_world import ILLEGAL, INTERNAL, SIZE, WALK_NS, codes, number


@pytest.mark.parametrize(
    ("toy", "words"),
    [
        ("broken-peer", "gpu0 has no access to the memory of gpu1"),
        ("broken-plain", "plain host memory"),
        ("broken-outside", "outside of any block"),
        ("broken-slot", "outside of any block"),
    ],
)
def test_a_kernel_breaks_its_gpu(play: Play, toy: str, words: str) -> None:
    """Would catch a GPU that goes on after an illegal access, and one that suffers for another's."""
    told = play(toy, sim.nvidia())
    assert codes(told, "first") == [ILLEGAL] and words in " ".join(told["first"][0])
    assert codes(told, "later") == [ILLEGAL] * 7
    assert codes(told, "other") == [-1]


def test_releasing_waits_for_what_is_queued(play: Play) -> None:
    """Would catch memory that is gone before the operations which use it are."""
    told = play("released-in-use", sim.nvidia())
    assert number(told, "released") >= WALK_NS
    assert codes(told, "behind-a-gate") == [INTERNAL]
    assert codes(told, "still-there") == [-1]


def test_a_cancelled_timer_is_over(play: Play) -> None:
    """Would catch an action that still runs when what it uses is destroyed, and one that waits for itself."""
    assert play("cancelled", sim.nvidia()) == {"ended-before-cancelled": [["1"]], "cancels-itself": [["1"]]}


def way(told: Told, pair: str) -> tuple[str, bool, bool]:
    ((names, over_gpu, over_cpu),) = told[pair]
    return names, over_gpu == "1", over_cpu == "1"


def test_host_memory_is_not_reached_over_another_gpu(play: Play) -> None:
    """Would catch a way to the far domain that leads over a neighbour because it is as wide there."""
    told = play("routes", sim.nvidia())
    assert way(told, "gpu0>cpu1") == ("gpu0-cpu0-cpu1", False, True)
    assert way(told, "cpu0>gpu1") == ("cpu0-cpu1-gpu1", False, True)
    assert way(told, "gpu0>gpu1") == ("gpu0-gpu1", False, False)


def test_without_a_link_gpus_meet_over_the_cpus(play: Play) -> None:
    """Would catch a link that is down and crossed, and GPUs that are cut off where the CPUs connect them."""
    told = play("routes", sim.nvidia(faults__0="down:gpu0-gpu1"))
    assert way(told, "gpu0>gpu1") == ("gpu0-cpu0-cpu1-gpu1", False, True)
    cut = play("routes", sim.nvidia(faults__0="down:gpu0-gpu1", faults__1="down:cpu0-cpu1"))
    assert way(cut, "gpu0>gpu1")[0] == way(cut, "gpu0>cpu1")[0] == "none"
    assert way(cut, "gpu0>cpu0")[0] == "gpu0-cpu0"


def test_ways_of_frontier(play: Play) -> None:
    """Would catch ways over a real node's mesh that are narrower than the two links which each could have."""
    told = play("routes", sheet(load("frontier-mi250x")))
    assert way(told, "gpu0>gpu1") == ("gpu0-gpu1", False, False)
    assert way(told, "gpu1>gpu6") == ("gpu1-gpu0-gpu6", True, False)
    assert way(told, "gpu3>gpu5") == ("gpu3-gpu2-gpu4-gpu5", True, False)


def both_ways_bytes_per_s(told: Told) -> float:
    return SIZE / (number(told, "time") - sim.FIXED_NS["engine"]) * 1e9


def test_both_directions_of_a_slow_link(play: Play) -> None:
    """Would catch directions that get more than the link has, and a slow link that is slow one way."""
    duplex = {"links__3__duplex_bytes_per_s": 150 * sim.GB}
    healthy = both_ways_bytes_per_s(play("both-ways", sim.nvidia(**duplex)))
    assert healthy == pytest.approx(0.9 * 75 * sim.GB, rel=1e-3)
    slow = both_ways_bytes_per_s(play("both-ways", sim.nvidia(**duplex, faults__0="slow:gpu0-gpu1:0.5")))
    assert slow == pytest.approx(healthy / 2, rel=1e-3)


def test_peers_use_gpu_memory(play: Play) -> None:
    """Would catch links that carry what the memory behind them cannot give; both flows read and write it."""
    told = play("both-ways", sim.nvidia(gpu__memory_bytes_per_s=60 * sim.GB))
    assert both_ways_bytes_per_s(told) == pytest.approx(30 * sim.GB, rel=1e-3)
