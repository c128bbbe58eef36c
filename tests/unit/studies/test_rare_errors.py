"""Errors of files, connections and processes that hardly ever happen: what becomes of each."""

from __future__ import annotations

import json
import os
import platform
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.base.errors import BytewaysError
from byteways.base.toml_files import read_toml
from byteways.cases.case import Buffer, Case, Flow
from byteways.ext.studies.comparison import fitting
from byteways.measuring.conduct import process
from byteways.measuring.conduct.process import WorkerLost, WorkerProcess
from byteways.measuring.shared.protocol import Channel, ConnectionClosed
from byteways.measuring.work import exporter, rank_measuring, rank_worker, simulated_ranks
from byteways.measuring.work.answer import WorkerAnswer
from byteways.measuring.work.rank_worker import RankChannel, RankWorker
from byteways.plan.suite import parse
from byteways.record import manifest, samples
from byteways.record.samples import SamplesFile
from tests.asked import asked


def test_a_word_with_two_meanings_in_a_suite() -> None:
    """Catches a traceback where another tool's word may mean two of ours."""
    text = 'name = "m"\ntitle = "M"\n[[sweep]]\nname = "s"\n'
    text += 'interface = "bandwidth"\nsource = "gpu*:device"\ndestination = "gpu*:device"\nsize = "1MiB"\n'
    with pytest.raises(
        BytewaysError, match=r"my.toml:5: sweep 's', key 'interface': 'bandwidth' could mean"
    ) as told:
        parse(text, file="my.toml")
    assert (told.value.hint or "").startswith("write the one you mean")


@pytest.mark.parametrize("text", ["a = 2024-02-31", "a = 0001-13-01", "a = 25:00:00"])
def test_a_date_that_is_none(text: str) -> None:
    """Catches a traceback for a date that no calendar has."""
    with pytest.raises(BytewaysError, match=r"my.toml(:1)? is not valid TOML"):
        read_toml(text, file="my.toml")


def test_an_operating_system_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a run that cannot begin in a container without os-release."""

    def fail() -> Any:
        raise OSError

    monkeypatch.setattr(platform, "freedesktop_os_release", fail)
    assert manifest._os_name() == sys.platform
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"PRETTY_NAME": "Debian 12"})
    assert manifest._os_name() == "Debian 12"
    monkeypatch.setattr(platform, "freedesktop_os_release", dict)
    assert manifest._os_name() == sys.platform


def test_samples_that_become_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a traceback where a file system fails between two reads."""
    path = tmp_path / "samples.jsonl"
    path.write_text('{"case_id": "a", "round": 0, "samples_ns": [1.0]}\n')
    found = SamplesFile(path)
    assert found.of("a", 0) is not None

    def fail(path: Path) -> Any:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(samples, "open_regular", fail)
    with pytest.raises(BytewaysError, match="cannot read") as caught:
        found.of("a", 0)
    assert caught.value.cause == "Input/output error"


def test_a_model_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a report that fails because its machine model is another version's."""

    def fail(name: str) -> Any:
        raise BytewaysError("unknown model")

    monkeypatch.setattr(fitting, "load_model", fail)
    assert fitting._text_of("gone") == ""


def test_an_exporter_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches descriptors that stay open for each attempt."""

    def fail(*_: Any, **__: Any) -> Any:
        raise OSError("no more processes")

    monkeypatch.setattr(exporter.subprocess, "Popen", fail)
    made = exporter.Exporter()
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(3):
        with pytest.raises(OSError, match="no more processes"):
            made._requests()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
    made.close()


def test_a_connection_that_breaks() -> None:
    """Catches a traceback of the conductor because its worker died while it was asked."""

    class Broken:
        def sendall(self, data: bytes) -> None:
            raise BrokenPipeError(32, "Broken pipe")

    with pytest.raises(ConnectionClosed, match="Broken pipe"):
        Channel(Broken()).send({})  # type: ignore[arg-type]


def test_no_socket_for_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a traceback, and a folder left behind, where no descriptor is free."""
    removed: list[int] = []
    place = SimpleNamespace(remove=lambda: removed.append(1)), tmp_path / "socket"
    monkeypatch.setattr(process, "_socket_place", lambda: place)
    for error, said in ((OSError(24, "Too many open files"), "Too many open files"), (OSError("odd"), "odd")):

        def fail(*_: Any, error: OSError = error) -> Any:
            raise error

        monkeypatch.setattr(process.socket, "socket", fail)
        with pytest.raises(WorkerLost, match=f"worker did not start: {said}"):
            WorkerProcess(tmp_path / "log")
    assert len(removed) == 2


class World:
    """MPI's ranks, of which this is number 3; keeps what was broadcast."""

    rank = 3

    def __init__(self) -> None:
        self.said: list[tuple[bytes, int]] = []

    def broadcast(self, text: bytes, root: int) -> bytes:
        self.said.append((text, root))
        return text


