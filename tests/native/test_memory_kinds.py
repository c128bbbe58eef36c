"""Write-combined, pool and mapped memory through the whole stack: on simulated machines, and with libraries
that lack functions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from byteways import _core
from tests.native import fake_libraries as fake
from tests.native import simulated as toy

SHEETS = pytest.mark.parametrize("sheet", [toy.nvidia(), toy.amd()], ids=["nvidia", "amd"])
GRANULE = 2 * toy.MIB


def moved(session: _core.Session, source: _core.Buffer, executor: str, interface: str) -> bool:
    to = session.allocate("gpu0", "device", toy.MIB, "gpu0")
    found = session.measure(
        [_core.Flow(source, to, executor, interface, 64 * toy.KIB)], toy.options(max_samples=3)
    )
    return found.verified


def test_pages_that_nobody_tells_are_not_assumed() -> None:
    """Catches an assumed page size of device memory; the mapping's granule is reported."""

    def scene(session: _core.Session) -> list[int]:
        return [
            session.allocate("gpu0", memory, 4 * toy.MIB, "gpu0").page_bytes
            for memory in ("device", "pool", "vmm")
        ]

    assert toy.play(toy.nvidia(), scene) == [0, 0, GRANULE]


@SHEETS
@pytest.mark.parametrize("end", ["cpu1:write-combined", "gpu1:pool", "gpu1:vmm"])
def test_kinds_are_read_from_another_device(sheet: str, end: str) -> None:
    """Catches a kind that cannot be had, or that another GPU was not let into: its kernel would break it."""
    device, memory = end.split(":")

    def scene(session: _core.Session) -> dict[str, Any]:
        buffer = session.allocate(device, memory, toy.MIB + 4096, device)
        return {
            "bytes": buffer.bytes,
            "page": buffer.page_bytes,
            "placement": buffer.placement(),
            "verified": [moved(session, buffer, "gpu0", way) for way in ("kernel", "copy")],
        }

    got = toy.play(sheet, scene)
    assert got["verified"] == [True, True] and got["bytes"] == toy.MIB + 4096
    assert list(got["placement"]) == (["1"] if device == "cpu1" else [])
    assert got["page"] == {"write-combined": 4096, "pool": 0, "vmm": GRANULE}[memory]


@SHEETS
def test_access_is_proved_by_kind(sheet: str) -> None:
    """Catches peer access that is taken to cover pools and mappings, and a refusal without its reason."""

    def scene(session: _core.Session) -> list[bool]:
        kinds = ("device", "pool", "vmm")
        return [session.prove_peer("gpu0", "gpu1", memory).available for memory in kinds]

    assert toy.play(sheet, scene) == [True, True, True]
    apart = sheet.replace("gpu0-gpu1", "gpu0-cpu1")  # no link between the two

    def alone(session: _core.Session) -> list[Any]:
        offer = session.prove_peer("gpu0", "gpu1", "vmm")
        return [offer.available, "no peer access" in offer.reason]

    assert toy.play(apart, alone) == [False, True]


@SHEETS
def test_memory_is_given_back(sheet: str) -> None:
    """Catches a mapping, or what a pool keeps, that outlives its buffer: the third would not fit."""

    def scene(session: _core.Session) -> int:
        for memory in ("pool", "vmm", "device") * 3:
            session.allocate("gpu0", memory, 5 * toy.GIB, "gpu0")
        return 1

    assert toy.play(sheet, scene) == 1


def test_a_mapping_that_does_not_fit_is_out_of_memory() -> None:
    """Catches a failure in the middle of mapping that is taken for a bug, or leaves addresses behind."""

    def scene(session: _core.Session) -> list[str]:
        found = []
        for memory in ("pool", "vmm"):
            try:
                session.allocate("gpu0", memory, 9 * toy.GIB, "gpu0")
            except _core.OutOfMemoryError as error:
                found.append(str(error))
        return found

    pool, mapped = toy.play(toy.nvidia(), scene)
    assert "gpu0" in pool and "cuMemAllocFromPoolAsync" in pool
    assert "gpu0" in mapped and "cuMemCreate" in mapped


@SHEETS
def test_pages_are_where_they_were_first_touched(sheet: str) -> None:
    """Catches pages placed near the allocating thread instead of the first toucher."""

    def scene(session: _core.Session) -> dict[str, Any]:
        found = {}
        for owner, toucher in (("cpu0", "cpu1"), ("cpu1", "cpu0")):
            for memory in ("pageable", "hugepage", "registered", "managed"):
                buffer = session.allocate(owner, memory, 4 * toy.MIB, toucher)
                found[f"{owner}:{memory}@{toucher}"] = list(buffer.placement())
        return found

    for buffer, domains in toy.play(sheet, scene).items():
        assert domains == [int(buffer[-1])] or domains == [buffer[-1]], buffer


