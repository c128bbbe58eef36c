"""Choices between few alternatives in many modules: a changed operator or constant would turn each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.errors import BytewaysError
from byteways.explain.bottlenecks.resources import _gpus, _memories
from byteways.explain.claims.wording import least_gain
from byteways.explain.results.selection import label_order
from byteways.explain.studies.numbers import size_of
from byteways.explain.studies.scope import scope
from byteways.explain.subjects import loaded, saturation, submission
from byteways.explain.subjects.memory_kinds import _varies
from byteways.plan.case import Buffer, Case, Flow, PlannedCase
from byteways.plan.flow_sets import _by_memory
from byteways.plan.limits import excess_of_pages
from byteways.plan.options import CHUNK_BYTES
from byteways.record import samples as samples_module
from byteways.record.journal_lines import JournalLines
from byteways.record.manifest import topology_changes, topology_digest
from byteways.record.physical import judged
from byteways.record.run_folder import RunFolder
from byteways.record.samples import SamplesFile
from byteways.run.conduct.conductor import deadline_s
from byteways.run.conduct.execution import repetition_of
from byteways.run.conduct.process import SOCKET_PATH_LIMIT
from byteways.run.shared.options import RunOptions
from byteways.run.shared.protocol import Channel, ConnectionClosed
from byteways.run.work.outcome import misplaced
from byteways.run.work.simulated_ranks import SimulatedRanks
from tests.changed import replace
from tests.report import sample_run
from tests.report.few_records import flow, record
from tests.unit import legality, machines

HOST = "cpu0:pageable"


@pytest.mark.parametrize(
    ("size", "first", "energy", "seconds"),
    [
        (0, False, False, 22.0),
        (10**9, False, False, 42.0),
        (10**9, True, False, 102.0),
        (0, False, True, 52.0),
    ],
)
def test_deadlines(size: int, first: bool, energy: bool, seconds: float) -> None:
    """Catches a deadline that a slow machine misses: 100 MB/s, both ways, and a minute for the first case."""
    ends = Flow(Buffer.parse(HOST), Buffer.parse(HOST), "cpu0")
    case = Case("memcpy", "unidirectional", (ends,), size, "cold", {"energy": True} if energy else {})
    assert deadline_s(PlannedCase(case, "s", 0, 0.2, 0.2, None), first) == pytest.approx(seconds)


def test_a_flow_without_bytes_is_no_load() -> None:
    """Catches a background load that moves nothing and disturbs nobody."""
    copy = legality.case("copy", "gpu0:device", "gpu1:device", "gpu0")
    idle = Flow(Buffer("gpu0", "device"), Buffer("gpu0", "device"), "gpu0", interface="launch", size_bytes=8)
    beside = replace(copy, pattern="interference", flows=(*copy.flows, idle))
    assert legality.reason(beside) == "launch moves no bytes, so it cannot be a background load"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"partner_core": 0}, None),
        ({"core": 0}, None),
        ({"core": 1, "partner_core": 1}, "cpu0 cannot exchange with itself on one core"),
    ],
)
def test_cores_of_a_ping_pong(options: dict[str, int], said: str | None) -> None:
    """Catches a partner refused because its core is the first, and one on the executor's own core."""
    case = legality.case("ping-pong", HOST, HOST, "cpu0", 8, "warm")
    both = replace(case, flows=(replace(case.flows[0], partner="cpu0"),), options=options)
    found = legality.reason(both, legality.TWO_CORES)
    assert (found is None) == (said is None)


