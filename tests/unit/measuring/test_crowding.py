"""Ranks that share cores: longer deadlines, and a timeout that is no loss of the device."""

from __future__ import annotations

import pytest

from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.conduct.oversubscription import Oversubscription
from byteways.measuring.shared.launchers import NO_LAUNCHER, Job, Launcher

FOUR = Job(Launcher("test", ("mpiexec", "-n", "{ranks}")), 4)
LATE = "no answer within 42 s"


def collective(pattern: str = "allreduce", size_bytes: int = 1024, ranks: int = 4) -> Case:
    first, *others = (Buffer("cpu0", "pageable", rank=rank) for rank in range(ranks))
    flow = Flow(first, first, "cpu0", others=tuple((end, end) for end in others))
    return Case("mpi", pattern, (flow,), size_bytes, "warm")


@pytest.mark.parametrize(
    ("job", "cores", "ranks", "factor"),
    [
        (FOUR, 2, 4, 2.0),
        (FOUR, 2, 2, 1.0),  # of four ranks, two poll in this case, on a core each
        (FOUR, 4, 4, 1.0),
        (Job(NO_LAUNCHER, 4), 2, 4, 1.0),  # simulated ranks wait in virtual time
        (None, 2, 4, 1.0),
    ],
)
def test_ranks_per_core(job: Job | None, cores: int, ranks: int, factor: float) -> None:
    """Catches ranks that count as hanging where time slices make them slow, and other limits that grow."""
    assert Oversubscription(job, cores).factor(collective(ranks=ranks)) == factor


def test_a_timeout_is_of_the_operation_from_this_size_on() -> None:
    """Catches a device given up for want of cores, and a deadline for each further size and round."""
    crowding = Oversubscription(FOUR, 2)
    assert crowding.is_late(collective(size_bytes=4096), "timeout", LATE)
    assert crowding.is_late(collective(size_bytes=8192), "timeout", "later")
    told = "4 ranks share 2 cores, and allreduce of 4 KiB had no answer within 42 s"
    assert crowding.reason(collective(size_bytes=4096)) == told
    assert crowding.reason(collective(size_bytes=1 << 20)) == told
    assert not crowding.reason(collective()) and not crowding.reason(collective("broadcast", 4096))


@pytest.mark.parametrize(("job", "cores", "status"), [(FOUR, 2, "lost"), (FOUR, 4, "timeout")])
def test_other_losses_are_of_the_device(job: Job, cores: int, status: str) -> None:
    """Catches a rank that crashes again and again, and a hanging one with a core of its own."""
    crowding = Oversubscription(job, cores)
    assert not crowding.is_late(collective(), status, LATE) and not crowding.reason(collective())
