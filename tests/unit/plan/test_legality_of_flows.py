"""Rules that judge a case by more than its first flow: background loads and partners."""

from __future__ import annotations

import pytest

from byteways.cases.case import Buffer, Flow
from tests.changed import replace
from tests.unit import legality

HOST = "cpu0:pageable"


def test_a_flow_without_bytes_is_no_load() -> None:
    """Catches a background load that moves nothing and disturbs nobody."""
    copy = legality.case("copy", "gpu0:device", "gpu1:device", "gpu0")
    idle = Flow(Buffer("gpu0", "device"), Buffer("gpu0", "device"), "gpu0", interface="launch", size_bytes=8)
    beside = replace(copy, pattern="interference", flows=(*copy.flows, idle))
    assert legality.reason(beside) == "launch moves no bytes, so it cannot be a background load"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"partner_core": 0}, None),
        ({"core": 0}, None),
        ({"core": 1, "partner_core": 1}, "cpu0 cannot exchange with itself on one core"),
    ],
)
def test_cores_of_a_ping_pong(options: dict[str, int], said: str | None) -> None:
    """Catches a partner refused because its core is the first, and one on the executor's own core."""
    case = legality.case("ping-pong", HOST, HOST, "cpu0", 8, "warm")
    both = replace(case, flows=(replace(case.flows[0], partner="cpu0"),), options=options)
    found = legality.reason(both, legality.TWO_CORES)
    assert (found is None) == (said is None)


def test_a_rule_that_does_not_concern_the_first_flow() -> None:
    """Catches a background load that breaks a rule which the measured flow has nothing to do with."""
    copy = legality.case("copy", "gpu0:device", "gpu1:device", "gpu0")
    ends = Flow(Buffer("gpu2", "device"), Buffer("gpu3", "device"), "gpu2")
    load = replace(ends, interface="kernel", options={"threads": 4096}, size_bytes=1 << 20)
    beside = replace(copy, pattern="interference", flows=(*copy.flows, load))
    assert "4096 threads exceed the largest GPU block" in (legality.reason(beside) or "")
    routed = replace(ends, interface="route", options={"via": "gpu9"}, size_bytes=1 << 20)
    assert "gpu9" in (legality.reason(replace(beside, flows=(*copy.flows, routed))) or "")
    copied = replace(ends, interface="copy", options={"submit": "batch"}, size_bytes=1 << 20)
    assert legality.reason(replace(beside, flows=(*copy.flows, copied))) is not None


def test_threads_of_a_runtime_s_call() -> None:
    """Catches an option that a case records and the vendor's call never sees."""
    case = legality.case("memset", "gpu0:device", "gpu0:device", "gpu0")
    assert legality.reason(case) is None
    assert "takes no threads" in (legality.reason(replace(case, options={"threads": 64})) or "")
