"""The published values and their split: what a mistake in the tables would do to the error of a model."""

from __future__ import annotations

import hashlib

import pytest

import published_values as published
from byteways.cases.case import Buffer
from byteways.cases.collective_counts import bus_factor
from byteways.cases.memory import MEMORIES
from byteways.ext.audit.imported.cases import cases_of
from byteways.ext.audit.imported.nccl_tests import PROGRAMS
from byteways.ext.audit.judging.expected import References
from byteways.ext.audit.judging.verdict import FROM_PUBLISHED
from byteways.ext.studies.published import split
from byteways.ext.studies.published.values import STATISTICS
from byteways.machine.capacity import links_between
from byteways.machine.nominal import nominal_topology
from byteways.verdicts.checks.normal import read_normal
from simulated_programs import BETWEEN_RANKS

#: Memory kinds that the sources use and that `plan.case` may not name yet.
MORE_MEMORIES = ("device-fine", "pinned-noncoherent", "managed-coarse")
#: Highest rate that a machine here could show: own memory of a MI300X, 5.3 TB/s; all pairs of it, 3.6 TB/s.
HIGHEST_BYTES_PER_S = 5.3e12
#: Machines that published so little that the fit needs most of it.
SPARSE = ("elcap-mi300a", "jureca-mi250", "jureca-a100")
MACHINES = (
    "crusher-mi250x",
    "elcap-mi300a",
    "frontier-mi250x",
    "h200-x4",
    "jureca-a100",
    "jureca-mi250",
    "mi300x-8",
)


def test_every_machine_has_values_and_a_split() -> None:
    """Would catch a machine without published values, or without held-out ones."""
    assert tuple(published.machines()) == MACHINES
    assert set(split.tables()) == set(MACHINES)


@pytest.mark.parametrize("machine", MACHINES)
def test_keys_are_unique_and_second_prints_name_a_first(machine: str) -> None:
    """Would catch one published value counted twice."""
    values = published.load(machine)
    keys = {value.key: value for value in values}
    assert len(keys) == len(values)
    for value in values:
        if value.same_as:
            first = keys[value.same_as]
            assert not first.same_as and first.group == value.group
            assert abs(first.value - value.value) <= first.half_unit + value.half_unit


def test_references_are_of_machines_that_byteways_knows_the_peaks_of() -> None:
    """Would catch a reference without statistic or definition, or beyond its link."""
    values = published.references()
    assert len({value.key for value in values}) == len(values)
    for value in values:
        topology = nominal_topology(value.machine)
        assert value.statistic in STATISTICS
        assert value.counts in published.PUBLISHED_COUNTS
        assert value.source_key and value.locator and value.system and value.timing
        arcs = links_between(topology, value.source.device, value.destination.device)
        assert arcs
        known = [arc.capacity for arc in arcs if arc.capacity]
        times = 2.0 if value.pattern == "bidirectional" else 1.0
        if value.pattern == "collective":  # a switch that adds: each link carries the data once
            times = bus_factor(PROGRAMS[value.options["program"]], int(value.options["ranks"]))
        assert value.value <= min(known) * times


def test_a_published_collective_is_what_audit_expects() -> None:
    """Catches a collective whose reference nobody finds: another order of ranks, version or count."""
    topology = nominal_topology("h200-x8")
    value = next(
        one
        for one in map(published.foreign, published.references())
        if one
        and one.unit.name == "GB/s"
        and one.operation.pattern == "allreduce"
        and one.operation.ranks == 8
        and one.value == 482.26e9
    )
    own = cases_of(value, topology).own
    assert own is not None
    expected = References(read_normal(None), topology).expected(own)
    assert expected is not None and (expected.basis, expected.value) == (FROM_PUBLISHED, 482.26e9)


@pytest.mark.parametrize("machine", MACHINES)
def test_cells_are_of_the_vocabulary(machine: str) -> None:
    """Would catch an interface, memory kind or endpoint that no run can have."""
    for value in published.load(machine):
        assert value.method in published.METHODS
        assert value.pattern in published.PUBLISHED_PATTERNS
        assert value.metric in published.METRICS
        assert value.exactness in published.EXACTNESS
        assert (value.counts in published.PUBLISHED_COUNTS) == (value.metric == "bandwidth")
        assert value.source_key and value.locator and value.system and value.timing
        for buffer in (value.source, value.destination):
            assert Buffer.parse(str(buffer)) == buffer
            assert buffer.memory in (*MEMORIES, *MORE_MEMORIES)


