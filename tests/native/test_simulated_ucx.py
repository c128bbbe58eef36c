"""The simulated UCX: what a measurement by it verifies, what completes transfers, and faults of ranks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.native import simulated as toy
from tests.native.test_carried_ranks import Ranks

ONE_SIDED = ("ucx-put", "ucx-get")


@pytest.mark.parametrize("fault", [False, True])
@pytest.mark.parametrize(
    ("interface", "operation"),
    [
        *((name, way) for name in ("ucx", *ONE_SIDED) for way in ("unidirectional", "bidirectional")),
        ("ucx-ping-pong", "unidirectional"),
    ],
)
@pytest.mark.parametrize("size", [4 * toy.KIB, 16 * toy.MIB])
def test_transfers_are_verified(interface: str, operation: str, size: int, fault: bool) -> None:
    """Catches a measurement that hangs, that takes anything for its data, or that reads them before the
    transfers are done; short messages and those that need a rendezvous.
    """

    def scene() -> list[Any]:
        faults = {"faults__0": "corrupt:cpu0>cpu0:word=3"} if fault else {}
        return Ranks(toy.nvidia(**faults)).between_ranks(interface, operation, size)

    results = toy.apart(scene)
    one_way = operation == "unidirectional" and interface != "ucx-ping-pong"
    receiving = results[1:] if one_way else results
    assert all(isinstance(result, list) for result in results), results
    eager = size < 16 * toy.MIB and interface not in ONE_SIDED  # copied through a buffer, which no fault hits
    assert all(verified == (eager or not fault) for _, _, verified in receiving), results


@pytest.mark.parametrize("interface", ONE_SIDED)
def test_a_flush_completes_many_transfers_together(interface: str) -> None:
    """Catches a flush after each transfer, whatever the window."""

    def scene() -> list[Any]:
        ranks = Ranks(toy.nvidia())
        windows: tuple[dict[str, Any], ...] = ({}, {"window": 1})
        return [ranks.between_ranks(interface, "unidirectional", 64, **words)[0] for words in windows]

    many, single = toy.apart(scene)
    each = [min(samples) / batch for samples, batch, _ in (many, single)]
    assert each[0] < each[1] and many[1] % 64 == 0


@pytest.mark.parametrize("interface", ["ucx", *ONE_SIDED])
def test_a_rank_that_fails_is_told_to_the_other(interface: str) -> None:
    """Catches a rank that waits for ever for one whose call failed, and a failure without its call: among the
    calls of a case, those of UCX fail, too.
    """
    failures = []
    for call in (31, 48, 67, 83, 101):

        def scene(call: int = call) -> list[Any]:
            ranks = Ranks(toy.nvidia(faults__0=f"rank-throws:0:call={call}"))
            return ranks.between_ranks(interface, "unidirectional", 64)

        failures.append(toy.apart(scene))
    assert all(isinstance(result, str) for results in failures for result in results), failures
    assert any(results[0].startswith("Error: ucp_") for results in failures), failures
