"""What a session sees of a simulated machine: devices, memory, peers, NVML, hidden devices."""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from byteways.measuring.shared.simulator import simulator_path
from tests.native import simulated as toy


def devices(session: _core.Session) -> dict[str, dict[str, Any]]:
    fields = (
        "runtime",
        "model",
        "uuid",
        "pci_address",
        "architecture",
        "numa_domain",
        "multiprocessors",
        "memory_bytes",
        "last_level_cache_bytes",
        "memory_bytes_per_s",
        "copy_engines",
        "pageable_access",
        "host_access",
    )
    return {device.name: {field: getattr(device, field) for field in fields} for device in session.devices}


def uuids(session: _core.Session) -> list[str]:
    return [device.uuid for device in session.devices if device.uuid]


@pytest.mark.parametrize(
    ("sheet", "runtime", "architecture"),
    [
        (toy.nvidia(), "cuda", "sm_90"),
        (toy.amd(), "hip", "gfx90a:sramecc+:xnack-"),
        (
            toy.amd(gpu__architecture="gfx942:sramecc+:xnack-", gpu__cache_bytes=256 * toy.MIB),
            "hip",
            "gfx942:sramecc+:xnack-",
        ),
    ],
    ids=["nvidia", "amd", "amd-hbm3"],
)
def test_devices_are_the_sheets(sheet: str, runtime: str, architecture: str) -> None:
    """Catches a number of the model that is lost or rounded on its way through a vendor's calls."""
    found = toy.play(sheet, devices)
    assert list(found) == ["cpu0", "cpu1", "gpu0", "gpu1"]
    cpu, gpu = found["cpu1"], found["gpu1"]
    assert (cpu["runtime"], cpu["model"], cpu["numa_domain"]) == ("host", "Toy CPU", 1)
    assert (cpu["multiprocessors"], cpu["memory_bytes"]) == (16, 16 * toy.GIB)
    assert cpu["last_level_cache_bytes"] == toy.MIB
    assert (gpu["runtime"], gpu["architecture"]) == (runtime, architecture)
    assert gpu["uuid"].startswith("GPU-") and gpu["uuid"] != found["gpu0"]["uuid"]
    assert (gpu["pci_address"], gpu["numa_domain"]) == ("0000:8b:00.0", 1)
    assert (gpu["multiprocessors"], gpu["memory_bytes"]) == (64, 8 * toy.GIB)
    assert gpu["last_level_cache_bytes"] == (256 if "gfx942" in architecture else 4) * toy.MIB
    assert gpu["memory_bytes_per_s"] == 1000e9
    assert (gpu["copy_engines"], gpu["pageable_access"], gpu["host_access"]) == (2, False, False)


def test_libraries_say_simulated() -> None:
    """Catches a simulated library that passes for one that was found on the machine."""

    def scene(session: _core.Session) -> list[Any]:
        return [session.virtual_time, [[one.library, one.found_by] for one in session.libraries if one.path]]

    virtual, found = toy.play(toy.nvidia(), scene)
    assert virtual
    assert ["host", "simulated"] in found and ["cuda-driver", "simulated"] in found
    assert {found_by for _, found_by in found} == {"simulated"}


@pytest.mark.parametrize("sheet", [toy.nvidia(), toy.amd()], ids=["nvidia", "amd"])
def test_memory_is_where_it_was_asked_for(sheet: str) -> None:
    """Catches pages on another domain than the device's, and memory that is offered and cannot be had."""

    def scene(session: _core.Session) -> dict[str, Any]:
        got = {}
        for device in ("cpu1", "gpu1"):
            for memory in ("pageable", "hugepage", "pinned", "registered", "managed", "device"):
                if session.offers(device, memory).available:
                    buffer = session.allocate(device, memory, 4 * toy.MIB, device)
                    got[f"{device}:{memory}"] = buffer.placement()
        return got

    got = toy.play(sheet, scene)
    host = {"pageable", "hugepage", "pinned", "registered"}
    for kind in host:
        assert list(got[f"cpu1:{kind}"]) == ["1"], kind
    assert got["gpu1:device"] == {}
    assert "cpu1:managed" in got and "gpu1:managed" in got


@pytest.mark.parametrize("sheet", [toy.nvidia(), toy.amd()], ids=["nvidia", "amd"])
def test_peer_access_is_proved(sheet: str) -> None:
    """Catches writes of a kernel that do not arrive in the other GPU's memory, or access denied."""

    def scene(session: _core.Session) -> list[Any]:
        return [session.prove_peer("gpu0", "gpu1").available, session.prove_peer("gpu0", "cpu0").available]

    assert toy.play(sheet, scene) == [True, False]


