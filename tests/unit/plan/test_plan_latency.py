"""What may run where of calls and of ping-pong, and the sentence of each refusal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from byteways.cases.case import Buffer, Case, Flow
from tests.unit.legality import APU, FRONTIER, H200X4, NO_PEER, TWO_CORES, Machine, case, reason


def call(interface: str, buffer: str, executor: str, size: int = 8, **options: int | str) -> Case:
    return replace(case(interface, buffer, buffer, executor, size, "warm"), options=options)


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        (call("launch", "gpu0:device", "gpu0"), None),
        (call("launch", "cpu0:pageable", "cpu0", threads=2), None),
        (
            call("launch", "gpu0:device", "gpu0", threads=1024),
            None,
        ),  # of a block: a GPU has no cores to share
        (call("launch", "gpu0:device", "gpu0", 16), "launch moves no data: its buffer is one word"),
        (
            call("launch", "cpu0:pageable", "cpu0", threads=4000),
            "4000 threads of launch exceed the 32 cores",
        ),
        (
            call("launch", "gpu0:device", "gpu0", threads=2048),
            "2048 threads exceed the largest GPU block: 1024",
        ),
        (call("event", "cpu0:pageable", "cpu0"), "event uses the queues of a GPU, and cpu0 is a CPU"),
    ],
)
def test_calls(what: Case, sentence: str | None) -> None:
    """Catches a call that is planned where there is no such call, or refused where there is."""
    assert (reason(what) or "").startswith(sentence or "")
    assert (reason(what) is None) == (sentence is None)


def test_what_is_waited_for_one_at_a_time_runs_alone() -> None:
    """Catches concurrent flows whose figures would be those of turns."""
    paced = replace(case("copy", "gpu0:device", "gpu1:device", "gpu0"), options={"pace": "one-at-a-time"})
    assert reason(paced) is None
    back = Flow(Buffer.parse("gpu1:device"), Buffer.parse("gpu0:device"), "gpu1")
    both = replace(paced, pattern="bidirectional", flows=(*paced.flows, back))
    assert reason(both) == "pace one-at-a-time runs alone: bidirectional flows would be serialised"
    assert reason(replace(both, options={"pace": "back-to-back"})) is None


def ping_pong(executor: str, partner: str, memory: str, size: int = 8, **options: int) -> Case:
    ends = (Buffer.parse(text) for text in memory.split(">"))
    return Case(
        "ping-pong", "unidirectional", (Flow(*ends, executor, partner=partner),), size, "warm", options
    )


@pytest.mark.parametrize(
    ("machine", "what", "sentence"),
    [
        (H200X4, ping_pong("gpu0", "gpu1", "gpu1:device>gpu0:device"), None),
        (H200X4, ping_pong("gpu0", "gpu0", "gpu0:device>gpu0:device"), None),
        (H200X4, ping_pong("cpu0", "gpu1", "cpu0:pinned>cpu0:pinned"), None),
        (APU, ping_pong("cpu0", "gpu0", "gpu0:device-fine>gpu0:device-fine"), None),
        (TWO_CORES, ping_pong("cpu0", "cpu0", "cpu0:pageable>cpu0:pageable", core=0, partner_core=1), None),
        (H200X4, ping_pong("gpu0", "gpu1", "gpu1:device>gpu0:device", 16), "ping-pong sends one word of 8"),
        (
            H200X4,
            ping_pong("gpu0", "cpu0", "cpu0:pinned>gpu0:device"),
            "cpu0 cannot address device memory",
        ),
        (
            H200X4,
            ping_pong("cpu0", "gpu0", "cpu0:managed>cpu0:managed"),
            "a word in managed memory would migrate",
        ),
        (
            FRONTIER,
            ping_pong("cpu0", "gpu0", "cpu0:pinned-noncoherent>cpu0:pinned-noncoherent"),
            "a GPU that polls pinned-noncoherent memory",
        ),
        (NO_PEER, ping_pong("gpu1", "gpu0", "gpu1:device>gpu1:device"), "gpu0 and gpu1 have no"),
        (
            TWO_CORES,
            ping_pong("cpu0", "cpu0", "cpu0:pageable>cpu0:pageable", core=1, partner_core=1),
            "core 1 of cpu0 would poll itself",
        ),
        (
            TWO_CORES,
            ping_pong("cpu0", "cpu0", "cpu0:pageable>cpu0:pageable", core=2),
            "cpu0 has 2 usable cores, numbered from 0; core 2 does not exist",
        ),
        (
            H200X4,
            ping_pong("gpu0", "gpu1", "gpu1:device>gpu0:device", partner_core=0),
            "'partner_core' selects a CPU core, and gpu1 is a GPU",
        ),
    ],
)
def test_ping_pong(machine: Machine, what: Case, sentence: str | None) -> None:
    """Catches a side that is planned although it cannot reach a word, or would never see it change."""
    assert (reason(what, machine) or "").startswith(sentence or "")
    assert (reason(what, machine) is None) == (sentence is None)
