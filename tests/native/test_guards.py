"""What the plan refuses, asked of the native core itself: it says what is wrong and neither divides by zero
nor counts past 64 bits.
"""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from tests.native import simulated as toy
from tests.native.simulated import KIB, MIB

GPU, PEER = ("gpu0", "device"), ("gpu1", "device")
CPU = ("cpu0", "pageable")
SIZE = 64 * KIB


def refusal(interface: str, executor: str, ends: Any = (GPU, PEER), size: int = SIZE, **options: Any) -> str:
    """Why the core refuses the flow on a simulated machine; '' when it does not."""

    def scene(session: _core.Session) -> str:
        session.prove_peer("gpu0", "gpu1")
        if interface in ("launch", "compute", "ping-pong"):
            buffer = session.allocate(*ends[0], max(size, MIB), ends[0][0])
            flow = _core.Flow(buffer, buffer, executor, interface, size, **options)
        else:
            flow = toy.flow(session, *ends, executor, interface, size, **options)
        try:
            assert session.measure([flow], toy.options(max_samples=5)).verified
        except _core.UnsupportedError as error:
            return str(error)
        return ""

    return str(toy.play(toy.nvidia(), scene))


@pytest.mark.parametrize("option", ["threads", "blocks"])
@pytest.mark.parametrize("interface", ["kernel", "stream-copy", "kernel-2d", "compute", "launch"])
def test_shapes_of_nothing(interface: str, option: str) -> None:
    """Catches a division by the threads of a block, and a grid of less than nothing."""
    size = 8 if interface == "launch" else SIZE
    rows = {"width_bytes": 512, "pitch_bytes": 512} if interface == "kernel-2d" else {}
    for asked, why in ((0, "less than one"), (-1, "less than one"), (2**40, "more than the most")):
        assert why in refusal(interface, "gpu0", size=size, **rows, **{option: asked}), asked
    assert refusal(interface, "gpu0", size=size, **rows, **{option: 2}) == ""


@pytest.mark.parametrize(
    ("interface", "option"),
    [("memcpy-mt", "threads"), ("stream-copy", "threads"), ("compute", "threads"), ("launch", "threads")],
)
def test_teams_of_nothing_and_of_too_many(interface: str, option: str) -> None:
    """Catches a team that is started thread by thread until the machine has no more."""
    size = 8 if interface == "launch" else SIZE
    for asked in (0, -1, 4097, 2**32 + 1):
        assert option in refusal(interface, "cpu0", (CPU, CPU), size, **{option: asked}), asked


def test_bulk_copies_without_chunks() -> None:
    """Catches explicit zero chunks and stages that are taken for the defaults."""
    for option in ("chunk_bytes", "stages", "blocks"):
        assert "less than one" in refusal("kernel-bulk", "gpu0", **{option: 0})
    assert "more than the most, 32" in refusal("kernel-bulk", "gpu0", stages=33)


def test_a_chunk_may_fill_the_shared_memory() -> None:
    """Catches a ring without a stage, because one chunk is larger than the usual bytes in flight."""
    assert refusal("kernel-bulk", "gpu0", size=MIB, chunk_bytes=220_000) == ""
    assert "shared memory" in refusal("kernel-bulk", "gpu0", size=MIB, chunk_bytes=232_448)


def test_rows_that_span_more_than_there_is() -> None:
    """Catches rows times pitch that is a small number again past 64 bits: rows far outside of the buffer."""
    wide = {"width_bytes": 8, "pitch_bytes": 2**61 + 8}
    assert "more than there are addresses" in refusal("copy-2d", "gpu0", size=64, **wide)


def test_pieces_and_pauses_of_less_than_nothing() -> None:
    """Catches a part of a route that is in no piece, and a queue that idles for centuries."""
    assert "multiples of 4096" in refusal("route", "gpu0", ends=(GPU, PEER), piece_bytes=-4096)
    for pause_ns in (-1, 2**62):
        assert "no pause" in refusal("copy", "gpu0", pause_ns=pause_ns)


def together(flows: Any, sheet: str = "", **options: Any) -> str:
    """Returns why flows do not run concurrently; '' if they do."""

    def scene(session: _core.Session) -> str:
        session.prove_peer("gpu0", "gpu1")
        try:
            session.measure(flows(session), toy.options(max_samples=5, **options))
        except _core.UnsupportedError as error:
            return str(error)
        return ""

    return str(toy.play(sheet or toy.nvidia(), scene))


def ping_pong(session: _core.Session) -> _core.Flow:
    return toy.flow(session, GPU, PEER, "gpu0", "ping-pong", 8, partner="gpu1")


def load(session: _core.Session, **options: Any) -> _core.Flow:
    return toy.flow(session, GPU, PEER, "gpu0", "copy", MIB, **options)


def test_two_that_wait_for_each_other_run_alone() -> None:
    """Catches a ping-pong behind a gate that its partner is not behind, batch upon batch."""
    why = together(lambda session: [ping_pong(session), load(session)], interference=True)
    assert "keeps two devices busy polling: it runs alone" in why


