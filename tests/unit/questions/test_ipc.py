"""Memory of another process: where it is refused, whose buffers are kept, and what is told of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from byteways import _core
from byteways.answers.results.index import Index
from byteways.cases.case import Case
from byteways.measuring.work.buffer_pool import BufferPool
from byteways.questions.display.topic import Topic
from byteways.questions.findings import findings
from byteways.questions.subjects import ipc, messages
from byteways.questions.topics import topics
from byteways.record.run_folder import RunFolder
from tests.report import run_builder
from tests.report.run_builder import KIB, MIB
from tests.unit import legality
from tests.unit.legality import case, reason


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        (case("copy", "gpu0:device", "gpu1:ipc", "gpu0"), None),
        (case("kernel", "gpu1:ipc", "gpu0:device", "gpu0"), None),
        (case("pointer-chase", "gpu1:ipc", "gpu1:ipc", "gpu0"), None),
        (case("copy", "gpu0:device", "cpu0:ipc", "gpu0"), "cpu0"),
        (case("memcpy", "cpu0:pageable", "gpu1:ipc", "cpu0"), "cpu0"),
        (case("kernel", "gpu0:device", "gpu1:ipc", "gpu2"), None),
        (case("torch-copy", "gpu0:device", "gpu1:ipc", "gpu0"), "torch-copy allocates its own buffers"),
        (case("route", "gpu0:device", "gpu1:ipc", "gpu0"), "one GPU opens ipc memory"),
    ],
)
def test_which_transfers_may_use_it(what: Case, expected: str | None) -> None:
    """Catches a flow planned on memory that its executor cannot open, and a possible one that is refused."""
    found = reason(what)
    assert found is None if expected is None else expected in (found or "")


def test_a_gpu_without_a_peer_opens_none() -> None:
    """Catches a case planned where no address of the other GPU is valid."""
    assert reason(case("copy", "gpu0:device", "gpu1:ipc", "gpu0"), legality.NO_PEER) is not None


class Exports:
    """Counts what another process holds."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def allocate(self, device: str, memory: str, size_bytes: int) -> tuple[int, str]:
        self.calls.append(("allocate", device, memory, size_bytes))
        return len(self.calls), f"handle {len(self.calls)}"

    def free(self, number: int) -> None:
        self.calls.append(("free", number))

    def close(self) -> None:
        self.calls.append(("close",))


class Session:
    def __init__(self, exports: Exports) -> None:
        self.exports, self.refuses = exports, False

    def allocate(self, device: str, memory: str, size: int, *_: str, user: str) -> SimpleNamespace:
        return SimpleNamespace(bytes=size, memory=memory)

    def open_exported(self, device: str, size: int, opener: str, handle: str) -> SimpleNamespace:
        if self.refuses:
            raise _core.Error
        self.exports.calls.append(("open", device, size, opener, handle))
        return SimpleNamespace(bytes=size, memory="ipc")


def written(executor: str, size: int = MIB) -> Case:
    return case("copy", "gpu0:device", "gpu1:ipc", executor, size, cache="warm")


def arena_of(exports: Exports, session: Session) -> BufferPool:
    return BufferPool(session, {}, exports=exports)  # type: ignore[arg-type]


def test_memory_is_opened_for_each_gpu_that_uses_it() -> None:
    """Catches a buffer opened by one GPU that another GPU's kernel would be given: it faults there."""
    exports = Exports()
    arena = arena_of(exports, Session(exports))
    for executor in ("gpu0", "gpu0", "gpu1"):
        arena.take(written(executor), lambda _: 0)
    assert arena.has_exported
    size = exports.calls[0][3]
    assert exports.calls == [
        ("allocate", "gpu1", "device", size),
        ("open", "gpu1", size, "gpu0", "handle 1"),
        ("allocate", "gpu1", "device", size),
        ("open", "gpu1", size, "gpu1", "handle 3"),
    ]


def test_the_other_process_frees_what_is_no_longer_used() -> None:
    """Catches memory of the other process that fills the GPU, case by case."""
    exports = Exports()
    session = Session(exports)
    arena = arena_of(exports, session)
    arena.take(written("gpu0", 2 * arena.take(written("gpu0"), lambda _: 0)[0][1].bytes), lambda _: 0)
    assert ("free", 1) in exports.calls
    arena.clear()
    assert not arena.has_exported and exports.calls[-1] == ("free", 4)
    session.refuses = True
    with pytest.raises(_core.Error):
        arena.take(written("gpu0"), lambda _: 0)
    assert exports.calls[-2][0] == "allocate" and exports.calls[-1] == ("free", len(exports.calls) - 1)


