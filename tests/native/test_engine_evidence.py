"""What is said of a copy's engine: what was seen, held against the runtime's rule where it has one."""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from tests.native import simulated as toy
from tests.native.simulated import KIB, MIB

PEER = (("gpu0", "device"), ("gpu1", "device"))
PINNED = (("cpu0", "pinned"), ("gpu0", "device"))
PLAIN = (("cpu0", "pageable"), ("gpu0", "device"))
MANAGED = (("gpu0", "managed"), ("gpu0", "device"))


def evidence(sheet: str, ends: Any, size: int = 64 * MIB, **settings: Any) -> tuple[str, str]:
    """Engine and evidence of one copy on a simulated machine."""

    def scene(session: _core.Session) -> Any:
        session.prove_peer("gpu0", "gpu1")
        measured = session.measure(
            [toy.flow(session, *ends, "gpu0", "copy", size)], toy.options(max_samples=20, **settings)
        )
        return measured.engine, measured.engine_evidence

    engine, text = toy.play(sheet, scene)
    return engine, text


@pytest.mark.parametrize(
    ("ends", "engine", "rule"),
    [
        (PEER, "copy-engine", "HIP 6.2: copies between GPUs above 1024 KiB go to SDMA engines"),
        (PINNED, "copy-engine", "HIP 6.2: copies between host and GPU go to SDMA engines"),
        (
            PLAIN,
            "staged",
            "HIP 6.2: copies of plain host memory go in pieces, through locked buffers or, large ones, by "
            "locking the pages for the while",
        ),
    ],
)
def test_as_by_rule(ends: Any, engine: str, rule: str) -> None:
    """Catches an observation that is no longer looked for where a rule is known, and a rule of other ends."""
    found, text = evidence(toy.amd(), ends)
    assert found == engine
    assert text.endswith(f", as by rule ({rule})") and not text.startswith("by rule")


@pytest.mark.parametrize("queues", [2, 3, 4])
@pytest.mark.parametrize("ends", [PINNED, PEER], ids=["pinned", "peer"])
def test_a_copy_does_not_wait_behind_the_kernel_that_is_to_disturb_it(queues: int, ends: Any) -> None:
    """Catches an engine's copy that is taken for a kernel's because its stream shares a hardware queue with
    the spinning kernel.
    """
    found, text = evidence(toy.amd(gpu__hardware_queues=queues), ends)
    assert found == "copy-engine" and "completed while a spinning kernel" in text


def test_one_hardware_queue_shows_nothing() -> None:
    """Catches a guess where all work waits for the spinning kernel."""
    found, text = evidence(toy.amd(gpu__hardware_queues=1), PINNED)
    assert found == "copy-engine" and text.startswith("by rule (HIP 6.2")
    assert "not observed: the runtime has no hardware queue" in text


def test_both_ends_are_held() -> None:
    """Catches a copy that a kernel of the other end's GPU makes, taken for an engine's since only the
    executor's multiprocessors were held.
    """
    _, text = evidence(toy.nvidia(), PEER)
    assert "every multiprocessor of gpu0, gpu1" in text


def test_against_the_rule() -> None:
    """Catches a rule that wins over what was seen: the toy's engines do what HIP 7.2's kernels would."""
    engine, text = evidence(toy.amd(runtime_version=70200000), PINNED, 16 * KIB)
    assert engine == "copy-engine"
    assert "completed while a spinning kernel" in text
    assert text.endswith(", against the rule (HIP 7.2: copies of up to 16 KiB are done by kernels)")


def test_not_observed() -> None:
    """Catches an unknown engine where a rule is known, and a rule that passes for an observation."""
    engine, text = evidence(toy.amd(), PEER, gate=False)
    assert engine == "copy-engine"
    assert text.startswith("by rule (HIP 6.2: ") and "not observed: " in text


@pytest.mark.parametrize("gate", [True, False])
def test_without_a_rule(gate: bool) -> None:
    """Catches a rule of AMD's runtime that is applied to another's, or to pages that may be anywhere."""
    for sheet, ends in (
        (toy.nvidia(), PINNED),
        (toy.amd(), MANAGED),
        (toy.amd(runtime_version=50422801), PEER),
    ):
        engine, text = evidence(sheet, ends, gate=gate)
        assert (engine == "unknown") != gate
        assert "rule" not in text