def ranks(channel: Any) -> tuple[RankWorker, Any]:
    world: Any = World()
    mpi: Any = SimpleNamespace(world=world, finalize=lambda: world.said.append((b"finalized", -1)))
    made = RankWorker(RankChannel(world, mpi), channel, [])
    made._host = None
    return made, world


def test_ranks_end_when_their_conductor_is_gone() -> None:
    """Catches ranks that wait for ever, each on a core of its own."""

    def receive_line() -> Any:
        raise ConnectionClosed

    made, world = ranks(SimpleNamespace(receive_line=receive_line))
    made.serve()
    assert world.said == [(json.dumps({"do": "stop"}).encode(), 0), (b"finalized", -1)]


def test_an_error_of_one_rank_is_told_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a job that ends because one rank of it failed, and an outcome of one that takes no part."""
    monkeypatch.setattr(
        rank_measuring.RankMeasurer, "open", lambda *_: (_ for _ in ()).throw(KeyError("gpu9"))
    )
    ends = (Buffer("cpu0", "pageable", rank=rank) for rank in (2, 1))
    case = Case("mpi", "unidirectional", (Flow(*ends, "cpu0"),), 8)
    lines = iter(json.dumps(one).encode() for one in (asked(case).to_json(), {"do": "stop"}))
    sent: list[Any] = []
    made, world = ranks(SimpleNamespace(receive_line=lambda: next(lines), send=sent.append))
    made.serve()
    outcome = {"status": "failed", "reason": "rank 3: KeyError: 'gpu9'", "reason_code": "worker-error"}
    outcome |= {"blame": {"rank": 3}}  # type: ignore[dict-item]
    assert sent == [{"did": "measure", "outcome": outcome}]
    assert world.said[1] == (json.dumps(outcome).encode(), 1)


def test_an_error_of_a_simulated_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches threads that end without an outcome, and a machine that goes on with what a rank left."""
    did: list[str] = []

    def join(library: str, sheet: str, rank: int, size: int) -> None:
        did.append(f"join {rank} of {size}")

    core: Any = SimpleNamespace(
        restart_machine=lambda *told: did.append(f"restart {told[-1]}"),
        join_machine=join,
        leave_machine=lambda *_: did.append("leave"),
        machine_at_fault=lambda *_: (1, -1, False),
    )
    monkeypatch.setattr(simulated_ranks, "_core", core)
    # The real one takes seconds in pytest's process. Buffers may be let go when all ranks have left.
    monkeypatch.setattr(simulated_ranks, "gc", SimpleNamespace(collect=lambda: did.append("collect")))
    made = simulated_ranks.SimulatedRanks("library", "sheet")

    def play(request: Any, kept: Any) -> WorkerAnswer:
        if sum(one.startswith("join") for one in did) == 2 and "failed" not in did:
            did.append("failed")
            raise ValueError("odd")
        return WorkerAnswer({"status": "measured"})

    monkeypatch.setattr(made, "_play", play)
    ends = (Buffer("cpu0", "pageable", rank=rank) for rank in range(2))
    case = Case("mpi", "unidirectional", (Flow(*ends, "cpu0"),), 8)
    request = asked(case, key=9)
    outcome, leaves = made.measure(request)
    assert leaves and (did[0], did[-1]) == ("restart 9", "collect") and did.count("leave") == 2
    assert {"join 0 of 2", "join 1 of 2"} <= {*did}
    if outcome["status"] == "failed":  # of rank 0, whichever of the two was the second
        assert (outcome["reason"], outcome["blame"]) == ("rank 0: ValueError: odd", {"rank": 1})
    did.append("failed")
    assert made.measure(request) == ({"status": "measured"}, False)


def test_what_ranks_are_told_apart_by() -> None:
    """Catches facts of another rank, and of another host."""
    own = {"host": os.uname().nodename, "pid": os.getpid()}
    report = {"library": "mpi", "usable": True, "path": "p", "found_by": "f", "version": "v"}
    mpi: Any = SimpleNamespace(
        report=SimpleNamespace(**report, searched=[], missing=[], reason="", hint=""),
        world=SimpleNamespace(gather=lambda text: [text, b'{"pid": 1}']),
    )
    found = rank_worker.facts_of(RankChannel(mpi.world, mpi))
    assert report.items() <= found["mpi"].items()
    assert {name: found["ranks"][0][name] for name in own} == own and found["ranks"][1] == {"pid": 1}


def test_a_closed_connection_is_told_as_such() -> None:
    """Catches a traceback from a worker that reset its connection."""

    class Reset:
        def settimeout(self, timeout_s: float) -> None: ...

        def recv(self, size: int) -> bytes:
            raise ConnectionResetError("reset by peer")

    with pytest.raises(ConnectionClosed, match="reset by peer"):
        Channel(Reset()).receive(1.0)  # type: ignore[arg-type]
