"""One word there and back: what the simulated machine's latencies make of it, and two cores of this one."""

from __future__ import annotations

import os
from typing import Any

import pytest

from byteways import _core
from tests.native import simulated as toy

GPU0, GPU1, CPU0, CPU1 = "gpu0", "gpu1", "cpu0", "cpu1"
OWN, PEER, HOST = 100.0, 800.0, 1000.0  # loads of a toy GPU
SHARED, FAR = 4.0, 150.0  # loads of a toy CPU: the last cache, the other domain


def flow(
    session: _core.Session,
    executor: str,
    partner: str,
    source: tuple[str, str],
    destination: tuple[str, str],
    **more: Any,
) -> _core.Flow:
    return toy.flow(session, source, destination, executor, "ping-pong", 8, partner=partner, **more)


@pytest.mark.parametrize(
    ("executor", "partner", "source", "destination", "round_ns"),
    [
        # Each stores to the other and looks at its own memory; then the other way round.
        (GPU0, GPU1, (GPU1, "device"), (GPU0, "device"), 2 * (PEER / 2 + OWN)),
        (GPU0, GPU1, (GPU0, "device"), (GPU1, "device"), 2 * (OWN / 2 + PEER)),
        (GPU0, GPU0, (GPU0, "device"), (GPU0, "device"), 2 * (OWN / 2 + OWN)),
        (CPU0, GPU0, (CPU0, "pinned"), (CPU0, "pinned"), SHARED / 2 + HOST + HOST / 2 + SHARED),
        (GPU0, CPU0, (CPU0, "pinned"), (CPU0, "pinned"), SHARED / 2 + HOST + HOST / 2 + SHARED),
        (CPU0, CPU0, (CPU0, "pageable"), (CPU0, "pageable"), 2 * (SHARED / 2 + SHARED)),
        (CPU0, CPU1, (CPU0, "pageable"), (CPU1, "pageable"), 2 * (FAR / 2 + FAR)),
    ],
)
def test_a_round_trip_is_what_stores_and_looks_take(
    executor: str, partner: str, source: tuple[str, str], destination: tuple[str, str], round_ns: float
) -> None:
    """Catches a side that is left out, or a word that is looked for on the wrong side of a link."""

    def scene(session: _core.Session) -> Any:
        measured = session.measure([flow(session, executor, partner, source, destination)], toy.options())
        return measured.time_ns.median, measured.verified, [one.id for one in measured.warnings]

    time_ns, verified, warnings = toy.play(toy.nvidia(), scene)
    assert time_ns == pytest.approx(round_ns, rel=2e-3)
    assert verified and warnings == []


def test_two_cores_of_this_machine() -> None:
    """Catches sides that do not run at the same time, or threads that are not where they were asked for."""
    session = _core.Session(gpus=False)
    cores = len(os.sched_getaffinity(0))
    options = toy.options(budget_s=0.05)
    chosen = {"core": 0, "partner_core": 1} if cores > 1 else {}
    ends = ("cpu0", "pageable"), ("cpu0", "pageable")
    measured = session.measure([flow(session, "cpu0", "cpu0", *ends, **chosen)], options)
    assert measured.verified and measured.verified_every_sample
    assert measured.time_ns.median > 10  # a line has to change caches twice
    with pytest.raises(_core.UnsupportedError, match="core 9999 is none of"):
        session.measure([flow(session, "cpu0", "cpu0", *ends, core=9999)], options)
    with pytest.raises(_core.UnsupportedError, match="does not wait for itself"):
        session.measure([flow(session, "cpu0", "cpu0", *ends, core=0, partner_core=0)], options)


def test_words_that_are_one_are_refused() -> None:
    """Catches a side that reads what it wrote itself for the answer."""
    session = _core.Session(gpus=False)
    word = session.allocate("cpu0", "pageable", 8, "cpu0")
    with pytest.raises(_core.UnsupportedError, match="its own buffer"):
        session.measure([_core.Flow(word, word, "cpu0", "ping-pong", 8, partner="cpu0")], toy.options())
