"""Copies on a chosen engine: HSA as it may be found, and its calls on a simulated machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from byteways import _core
from tests.native import fake_libraries as fake
from tests.native import simulated as toy

COPY = "hsa_amd_memory_async_copy_on_engine"
#: Engines of a die of MI250X: two for the host, three for xGMI.
MI250X = toy.amd(gpu__copy_engines=5, gpu__peer_copy_engines=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fake-hsa")


@pytest.fixture(scope="module")
def hip(folder: Path) -> Path:
    return fake.build(folder, "hip.def", also=["hiprtc.def"])


@pytest.fixture(scope="module")
def hsa(folder: Path) -> Path:
    return fake.build(folder, "hsa.def")


@pytest.fixture
def use(hip: Path, hsa: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """HIP with one GPU on bus 0xC1, which HSA shows too."""
    monkeypatch.setenv("BYTEWAYS_LIBCUDA", "/nosuch/libcuda.so")
    monkeypatch.setenv("BYTEWAYS_LIBHIP", str(hip))
    monkeypatch.setenv("BYTEWAYS_LIBHSA", str(hsa))
    monkeypatch.setenv("FAKE_HSA_GPUS", "193")
    return monkeypatch


def report() -> _core.LibraryReport:
    return next(found for found in _core.Session().libraries if found.library == "hsa")


def offered(source: str = "gpu0", destination: str = "cpu0") -> tuple[list[int], str]:
    found = _core.Session().copy_engines(source, destination)
    return found.engines, found.reason


def test_engines_are_those_of_the_mask(use: pytest.MonkeyPatch) -> None:
    """Catches agents that are matched wrongly, and bits that are taken for engine numbers."""
    assert report().usable and report().version == "HSA 1.1"
    assert offered() == ([1, 2], "")
    assert offered("cpu0", "gpu0") == ([1, 2], "")
    use.setenv("FAKE_HSA_MASK", "0x8000")
    assert offered() == ([15], "")


def test_a_library_that_is_not_there(use: pytest.MonkeyPatch) -> None:
    """Catches GPUs that are lost with a library that only one option needs."""
    use.setenv("BYTEWAYS_LIBHSA", "/nosuch/libhsa-runtime64.so.1")
    found = report()
    assert not found.usable and found.searched == ["/nosuch/libhsa-runtime64.so.1"] and found.hint
    engines, reason = offered()
    assert engines == [] and reason.startswith("HSA, which chooses copy engines, is not usable: ")


def test_a_library_before_rocm_5_7(folder: Path, use: pytest.MonkeyPatch) -> None:
    """Catches a null function pointer that is called: Debian's 5.2.3 has no such function."""
    use.setenv("BYTEWAYS_LIBHSA", str(fake.build(folder, "hsa.def", [COPY])))
    assert report().usable
    assert [(f.name, f.introduced_in, f.required) for f in report().missing] == [(COPY, "ROCm 5.7", False)]
    assert offered() == ([], f"the HSA runtime that was found lacks {COPY} (since ROCm 5.7)")


def test_a_real_library(use: pytest.MonkeyPatch) -> None:
    """Catches a wrong name in the table: of any release only what came with ROCm 5.7 may be missing."""
    use.delenv("BYTEWAYS_LIBHSA")
    found = report()
    if not found.path:
        pytest.skip("no HSA runtime here (Debian: libhsa-runtime64-1)")
    assert found.usable and found.found_by == "dynamic linker"
    assert {(f.introduced_in, f.required) for f in found.missing} <= {("ROCm 5.7", False)}


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("FAKE_HSA_GPUS", "10", "HSA shows no GPU at PCI address 0000:c1:00.0"),
        ("FAKE_HSA_GPUS", "193,193", "HSA shows 2 GPUs at PCI address 0000:c1:00.0, and which"),
        ("FAKE_HSA_MASK", "0", "HSA says that no copy engine is free for such a copy"),
        ("FAKE_HSA_INIT", "0x1008", "as HSA words it"),
    ],
)
def test_why_no_engine_can_be_chosen(use: pytest.MonkeyPatch, name: str, value: str, reason: str) -> None:
    """Catches an answer of HSA's that ends the probe, or a copy on the engine of another GPU."""
    use.setenv(name, value)
    engines, why = offered()
    assert engines == [] and why.startswith(reason)


def test_copies_that_have_no_engine_to_choose(use: pytest.MonkeyPatch) -> None:
    """Catches HSA asked about a copy within one agent, for which it has no answer."""
    assert offered("gpu0", "gpu0")[1].startswith("an engine can be chosen for copies from one GPU to another")
    assert offered("cpu0", "cpu0")[1] == "this runtime does not let a program choose the engine of a copy"


def measured(source: str, destination: str, executor: str, size: int, engine: int) -> Any:
    """A scene: what a copy on the engine measures."""

    def scene(session: _core.Session) -> dict[str, Any]:
        ends = [(agent, "device" if agent.startswith("gpu") else "pinned") for agent in (source, destination)]
        flow = toy.flow(session, ends[0], ends[1], executor, "copy", size, copy_engine=engine)
        found = session.measure([flow], toy.options())
        return {
            "rate": size / found.time_ns.median * 1e9,
            "engine": found.engine,
            "evidence": found.engine_evidence,
            "timed_by": found.timed_by,
            "verified": found.verified,
        }

    return scene


