"""Memory of another process on simulated machines: it is opened for one GPU, used there and verified."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from byteways import _core
from byteways.measuring.shared.simulator import simulator_path
from tests.native import simulated as toy

SHEETS = pytest.mark.parametrize("sheet", [toy.nvidia(), toy.amd()], ids=["nvidia", "amd"])
#: HIP 5.7, whose hipIpcOpenMemHandle takes the flag 0 only.
OLDER = toy.amd(runtime_version=50731921)
SIZE = 8 * toy.MIB


@contextmanager
def as_another_process(sheet: str) -> Iterator[None]:
    _core.act_as_other_process(simulator_path(), sheet, True)
    try:
        yield
    finally:
        _core.act_as_other_process(simulator_path(), sheet, False)


def exported(session: _core.Session, sheet: str, device: str = "gpu1") -> _core.Buffer:
    with as_another_process(sheet):
        return session.allocate(device, "device", SIZE, device)


def handle_of(buffer: _core.Buffer, sheet: str) -> str:
    with as_another_process(sheet):
        return buffer.handle()


@pytest.mark.parametrize("sheet", [toy.nvidia(), toy.amd(), OLDER], ids=["nvidia", "amd", "amd-5.7"])
@pytest.mark.parametrize("interface", ["copy", "kernel"])
@pytest.mark.parametrize("into", [True, False], ids=["write", "read"])
def test_transfers_are_as_within_a_process(sheet: str, interface: str, into: bool) -> None:
    """Catches a path that is another for opened memory, content that is filled or checked elsewhere, and a
    flag that HIP 5 refuses.
    """

    def scene(session: _core.Session) -> list[tuple[bool, float]]:
        other = exported(session, sheet)
        own, near = session.allocate("gpu1", "device", SIZE, "gpu1"), "gpu0"
        opened = session.open_exported("gpu1", SIZE, near, handle_of(other, sheet))
        found = []
        for far in (opened, own):
            mine = session.allocate(near, "device", SIZE, near)
            ends = (mine, far) if into else (far, mine)
            told = session.measure([_core.Flow(*ends, near, interface, SIZE)], toy.options(max_samples=3))
            found.append((told.verified, told.time_ns.median))
        return found

    (verified, opened), (_, own) = toy.play(sheet, scene)
    assert verified and opened == pytest.approx(own)


@pytest.mark.parametrize("into", [True, False], ids=["write", "read"])
@pytest.mark.parametrize(
    ("environment", "engine", "mechanism"),
    [
        ({}, "copy-engine", "engine"),
        ({"HSA_ENABLE_PEER_SDMA": "0"}, "kernel", "blit"),
        ({"HSA_ENABLE_SDMA": "0"}, "kernel", "blit"),
    ],
)
def test_short_copies_of_hip_go_where_the_owner_s_memory_sends_them(
    into: bool, environment: dict[str, str], engine: str, mechanism: str
) -> None:
    """Catches the rule of own memory applied to memory of another process, which ROCm leaves to engines."""
    size, sheet = 64 * toy.KIB, toy.amd()

    def scene(session: _core.Session) -> list[list[object]]:
        other = exported(session, sheet)
        opened = session.open_exported("gpu1", SIZE, "gpu0", handle_of(other, sheet))
        found = []
        for far in (opened, session.allocate("gpu1", "device", SIZE, "gpu1")):
            mine = session.allocate("gpu0", "device", SIZE, "gpu0")
            ends = (mine, far) if into else (far, mine)
            flow = _core.Flow(*ends, "gpu0", "copy", size)
            measured = session.measure([flow], toy.options(batch=16, max_samples=3))
            found.append([measured.verified, measured.engine, measured.time_ns.median])
        return found

    theirs, own = toy.play(sheet, scene, environment)
    way = f"{mechanism}-peer-{'write' if into else 'read'}"
    time_ns = toy.FIXED_NS[mechanism] + size / toy.RATES[way] * 1e9
    assert theirs == [True, engine, pytest.approx(time_ns, rel=1e-3)]
    assert own[:2] == [True, "kernel"]


def test_memory_that_was_closed_is_no_longer_another_process_s() -> None:
    """Catches memory that stays opened, whose owner's copies would follow the rules of the other process."""
    sheet, size = toy.amd(), 64 * toy.KIB

    def scene(session: _core.Session) -> list[str]:
        other = exported(session, sheet)
        mine = session.allocate("gpu0", "device", SIZE, "gpu0")
        opened = session.open_exported("gpu1", SIZE, "gpu0", handle_of(other, sheet))
        found = [
            session.measure([_core.Flow(mine, opened, "gpu0", "copy", size)], toy.options(max_samples=3))
        ]
        del opened
        found += [
            session.measure([_core.Flow(mine, other, "gpu0", "copy", size)], toy.options(max_samples=3))
        ]
        return [str(measured.engine) for measured in found]

    assert toy.play(sheet, scene) == ["copy-engine", "kernel"]


@SHEETS
@pytest.mark.parametrize("executor, interface", [("gpu1", "kernel"), ("cpu0", "memcpy")])
def test_only_the_opener_uses_it(sheet: str, executor: str, interface: str) -> None:
    """Catches an address that is given to a device on which it is not valid: a real GPU faults."""

    def scene(session: _core.Session) -> str:
        other = exported(session, sheet)
        opened = session.open_exported("gpu1", SIZE, "gpu0", handle_of(other, sheet))
        mine = session.allocate(executor, "device" if executor == "gpu1" else "pageable", SIZE, executor)
        try:
            session.measure([_core.Flow(mine, opened, executor, interface, SIZE)], toy.options(max_samples=3))
        except _core.Error as error:
            return str(error)
        return ""

    assert "was opened for gpu0 only" in toy.play(sheet, scene)


@SHEETS
def test_what_cannot_be_opened(sheet: str) -> None:
    """Catches a handle of this process, which CUDA refuses, one that is none, and host memory."""

    def scene(session: _core.Session) -> list[str]:
        own = session.allocate("gpu1", "device", SIZE, "gpu1").handle()
        said = []
        for device, opener, handle in (("gpu1", "gpu0", own), ("gpu1", "gpu0", "zz"), ("gpu1", "cpu0", own)):
            try:
                session.open_exported(device, SIZE, opener, handle)
            except _core.Error as error:
                said.append(str(error))
        return said

    refused, nonsense, host = toy.play(sheet, scene)
    assert "INVALID_CONTEXT" in refused or "InvalidContext" in refused
    assert "no handle of another process" in nonsense
    assert "no handles for other processes" in host
