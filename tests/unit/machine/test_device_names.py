"""Devices by the names that users write: own names, globs, `host`, UUIDs, PCI addresses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from byteways.base.errors import BytewaysError
from byteways.machine.device_names import devices_named
from byteways.plan.suite import load
from tests.report import sample_run
from tests.unit import machines
from tests.unit.planning import plan

UUIDS = ("GPU-6f2b41aa-0000-1111-2222-333344445555", "GPU-6f2b99cc-0000-1111-2222-333344445555")


def two_gpus(addresses: tuple[str, str] = ("0000:17:00.0", "0001:17:00.0")):  # type: ignore[no-untyped-def]
    bare = sample_run.topology(2)
    known = {f"gpu{number}": (UUIDS[number], addresses[number]) for number in range(2)}
    devices = tuple(
        replace(one, uuid=known[one.name][0], pci_address=known[one.name][1]) if one.name in known else one
        for one in bare.devices
    )
    return replace(bare, devices=devices)


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("gpu1", ("gpu1",)),
        ("gpu*", ("gpu0", "gpu1")),
        ("gpu[1]", ("gpu1",)),
        ("host", ("cpu0",)),
        ("cpu0", ("cpu0",)),
        (UUIDS[1], ("gpu1",)),
        (UUIDS[1].upper().replace("GPU-", "gpu-"), ("gpu1",)),
        ("GPU-6f2b9", ("gpu1",)),
        ("0000:17:00.0", ("gpu0",)),
        ("00000001:17:00.0", ("gpu1",)),
    ],
)
def test_names(word: str, names: tuple[str, ...]) -> None:
    """Catches an identifier that finds another device, or one that must be written in one spelling."""
    assert devices_named(two_gpus(), word) == names


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("gpu7", "unknown device 'gpu7'"),
        ("nic0", "unknown device 'nic0'"),
        ("tpu*", "no device matches 'tpu*'"),
        ("GPU-0000", "unknown device 'GPU-0000'"),
        ("0000:99:00.0", "unknown device '0000:99:00.0'"),
        ("GPU-6f2b", "'GPU-6f2b' is ambiguous"),
        ("17:00.0", "'17:00.0' is ambiguous"),
    ],
)
def test_unknown_and_ambiguous(word: str, said: str) -> None:
    """Catches a mistaken name that is taken for the first device that is like it."""
    with pytest.raises(BytewaysError) as raised:
        devices_named(two_gpus(), word)
    assert raised.value.what == said
    assert raised.value.hint


def test_only_takes_identifiers() -> None:
    """Catches `--only` by UUID or PCI address that matches nothing, or another device."""
    topology, capabilities = machines.h200x4()
    named = replace(topology.device("gpu1"), uuid=UUIDS[1], pci_address="0000:38:00.0")
    devices = tuple(named if one.name == named.name else one for one in topology.devices)
    topology = replace(topology, devices=devices)
    for identifier in (UUIDS[1], "GPU-6f2b9", "0000:38:00.0", "38:00.0"):
        given = plan(load("quick"), topology, capabilities, only=[f"path={identifier}>gpu2"])
        wanted = plan(load("quick"), topology, capabilities, only=["path=gpu1>gpu2"])
        assert [entry.case.case_id for entry in given] == [entry.case.case_id for entry in wanted]
        assert given


def test_only_refuses_unknown_identifiers() -> None:
    """Catches an identifier of no device that is dropped silently beside other filters."""
    topology, capabilities = machines.h200x4()
    for only in (["source=0000:99:00.0"], ["path=gpu0>gpu1", "executor=GPU-dead0000"]):
        with pytest.raises(BytewaysError, match="unknown device"):
            plan(load("quick"), topology, capabilities, only=only)
