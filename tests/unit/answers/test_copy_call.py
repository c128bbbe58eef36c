"""The option `call`: combinations that no machine runs, machines without a call, names of methods."""

from __future__ import annotations

from typing import Any

import pytest

from byteways.answers.best.methods import _CALLS
from byteways.cases.case import Buffer, Case, Flow
from byteways.cases.interfaces import INTERFACES
from byteways.cases.options import CALL
from byteways.machine.model import OPTIONAL_CALLS, PLAIN_SET, Capabilities, Offer, Topology
from byteways.models import load
from byteways.models.basis import numbers_behind
from byteways.plan.legality.request import Request, mistake
from byteways.plan.legality.rules import broken_rule
from tests.changed import replace
from tests.unit import machines

TOPOLOGY: Topology
HERE: Capabilities
TOPOLOGY, HERE = machines.frontier()


def request(interface: str = "copy", pattern: str = "unidirectional", **options: Any) -> Request:
    return Request(interface, pattern, "cold", 2**20, options)


@pytest.mark.parametrize("call", CALL.words)
def test_calls_that_exist(call: str) -> None:
    """Catches a value of the option that every suite is refused with."""
    assert mistake(request(call=call)) is None


@pytest.mark.parametrize(
    ("wrong", "key"),
    [
        (request("memset", call="peer"), "call"),
        (request("memset", call="peer-blocking"), "call"),
        (request(call="peer", submit="graph"), "call"),
        (request(call="blocking", submit="batch"), "call"),
        (request(call="peer", copy_engine=1), "call"),
        (request(call="blocking", pace="one-at-a-time"), "pace"),
        (request(call="blocking", pause_ns=100), "pause_ns"),
        (request(call="peer-blocking", stream=0), "stream"),
        (request(pattern="bidirectional", call="blocking"), "call"),
        (request(pattern="interference", call="peer-blocking"), "call"),
    ],
)
def test_what_never_combines(wrong: Request, key: str) -> None:
    """Catches a case that waits for itself, or one whose record names an option without an effect."""
    found = mistake(wrong)
    assert found is not None and found.key == key


@pytest.mark.parametrize("options", [{"pace": "one-at-a-time"}, {"pause_ns": 100}, {"stream": 1}])
def test_a_peer_copy_goes_into_a_queue(options: dict[str, Any]) -> None:
    """Catches options of queues refused for a call that has one."""
    assert mistake(request(call="peer", **options)) is None


def case(source: str, destination: str, call: str, *, interface: str = "copy", by: str = "gpu0") -> Case:
    flow = Flow(Buffer.parse(source), Buffer.parse(destination), by)
    return Case(interface, "unidirectional", (flow,), 2**20, options={"call": call})


def with_calls(**offers: Offer) -> Capabilities:
    """The machine, where gpu0 has these calls and refuses those."""
    named = {name.replace("_", "-"): offer for name, offer in offers.items()}
    return replace(HERE, calls={**HERE.calls, "gpu0": {**HERE.calls.get("gpu0", {}), **named}})


@pytest.mark.parametrize(
    ("what", "code"),
    [
        (case("gpu0:device", "gpu1:device", "peer"), None),
        (case("gpu0:device", "gpu0:device", "peer-blocking"), None),
        (case("cpu0:pinned", "gpu0:device", "blocking"), None),
        (case("cpu0:pinned", "gpu0:device", "peer"), "copy-call"),
        (case("gpu0:managed", "gpu1:device", "peer-blocking"), "copy-call"),
    ],
)
def test_ends_of_peer_copies(what: Case, code: str | None) -> None:
    """Catches a peer copy of memory that belongs to no GPU, which the driver would refuse."""
    found = broken_rule(what, TOPOLOGY, HERE)
    assert (found and found.code) == code


def test_memset_of_a_cpu_has_no_other_call() -> None:
    """Catches an option that a case of a CPU records and nothing reads."""
    here = replace(
        HERE,
        interface={**HERE.interface, "cpu0": {**HERE.interface["cpu0"], "memset": Offer(True)}},
    )
    found = broken_rule(
        case("cpu0:pageable", "cpu0:pageable", "blocking", interface="memset", by="cpu0"), TOPOLOGY, here
    )
    assert found is not None and found.code == "copy-call"


def test_a_runtime_without_the_call() -> None:
    """Catches a plan of calls that the worker then finds missing, or a reason that does not say why."""
    lacks = Offer(False, "this driver has no hipMemcpyPeer")
    found = broken_rule(
        case("gpu0:device", "gpu1:device", "peer-blocking"), TOPOLOGY, with_calls(copy_peer_blocking=lacks)
    )
    assert found is not None and found.code == "copy-call" and lacks.reason in found.text


def test_memory_that_the_runtime_does_not_set() -> None:
    """Catches hipMemset planned for memory that HIP refuses, as the probe found."""
    refused = Offer(False, "HIP: hipErrorInvalidValue (invalid argument)")
    there = replace(
        with_calls(**{PLAIN_SET.replace("-", "_"): refused}),
        pageable_access={**HERE.pageable_access, "gpu0": True},
        interface={**HERE.interface, "gpu0": {**HERE.interface["gpu0"], "memset": Offer(True)}},
    )
    plain = case("cpu0:pageable", "cpu0:pageable", "blocking", interface="memset")
    found = broken_rule(plain, TOPOLOGY, there)
    assert found is not None and found.code == "plain-set" and refused.reason in found.text


def test_every_call_is_asked_for_and_named() -> None:
    """Catches a call that no probe asks for, and one that answers give the name of another."""
    for interface in ("copy", "memset"):
        assert CALL in INTERFACES[interface].options
    asked = {name for name in OPTIONAL_CALLS if name.startswith(("copy-", "memset-")) and name != "copy-2d"}
    assert asked == {f"{interface}-{call}" for interface, call in _CALLS}


def test_what_a_call_that_waits_rests_on() -> None:
    """Catches a simulated time of waiting calls that hides the assumed cost of a wait."""
    model = load("elcap-mi300a")
    for call in ("blocking", "peer-blocking"):
        small = replace(case("gpu0:device", "gpu1:device", call), size_bytes=4096)
        assert "calls.synchronize_ns" in numbers_behind(small, model)
