"""`torch-copy` on a stand-in for PyTorch: figures, verification, and every reason why it cannot be had."""

from __future__ import annotations

from typing import Any

import pytest

from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.shared.request import CaseRequest
from byteways.measuring.work import capabilities
from byteways.measuring.work.failures import skipped
from byteways.measuring.work.torch_measuring import (
    MOST_HOLD_NS,
    MOST_MISSES,
    POISON,
    WORD_MASK,
    TorchMeasurer,
)
from byteways.plan.suite import load
from tests.asked import asked
from tests.unit import machines
from tests.unit.fake_torch import BYTES_PER_NS, START_NS, FakeTorch
from tests.unit.planning import plan

MIB = 2**20
UUIDS = {"gpu0": "GPU-AAAA-0", "gpu1": "GPU-aaaa-1"}


def request(
    source: str = "gpu0:device", destination: str = "gpu1:device", size: int = MIB, cache: str = "cold"
) -> CaseRequest:
    flow = Flow(Buffer.parse(source), Buffer.parse(destination), "gpu0")
    case = Case("torch-copy", "unidirectional", (flow,), size, cache)
    return asked(case, budget_s=0.2, precision=0.01, key=7, uuids=UUIDS)


def outcome(torch: FakeTorch, **changes: Any) -> dict[str, Any]:
    found, broken = TorchMeasurer(torch).measure(request(**changes))  # type: ignore[arg-type]
    assert not broken
    return found


@pytest.mark.parametrize("cache", ["cold", "warm"])
@pytest.mark.parametrize("ends", [("gpu0:device", "gpu1:device"), ("cpu0:pinned", "gpu0:device")])
def test_the_figure_is_that_of_the_copies(ends: tuple[str, str], cache: str) -> None:
    """Catches the holding kernel, or operations of another batch, in the time of a copy."""
    found = outcome(FakeTorch(), source=ends[0], destination=ends[1], cache=cache)
    assert found["status"] == "measured", found["reason"]
    assert found["time_ns"]["median"] == pytest.approx(START_NS + MIB / BYTES_PER_NS, rel=1e-6)
    assert found["bandwidth_bytes_per_s"] == pytest.approx(MIB / found["time_ns"]["median"] * 1e9)
    assert found["gated"]
    assert found["verified"]
    assert (found["distinct_bytes"]["source"] > MIB) == (cache == "cold")


def test_copies_run_in_a_stream_of_their_own() -> None:
    """Catches copies in the default stream, which are faster by 0.4 % within an H100 and not comparable with
    the vendor's, and those in a stream of the destination's GPU.
    """
    torch = FakeTorch()
    outcome(torch, source="gpu0:device", destination="gpu1:device")
    assert torch.streams == {"stream of 0"}


def test_the_fixed_cost_of_a_batch() -> None:
    """Catches it in the figure of a small copy, or in the length of its batches; a large copy keeps it."""
    fixed_ns = 1e6
    small, large = (outcome(FakeTorch(fixed_ns=fixed_ns), size=size) for size in (4096, MIB))
    copy_ns = START_NS + 4096 / BYTES_PER_NS
    assert small["time_ns"]["median"] == pytest.approx(copy_ns, rel=1e-6)
    assert small["batch"] * copy_ns >= 500 * small["timer_resolution_ns"]
    whole_ns = START_NS + MIB / BYTES_PER_NS + fixed_ns / large["batch"]
    assert large["time_ns"]["median"] == pytest.approx(whole_ns, rel=1e-6)


def test_copies_that_wait_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a queue that is held the longer, the longer calls wait for it: twice as long each time."""
    torch = FakeTorch(blocking=True)
    monkeypatch.setattr("time.perf_counter_ns", lambda: int(torch.host_ns))
    found = outcome(torch, source="cpu0:pageable", destination="gpu0:device")
    assert found["status"] == "measured"
    assert found["time_ns"]["median"] == pytest.approx(START_NS + MIB / BYTES_PER_NS, rel=1e-6)
    assert torch.held_ns <= MOST_MISSES * MOST_HOLD_NS
    assert not found["gated"]
    assert "ungated" in {warning["id"] for warning in found["warnings"]}


@pytest.mark.parametrize("number", [1, 60])
def test_a_copy_that_did_not_happen_is_corrupt(number: int) -> None:
    """Catches a verification that looks at the source, or only at the first batch."""
    torch = FakeTorch()
    torch.left_out = set(range(number, 100_000))
    found = outcome(torch)
    assert found["status"] == "corrupt"
    assert found["corruption"]["path"] == "gpu0>gpu1" and found["corruption"]["bad_words"]
    assert found["corruption"]["got"] == f"0x{POISON & WORD_MASK:016x}" != found["corruption"]["expected"]
    assert "time_ns" not in found


def test_a_gpu_that_pytorch_does_not_see() -> None:
    """Catches a GPU that is taken for another because both are number 1 somewhere."""
    found = outcome(FakeTorch(gpus=1))
    assert found == skipped("PyTorch does not see gpu1")


def test_offers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a missing PyTorch that is an error, and a simulated machine that real PyTorch would measure."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    offer = capabilities._library_offer("torch", False)
    assert offer == {
        "available": False,
        "reason": "the Python package torch is not installed in byteways' environment",
    }
    offer = capabilities._library_offer("torch", True)
    assert offer == {"available": False, "reason": "torch does not run on a simulated machine"}


def test_the_suite_has_every_case_by_both() -> None:
    """Catches a figure of PyTorch with no copy of the same buffers and size to be held against."""
    suite = load("torch")
    assert {sweep.interfaces for sweep in suite.sweeps} == {("copy", "torch-copy")}
    assert {sweep.sizes for sweep in suite.sweeps} == {(2**16, 2**20, 2**26, 2**29)}
    topology, capabilities = machines.h200x4()
    cases = [entry.case for entry in plan(suite, topology, capabilities)]
    by = {
        interface: {(case.path, case.flows, case.size_bytes) for case in cases if case.interface == interface}
        for interface in ("copy", "torch-copy")
    }
    assert by["copy"] == by["torch-copy"]
    assert {path for path, _, _ in by["copy"]} == {"gpu0>gpu0", "gpu0>gpu1", "cpu0>gpu0", "gpu0>cpu0"}