def test_what_is_given_back_between_batches_runs_alone() -> None:
    """Catches steps on memory that are enqueued again before there is any memory for them."""

    def steps(session: _core.Session) -> Any:
        block = session.allocate("gpu0", "device", 4 * KIB, "gpu0")
        return [_core.Flow(block, block, "gpu0", "allocate", 4 * KIB), load(session)]

    assert "given back before it is had again" in together(steps, interference=True)


@pytest.mark.parametrize("how", ["graph", "batch"])
def test_what_is_made_ready_runs_alone(how: str) -> None:
    """Catches a graph that is recorded at every mark, behind a shut gate, and gone while it still runs."""
    why = together(lambda session: [load(session, submit=how), load(session)])
    assert f"a {how} covers one flow" in why


def test_batched_calls_of_blocks_run_beside_other_flows() -> None:
    """Catches block copies whose batched call, one an operation, is refused as if it were one for all."""
    options = {"submit": "batch", "block_bytes": 64 * KIB, "pitch_bytes": 64 * KIB, "layout": "strided"}

    def blocks(session: _core.Session) -> Any:
        return toy.flow(session, GPU, PEER, "gpu0", "copy-blocks", MIB, **options)

    assert together(lambda session: [blocks(session), load(session)]) == ""


def test_what_waits_for_its_own_batches_is_not_sustained() -> None:
    """Catches a ping-pong whose second batch begins before the first has ended."""

    def scene(session: _core.Session) -> str:
        session.prove_peer("gpu0", "gpu1")
        with pytest.raises(_core.UnsupportedError) as caught:
            session.sustain([ping_pong(session)], 0.01)
        return str(caught.value)

    assert "begins when the one before has ended" in toy.play(toy.nvidia(), scene)


@pytest.mark.parametrize("option", [{"pace": "one-at-a-time"}, {"pause_ns": 1000}])
def test_graphs_have_no_pace(option: dict[str, Any]) -> None:
    """Catches graphs that are recorded anew within the time, and destroyed while they wait in a queue."""
    assert "submitted as a graph" in refusal("copy", "gpu0", submit="graph", **option)
    assert refusal("copy", "gpu0", submit="graph") == ""


@pytest.fixture(scope="module")
def here() -> _core.Session:
    return _core.Session(gpus=False)


def copy_here(session: _core.Session) -> _core.Flow:
    return toy.flow(session, CPU, CPU, "cpu0", "memcpy", 4 * KIB)


@pytest.mark.parametrize(
    ("option", "value"),
    [("budget_s", -1.0), ("budget_s", float("nan")), ("gate_timeout_s", float("inf")), ("precision", -0.1),
     ("batch", 2**63), ("max_samples", 0)],
)  # fmt: skip
def test_options_that_are_no_time_and_no_number(here: _core.Session, option: str, value: Any) -> None:
    """Catches seconds that are no nanoseconds of 64 bits, and a figure of no samples."""
    with pytest.raises(_core.Error, match=option):
        here.measure([copy_here(here)], toy.options(**{option: value}))


def test_slices_that_are_no_time(here: _core.Session) -> None:
    """Catches a slice of no, or of endless, operations."""
    for slice_s in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(_core.Error, match="no slice"):
            here.sustain([copy_here(here)], slice_s)


def test_cores_beyond_an_int(here: _core.Session) -> None:
    """Catches core 2^32 taken for core 0."""
    ends = [here.allocate(*CPU, 8, "cpu0") for _ in range(2)]
    flow = _core.Flow(*ends, "cpu0", "ping-pong", 8, partner="cpu0", core=2**32)
    with pytest.raises(_core.UnsupportedError, match=f"core {2**32} is none of"):
        here.measure([flow], toy.options())


def test_words_that_do_not_fit(here: _core.Session) -> None:
    """Catches a flag that is only partly within its buffer."""
    ends = [here.allocate(*CPU, size, "cpu0") for size in (8, 4)]
    with pytest.raises(_core.Error, match="does not fit"):
        here.measure([_core.Flow(*ends, "cpu0", "ping-pong", 8, partner="cpu0")], toy.options())


@pytest.mark.parametrize("size", [2**64 - 8, 2**63, 2**48 + 1])
@pytest.mark.parametrize("memory", ["pageable", "hugepage"])
def test_buffers_beyond_all_addresses(here: _core.Session, memory: str, size: int) -> None:
    """Catches a size that rounds up to nothing: a buffer of no pages, written to its end."""
    with pytest.raises(_core.OutOfMemoryError):
        here.allocate("cpu0", memory, size, "cpu0")


def test_flows_without_marks() -> None:
    """Catches a window over what has no end."""
    for flows, cut_at in (
        ([], -1),
        ([(0.0, [], [])], -1),
        ([(0.0, [1.0], [1, 2])], -1),
        ([(0.0, [1.0], [1])], 1),
    ):
        with pytest.raises(_core.Error, match="window"):
            _core.window(flows, cut_at=cut_at)
