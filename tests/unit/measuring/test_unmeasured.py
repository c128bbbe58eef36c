"""A run that would measure nothing, or that skipped most of its suite, and what it says to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from byteways.base.errors import BytewaysError, ExitStatus
from byteways.cases.case import Buffer, Case, Flow, PlannedCase
from byteways.cases.reasons import OUT_OF_TIME
from byteways.machine.model import Capabilities, Offer
from byteways.measuring.conduct.recording import record_without_values
from byteways.measuring.conduct.skipped_cases import HUGE_PAGES_ON, Lacks, check_some, mostly_skipped
from byteways.measuring.shared.launchers import INSTALL_MPI
from byteways.record.record import Record
from tests.unit.planning import MEMCPY, plan, suite, two_cores

HUGE = 'interface = "memcpy"\nsource = "cpu*:hugepage"\ndestination = "cpu*:hugepage"\nsize = "1MiB"'
PINGS = (
    'interface = "mpi"\nsource = "cpu*:pageable"\ndestination = "cpu*:pageable"\nsize = ["1KiB", "1MiB"]\n'
)
TOPOLOGY, CAPABILITIES = two_cores


def lacking(kind: str, name: str) -> Capabilities:
    """The capabilities of two cores without this interface or memory kind."""
    offers = {device: {**each, name: Offer(False, "none here")} for device, each in _of(kind).items()}
    return replace(CAPABILITIES, **{kind: offers})


def _of(kind: str) -> dict[str, dict[str, Offer]]:
    return getattr(CAPABILITIES, kind)


def records(planned: list[PlannedCase], measured: int = 0) -> list[Record]:
    """A record of each case: so many measured ones, then skipped ones."""
    return [
        record_without_values(one, 1, "measured" if number < measured else "skipped", one.reason or "because")
        for number, one in enumerate(planned)
    ]


def on_huge_pages(case: Case) -> Case:
    end = Buffer("cpu0", "hugepage")
    return replace(case, flows=(Flow(end, end, "cpu0"),))


def test_a_plan_without_a_case_that_can_run_is_refused() -> None:
    """Catches a run of skipped cases that ends well, and an error without reason or remedy."""
    there = lacking("interface", "mpi")
    planned = plan(suite(PINGS), TOPOLOGY, there)
    assert len(planned) >= 2
    with pytest.raises(BytewaysError) as refused:
        check_some(planned, Lacks(there, []))
    assert refused.value.status == ExitStatus.USAGE
    assert refused.value.hint == INSTALL_MPI
    assert "none here" in str(refused.value.cause)


def test_a_plan_with_one_case_that_can_run_is_not() -> None:
    """Catches a refusal because some cases of a suite cannot run."""
    there = lacking("interface", "mpi")
    check_some(plan(suite(PINGS, MEMCPY), TOPOLOGY, there), Lacks(there, []))


@pytest.mark.parametrize(
    ("measured", "status"), [(0, ExitStatus.USAGE), (1, ExitStatus.FAILED), (2, None), (4, None)]
)
def test_more_than_half_skipped_is_an_error(measured: int, status: ExitStatus | None) -> None:
    """Catches a run called good although it did not answer what was asked, and one called bad because a few
    cases cannot run.
    """
    sizes = '["1MiB", "2MiB", "4MiB", "8MiB"]'
    planned = plan(suite(MEMCPY.replace('"1MiB"', sizes)), TOPOLOGY, CAPABILITIES)
    assert len(planned) == 4
    told = records(planned, measured)
    error = mostly_skipped(planned, told, Lacks(lacking("memory", "hugepage"), []))
    assert (error and error.status) == (status if measured == 0 else None)  # nothing would bring these
    huge = [replace(one, case=on_huge_pages(one.case)) for one in planned]
    error = mostly_skipped(huge, records(huge, measured), Lacks(lacking("memory", "hugepage"), []))
    assert (error and error.status) == status


def test_cases_without_time_do_not_count_as_skipped() -> None:
    """Catches a short budget taken for a machine that lacks something."""
    planned = plan(suite(MEMCPY.replace('"1MiB"', '["1MiB", "2MiB", "4MiB"]')), TOPOLOGY, CAPABILITIES)
    late = [record_without_values(one, 1, "skipped", "no time", code=OUT_OF_TIME) for one in planned[1:]]
    assert {record.display_status for record in late} == {"left out"}
    assert mostly_skipped(planned, [*records(planned[:1], 1), *late], Lacks(CAPABILITIES, [])) is None


def test_huge_pages_asked_for_by_name_are_refused_with_the_remedy() -> None:
    """Catches another memory measured in place of the one that a filter names."""
    there = lacking("memory", "hugepage")
    planned = plan(suite(HUGE), TOPOLOGY, there, only=["memory=hugepage"])
    assert [one.reason is None for one in planned] == [False]
    assert {Lacks(there, []).remedy(one.case) for one in planned} == {HUGE_PAGES_ON}


def test_pageable_memory_stands_in_for_huge_pages() -> None:
    """Catches a suite that skips nearly all of itself where huge pages are switched off, and the same case
    planned twice because the suite asks for both kinds.
    """
    there = lacking("memory", "hugepage")
    planned = plan(suite(HUGE), TOPOLOGY, there)
    assert [(one.reason, str(one.case.flows[0].source)) for one in planned] == [(None, "cpu0:pageable")]
    assert len(plan(suite(HUGE, MEMCPY), TOPOLOGY, there)) == 1
    assert [str(one.case.flows[0].source) for one in plan(suite(HUGE), TOPOLOGY, CAPABILITIES)] == [
        "cpu0:hugepage"
    ]


def test_a_library_says_itself_what_brings_it() -> None:
    """Catches a hint of another library than the one that is missing."""
    there = lacking("interface", "xccl")
    planned = plan(suite(PINGS), TOPOLOGY, there)
    case = replace(planned[0].case, interface="xccl")
    report = {"library": "nccl", "hint": "install nccl", "usable": False, "reason": "none"}
    assert Lacks(there, [report]).remedy(case) == "install nccl"
    assert Lacks(there, [report], simulated=True).remedy(case) == ""