@pytest.mark.parametrize(
    ("source", "destination", "executor", "engine", "way"),
    [
        ("gpu0", "cpu0", "gpu0", 1, "engine-host-write"),
        ("cpu0", "gpu0", "gpu0", 0, "engine-host-read"),
        ("gpu0", "gpu1", "gpu0", 4, "engine-peer-write"),
    ],
)
def test_a_chosen_engine_copies(source: str, destination: str, executor: str, engine: int, way: str) -> None:
    """Catches a copy that is not waited for, goes the wrong way round, or is timed by another clock."""
    found = toy.play(MI250X, measured(source, destination, executor, 64 * toy.MIB, engine))
    assert found["verified"] and found["engine"] == "copy-engine" and found["timed_by"] == "host-clock"
    assert found["evidence"].startswith(f"engine {engine} was asked for, which the runtime offers")
    assert found["rate"] == pytest.approx(toy.RATES[way], rel=0.01)


@pytest.mark.parametrize(
    ("variable", "destination", "way"),
    [
        ("HSA_ENABLE_SDMA", "cpu0", "blit-host-write"),
        ("HSA_ENABLE_PEER_SDMA", "gpu1", "blit-peer-write"),
    ],
)
def test_without_engines_a_kernel_copies(variable: str, destination: str, way: str) -> None:
    """Catches a figure of a kernel that is shown as one of the engine that was asked for."""
    scene = measured("gpu0", destination, "gpu0", 64 * toy.MIB, 2)
    found = toy.play(MI250X, scene, {variable: "0"})
    assert found["verified"] and found["engine"] == "kernel" and f"{variable}=0" in found["evidence"]
    assert found["rate"] == pytest.approx(toy.RATES[way], rel=0.01)


@pytest.mark.parametrize(
    ("machine", "source", "destination", "executor", "engine", "reason"),
    [
        (
            MI250X,
            "gpu0",
            "gpu1",
            "gpu0",
            31,
            "engine 31 is not offered for such a copy, which may ask for 2, 3, 4",
        ),
        (MI250X, "gpu0", "gpu1", "gpu0", 32, "engine 32 is not offered"),
        (MI250X, "gpu0", "cpu0", "gpu0", 0, "which may ask for 1, 2, 3, 4"),  # gfx90a: engine 0 only fetches
        (MI250X, "gpu0", "gpu1", "gpu1", 2, "the engines are those of gpu0"),
        (toy.nvidia(), "gpu0", "gpu1", "gpu0", 1, "this runtime does not let a program choose the engine"),
    ],
)
def test_refused(
    machine: str, source: str, destination: str, executor: str, engine: int, reason: str
) -> None:
    """Catches a copy to a wrong place without an error."""
    with pytest.raises(AssertionError, match=reason):
        toy.play(machine, measured(source, destination, executor, toy.MIB, engine))


@pytest.mark.parametrize(
    ("interface", "memory", "reason"),
    [
        ("kernel", "pinned", "this interface cannot be given an engine"),
        ("copy", "managed", "managed pages may be elsewhere"),
        ("copy", "pageable", "cannot reach pageable memory"),
    ],
)
def test_what_no_engine_is_chosen_for(interface: str, memory: str, reason: str) -> None:
    """Catches an address given to an engine that has no such page."""

    def scene(session: _core.Session) -> str:
        ends = ("cpu0", memory), ("gpu0", "device")
        try:
            flow = toy.flow(session, *ends, "gpu0", interface, toy.MIB, copy_engine=1)
            session.measure([flow], toy.options())
        except _core.UnsupportedError as error:
            return str(error)
        return ""

    assert reason in toy.play(MI250X, scene)


SUITE = """
name = "engines"
title = "Chosen engines"
rounds = 1
[[sweep]]
name = "engines"
interface = "copy"
source = "gpu0:device"
destination = ["cpu0:pinned", "gpu1:device"]
executor = "source"
size = "64MiB"
options = { copy_engine = [1, 2] }
"""


def test_a_run_on_a_machine_model(tmp_path: Path) -> None:
    """Catches an option that some step between the suite and the record loses."""
    (tmp_path / "engines.toml").write_text(SUITE)
    command = [sys.executable, "-m", "byteways", "run", "engines.toml", "--machine", "crusher-mi250x"]
    subprocess.run([*command, "--no-report", "--out", "R"], cwd=tmp_path, check=True, capture_output=True)
    lines = (tmp_path / "R" / "measurements.jsonl").read_text().splitlines()
    records = {
        (record["path"], record["options"]["copy_engine"]): record for record in map(json.loads, lines)
    }
    measured = {case for case, record in records.items() if record["status"] == "measured"}
    assert measured == {("gpu0>cpu0", 1), ("gpu0>cpu0", 2), ("gpu0>gpu1", 2)}
    for case in measured:
        assert records[case]["verified"] and records[case]["engine"] == "copy-engine"
        assert records[case]["timed_by"] == "host-clock"
    skipped = records["gpu0>gpu1", 1]
    assert skipped["reason"] == "copy engine 1 does not serve gpu0>gpu1; valid: 2, 3, 4"
