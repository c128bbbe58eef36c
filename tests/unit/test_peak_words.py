"""What is said of a peak: which bytes it counts, and what limits it."""

from __future__ import annotations

import pytest

from byteways.plan.case import Buffer, Case, Flow
from byteways.plan.peaks import _explain, _reasons
from byteways.topology.capacity import Arc

LINK = Arc("gpu0>gpu1", 50e9, "xGMI ×1", "toy links", limit=None)
BACK = Arc("gpu1>gpu0", 50e9, "xGMI ×1", "toy links", limit=None)
MEMORY = Arc("gpu0 memory", 1e12, "memory", "toy HBM", limit=None)


def case(
    interface: str, source: str = "gpu0", destination: str = "gpu1", pattern: str = "unidirectional"
) -> Case:
    flow = Flow(Buffer(source, "device"), Buffer(destination, "device"), "gpu0")
    return Case(interface, pattern, (flow,), 2**20)


@pytest.mark.parametrize(
    ("what", "flows", "ways", "arcs", "said"),
    [
        (case("copy"), 1, 1, [LINK], "per direction, limited by gpu0>gpu1 (xGMI ×1: toy links)"),
        (
            case("copy", pattern="bidirectional"),
            2,
            2,
            [LINK, BACK],
            "as the sum of 2 flows, every link full duplex, limited by "
            "gpu0>gpu1, gpu1>gpu0 (xGMI ×1: toy links)",
        ),
        (
            case("copy", pattern="interference"),
            2,
            2,
            [LINK],
            "for the measured flow alone, limited by gpu0>gpu1 (xGMI ×1: toy links)",
        ),
        (
            case("route"),
            1,
            2,
            [LINK, MEMORY],
            "copied, each byte read and written once, limited by gpu0>gpu1 (xGMI ×1: toy links); "
            "gpu0 memory (memory: toy HBM)",
        ),
        (case("route"), 1, 2, [LINK], "as the sum of 2 paths, limited by gpu0>gpu1 (xGMI ×1: toy links)"),
        (
            case("stream-copy", destination="gpu0"),
            1,
            1,
            [MEMORY],
            "read and written, 2 arrays counted, limited by gpu0 memory (memory: toy HBM)",
        ),
        (case("store"), 1, 1, [LINK], "written, limited by gpu0>gpu1 (xGMI ×1: toy links)"),
        (case("load"), 1, 1, [LINK], "read, limited by gpu0>gpu1 (xGMI ×1: toy links)"),
    ],
)
def test_a_peak_says_what_it_counts(what: Case, flows: int, ways: int, arcs: list[Arc], said: str) -> None:
    """Catches a sum told as one direction, written bytes told as read, and a limit that is not named."""
    assert _explain(what, flows, ways, 50e9, arcs) == f"50.00 GB/s {said}"


def test_unknown_rates_are_told_once_by_reason() -> None:
    """Catches a link that is named twice, and reasons that are mixed."""
    other = Arc("cpu0>cpu1", None, "NUMA", "no nominal rate", limit=None)
    assert _reasons([LINK, other, BACK, LINK]) == (
        "the rate of gpu0>gpu1, gpu1>gpu0 is unknown (toy links); "
        "the rate of cpu0>cpu1 is unknown (no nominal rate)"
    )