@pytest.mark.parametrize("machine", MACHINES)
def test_values_are_in_base_units(machine: str) -> None:
    """GB/s left as they are, or microseconds taken for nanoseconds, fall outside these bounds."""
    for value in published.load(machine):
        if value.metric == "bandwidth":
            assert 1e6 <= value.value <= HIGHEST_BYTES_PER_S, value.key
        else:
            assert 100 <= value.value <= 10e6, value.key  # ns
        messages = value.method in ("mpi", "xccl")
        least, most = (1, 2**34) if messages else (16, 2**33)
        assert value.size_bytes is None or least <= value.size_bytes <= most
        precise = value.half_unit <= 0.001 * value.value
        if value.exactness != "approximate":
            assert (value.exactness == "exact") == precise, value.key
        if value.peak_bytes_per_s:
            assert value.value < value.peak_bytes_per_s


@pytest.mark.parametrize("machine", MACHINES)
def test_access_is_that_of_the_executor(machine: str) -> None:
    """Managed pages belong to whoever touched them last, and an APU's CPU is no neighbour of its memory."""
    for value in published.load(machine):
        if "managed" in value.source.memory or value.method == "pointer-chase":
            continue
        if value.method == "mpi" and value.executor.startswith("cpu"):
            assert value.executor == value.source.device  # the sender's core, whichever side does the copying
            continue
        owns = (value.executor == value.source.device, value.executor == value.destination.device)
        local_or_far = {(True, True): "local", (False, False): "remote"}
        expected = local_or_far.get(owns, "read" if owns[1] else "write")
        if value.method != "memcpy":  # a CPU copies between GPU memories: remote by any name
            assert value.access == expected, value.key


@pytest.mark.parametrize("machine", MACHINES)
def test_no_group_is_on_two_sides(machine: str) -> None:
    """Would catch held-out values that the fit has seen."""
    sides = published.split(machine)
    assert sum(len(side) for side in sides) == len(published.load(machine))
    fitted, held_out, excluded = (
        {value.group for value in side if value.exactness != "approximate" and not value.same_as}
        for side in sides
    )
    assert not fitted & held_out and not fitted & excluded and not held_out & excluded
    assert not [value for side in sides[:2] for value in side if value.exactness == "approximate"]


@pytest.mark.parametrize("machine", MACHINES)
def test_more_is_held_out_than_fitted(machine: str) -> None:
    """Would catch a model that is checked on few values."""
    fitted, held_out, _ = published.split(machine)
    assert held_out
    assert machine in SPARSE or len(held_out) > len(fitted)


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        ([("fitted", "a *")], "'b 1' is on 0 sides"),
        ([("fitted", "a *"), ("held_out", "*")], "'a 1' is on 2 sides"),
        (
            [("fitted", "a *"), ("held_out", "b *"), ("held_out", "c *")],
            r"'c \*' .* names no group",
        ),
    ],
)
def test_a_split_that_does_not_fit_is_refused(patterns: list[tuple[str, str]], message: str) -> None:
    """Would catch a split that names unknown values, or omits some."""
    with pytest.raises(published.SplitError, match=message):
        published.assign(["a 1", "b 1"], patterns)


def test_known_values() -> None:
    """One of each conversion: fraction of peak, GB/s, microseconds, TB/s, MB/s."""
    known = {
        ("crusher-mi250x", "pearson2023/table3/copy/gpu0>gpu2"): 38e9,
        ("frontier-mi250x", "pearson-frontier-raw2023/implicit_mapped_GPUWrGPU/gpu0>gpu1/1GiB"): 152.0952e9,
        ("frontier-mi250x", "pearson-frontier-raw2023/hipMemcpyAsync_GPUToGPU/gpu0>gpu1/256B"): 12086,
        ("jureca-mi250", "herten2022/stream-copy/prose"): 1.42e12,
        ("mi300x-8", "amd-accept-mi300x/babelstream/stream-copy/gpu0"): 4.255995148e12,
    }
    for (machine, key), wanted in known.items():
        found = {value.key: value.value for value in published.load(machine)}
        assert found[key] == pytest.approx(wanted)


#: SHA-256 over `key side` of each value between ranks, sorted: the split as it was before the models of
#: messages were changed.
SIDES_BETWEEN_RANKS = "d5930bba49494241141b91fa2d61b5e561941a084c881cb5fc0028efe0dcf645"


def test_split_of_values_between_ranks_does_not_change() -> None:
    """Catches a value that moves from one side to the other after somebody has seen its error."""
    lines = sorted(
        f"{value.key} {side}\n"
        for machine in MACHINES
        for side, values in zip((split.FITTED, split.HELD_OUT), published.split(machine)[:2], strict=True)
        for value in values
        if value.method in BETWEEN_RANKS
    )
    assert len(lines) == 158
    assert hashlib.sha256("".join(lines).encode()).hexdigest() == SIDES_BETWEEN_RANKS
