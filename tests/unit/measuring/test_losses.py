"""What a run gives up after lost workers: no more than the losses show, and no less."""

from __future__ import annotations

import pytest

from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.conduct.losses import Losses
from byteways.record.blame import FailureBlame


def case(
    interface: str = "copy",
    *paths: str,
    memory: str = "device",
    executor: str = "",
    environment: dict[str, str] | None = None,
) -> Case:
    ends = [path.split(">") for path in paths or ("gpu0>gpu1",)]
    flows = tuple(Flow(Buffer(a, memory), Buffer(b, "device"), executor or a) for a, b in ends)
    pattern = "unidirectional" if len(flows) == 1 else "fan-out"
    return Case(interface, pattern, flows, 4096, environment=environment or {})


def after(*lost: Case) -> Losses:
    losses = Losses()
    for one in lost:
        losses.add(one, "no answer within 20 s")
    return losses


COPY, OTHER_PATH = case(), case("copy", "gpu0>gpu2")
OTHER_MEMORY, KERNEL, BULK = case(memory="managed"), case("kernel"), case("kernel-bulk")
FAN_OUT = case("copy", "gpu0>gpu1", "gpu0>gpu2")


@pytest.mark.parametrize(
    ("lost", "given_up", "kept", "where"),
    [
        ([COPY] * 2, [], [COPY], ""),
        (
            [COPY] * 3,
            [COPY, FAN_OUT],
            [OTHER_PATH, OTHER_MEMORY, KERNEL],
            "gpu0>gpu1 by copy of device memory",
        ),
        (
            [COPY, COPY, OTHER_PATH],
            [COPY, OTHER_PATH, case("copy", "gpu0>gpu3")],
            [OTHER_MEMORY, KERNEL, case("copy", "gpu1>gpu0")],
            "gpu0 by copy of device memory",
        ),
        (
            [case(memory=kind) for kind in ("device", "managed", "pool")],
            [COPY, case(memory="vmm")],
            [KERNEL, OTHER_PATH],
            "gpu0>gpu1 by copy",
        ),
        (
            [COPY, OTHER_MEMORY, case("copy", "gpu0>gpu2", memory="pool")],
            [OTHER_PATH, case("copy", "gpu0>gpu3", memory="vmm")],
            [KERNEL],
            "gpu0 by copy",
        ),
        ([COPY, KERNEL, BULK], [OTHER_MEMORY, case("prefetch"), FAN_OUT], [OTHER_PATH], "gpu0>gpu1"),
        (
            [COPY, KERNEL, case("kernel-bulk", "gpu0>gpu2")],
            [case("prefetch", "gpu0>gpu0"), case("copy", "gpu0>gpu3")],
            [case("copy", "gpu1>gpu2")],
            "gpu0",
        ),
        # The loss of a concurrent case may be the fault of any of its paths.
        ([FAN_OUT] * 3, [FAN_OUT], [COPY, OTHER_PATH], "gpu0>gpu1,gpu2 by copy of device memory"),
        ([COPY, FAN_OUT, FAN_OUT], [FAN_OUT], [COPY, OTHER_PATH], "gpu0>gpu1,gpu2 by copy of device memory"),
    ],
)
def test_no_more_is_given_up_than_losses_differ_in(
    lost: list[Case], given_up: list[Case], kept: list[Case], where: str
) -> None:
    """Catches a device given up for one path, interface or memory kind, and a deadline for each case of a
    broken one.
    """
    losses = after(*lost)
    assert [losses.given_up(one) for one in kept] == [None] * len(kept)
    reasons = [found.reason for one in given_up if (found := losses.given_up(one))]
    assert len(reasons) == len(given_up)
    assert all(reason.endswith(", the last one: no answer within 20 s") for reason in reasons)
    if given_up:
        assert any(f"3 workers were lost on {where}, the last" in reason for reason in reasons)


def test_what_is_given_up_blames_the_device_of_the_losses() -> None:
    """Catches a GPU that is lost halfway, and whose skipped cases say nothing of it."""
    losses = Losses()
    for _ in range(3):
        losses.add(case("copy", "gpu0>gpu1"), "a call failed", blame=FailureBlame("gpu1"))
    found = losses.given_up(case("copy", "gpu0>gpu1"))
    assert found is not None and found.blame == FailureBlame("gpu1")


def test_remote_memory_is_on_the_path_to_it() -> None:
    """Catches a GPU given up because its kernels hang at memory behind a broken link, beside its copies."""
    chase = case("pointer-chase", "gpu0>gpu0", executor="gpu1")
    losses = after(*(case(name, "gpu0>gpu1", executor="gpu1") for name in ("copy", "kernel")), chase)
    assert losses.given_up(case("copy", "gpu1>gpu2")) is None
    assert losses.given_up(case("kernel", "gpu1>gpu1")) is None


def test_variables_that_cost_workers() -> None:
    """Catches cases without the variables given up for them, or cases with them that are not given up for a
    broken path.
    """
    setting = {"B": "1", "A": "2"}
    losses = after(*[case(environment=setting)] * 3)
    assert losses.given_up(COPY) is None and losses.given_up(case(environment={"A": "2"})) is None
    found = losses.given_up(case(environment=setting))
    assert found is not None and "of device memory with A=2 B=1, the last one" in found.reason
    assert after(*[COPY] * 3).given_up(case(environment=setting)) is not None
