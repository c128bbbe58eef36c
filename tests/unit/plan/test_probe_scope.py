"""What a probe tries for a suite: no GPU, interface or kind of memory that no case of it can use."""

from __future__ import annotations

import pytest

from byteways.cases.interfaces import INTERFACES
from byteways.cases.question import question
from byteways.plan.probe_scope import scope_of
from byteways.plan.question_suite import suite_of
from byteways.plan.suite import load, parse
from byteways.plan.suite_types import Suite
from tests.unit.legality import H200X4

HEAD = 'name = "s"\ntitle = "s"\n'


def suite(**keys: str) -> Suite:
    """A suite of one sweep; values are TOML."""
    sweep = {"name": '"a"', "interface": '"kernel"', "size": '"1MiB"', **keys}
    return parse(
        HEAD + "[[sweep]]\n" + "".join(f"{key} = {value}\n" for key, value in sweep.items()), file="s"
    )


@pytest.mark.parametrize(
    ("keys", "gpus"),
    [
        ({"source": '"gpu0:device"', "destination": '"gpu2:device"'}, ("gpu0", "gpu2")),
        ({"source": '"cpu*:pinned"', "destination": '"gpu1:device"'}, ("gpu1",)),
        ({"source": '"cpu0:pinned"', "destination": '"gpu1:device"', "executor": '"gpu3"'}, ("gpu1", "gpu3")),
        ({"source": '"cpu0:managed@gpu2"', "destination": '"gpu1:device"'}, ("gpu1", "gpu2")),
        ({"source": '"gpu0:device"', "destination": '"gpu*:device"'}, None),
        ({"source": '"*:device"', "destination": '"gpu1:device"'}, None),
        ({"interface": '"memcpy"', "source": '"cpu*:pageable"', "destination": '"cpu*:pageable"'}, ()),
        ({"interface": '"route"', "source": '"gpu0:device"', "destination": '"gpu1:device"'}, None),
    ],
)
def test_named_gpus_alone_are_tried(keys: dict[str, str], gpus: tuple[str, ...] | None) -> None:
    """Catches a question between two GPUs that waits for eight to open, and one that lacks a GPU it uses."""
    assert scope_of(suite(**keys)).gpus == gpus


def test_a_question_opens_its_own_gpus() -> None:
    """Catches a suite of `byteways best` that may use more than the question names."""
    asked = suite_of(question("gpu1", "gpu3", "1MiB"), H200X4[0])
    assert scope_of(asked).gpus == ("gpu1", "gpu3")


def test_interfaces_of_the_suite_alone_are_tried() -> None:
    """Catches kernels that are compiled for nothing, and a job of ranks that does not know of MPI."""
    assert scope_of(load("quick")).interfaces == tuple(
        name
        for name in INTERFACES
        if name in ("copy", "kernel", "kernel-bulk", "pointer-chase", "memcpy", "memcpy-stream", "memcpy-mt")
    )
    between = scope_of(load("collectives"))
    assert {"mpi", "xccl"} <= set(between.interfaces) and between.gpus is None


@pytest.mark.parametrize(("memory", "granted"), [("device", ()), ("pool", ("pool",)), ("*", ("pool", "vmm"))])
def test_memory_that_is_granted_is_tried_where_a_suite_has_it(memory: str, granted: tuple[str, ...]) -> None:
    """Catches proofs of memory kinds that no case uses, and a kind that a glob means and nobody proved."""
    ends = {"source": f'"gpu0:{memory}"', "destination": '"gpu1:device"'}
    assert set(granted) == set(scope_of(suite(**ends)).granted)
