"""Where managed pages were: what is called confirmed, moved, refuted and unknown."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from byteways.plan.case import Buffer, Case, Flow
from byteways.run.residency import about_pages

MIB = 2**20


def side(name: str, sampled: int, on_host: dict[str, int], told: str = "") -> Any:
    return SimpleNamespace(side=name, sampled=sampled, on_host=on_host, prefetched_to=told)


def about(case: Case, before: Any, after: Any, *timed: Any, twins: dict[str, str] | None = None) -> Any:
    result = SimpleNamespace(before=[before], after=[after], timed=list(timed), bytes_per_touch=0)
    buffers: Any = [(SimpleNamespace(page_bytes=4096), SimpleNamespace(page_bytes=4096))]
    measurement: Any = SimpleNamespace(flows=[result])
    fields, found, refuted = about_pages(case, measurement, buffers, twins)
    return fields, [str(warning.id) for warning in found], refuted


def prefetch(source: str, destination: str) -> Case:
    flow = Flow(Buffer(source, "managed"), Buffer(destination, "managed"), "gpu0")
    return Case("prefetch", "unidirectional", (flow,), MIB)


def kernel(owner: str) -> Case:
    flow = Flow(Buffer(owner, "managed"), Buffer("gpu0", "device"), "gpu0")
    return Case("kernel", "unidirectional", (flow,), MIB)


ON_HOST = side("pages", 256, {"cpu0": 256}, "host")
ON_GPU = side("pages", 256, {}, "gpu0")


def test_pages_that_moved() -> None:
    """Catches bytes that are not whole pages of the operation, and a good case that is warned of."""
    fields, found, refuted = about(prefetch("cpu0", "gpu0"), ON_HOST, ON_GPU, ON_GPU)
    assert (fields["migrated_bytes"], found, refuted) == (MIB, [], None)
    assert fields["residency"]["cpu0>gpu0 pages"] == {
        "sampled_pages": 256,
        "before": {"cpu0": 256},
        "after": {"gpu0": 256},
    }


@pytest.mark.parametrize(
    "left",
    [
        side("pages", 256, {"cpu0": 256}, "host"),
        side("pages", 256, {"cpu0": 256}, "gpu0"),  # the driver says so, the page tables do not
        side("pages", 256, {"cpu0": 5}, "gpu0"),
        side("pages", 256, {}, "gpu1"),
    ],
)
def test_pages_that_did_not(left: Any) -> None:
    """Catches a prefetch that did nothing, or half of it, and a driver that is taken at its word."""
    _, _, refuted = about(prefetch("cpu0", "gpu0"), ON_HOST, ON_GPU, left)
    assert refuted is not None and "sampled pages were not on gpu0" in refuted


def test_the_operation_that_was_looked_at_counts_too() -> None:
    """Catches batches that are believed although the one operation that was looked at moved nothing."""
    _, _, refuted = about(prefetch("cpu0", "gpu0"), ON_HOST, ON_HOST, ON_GPU)
    assert refuted is not None and "after a prefetch" in refuted


@pytest.mark.parametrize("told", ["", "host"])
def test_what_nobody_can_tell_is_a_warning(told: str) -> None:
    """Catches a figure that passes for confirmed where there is no evidence."""
    unknown = side("pages", 256, {}, told)
    fields, found, refuted = about(prefetch("gpu0", "cpu0"), ON_GPU, unknown, unknown)
    assert (found, refuted) == (["residency"], None)
    assert "migrated_bytes" not in fields


def test_pages_that_were_not_brought_back_refute_the_figure() -> None:
    """Catches a case that began with its pages at the destination, so that it moved nothing."""
    away = side("source", 256, {}, "gpu0")
    _, _, refuted = about(kernel("cpu0"), away, away)
    assert refuted is not None and "were not on cpu0: sampled pages on gpu0: 256" in refuted


@pytest.mark.parametrize("case", [kernel("cpu1"), prefetch("cpu1", "gpu0")])
def test_pages_on_another_domain_refute_the_figure(case: Case) -> None:
    """Catches all of the host taken for one place: the figure is that of another path."""
    other = side("source", 256, {"cpu0": 256}, "host")
    _, _, refuted = about(case, other, ON_GPU)
    assert refuted is not None
    assert "256 of 256 sampled pages were not on cpu1: sampled pages on cpu0: 256" in refuted


def test_a_prefetch_to_another_domain_refutes_the_figure() -> None:
    """Catches a prefetch to cpu1 that moved its pages to cpu0, which is nearer, and passes for fast."""
    other = side("pages", 256, {"cpu0": 256}, "host")
    _, _, refuted = about(prefetch("gpu0", "cpu1"), ON_GPU, other, other)
    assert refuted is not None and "sampled pages were not on cpu1" in refuted


def test_devices_that_share_a_memory_are_one_place() -> None:
    """Catches an APU whose GPU's pages, which the system counts to the CPU's domain, pass for misplaced."""
    both = side("source", 256, {"cpu0": 256}, "gpu0")
    assert about(kernel("gpu0"), both, both)[2] is not None
    assert about(kernel("gpu0"), both, both, twins={"gpu0": "cpu0", "cpu0": "gpu0"})[2] is None


def test_a_kernel_that_touches() -> None:
    """Catches migration that is assumed: what left the host moved, what stayed did not, else nobody knows."""
    host, gone = side("source", 256, {"cpu0": 256}, "host"), side("source", 256, {}, "host")
    assert about(kernel("cpu0"), host, gone)[0]["migrated_bytes"] == MIB
    assert about(kernel("cpu0"), host, host)[0]["migrated_bytes"] == 0
    half = side("source", 256, {"cpu0": 128}, "host")
    assert about(kernel("cpu0"), host, half)[0]["migrated_bytes"] == MIB // 2
    peer = side("source", 256, {}, "gpu1")
    fields, found, _ = about(kernel("gpu1"), peer, peer)
    assert "migrated_bytes" not in fields and found == []
    assert fields["residency"]["gpu1>gpu0 source"]["after"] == {"off-host": 256}
