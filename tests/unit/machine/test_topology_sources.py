"""The tables and parsers that discovery stands on."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byteways import _core
from byteways.machine import link_rates
from byteways.machine.sysfs_cpu import parse_cpu_list, read_cpus
from byteways.machine.sysfs_pcie import canonical_address


@pytest.mark.parametrize(
    ("generation", "width", "gigabytes"),
    [
        (1, 16, 4.0),
        (2, 16, 8.0),
        (3, 16, 15.754),
        (4, 8, 15.754),
        (4, 16, 31.508),
        (5, 16, 63.015),
        (6, 16, 121.0),
    ],
)
def test_pcie_rates(generation: int, width: int, gigabytes: float) -> None:
    """Catches an encoding or a per-lane rate that is off; figures are those of the specification."""
    assert link_rates.pcie(generation, width).data_bytes_per_s == pytest.approx(gigabytes * 1e9, rel=1e-4)


@pytest.mark.parametrize(("generation", "width"), [(0, 16), (7, 16), (5, 0), (5, 64)])
def test_pcie_links_that_do_not_exist(generation: int, width: int) -> None:
    """Catches a rate for a link that no specification knows."""
    with pytest.raises(ValueError, match="no PCI Express link"):
        link_rates.pcie(generation, width)


@pytest.mark.parametrize(
    ("count", "generation", "gigabytes"), [(4, 1, 80), (6, 2, 150), (12, 3, 300), (18, 4, 450), (18, 5, 900)]
)
def test_nvlink_rates_per_direction(count: int, generation: int, gigabytes: float) -> None:
    """Catches both directions counted as one; half of what the whitepapers state for both."""
    assert link_rates.nvlink(count, generation).data_bytes_per_s == gigabytes * 1e9


def test_slow_links_take_their_own_rate() -> None:
    """Catches sm_86's NVLinks at the full rate of their generation: 56.25 GB/s by 4 links."""
    assert link_rates.nvlink(4, 3, 0, "sm_86").data_bytes_per_s == 56.25e9
    assert link_rates.nvlink(4, 3, 14.0625e9).data_bytes_per_s == 56.25e9
    assert link_rates.nvlink(18, 4, 26.5625e9).data_bytes_per_s == 450e9


@pytest.mark.parametrize(
    ("architecture", "version", "signalling", "generation"),
    [("sm_90", 5, 0, 4), (None, 5, 26.5625e9, 4), (None, 3, 0, 3), (None, 0, 0, None), ("sm_42", 7, 0, None)],
)
def test_generation_trusts_the_architecture_first(
    architecture: str | None, version: int, signalling: float, generation: int | None
) -> None:
    """Catches a doubled peak where the driver calls the links of sm_90 version 5."""
    assert link_rates.nvlink_generation(architecture, version, signalling) == generation


def test_an_unknown_generation_has_no_rate() -> None:
    """Catches a guessed NVLink rate."""
    rate = link_rates.nvlink(2, None, 10e9)
    assert (rate.data_bytes_per_s, rate.signalling_bytes_per_s) == (None, 20e9)
    assert "does not report the NVLink generation" in rate.source


@given(st.sets(st.integers(0, 300)))
def test_cpu_lists_read_what_the_kernel_writes(cores: set[int]) -> None:
    """Catches lost or extra cores in any list of ranges."""
    parts: list[list[int]] = []
    for core in sorted(cores):
        if parts and core == parts[-1][-1] + 1:
            parts[-1].append(core)
        else:
            parts.append([core])
    text = ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
    assert parse_cpu_list(text) == tuple(sorted(cores))


@given(st.text(max_size=20))
def test_cpu_lists_refuse_anything_else(text: str) -> None:
    """Catches any other exception than ValueError."""
    with contextlib.suppress(ValueError):
        assert all(core >= 0 for core in parse_cpu_list(text))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("00000000:3B:00.0", "0000:3b:00.0"),
        ("0000:3b:00.0", "0000:3b:00.0"),
        ("", ""),
        ("Nonsense", "nonsense"),
    ],
)
def test_pci_addresses_compare(text: str, canonical: str) -> None:
    """Catches GPUs that are not matched because NVML writes addresses otherwise than sysfs."""
    assert canonical_address(text) == canonical


def test_the_session_and_the_topology_see_the_same_cores() -> None:
    """Catches a second reader of sysfs that counts cores or caches otherwise."""
    cpus = [device for device in _core.Session(gpus=False).devices if device.runtime == "host"]
    domains = _core.read_cpus("/sys", "/proc", sorted(os.sched_getaffinity(0))).domains
    assert [(cpu.numa_domain, cpu.multiprocessors, cpu.last_level_cache_bytes) for cpu in cpus] == [
        (domain.number, len(domain.cores or domain.cpus), domain.last_level_cache_bytes) for domain in domains
    ]


def test_without_the_native_module_cpus_are_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches `topo` or `doctor` that ends where only the native module is broken."""
    monkeypatch.setitem(sys.modules, "byteways._core", None)
    found = read_cpus(Path("/sys"), Path("/proc"))
    assert found.domains == () and "native module does not load" in found.notes[0]