def test_samples_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a traceback for a file of another user."""

    def refuse(path: Path) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(samples_module, "open_regular", refuse)
    with pytest.raises(BytewaysError, match="cannot read") as caught:
        SamplesFile(tmp_path / "samples.jsonl").of("a", 0)
    assert caught.value.cause == "Permission denied"


def test_a_relay_that_is_not_there_leaves_no_limit() -> None:
    """Catches a run of another machine that cannot be read at all."""
    topology, _ = machines.h200x4()
    ends = Flow(Buffer("gpu0", "device"), Buffer("gpu1", "device"), "gpu0")
    case = Case("route", "unidirectional", (ends,), 2**20, "cold", {"via": "gpu9"})
    told = replace(record("route", [flow("gpu0:device", "gpu1:device", "gpu0")], 1e9), options=case.options)
    told = replace(told, counts="per-direction")
    found = judged(told, case, topology)
    assert found.limit_bytes_per_s is None and "gpu9" in (found.limit_source or "")


def test_a_record_of_version_1_without_a_field() -> None:
    """Catches a traceback from a line that lacks what the converter reads."""
    with pytest.raises(ValueError, match="not a record"):
        JournalLines(schema_version=1).record(b'{"case_id": "a"}')


def test_digests_have_sixteen_digits() -> None:
    """Catches another length, with which no resumed run would find its machine again."""
    assert len(topology_digest({"devices": []})) == 16


@pytest.mark.parametrize(
    ("memory", "first_touch", "varies"),
    [
        ("pageable", None, True),
        ("pageable", "cpu0", True),
        ("pageable", "cpu1", False),
        ("managed", None, False),
    ],
)
def test_which_end_has_a_plain_buffer(memory: str, first_touch: str | None, varies: bool) -> None:
    """Catches a table in which both ends vary."""
    cell: Any = SimpleNamespace(source=None, destination=Buffer("cpu0", memory, first_touch))
    assert _varies(cell, "source") == varies


def test_ends_of_one_kind_are_one_group() -> None:
    """Catches a group for every domain that touches pages first, or one for kinds of devices together."""

    def end(device: str, first_touch: str) -> Buffer:
        return Buffer(device, "pageable", first_touch)

    pairs = [(end("cpu0", "cpu0"), end("cpu1", "cpu1")), (end("cpu1", "cpu1"), end("cpu0", "cpu0"))]
    other = (end("cpu0", "gpu0"), end("cpu1", "cpu1"))
    assert _by_memory([*pairs, other]) == [pairs, [other]]


@pytest.mark.parametrize(
    ("pages", "warned"), [({0: 999, 1: 1}, False), ({0: 9, 1: 1}, True), ({1: 10}, True), ({}, False)]
)
def test_pages_of_the_first_domain(pages: dict[int, int], warned: bool) -> None:
    """Catches a domain whose number, 0, is taken for none."""
    ends = Flow(Buffer.parse(HOST), Buffer.parse(HOST), "cpu0")
    case = Case("memcpy", "unidirectional", (ends,), 4096)
    held: Any = (SimpleNamespace(placement=lambda: pages),) * 2
    assert bool(misplaced(case, [held], {"cpu0": 0})) == warned


def test_variables_without_effect_cost_no_worker() -> None:
    """Catches simulated ranks that leave their process because a case was skipped."""
    ends = (Buffer("cpu0", "pageable"), Buffer("cpu1", "pageable", rank=1))
    case = Case("mpi", "unidirectional", (Flow(*ends, "cpu0"),), 8, environment={"UCX_TLS": "sm"})
    asked = {"case": case.identity()}
    outcome, leaves = SimulatedRanks(None, "", "").measure(asked)  # type: ignore[arg-type]
    assert (outcome["status"], leaves) == ("skipped", False)


def test_the_longest_path_of_a_socket() -> None:
    """Catches another limit than sockaddr_un has: 108 bytes with the final zero (unix(7))."""
    assert SOCKET_PATH_LIMIT == 107


def test_chunks_are_whole_vectors() -> None:
    """Catches the least chunk, 16 bytes, refused, and one that is no multiple of it."""
    span = CHUNK_BYTES.span
    assert span is not None
    assert not span.wrong("chunk_bytes", 16)
    assert span.wrong("chunk_bytes", 15) and span.wrong("chunk_bytes", 17)


def test_values_of_variables_in_a_title_are_left() -> None:
    """Catches a colon in a variable's value taken for the one after the executor."""
    walk = loaded.Walk("gpu0", "gpu1:device", 1 << 29, "warm", "", "LIST=a: b")
    assert loaded._plot(walk, []).title == "gpu0 loads from gpu1:device, 512 MiB, LIST=a: b"


