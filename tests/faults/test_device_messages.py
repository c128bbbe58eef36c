"""An MPI that takes no memory of GPUs: found out by a trial, named, and nothing else is lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from byteways.cases.case import Buffer, Case, Flow, PlannedCase
from byteways.measuring.conduct.library_memory_support import (
    LibraryMemorySupport,
    failed_in_library,
    needs_trial,
)
from byteways.measuring.conduct.losses import LOSSES_TO_GIVE_UP
from byteways.measuring.conduct.process import WorkerLost
from byteways.record.record import Record
from tests.changed import replace

Conduct = Callable[..., list[Record]]
COLLECTIVE = "allreduce"


def message(
    memory: str = "gpu0:device",
    fault: str = "",
    *,
    size: int = 4096,
    pattern: str = "unidirectional",
    environment: Mapping[str, str] | None = None,
    **options: str,
) -> Case:
    """MPI from rank 0 to rank 1, both with the same kind of memory."""
    ends = (Buffer.parse(f"{rank}/{memory}") for rank in (0, 1))
    flow = Flow(*ends, memory.partition(":")[0])
    more = {"fault": fault} if fault else {}
    return Case("mpi", pattern, (flow,), size, "warm", {**options, **more}, environment or {})


def planned(case: Case) -> PlannedCase:
    return PlannedCase(case, "faults", 0, 0.01, 0.01, None)


def try_out(found: LibraryMemorySupport, case: Case, reason: str | None) -> None:
    outcome = {"status": "skipped" if reason else "measured", "reason": reason}
    assert not found.try_out(case, lambda: {"outcome": outcome}, "MPI 9")


@pytest.mark.parametrize(
    ("outcome", "leaving", "ends", "refusal"),
    [
        ({"status": "measured", "reason": None}, False, False, None),
        ({"status": "skipped", "reason": "it says so"}, False, False, "it says so"),
        ({"status": "corrupt", "reason": "1 word"}, False, False, "MPI 9 cannot move this memory: 1 word"),
        ({"status": "failed", "reason": "no memory"}, True, True, None),
        (None, False, True, "MPI 9 cannot move this memory: it died"),
    ],
)
def test_what_a_trial_shows(
    outcome: dict[str, Any] | None, leaving: bool, ends: bool, refusal: str | None
) -> None:
    """Catches a library that is refused for want of memory, and ranks that go on after they died."""

    def ask() -> dict[str, Any]:
        if outcome is None:
            raise WorkerLost("it died")
        return {"outcome": outcome, "leaving": leaving}

    found = LibraryMemorySupport()
    assert found.try_out(message(), ask, "MPI 9") == ends
    assert found.refusal(message()) == refusal


def test_a_trial_uses_memory_that_was_allocated_again() -> None:
    """Catches a library that is believed although it sends what was at an address before it was freed."""
    answers = [{"status": "measured", "reason": None}, {"status": "corrupt", "reason": "1 word"}]
    found = LibraryMemorySupport()
    assert not found.try_out(message(), lambda: {"outcome": answers.pop(0)}, "MPI 9")
    assert not answers
    assert found.refusal(message()) == "MPI 9 cannot move this memory: 1 word"


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("segfault", "MPI cannot move this memory: worker ended by SIGSEGV"),
        ("corrupt", "MPI cannot move this memory: 1 of 8 words differ"),
    ],
)
def test_a_trial_that_fails_costs_the_cases_of_that_memory(conduct: Conduct, fault: str, said: str) -> None:
    """Catches figures of an MPI that moves wrong bytes, a crash for each case, and a GPU given up for it."""
    wrong = [message(fault=fault, size=4096 * factor) for factor in range(1, LOSSES_TO_GIVE_UP + 2)]
    others = [message(pattern=COLLECTIVE), message("cpu0:pageable"), message(staging="pinned")]
    records = conduct([planned(case) for case in (*wrong, *others)])
    assert [record.status for record in records] == ["skipped"] * (len(wrong) + 1) + ["measured"] * 2
    for record in records[: len(wrong) + 1]:
        assert said in (record.reason or "")


def test_a_trial_that_succeeds_is_made_once(conduct: Conduct) -> None:
    """Catches memory refused after a right message, and a later crash taken for what MPI cannot do."""
    crash = message(fault="segfault", size=8192)
    records = conduct([planned(case) for case in (message(), crash, message(size=16384))])
    assert [record.status for record in records] == ["measured", "lost", "measured"]


def test_a_trial_that_lacks_memory_says_nothing_of_mpi(conduct: Conduct) -> None:
    """Catches an MPI that is given up because one size was too large for a GPU."""
    records = conduct([planned(case) for case in (message(fault="failed"), message(size=8192))])
    assert [record.status for record in records] == ["failed", "measured"]


def test_what_is_tried_apart() -> None:
    """Catches an MPI that takes one kind of memory, believed with all; a collective that is never tried."""
    found = LibraryMemorySupport()
    first = message()
    assert found.untried(first) and found.refusal(first) is None
    try_out(found, first, None)
    assert not found.untried(first) and not found.untried(message(size=8))
    assert not found.untried(message(pattern="bidirectional"))
    apart = [
        message("gpu0:pool"),
        message("cpu0:managed"),
        message(pattern=COLLECTIVE),
        message(environment={"UCX_TLS": "sm"}),
    ]
    assert all(map(found.untried, apart))
    try_out(found, message(pattern=COLLECTIVE), "it failed")
    assert found.refusal(message(pattern=COLLECTIVE, size=8)) == "it failed"
    assert found.refusal(first) is None


def test_puts_and_gets_are_tried_by_themselves() -> None:
    """Catches a put that is believed because messages pass, messages that are refused because puts fail, and
    a run that does not say what was tried.
    """
    found = LibraryMemorySupport()
    put, get = (replace(message(), interface=name) for name in ("mpi-put", "mpi-get"))
    try_out(found, message(), None)
    assert found.untried(put) and found.untried(get)
    try_out(found, put, "it failed")
    assert found.refusal(put) == "it failed" and found.untried(get) and found.refusal(message()) is None
    tried = [(one["operation"], one["library"], one["taken"], one["reason"]) for one in found.trials]
    assert tried == [("message", "MPI 9", True, None), ("mpi-put", "MPI 9", False, "it failed")]
    failing = LibraryMemorySupport()
    try_out(failing, message(), "it failed")
    assert failing.refusal(get) == "it failed"


def test_ucx_is_tried_apart_from_mpi() -> None:
    """Catches memory of GPUs that UCX gets untried, or that it is refused because MPI did not take it."""
    found = LibraryMemorySupport()
    names = ("ucx", "ucx-put", "ucx-get")
    ucx, put, get = (replace(message(), interface=name) for name in names)
    try_out(found, message(), "it failed")
    assert all(map(found.untried, (ucx, put, get)))
    try_out(found, ucx, None)
    assert found.refusal(ucx) is None and found.untried(put)
    crashed = {"status": "failed", "reason": "it said so", "reason_fields": {"call": "ucp_put_nbx"}}
    assert failed_in_library(put, crashed)


@pytest.mark.parametrize(
    ("case", "needed"),
    [
        (message(), True),
        (message("cpu0:managed"), True),
        (message("cpu0:pageable"), False),
        (message(staging="pinned"), False),
    ],
)
def test_which_memory_needs_a_trial(case: Case, needed: bool) -> None:
    """Catches a message of host memory that waits for a trial, and memory of a GPU that has none."""
    assert needs_trial(case) is needed


def of_nccl(memory: str, environment: Mapping[str, str] | None = None) -> Case:
    return replace(message(memory, environment=environment), interface="xccl")


def test_nccl_is_tried_with_memory_that_migrates() -> None:
    """Catches a trial of memory that NCCL always takes, and MPI's result taken for NCCL's."""
    assert needs_trial(of_nccl("gpu0:managed")) and not needs_trial(of_nccl("gpu0:device"))
    found = LibraryMemorySupport()
    try_out(found, of_nccl("gpu0:managed"), "it failed")
    assert found.refusal(of_nccl("gpu0:managed")) == "it failed"
    assert found.untried(message("gpu0:managed"))
    assert found.untried(of_nccl("gpu0:managed", {"HSA_XNACK": "1"}))


def test_simulated_mpi_is_not_tried() -> None:
    """Catches simulated trials, which cost time and cannot fail, and a simulated NCCL that is not tried."""
    found = LibraryMemorySupport(simulated=True)
    assert not found.untried(message()) and found.untried(of_nccl("gpu0:managed"))


@pytest.mark.parametrize(
    ("case", "call", "own"),
    [
        (of_nccl("gpu0:managed"), "ncclSend", True),
        (of_nccl("gpu0:managed"), "cuMemAllocManaged", False),
        (of_nccl("gpu0:managed"), None, False),
        (message("gpu0:managed"), "ncclSend", False),
        (message(), "MPI_Waitall", True),
        (message(), "cuMemAlloc_v2", False),
    ],
)
def test_whose_failure_it_is(case: Case, call: str | None, own: bool) -> None:
    """Catches memory that a library is said not to move because none was left, an MPI that returns an error
    for memory of a GPU and is tried again for each case, and a call read in words.
    """
    fields = {"reason_fields": {"call": call}} if call else {}
    assert failed_in_library(case, {"reason": "ncclSend: 3 (internal error)", **fields}) == own
