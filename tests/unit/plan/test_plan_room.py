"""Plans and memory: what needs more than there is, together and on each device, is refused."""

from __future__ import annotations

from dataclasses import replace

from byteways.cases.case import Buffer, Case
from byteways.machine.model import Capabilities, Offer
from byteways.plan.legality import refusal
from byteways.plan.suite import load
from tests.unit import machines
from tests.unit.legality import APU, GIB, H200X4, TWO_CORES, TWO_DOMAINS, Machine, case, reason
from tests.unit.planning import plan


def test_concurrent_flows_need_room_together() -> None:
    """Catches buffers that fit one by one and not at once: the run would meet an out-of-memory instead."""
    one = case("copy", "gpu0:device", "gpu1:device", "gpu0", 32 * GIB)
    flows = tuple(replace(one.flows[0], destination=Buffer(f"gpu{index}", "device")) for index in (1, 2, 3))
    assert reason(one) is None
    assert reason(replace(one, pattern="fan-out", flows=flows[:2])) is None
    assert "need 128 GiB of gpu0" in (reason(replace(one, pattern="fan-out", flows=(*flows, flows[0]))) or "")


def test_domains_share_the_hosts_memory() -> None:
    """Catches each NUMA domain being judged alone while a control group limits them together."""
    topology, capabilities = TWO_DOMAINS
    limited = replace(capabilities, host_memory_bytes=4 * GIB)
    flows = [
        case("memcpy", f"cpu{index}:pageable", f"cpu{index}:pageable", f"cpu{index}", GIB).flows[0]
        for index in (0, 1)
    ]
    both = Case("memcpy", "all-pairs", tuple(flows), GIB)
    assert refusal(both, topology, capabilities) is None
    assert "need 4 GiB of host memory, and 3.2 GiB is available" in (refusal(both, topology, limited) or "")


def test_an_apu_has_one_memory() -> None:
    """Catches buffers of CPU and GPU that fit each by itself, and not together in the memory they share."""
    topology, capabilities = APU
    told = {**capabilities.devices, "cpu3": {"memory_bytes": 64 * GIB}}
    capabilities = replace(capabilities, devices=told)
    home = {"gpu0": "cpu3"}
    devices = tuple(replace(device, shares_memory_with=home.get(device.name)) for device in topology.devices)
    both = case("copy", "cpu3:pinned", "gpu0:device", "gpu0", 32 * GIB)
    assert refusal(both, topology, capabilities) is None
    assert refusal(both, replace(topology, devices=devices), capabilities) == (
        "its buffers need 64 GiB of cpu3, shared with its GPUs, and 51.2 GiB is available"
    )


def test_buffers_may_fill_all_that_is_usable() -> None:
    """Catches a sum that counts bytes nobody needs: of 80 GiB four fifths are usable, to the last byte."""
    topology, capabilities = APU
    capabilities = replace(capabilities, devices={**capabilities.devices, "cpu3": {"memory_bytes": 80 * GIB}})
    devices = tuple(
        replace(device, shares_memory_with="cpu3") if device.name == "gpu0" else device
        for device in topology.devices
    )
    shared = replace(topology, devices=devices)
    fits = case("copy", "cpu3:pinned", "gpu0:device", "gpu0", 32 * GIB)
    assert refusal(fits, shared, capabilities) is None
    assert refusal(replace(fits, size_bytes=32 * GIB + 1), shared, capabilities) is not None


def test_cold_needs_room_for_the_rotation() -> None:
    """Catches a small cold case that is planned where twice the last-level cache does not fit."""
    machine: Machine = machines.two_cores(last_level_cache_bytes=8 * GIB)
    assert "need 40 GiB of cpu0" in (
        reason(case("memcpy", "cpu0:pageable", "cpu0:pageable", "cpu0"), machine) or ""
    )


def test_unknown_memory_sizes_refuse_nothing() -> None:
    """Catches every case being refused where the runtime does not tell how much memory there is."""
    topology, _ = TWO_CORES
    offers = {"cpu0": {"pageable": Offer(True)}}
    devices = tuple(replace(device, memory_bytes=None) for device in topology.devices)
    what = case("memcpy", "cpu0:pageable", "cpu0:pageable", "cpu0", 4096 * GIB)
    assert refusal(what, replace(topology, devices=devices), Capabilities(memory=offers)) is None


def test_a_plan_does_not_depend_on_what_is_free_at_the_moment() -> None:
    """Catches a resumed run that plans other cases than it began with, as another program left less free."""
    topology, capabilities = H200X4
    used = {name: {**fields, "free_bytes": GIB} for name, fields in capabilities.devices.items()}
    suite = load("managed")
    planned = [
        plan(suite, topology, replace(capabilities, devices=devices))
        for devices in (used, capabilities.devices)
    ]
    assert planned[0] == planned[1]
