"""Where managed pages were: what is called confirmed, moved, refuted and unknown."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.work.residency import OFF_HOST, Pages, _moved_bytes, _seen, about_pages, pages_of

MIB = 2**20


def side(name: str, sampled: int, on_host: dict[str, int], told: str = "") -> Any:
    return SimpleNamespace(side=name, sampled=sampled, on_host=on_host, on_gpus={}, prefetched_to=told)


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


KNOWN = Pages(256, {"cpu0": 256})


@pytest.mark.parametrize(
    ("size", "page", "before", "after", "fresh", "expected"),
    [
        (MIB, 4096, KNOWN, Pages(256, {"gpu0": 256}), True, MIB),
        (MIB, 4096, KNOWN, Pages(256, {"cpu0": 192, "gpu0": 64}), True, MIB // 4),
        (MIB, 4096, KNOWN, KNOWN, True, 0),
        (4097, 4096, Pages(2, {"cpu0": 2}), Pages(2, {"gpu0": 2}), True, 8192),  # whole pages move
        (0, 4096, Pages(0, {}), Pages(0, {}), True, 0),
        (MIB, 0, KNOWN, KNOWN, True, None),
        (MIB, -1, KNOWN, KNOWN, True, None),  # the page size is unknown
        (MIB, 4096, replace(KNOWN, known=False), KNOWN, True, None),
        (MIB, 4096, KNOWN, replace(KNOWN, known=False), True, None),
        # Off the host before and after: they may have moved between GPUs, unless prefetches alone move them.
        (MIB, 4096, Pages(4, {"gpu0": 4}), Pages(4, {OFF_HOST: 4}), False, None),
        (MIB, 4096, Pages(4, {"gpu0": 4}), Pages(4, {"cpu0": 4}), False, MIB),
        (MIB, 4096, Pages(4, {OFF_HOST: 4}), Pages(4, {OFF_HOST: 4}), True, 0),
    ],
)
def test_bytes_that_moved(
    size: int, page: int, before: Pages, after: Pages, fresh: bool, expected: int | None
) -> None:
    """Catches bytes told as moved that stayed, a part of a page, and a figure where nobody knows."""
    assert _moved_bytes(size, page, before, after, fresh) == expected


@pytest.mark.parametrize(
    ("pages", "said"),
    [
        (Pages(0, {}), "no sampled page"),
        (Pages(9, {"gpu0": 5, "cpu1": 4}), "sampled pages on cpu1: 4, gpu0: 5"),
        (Pages(9, {"cpu1": 4}, known=False), "sampled pages on cpu1: 4, unknown: 5"),
        (Pages(9, {}, known=False), "sampled pages on unknown: 9"),
    ],
)
def test_places_are_counted(pages: Pages, said: str) -> None:
    """Catches pages that are left out of the sentence, or counted twice."""
    assert _seen(pages) == said


@pytest.mark.parametrize(
    ("seen", "fresh", "expected"),
    [
        (side("pages", 8, {"cpu0": 8}, "gpu0"), True, Pages(8, {"cpu0": 8})),
        (side("pages", 8, {"cpu0": 2}, "gpu0"), True, Pages(8, {"cpu0": 2, "gpu0": 6})),
        (side("pages", 8, {"cpu0": 2}, "gpu0"), False, Pages(8, {"cpu0": 2, OFF_HOST: 6})),
        (side("pages", 8, {"cpu0": 2}, "host"), True, Pages(8, {"cpu0": 2}, known=False)),
        (side("pages", 8, {}, ""), True, Pages(8, {OFF_HOST: 8}, known=False)),
        (side("pages", 8, {}, ""), False, Pages(8, {OFF_HOST: 8})),
    ],
)
def test_where_pages_are(seen: Any, fresh: bool, expected: Pages) -> None:
    """Catches a driver's report that is trusted when outdated, or where the host contradicts it."""
    assert pages_of(seen, fresh) == expected


def test_the_part_on_a_device() -> None:
    """Catches two domains taken for one place, and a division by no pages."""
    pages = Pages(8, {"cpu0": 2, "cpu1": 2, "gpu0": 4})
    assert pages.part("gpu0", {}) == 0.5
    assert pages.part("gpu0", {"gpu0": "cpu1"}) == 0.75
    assert Pages(0, {}).part("gpu0", {}) == 0.0