def test_nvml_answers_from_the_model() -> None:
    """Catches links, PCIe or health that topo and the health monitor would misread."""

    def scene() -> dict[str, Any]:
        _core.load_machine(simulator_path(), toy.nvidia())
        nvml = _core.Management(simulator_path())
        first, second = nvml.devices()
        health = nvml.health(second.uuid)
        return {
            "report": [nvml.report.usable, nvml.report.found_by, nvml.report.version],
            "device": [second.name, second.pci_address, second.memory_bytes, second.numa_domain],
            "peak": second.memory_clock_mhz * 1_000_000 * second.memory_bus_bits // 8 * 2,
            "pcie": [first.pcie_generation, first.pcie_width, first.pcie_generation_max],
            "links": [
                [link.index, link.active, link.version, link.remote_kind, link.remote_pci_address]
                for link in first.fabric_links
            ],
            "speed": [link.signalling_bytes_per_s for link in first.fabric_links],
            "processes": [first.compute_mode, first.compute_processes],
            "health": [health.throttle_reasons, health.nvlink_errors, health.nvlink_data_tx_bytes],
            "unknown": [health.temperature_c, health.power_mw, nvml.energy_mj(second.uuid)],
        }

    found = toy.apart(scene)
    assert found["report"] == [True, "simulated", "driver simulated"]
    assert found["device"] == ["Toy N", "0000:8b:00.0", 8 * toy.GIB, 1]
    assert found["peak"] == 1000e9
    assert found["pcie"] == [5, 16, 5]  # 50 GB/s is nearest to 16 lanes of the fifth generation
    assert found["links"] == [[index, True, 4, "gpu", "0000:8b:00.0"] for index in range(4)]
    assert found["speed"] == [25_000_000_000] * 4
    assert found["processes"] == ["default", 0]
    assert found["health"] == [0, 0, 0]
    assert found["unknown"] == [None, None, -1]


def test_nvml_counts_what_goes_over_the_links() -> None:
    """Catches byte counters that stand still, from which a link would look unused."""

    def scene(session: _core.Session) -> list[int]:
        nvml = _core.Management(simulator_path())
        session.prove_peer("gpu0", "gpu1")
        ends = ("gpu0", "device"), ("gpu1", "device")
        session.measure([toy.flow(session, *ends, "gpu0", "copy", toy.MIB)], toy.options())
        health = [nvml.health(device.uuid) for device in nvml.devices()]
        return [health[0].nvlink_data_tx_bytes, health[1].nvlink_data_rx_bytes]

    sent, received = toy.play(toy.nvidia(), scene)
    assert sent >= 20 * toy.MIB and received >= 20 * toy.MIB


VISIBLE = [
    ({"CUDA_VISIBLE_DEVICES": "1"}, toy.nvidia(), [1]),
    ({"CUDA_VISIBLE_DEVICES": "1,0"}, toy.nvidia(), [1, 0]),
    ({"CUDA_VISIBLE_DEVICES": "0,7,1"}, toy.nvidia(), [0]),
    ({"CUDA_VISIBLE_DEVICES": ""}, toy.nvidia(), []),
    ({"CUDA_VISIBLE_DEVICES": "uuid1"}, toy.nvidia(), [1]),
    ({"HIP_VISIBLE_DEVICES": "1"}, toy.amd(), [1]),
    ({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "0"}, toy.amd(), [1]),
    ({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"}, toy.amd(), []),
    ({"ROCR_VISIBLE_DEVICES": "uuid1,uuid0"}, toy.amd(), [1, 0]),
    ({"CUDA_VISIBLE_DEVICES": "1"}, toy.amd(), [1]),
    ({"HIP_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "1"}, toy.amd(), [0]),
]


@pytest.mark.parametrize(("environment", "sheet", "wanted"), VISIBLE)
def test_hidden_gpus_are_not_there(environment: dict[str, str], sheet: str, wanted: list[int]) -> None:
    """Catches a GPU that a job was not given, and one under another's number."""
    every = toy.play(sheet, uuids)
    named = {
        name: value.replace("uuid0", every[0]).replace("uuid1", every[1])
        for name, value in environment.items()
    }
    assert toy.play(sheet, uuids, named) == [every[index] for index in wanted]


def test_retried_faults_reach_pageable_memory() -> None:
    """Catches HSA_XNACK that is read and changes nothing, or that shows in one place only."""

    def scene(session: _core.Session) -> list[Any]:
        gpu = devices(session)["gpu0"]
        flow = toy.flow(session, ("cpu0", "pageable"), ("gpu0", "device"), "gpu0", "kernel", 4 * toy.MIB)
        try:
            verified = session.measure([flow], toy.options()).verified
        except _core.Error as error:
            verified = error.code
        return [gpu["architecture"], gpu["pageable_access"], verified]

    able = toy.amd(features__pageable_access=1)
    assert toy.play(able, scene, {"HSA_XNACK": "1"}) == ["gfx90a:sramecc+:xnack+", True, True]
    architecture, access, verified = toy.play(able, scene)
    assert (architecture, access) == ("gfx90a:sramecc+:xnack-", False)
    assert verified is not True


IN_PLACE = toy.RATES["kernel-host-read"]


@pytest.mark.parametrize(
    ("migrates", "environment", "wanted"),
    [(1, {"HSA_XNACK": "1"}, 10 * toy.GB), (0, {"HSA_XNACK": "1"}, IN_PLACE), (1, {}, IN_PLACE)],
)
def test_managed_pages_move_only_where_faults_are_retried(
    migrates: int, environment: dict[str, str], wanted: float
) -> None:
    """Catches pages that move without HSA_XNACK=1, or on a machine that leaves them where they are."""

    def scene(session: _core.Session) -> float:
        flow = toy.flow(session, ("cpu0", "managed"), ("gpu0", "device"), "gpu0", "kernel", 64 * toy.MIB)
        return session.measure([flow], toy.options()).flows[0].bytes_per_s

    sheet = toy.amd(managed__kernels_migrate=migrates)
    assert toy.play(sheet, scene, environment) == pytest.approx(wanted, rel=0.05)
