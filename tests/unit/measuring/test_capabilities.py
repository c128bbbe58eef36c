"""The worker's answer to `probe`, with a session that is made up."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from byteways import _core
from byteways.cases.interfaces import INTERFACES
from byteways.measuring.work import capabilities
from byteways.measuring.work.capabilities import Asked, _peers


def test_a_gpu_that_fails_while_peers_are_proved_costs_its_own_pairs_only() -> None:
    """Would catch one sick GPU that keeps a whole machine from being probed."""

    def prove_peer(executor: str, owner: str, memory: str = "device") -> SimpleNamespace:
        if "gpu1" in (executor, owner):
            raise _core.Error("hipMalloc: hipErrorOutOfMemory (out of memory) on gpu1")
        return SimpleNamespace(available=True, reason="")

    session = SimpleNamespace(prove_peer=prove_peer)
    found = _peers(session, ["gpu0", "gpu1", "gpu2"])  # type: ignore[arg-type]
    assert found["gpu0"]["gpu2"] == {"available": True, "reason": ""}
    assert found["gpu2"]["gpu1"]["available"] is False
    assert "out of memory" in found["gpu1"]["gpu0"]["reason"]


def test_gpus_are_opened_at_once() -> None:
    """Catches eight GPUs that are opened one after the other, and one that fails and ends the probe."""
    together = threading.Barrier(3)
    opened = []

    def free_bytes(gpu: str) -> int:
        together.wait(timeout=20)
        if gpu == "gpu1":
            raise _core.Error("cuDevicePrimaryCtxRetain: CUDA_ERROR_UNKNOWN on gpu1")
        opened.append(gpu)
        return 1

    capabilities._open_at_once(SimpleNamespace(free_bytes=free_bytes), ["gpu0", "gpu1", "gpu2"])  # type: ignore[arg-type]
    assert sorted(opened) == ["gpu0", "gpu2"]


def test_only_memory_that_is_opened_to_others_is_proved() -> None:
    """Catches minutes of proofs for memory that peer access covers, and for some that a GPU does not have."""
    asked = []

    def prove_peer(executor: str, owner: str, memory: str) -> SimpleNamespace:
        asked.append((executor, owner, memory))
        return SimpleNamespace(available=True, reason="")

    offers = {("gpu0", "pool"): True, ("gpu0", "device"): True, ("gpu1", "vmm"): True, ("gpu1", "pool"): True}
    session: Any = SimpleNamespace(
        prove_peer=prove_peer,
        offers=lambda owner, memory: SimpleNamespace(available=offers.get((owner, memory), False)),
    )
    found = capabilities._granted(session, ["gpu0", "gpu1"], Asked().granted_memory())
    assert {
        executor: {owner: [*told] for owner, told in owners.items()} for executor, owners in found.items()
    } == {
        "gpu0": {"gpu1": ["pool", "vmm"]},
        "gpu1": {"gpu0": ["pool"]},
    }
    assert len(asked) == 3


def offers_of(
    monkeypatch: pytest.MonkeyPatch, runtime: str, *, lost: str = "", obstacle: str = ""
) -> dict[str, Any]:
    """What a device of this runtime offers, by interface; kernels called `*chase*` are refused."""

    def offers_kernel(_: str, kernel: str) -> SimpleNamespace:
        good = "chase" not in kernel
        return SimpleNamespace(available=good, reason="" if good else f"no {kernel}")

    told = {"available": True, "reason": ""}
    monkeypatch.setattr(capabilities, "_library_offer", lambda name, *_: {**told, "by": name})
    monkeypatch.setattr(capabilities, "_xccl_offer", lambda *_: {**told, "by": "xccl"})
    session: Any = SimpleNamespace(
        virtual_time=False, offers_kernel=offers_kernel, handle_obstacle=lambda _: obstacle
    )
    device: Any = SimpleNamespace(name="it", runtime=runtime)
    return capabilities._interfaces(session, device, lost)


def test_each_interface_is_answered_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches interfaces left out behind one that the device cannot execute."""
    for runtime in ("host", "cuda"):
        assert list(offers_of(monkeypatch, runtime)) == [*INTERFACES]


def test_who_executes_what(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a CPU's interface offered by a GPU, and a reason that names the wrong kind of device."""
    host, gpu = offers_of(monkeypatch, "host"), offers_of(monkeypatch, "cuda")
    assert host["kernel"] == {"available": False, "reason": "kernel is executed by a GPU"}
    assert gpu["memcpy"] == {"available": False, "reason": "memcpy is executed by a CPU"}
    assert host["memcpy"] == gpu["kernel"] == {"available": True, "reason": ""}
    assert gpu["torch-copy"]["by"] == "torch" and gpu["xccl"]["by"] == "xccl" and host["mpi"]["by"] == "ranks"


def test_why_a_kernel_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches the reason of the compiler's crash told for an interface that needs no kernel, or lost."""
    assert offers_of(monkeypatch, "cuda")["pointer-chase"]["reason"].startswith("no chase")
    crashed = offers_of(monkeypatch, "cuda", lost="the compiler ended")
    assert crashed["pointer-chase"] == {"available": False, "reason": "the compiler ended"}
    assert crashed["kernel"] == {"available": True, "reason": ""}


def test_handles_that_cannot_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches open-ipc offered where no handle can be opened."""
    assert offers_of(monkeypatch, "cuda")["open-ipc"]["available"]
    found = offers_of(monkeypatch, "cuda", obstacle="no handles here")
    assert found["open-ipc"] == {"available": False, "reason": "no handles here"}
    assert [*found] == [*INTERFACES]
    assert found["kernel"]["available"]


@pytest.mark.parametrize(
    ("simulated", "launcher", "expected"),
    [
        (True, False, {"available": True, "reason": ""}),
        (
            False,
            False,
            {"available": False, "reason": "no MPI launcher found (mpiexec, mpirun, srun or flux)"},
        ),
        (False, True, {"available": False, "reason": "told of {}"}),
    ],
)
def test_whether_ranks_can_run(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    simulated: bool,
    launcher: bool,
    expected: dict[str, Any],
) -> None:
    """Catches a simulated machine without MPI because the host has none, a library that is looked for without
    its launcher, and a reason that is lost.
    """
    expected = {**expected, "reason": expected["reason"].format(tmp_path / "mpiexec")}
    monkeypatch.setattr("sys.prefix", "/nonexistent")
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("SLURM_JOB_ID", "FLUX_URI"):
        monkeypatch.delenv(name, raising=False)
    if launcher:
        (tmp_path / "mpiexec").write_text("#!/bin/sh\n")
        (tmp_path / "mpiexec").chmod(0o755)
    monkeypatch.setattr(
        "byteways.measuring.shared.mpi_library.mpi_report_of_child",
        lambda program: {"usable": False, "reason": f"told of {program}"},
    )
    capabilities._mpi_offer.cache_clear()
    try:
        assert capabilities._mpi_offer(simulated) == expected
    finally:
        capabilities._mpi_offer.cache_clear()