@SHEETS
def test_others_fill_what_the_allocation_placed(sheet: str) -> None:
    """Catches page-locked memory that goes where it is filled first, a peer that fills a GPU's memory without
    access to it, and a core that is taken to reach it.
    """

    def scene(session: _core.Session) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for owner, toucher in (("cpu0", "cpu1"), ("cpu1", "gpu0")):
            buffer = session.allocate(owner, "pinned", 4 * toy.MIB, toucher)
            found[f"{owner}:pinned@{toucher}"] = [int(domain) for domain in buffer.placement()]
        for memory in ("device", "pool", "vmm"):
            source = session.allocate("gpu0", memory, 4 * toy.MIB, "gpu1")
            target = session.allocate("gpu0", "device", 4 * toy.MIB, "gpu0")
            flow = _core.Flow(source, target, "gpu0", "copy", 4 * toy.MIB)
            found[f"gpu0:{memory}@gpu1"] = session.measure([flow], toy.options()).verified
        try:
            session.allocate("gpu0", "device", 4 * toy.MIB, "cpu0")
        except _core.UnsupportedError as error:
            found["refused"] = str(error)
        return found

    found = toy.play(sheet, scene)
    assert found.pop("cpu0:pinned@cpu1") == [0] and found.pop("cpu1:pinned@gpu0") == [1]
    assert "a CPU thread cannot reach the memory of gpu0" in found.pop("refused")
    assert found == {f"gpu0:{memory}@gpu1": True for memory in ("device", "pool", "vmm")}


@pytest.mark.parametrize(
    "table, variable, lacks",
    [
        ("cuda.def", "BYTEWAYS_LIBCUDA", ("cuMemFreeAsync", "cuMemSetAccess")),
        ("hip.def", "BYTEWAYS_LIBHIP", ("hipFreeAsync", "hipMemSetAccess")),
    ],
)
def test_missing_functions_are_the_reason(
    table: str, variable: str, lacks: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches an old library whose memory kinds are offered and fail, or that is refused as a whole."""
    also = ["hiprtc.def"] if table == "hip.def" else []
    monkeypatch.setenv("BYTEWAYS_LIBCUDA", "/nosuch/libcuda.so")
    monkeypatch.setenv(variable, str(fake.build(tmp_path, table, lacks, also)))
    session = _core.Session()
    for memory, function in zip(("pool", "vmm"), lacks, strict=True):
        offer = session.offers("gpu0", memory)
        assert not offer.available and function in offer.reason
    assert session.offers("gpu0", "device").available


@pytest.mark.parametrize(
    "size, ends, reason",
    [
        (4096, "one", "source and destination are one buffer"),
        (8192, "two", "larger than a buffer of 4096 bytes"),
        (0, "two", "multiples of 8 bytes"),
    ],
)
def test_bad_buffers_are_refused_in_a_sentence(size: int, ends: str, reason: str) -> None:
    """Catches a copy onto itself, past its end or of nothing, which would be timed or end the worker."""
    session = _core.Session(gpus=False)
    first, second = (session.allocate("cpu0", "pageable", 4096, "cpu0") for _ in range(2))
    flow = _core.Flow(first, first if ends == "one" else second, "cpu0", "memcpy", size)
    with pytest.raises(_core.Error, match=reason):
        session.measure([flow], toy.options(max_samples=3))


def test_no_bytes_and_too_many_are_no_memory() -> None:
    """Catches an allocation of nothing, and one that the kernel would answer by killing the process."""
    session = _core.Session(gpus=False)
    with pytest.raises(_core.Error, match="0 bytes"):
        session.allocate("cpu0", "pageable", 0, "cpu0")
    with pytest.raises(_core.OutOfMemoryError, match="available"):
        session.allocate("cpu0", "pageable", 2**45, "cpu0")


@SHEETS
def test_what_is_not_told_to_other_processes_says_so(sheet: str) -> None:
    """Catches a vendor's bare error, or a handle of another allocation, for memory whose handles are sent."""

    def scene(session: _core.Session) -> list[str]:
        reasons = []
        for memory in ("pool", "vmm"):
            with pytest.raises(_core.UnsupportedError) as caught:
                session.allocate("gpu0", memory, toy.MIB, "gpu0").handle()
            reasons.append(caught.value.text)
        return reasons

    assert set(toy.play(sheet, scene)) == {"its handles are of other kinds, which are not told but sent"}