RATES = {4 * KIB: (1.0, 1.0), MIB: (200.0, 250.0), 64 * MIB: (300.0, 330.0)}


def topic_of(index: Index) -> Topic | None:
    return next((topic for topic in topics(index) if topic.anchor == "ipc"), None)


def measured(folder: Path) -> Index:
    """A run of two interfaces: `copy` is slower by IPC, `kernel` is not."""
    builder = run_builder.Builder(run_builder.topology(gpus=2))
    for size, (opened, own) in RATES.items():
        for memory, rate in (("ipc", opened), ("device", own)):
            flows = [("gpu0:device", f"gpu1:{memory}", "gpu0")]
            builder.measure("copy", flows, rate, size=size, cache="warm")
            builder.measure("kernel", flows, 340.0, size=size, cache="warm")
    builder.measure("copy", [("gpu0:device", "gpu1:device", "gpu1")], 100.0, size=MIB, cache="warm")
    for memory, latency in (("ipc", 900.0), ("device", 600.0)):
        end = f"gpu1:{memory}"
        builder.measure(
            "pointer-chase", [(end, end, "gpu0")], 0.0, size=64 * MIB, cache="warm", latency_ns=latency
        )
    return Index(RunFolder(builder.write(folder)))


def test_table_has_each_transfer_beside_its_own(tmp_path: Path) -> None:
    """Catches a pull told beside a push, a time told as a rate, and a ratio upside down."""
    index = measured(tmp_path)
    found = topic_of(index)
    assert found is not None
    rates, times = found.tables
    assert rates.title == times.title == "Between GPUs, NVLink4 ×18"
    assert rates.headings[2:4] == ("one process, GB/s", "opened by IPC, GB/s")
    assert rates.rows == (
        ("copy issued by the source (warm)", "4 KiB", "1", "1", "no significant difference"),
        ("copy issued by the source (warm)", "1 MiB", "250", "200", "20 % less"),
        ("copy issued by the source (warm)", "64 MiB", "330", "300", "9.1 % less"),
        ("kernel issued by the source (warm)", "4 KiB", "340", "340", "no significant difference"),
        ("kernel issued by the source (warm)", "1 MiB", "340", "340", "no significant difference"),
        ("kernel issued by the source (warm)", "64 MiB", "340", "340", "no significant difference"),
    )
    assert times.headings[2:4] == ("one process, µs", "opened by IPC, µs")
    assert [row[2:] for row in times.rows] == [("0.6", "0.9", "1.5 ×")]


def test_finding_leads_with_the_greatest_difference(tmp_path: Path) -> None:
    """Catches a tie in the title where a transfer differs, and sides that are exchanged."""
    (told,) = ipc.compared_with_one_process(measured(tmp_path))
    assert told.title == (
        "Between GPUs, NVLink4 ×18, 64 MiB: by copy issued by the source (warm), memory of the same "
        "process is 10 % faster than memory of another process (IPC): 330 vs 300 GB/s"
    )
    assert (
        "copy issued by the source (warm) 300 and 330; kernel issued by the source (warm) 340 and 340"
        in told.detail
    )


def test_it_is_ranked_nowhere(tmp_path: Path) -> None:
    """Catches another process's memory recommended to a single process."""
    index = measured(tmp_path)
    assert {str(cell.destination) for cell in index.ranked} == {"gpu1:device"}
    assert not [finding for finding in findings(index) if "ipc" in finding.title]


def test_none_without_a_counterpart(tmp_path: Path) -> None:
    """Would catch a comparison with a transfer within one process that was not measured."""
    builder = run_builder.Builder(run_builder.topology(gpus=2))
    builder.measure("copy", [("gpu0:device", "gpu1:ipc", "gpu0")], 100.0)
    index = Index(RunFolder(builder.write(tmp_path)))
    assert topic_of(index) is None
    assert list(ipc.compared_with_one_process(index)) == []


def test_messages_are_drawn_with_ipc_copies(tmp_path: Path) -> None:
    """Catches IPC copies of other memory or another pair among the lines of a pair's messages."""
    builder = run_builder.Builder(run_builder.topology(gpus=2))
    for memory in ("ipc", "device"):
        builder.measure("copy", [("gpu0:device", f"gpu1:{memory}", "gpu0")], 100.0, cache="warm")
        builder.measure("copy", [("gpu1:device", f"gpu0:{memory}", "gpu1")], 100.0, cache="warm")
    index = Index(RunFolder(builder.write(tmp_path)))
    sent = [cell for cell in index.cells if cell.record.destination == "gpu1:device"]
    assert [(str(cell.source), str(cell.destination)) for cell in messages._by_ipc(index.cells, sent)] == [
        ("gpu0:device", "gpu1:ipc")
    ]
