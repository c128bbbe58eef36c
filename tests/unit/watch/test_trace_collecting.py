"""What the readers of traces share: overlaps, bins and time lines of bounded size, and several traces."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from byteways.ext.watch.bins import MOST_BINS, MOST_INTERVALS, End, TimeLine
from byteways.ext.watch.traces.collecting import TraceCollector, TracedOperation, joined
from byteways.ext.watch.traces.overlap import BusyDevices
from byteways.ext.watch.traces.thinning import TimeLineThinner

INTERVALS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=12)


@given(INTERVALS, INTERVALS, st.integers(0, 60), st.integers(0, 30))
def test_overlap_is_the_time_of_the_union(
    first: list[tuple[int, int]], second: list[tuple[int, int]], begin: int, length: int
) -> None:
    """An interval that is counted twice, or one that is lost among those that contain it."""
    busy = BusyDevices()
    for device, intervals in (("gpu0", first), ("gpu1", second)):
        for start, duration in intervals:
            busy.add(device, start, start + duration)
    units = {unit for start, duration in first + second for unit in range(start, start + duration)}
    own = {unit for start, duration in first for unit in range(start, start + duration)}
    asked = set(range(begin, begin + length))
    assert busy.overlap(("gpu0", "gpu1"), begin, begin + length) == len(units & asked)
    assert busy.overlap(("gpu0",), begin, begin + length) == len(own & asked)
    assert busy.overlap(("gpu7",), begin, begin + length) == 0


@given(
    st.lists(st.tuples(st.integers(0, 10**11), st.integers(1, 1000)), min_size=1, max_size=40), st.randoms()
)
def test_a_time_line_keeps_all_bytes_in_any_order(operations: list[tuple[int, int]], random: Random) -> None:
    """Bytes lost when intervals widen, or a time line that depends on the order of the rows."""
    lines = []
    for _ in range(2):
        thinner = TimeLineThinner()
        for begin, size in operations:
            thinner.add("copy", 0, begin, size)
        lines.append(thinner.time_line())
        random.shuffle(operations)
    line = lines[0]
    assert line is not None and lines[0] == lines[1]
    assert len(line.series[0].bytes) <= MOST_INTERVALS
    assert sum(line.series[0].bytes) == sum(size for _, size in operations)
    first = min(begin for begin, _ in operations) // line.interval_ns
    wanted = [0] * len(line.series[0].bytes)
    for begin, size in operations:
        wanted[begin // line.interval_ns - first] += size
    assert wanted == line.series[0].bytes


def test_more_sizes_than_bins_share_powers_of_two() -> None:
    """A trace of a million sizes that becomes a million bins, or loses bytes."""
    found = TraceCollector("it")
    found.process(1)
    count = 3 * MOST_BINS
    for size in range(count):
        found.add(TracedOperation("copy", "f", size, begin_ns=size, time_ns=1))
    bins = found.read().watched.bins
    assert len(bins) < MOST_BINS + 64
    assert sum(one.count for one in bins) == sum(one.time_ns or 0 for one in bins) == count
    assert sum(one.bytes for one in bins) == count * (count - 1) // 2
    wide = [one for one in bins if one.size_from != one.size_to]
    assert wide and all(one.size_to < 2 * one.size_from for one in wide)
    assert all(
        earlier.size_to < later.size_from
        for earlier, later in pairwise(sorted(wide, key=lambda one: one.size_from))
    )


def test_what_was_not_observed_stays_apart_from_what_was() -> None:
    """A sum of times of half the operations that looks like that of all."""
    found = TraceCollector("it")
    found.process(1)
    found.add(TracedOperation("copy", "f", 8, time_ns=5))
    found.add(TracedOperation("copy", "f", 8))
    found.add(TracedOperation("copy", "f", None, time_ns=7))
    bins = found.read().watched.bins
    assert sorted((one.count, one.bytes, one.sized, one.time_ns or 0) for one in bins) == [
        (1, 0, False, 7),
        (1, 8, True, 0),
        (1, 8, True, 5),
    ]


def test_impossible_operations_are_mistakes() -> None:
    """A negative duration that makes a sum smaller, a size beyond all memory that hides all others."""
    found = TraceCollector("it")
    found.process(1)
    for wrong in (
        TracedOperation("copy", "f", -1),
        TracedOperation("copy", "f", 10**30),
        TracedOperation("copy", "f", 1, time_ns=-1),
        TracedOperation("copy", "f", 1, call_ns=1 << 70),
        TracedOperation("copy", "f", 1, begin_ns=-1),
        TracedOperation("fault", "f", 0, count=0),
    ):
        assert not found.add(wrong, 7)
    found.kernel("gpu0", 5, 4, 8)
    found.kernel("gpu0", None, 4, 9)
    read = found.read()
    assert read.watched.bins == [] and [each.line for each in read.mistakes] == [7] * 6 + [8, 9]


def test_kernels_of_collectives_overlap_copies_alone() -> None:
    """A collective that overlaps itself."""
    found = TraceCollector("it")
    found.process(1)
    found.kernel("gpu0", 0, 10, None, collective=True)
    found.kernel("gpu0", 8, 12, None)
    end = End("device", "gpu0")
    for what in ("copy", "collective"):
        found.add(TracedOperation(what, "f", 8, 0, 20, source=end, beside_kernels=True))  # type: ignore[arg-type]
    assert {one.what: one.overlap_ns for one in found.read().watched.bins} == {"copy": 12, "collective": 4}


def test_traces_of_several_ranks_together() -> None:
    """Bins of the second trace that count as the first one's, or a time line in two units."""
    reads = []
    for number, span in enumerate((1, 10**10)):
        found = TraceCollector("it")
        found.process(100 + number)
        found.add(TracedOperation("copy", "f", 8, begin_ns=500, time_ns=1))
        found.add(TracedOperation("copy", "f", 8, begin_ns=500 + span, time_ns=1))
        reads.append(found.read())
    watched = joined(reads)
    assert [process.pid for process in watched.processes] == [100, 101]
    assert [(one.process, one.count) for one in watched.bins] == [(0, 2), (1, 2)]
    line = watched.timeline
    assert isinstance(line, TimeLine) and line.interval_ns == 16_000_000
    assert [(series.process, sum(series.bytes), len(series.bytes)) for series in line.series] == [
        (0, 16, 626),
        (1, 16, 626),
    ]
    assert joined([]).timeline is None
