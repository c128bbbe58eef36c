"""validation/assumed_numbers.py: it finds the numbers that move a case, and fails where one is not listed."""

from __future__ import annotations

from unittest import mock

from assumed_numbers import Machine, numbers_of, only_assumed
from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.shared.request import CaseRequest
from byteways.models import load
from byteways.models.basis import rests_on
from tests.native.simulated import apart

MIB = 2**20


def request(interface: str, source: str, destination: str, executor: str, size: int) -> CaseRequest:
    ends = [Buffer.parse(end) for end in (source, destination)]
    case = Case(interface, "unidirectional", (Flow(*ends, executor),), size)
    cores = ((0,), (1,)) if case.ranks else ()
    return CaseRequest(case, budget_s=0.001, precision=0.5, rounds=1, key=1, cores=cores)


#: Those of ranks first, as Machine has them.
REQUESTS = (
    request("mpi", "0/cpu0:pageable", "1/cpu0:pageable", "cpu0", 1024),
    request("xccl", "0/gpu0:device", "1/gpu1:device", "gpu0", 1024),
    request("copy", "gpu0:device", "gpu1:device", "gpu0", 64 * MIB),
    request("copy", "cpu0:pageable", "gpu0:device", "gpu0", 64 * MIB),
    request("prefetch", "cpu0:managed", "gpu0:managed", "gpu0", 64 * MIB),
    request("memcpy", "cpu0:pageable", "cpu0:pageable", "cpu0", 64 * MIB),
    request("pointer-chase", "gpu0:device", "gpu0:device", "gpu0", 16 * MIB),
    request("event", "gpu0:device", "gpu0:device", "gpu0", 8),
    request("allocate", "gpu0:device", "gpu0:device", "gpu0", 64 * MIB),
)
#: Numbers of messages, of a rate and of a call, and the cases that they move.
MOVED = {
    "mpi.send_ns": {"mpi"},
    "links.0.peak_bytes_per_s": {"copy"},
    "calls.event_ns": {"event"},
}


def test_numbers_changed_together_are_told_apart() -> None:
    """Catches a search that names another number, or drops one, and a rule that leaves out a number."""

    def search() -> list[tuple[str, str]]:
        machine = Machine(load("h200-x4"), REQUESTS)
        missing = machine.missing([*MOVED], range(len(REQUESTS)))
        for one in missing:
            assert "assumed" in rests_on(one.case, only_assumed(machine.model, one.key))
        return [(one.key, one.case.interface) for one in missing]

    found: dict[str, set[str]] = {}
    for key, interface in apart(search):
        found.setdefault(key, set()).add(interface)
    assert found == MOVED


def test_a_case_that_does_not_list_its_number_is_found() -> None:
    """Catches a check that passes whatever records say."""

    def check() -> list[str]:
        machine = Machine(load("h200-x4"), REQUESTS)
        with mock.patch("assumed_numbers.numbers_behind", lambda case, model: frozenset()):
            (group,) = [group for group in machine.unlisted(["calls.event_ns"]) if group[0]]
        return [one.case.interface for one in machine.missing(*group)]

    assert apart(check) == ["event"]


def test_every_table_of_a_model_is_changed() -> None:
    """Catches tables of a model that the check passes over."""
    model = load("elcap-mi300a")
    tables = {key.split(".")[0] for key in numbers_of(model)}
    assert tables >= {"calls", "cpu", "gpu", "managed", "memory", "mpi", "rates", "staging", "xccl"}