def test_the_first_unknown_option_is_told() -> None:
    """Catches an option of another version passed over, and another one named first."""
    with pytest.raises(ValueError, match="unknown option 'later'"):
        RunOptions.from_json({"later": 1, "rounds": 2, "last": 3})
    assert RunOptions.from_json({"rounds": 2}) == RunOptions(rounds=2)


def test_settings_in_any_order_are_the_same() -> None:
    """Catches ways to submit that are not compared because their options were written in another order."""

    def told(**options: int | str) -> Any:
        one = replace(record("copy", [flow("gpu0:device", "gpu1:device", "gpu0")], 1e9), options=options)
        return SimpleNamespace(record=one)

    first, second = told(submit="graph", batch=8, stream=1), told(submit="calls", stream=1, batch=8)
    assert submission._alike(first) == submission._alike(second)


@pytest.mark.parametrize(("processors", "said"), [(64, "50 %"), (16, "100 %"), (None, "unknown")])
def test_share_of_multiprocessors(processors: int | None, said: str) -> None:
    """Catches more than all multiprocessors."""
    group: Any = SimpleNamespace(value=1e9, low=1e9, high=1e9, cells=())
    variant: Any = SimpleNamespace(label=lambda: "kernel")
    curve: Any = SimpleNamespace(
        enough=(32, group), best=(32, group), multiprocessors=processors, path="p", variant=variant
    )
    curve.size_bytes, curve.read_write, curve.full = 8, False, True
    assert said in saturation._row(curve)


def test_traffic_of_each_gpu() -> None:
    """Catches traffic into a GPU counted out of it, and that of another."""
    topology, _ = machines.h200x4()
    ends = Flow(Buffer("gpu0", "device"), Buffer("gpu2", "device"), "gpu0")
    found = {one.name: [uses(ends) for uses in one.uses] for one in _gpus(topology)}
    assert found["total egress of gpu0"] == found["total ingress of gpu2"] == [True]
    assert found["total egress of gpu2"] == found["total ingress of gpu0"] == [False]
    assert found["total ingress of gpu1"] == found["total ingress of gpu3"] == [False]


def _host_resources() -> Iterator[tuple[str, list[bool]]]:
    topology, _ = machines.gpus(2, domains=2)
    inward = Flow(Buffer("gpu0", "device"), Buffer("cpu1", "pinned"), "gpu0")
    outward = Flow(Buffer("cpu0", "pinned"), Buffer("gpu1", "device"), "gpu1")
    together: Any = SimpleNamespace(flows=(inward, outward))
    for one in _memories(topology, [together]):
        yield one.name, [uses(inward) for uses in one.uses]


def test_memory_of_all_domains() -> None:
    """Catches host memory that a flow writes and is not held to use."""
    found = dict(_host_resources())
    assert found["reads from all host memory"] == [False]
    assert found["writes to all host memory"] == found["reads and writes of all host memory"] == [True]


