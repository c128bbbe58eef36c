"""The device kernels compile for every supported generation, to the instructions they are written for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from byteways import _core
from byteways.run.library_paths import library_directories

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
ENTRIES = {
    "gate.cu": ["gate"],
    "pattern.cu": ["fill", "poison", "check"],
    "copy.cu": ["copy"],
    "copy_bulk.cu": ["copy_bulk"],
    "chase.cu": ["chase_build", "chase"],
    "occupy.cu": ["occupy"],
}
KERNELS = Path(__file__).parents[2] / "native" / "kernels"


@pytest.fixture(scope="module", params=ARCHITECTURES)
def architecture(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def ptx(architecture: str) -> dict[str, str]:
    return _core.compile_kernels(architecture, library_directories())


def body(text: str, entry: str) -> str:
    """The instructions of one kernel."""
    found = re.search(rf"\.entry {entry}\(.*?(?=\.visible|\Z)", text, flags=re.DOTALL)
    assert found, f"no entry {entry}"
    return found[0]


def test_every_source_travels_with_the_module(ptx: dict[str, str]) -> None:
    """Catches a device source that is not embedded, or one that no test knows."""
    assert set(ptx) == set(ENTRIES) == {path.name for path in KERNELS.glob("*.cu")}


def test_entries_have_the_names_they_are_launched_by(ptx: dict[str, str], architecture: str) -> None:
    """Catches a mangled or renamed kernel, which would show on a GPU only."""
    for source, names in ENTRIES.items():
        found = re.findall(r"\.visible \.entry (\w+)\(", ptx[source])
        expected = [] if source == "copy_bulk.cu" and architecture == "sm_80" else names
        assert sorted(found) == sorted(expected), source


def test_copy_moves_sixteen_bytes_at_a_time_with_eight_in_flight(ptx: dict[str, str]) -> None:
    """Catches narrow accesses, and loads that each wait for the store of the one before."""
    code = body(ptx["copy.cu"], "copy")
    accesses = re.findall(r"(ld|st)\.global\.\S*v4\.\w+", code)
    assert accesses[:16] == ["ld"] * 8 + ["st"] * 8
    assert re.search(r"fence\.\w+\.sys", code)


def test_gate_and_occupy_acquire_at_system_scope(ptx: dict[str, str]) -> None:
    """Catches a gate that watches a cached copy of the host's word and never opens."""
    for source, entry in (("gate.cu", "gate"), ("occupy.cu", "occupy")):
        assert "ld.acquire.sys" in body(ptx[source], entry)


def test_chase_goes_past_the_nearest_cache(ptx: dict[str, str]) -> None:
    """Catches peer or host memory that is timed in the multiprocessor's own cache."""
    code = body(ptx["chase.cu"], "chase")
    assert "ld.relaxed.sys" in code and not re.search(r"ld\.(?!relaxed\.sys|param)", code)


def test_fill_and_check_run_at_memory_speed(ptx: dict[str, str]) -> None:
    """Catches verification by narrow accesses, which would cost more than the measurement."""
    assert re.search(r"st\.global\.\S*v4", body(ptx["pattern.cu"], "fill"))
    assert re.search(r"st\.global\.\S*v4", body(ptx["pattern.cu"], "poison"))
    assert re.search(r"ld\.global\.\S*v4", body(ptx["pattern.cu"], "check"))


def test_bulk_copies_wait_and_fence_in_order(ptx: dict[str, str], architecture: str) -> None:
    """Catches a missing fence or wait: memory reused while it is read, a kernel that ends too early."""
    if architecture == "sm_80":
        assert ".entry" not in ptx["copy_bulk.cu"]
        return
    code = body(ptx["copy_bulk.cu"], "copy_bulk")
    order = re.findall(
        r"(mbarrier\.init|mbarrier\.arrive\.expect_tx|mbarrier\.try_wait|fence\.proxy\.async|cp\.async\.bulk"
        r"(?:\.shared|\.global|\.commit_group|\.wait_group\.read|\.wait_group)|fence\.\w+\.sys)",
        code,
    )
    load = ["mbarrier.arrive.expect_tx", "cp.async.bulk.shared"]
    store = ["mbarrier.try_wait", "fence.proxy.async", "cp.async.bulk.global", "cp.async.bulk.commit_group"]
    ring = [*load, *store, "cp.async.bulk.wait_group.read", *load, "cp.async.bulk.wait_group"]
    assert order == ["mbarrier.init", "fence.proxy.async", *ring, *ring, "fence.acq_rel.sys"]


def test_unknown_architecture_is_refused_with_a_reason() -> None:
    """Catches a crash on a name that is no NVIDIA architecture."""
    with pytest.raises(_core.UnsupportedError, match="gfx90a"):
        _core.compile_kernels("gfx90a", library_directories())
