"""Results held against physical limits: of what a record names, and of what the machine has."""

from __future__ import annotations

from byteways.cases.case import Buffer, Case, Flow
from byteways.plan.limits import excess_of_pages
from byteways.plan.physical import judged, with_caches
from tests.changed import replace
from tests.report.few_records import flow, record
from tests.unit import machines


def test_a_relay_that_is_not_there_leaves_no_limit() -> None:
    """Catches a run of another machine that cannot be read at all."""
    topology, _ = machines.h200x4()
    ends = Flow(Buffer("gpu0", "device"), Buffer("gpu1", "device"), "gpu0")
    case = Case("route", "unidirectional", (ends,), 2**20, "cold", {"via": "gpu9"})
    told = replace(record("route", [flow("gpu0:device", "gpu1:device", "gpu0")], 1e9), options=case.options)
    told = replace(told, counts="per-direction")
    found = judged(told, case, topology)
    assert found.limit_bytes_per_s is None and "gpu9" in (found.limit_source or "")


def test_rates_of_pages_are_held_against_known_links_only() -> None:
    """Catches pages told beyond the limit of one link that may have used another, and none told at all."""
    topology, _ = machines.h200x4()
    ends = Flow(Buffer("cpu0", "managed"), Buffer("gpu0", "managed"), "gpu0")
    assert excess_of_pages(topology, ends, 1e15) is not None
    assert excess_of_pages(topology, ends, 1.0) is None
    unknown = replace(
        topology, links=tuple(replace(link, signalling_bytes_per_s=None) for link in topology.links)
    )
    assert excess_of_pages(unknown, ends, 1e15) is None


def test_probed_caches_fill_gaps_only() -> None:
    """Catches a cache of the topology that is overwritten, and a text taken for a size."""
    topology, _ = machines.h200x4()
    first, *others = (replace(device, last_level_cache_bytes=None) for device in topology.devices)
    known = replace(topology, devices=(replace(first, last_level_cache_bytes=5), *others))
    told = {device.name: {"last_level_cache_bytes": 7} for device in topology.devices}
    told[others[0].name] = {"last_level_cache_bytes": "7"}  # type: ignore[dict-item]
    found = [device.last_level_cache_bytes for device in with_caches(known, told).devices]
    assert found == [5, None, *[7] * (len(others) - 1)]