@pytest.mark.parametrize(
    ("kind", "named", "possible"),
    [("matrix", ("gpu0", "gpu1"), True), ("matrix", None, False), ("values", ("gpu0", "gpu1"), False)],
)
def test_figures_without_a_place(
    kind: str, named: Any, possible: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a figure said to be possible where no device has its place: names alone do for a matrix."""
    place = SimpleNamespace(devices=None, named=named, why="no such link", reason="no such link")
    monkeypatch.setattr("byteways.explain.studies.scope.locate", lambda study, topology: {"p": place})
    study: Any = SimpleNamespace(figures=[SimpleNamespace(kind=kind, places=("p",), locator="Fig. 1")])
    found = scope(study, machines.h200x4()[0])
    assert (found.possible == ("Fig. 1",)) == possible


def test_the_names_of_a_host_are_compared() -> None:
    """Catches a resumed run on another host, whichever name comes first in the alphabet."""
    plain = {"host": "b", "devices": [], "links": [], "switches": []}
    for other in ("a", "c"):
        assert f"host b became {other}" in topology_changes(plain, {**plain, "host": other})
    assert topology_changes(plain, plain) == []


def test_a_duration_is_left_in_full() -> None:
    """Catches a repeated suite that ends a second early."""
    found = repetition_of([], RunOptions(for_s=60.0), False)
    assert found is not None and found.left_s == 60.0
    assert repetition_of([], RunOptions(), False) is None


def test_rates_of_pages_are_held_against_known_links_only() -> None:
    """Catches pages told beyond the limit of one link that may have used another, and none told at all."""
    topology, _ = machines.h200x4()
    ends = Flow(Buffer("cpu0", "managed"), Buffer("gpu0", "managed"), "gpu0")
    assert excess_of_pages(topology, ends, 1e15) is not None
    assert excess_of_pages(topology, ends, 1.0) is None
    unknown = replace(
        topology, links=tuple(replace(link, signalling_bytes_per_s=None) for link in topology.links)
    )
    assert excess_of_pages(unknown, ends, 1e15) is None


def test_a_closed_connection_is_told_as_such() -> None:
    """Catches a traceback from a worker that reset its connection."""

    class Reset:
        def settimeout(self, timeout_s: float) -> None: ...

        def recv(self, size: int) -> bytes:
            raise ConnectionResetError("reset by peer")

    with pytest.raises(ConnectionClosed, match="reset by peer"):
        Channel(Reset()).receive(1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("size", "said"),
    [(4096, "4 KiB"), (100_000, "100 kB"), (8_000_000, "8 MB"), (1000, "1000 B"), (1500, "1.465 KiB")],
)
def test_sizes_in_powers_of_ten(size: int, said: str) -> None:
    """Catches a size of a publication told with digits that it does not have."""
    assert size_of(size).replace("\N{NO-BREAK SPACE}", " ") == said


@pytest.mark.parametrize(
    ("leads", "trails", "said"),
    [(True, False, "10 % more"), (False, True, "50 % less"), (False, False, "no significant gain")],
)
def test_the_smallest_of_several_gains(leads: bool, trails: bool, said: str) -> None:
    """Catches a loss told as a gain."""
    low: Any = SimpleNamespace(effect=1.1, low=1.09, high=1.11, leads=leads, trails=trails, differ=True)
    low.undecided = False
    low.turned = lambda: SimpleNamespace(effect=2.0, low=1.99, high=2.01)
    high: Any = SimpleNamespace(effect=3.0)
    assert least_gain({"a": low, "b": high}) == f" Smallest gain of 2: a, {said}."
    assert least_gain({"a": low}) == ""


def test_lines_that_were_doubled_are_counted(tmp_path: Path) -> None:
    """Catches a number that is a function."""
    folder = sample_run.cpu_only(cpus=1).write(tmp_path / "run")
    assert RunFolder(folder).doubled_lines == 0


def test_a_rule_that_does_not_concern_the_first_flow() -> None:
    """Catches a background load that breaks a rule which the measured flow has nothing to do with."""
    copy = legality.case("copy", "gpu0:device", "gpu1:device", "gpu0")
    ends = Flow(Buffer("gpu2", "device"), Buffer("gpu3", "device"), "gpu2")
    load = replace(ends, interface="kernel", options={"threads": 4096}, size_bytes=1 << 20)
    beside = replace(copy, pattern="interference", flows=(*copy.flows, load))
    assert "4096 threads exceed the largest GPU block" in (legality.reason(beside) or "")
    routed = replace(ends, interface="route", options={"via": "gpu9"}, size_bytes=1 << 20)
    assert "gpu9" in (legality.reason(replace(beside, flows=(*copy.flows, routed))) or "")
    copied = replace(ends, interface="copy", options={"submit": "batch"}, size_bytes=1 << 20)
    assert legality.reason(replace(beside, flows=(*copy.flows, copied))) is not None


@pytest.mark.parametrize(
    ("label", "key"),
    [
        ("gpu2>gpu10", ("gpu", 2, "gpu", 10)),
        ("gpu1:device", ("gpu", 1, "device", 0)),
        ("64 KiB", ("64", 0, "KiB", 0)),
        ("copy", ("copy", 0)),
        ("2x4", ("2x4", 0)),
        ("", ("", 0)),
    ],
)
def test_labels_are_ordered_by_their_devices(label: str, key: tuple[object, ...]) -> None:
    """Catches gpu10 before gpu2, and a size cut into a word and its number."""
    assert label_order(label) == key
