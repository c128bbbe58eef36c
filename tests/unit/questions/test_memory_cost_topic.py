"""What a report says of the cost of memory: every column of its tables, its plots, and what pays off."""

from __future__ import annotations

from typing import Any

import pytest

from byteways.answers.results.index import Index
from byteways.answers.results.summary import cells
from byteways.questions.display.topic import Topic
from byteways.questions.subjects.memory_cost import dearest, pay_offs, registering, topic
from byteways.record.record import Record
from tests.changed import replace
from tests.report.few_records import GIB, MIB, Fixture, flow, in_rounds, record


def step(
    interface: str, memory: str, took_ns: float, size: int = MIB, executor: str = "gpu0", **more: Any
) -> Record:
    return record(interface, [flow(memory, memory, executor)], took_ns, size, **more)


def copied(
    source: str, destination: str, took_ns: float, size: int = MIB, executor: str = "gpu0", **more: Any
) -> Record:
    return record("copy", [flow(source, destination, executor)], size / took_ns * 1e9, size, **more)


def scene(registered_ns: float, size: int = MIB, gpu: str = "gpu0", *, back: bool = False) -> list[Record]:
    """Registering takes 150 µs with what undoes it, a copy of pageable memory 100 µs."""
    pair = f"{gpu}:device", "cpu0:{}"
    source, destination = pair if back else pair[::-1]
    return [
        step("register", "cpu0:pageable", 100e3, size, gpu),
        step("unregister", "cpu0:pageable", 50e3, size, gpu),
        copied(source.format("pageable"), destination.format("pageable"), 100e3, size, gpu),
        copied(source.format("registered"), destination.format("registered"), registered_ns, size, gpu),
    ]


def told(*records: Record) -> Topic:
    found = topic(Index(Fixture(list(records))))
    assert found is not None
    return found


def test_the_table_of_pay_offs() -> None:
    """Catches columns that are swapped, rows out of order, and "never" of what nobody can tell."""
    records = [*scene(20e3, GIB), *scene(20e3), *scene(100e3, gpu="gpu1"), *scene(200e3, gpu="gpu2")]
    steps, table = told(*records).tables
    assert steps.title == "Time of a call, by size"
    assert table.headings[2:] == (
        "register and unregister",
        "copy of pageable",
        "copy of registered",
        "pays off after copies",
    )
    assert table.rows == (
        ("cpu0>gpu0", "1 MiB", "150 µs", "100 µs", "20 µs", "2"),
        ("cpu0>gpu0", "1 GiB", "150 µs", "100 µs", "20 µs", "2"),
        ("cpu0>gpu1", "1 MiB", "150 µs", "100 µs", "100 µs", "open"),
        ("cpu0>gpu2", "1 MiB", "150 µs", "100 µs", "200 µs", "never"),
    )
    assert table.numeric == (1, 2, 3, 4, 5)
    assert len(told(*scene(20e3)[:3]).tables) == 1


@pytest.mark.parametrize(
    "unlike",
    [
        {"cache": "warm"},
        {"options": {"piece_bytes": MIB}},
        {"environment": {"HSA_ENABLE_SDMA": "0"}},
        {"pattern": "interference"},
        {"source": "cpu0:registered@gpu0"},
        {"destination": "gpu0:vmm"},
        {"source": "cpu0:pinned"},
        {"source": "gpu1:registered"},
        {"interface": "kernel"},
        {"size_bytes": 2 * MIB},
    ],
    ids=str,
)
def test_copies_that_no_program_makes_by_default(unlike: dict[str, Any]) -> None:
    """Catches a pay-off by copies of another kind than those that registering is for."""
    records = scene(20e3)
    assert len(pay_offs(cells(in_rounds(records)))) == 1
    records[3] = replace(records[3], **unlike)
    assert pay_offs(cells(in_rounds(records))) == []


@pytest.mark.parametrize("gone", [0, 1, 2, 3])
def test_all_four_figures_are_needed(gone: int) -> None:
    """Catches a pay-off of three figures, or one that takes what registering another memory costs."""
    records = scene(20e3)
    assert pay_offs(cells(in_rounds([*records[:gone], *records[gone + 1 :]]))) == []
    if gone < 2:
        name = ("register", "unregister")[gone]
        for other in (
            step(name, "cpu0:hugepage", 1e3),
            step(name, "cpu0:pageable", 1e3, options={"touched": "no"}),
            step(name, "cpu1:pageable", 1e3),
            step(name, "cpu0:pageable", 1e3, executor="gpu1"),
            step(name, "cpu0:pageable", 1e3, 2 * MIB),
        ):
            assert pay_offs(cells(in_rounds([*records[:gone], *records[gone + 1 :], other]))) == []


def test_sentences_without_a_pay_off() -> None:
    """Catches "never" where the two are equal, and a worse size that is not told."""
    [equal] = registering(Index(Fixture(scene(100e3))))
    assert equal.title.startswith("Registering 1 MiB for copies to a GPU: ")
    assert "never" not in equal.title
    [never] = registering(Index(Fixture(scene(200e3))))
    assert never.title == "Registering 1 MiB for copies to a GPU never pays off"
    [mixed] = registering(Index(Fixture([*scene(200e3), *scene(20e3, GIB)])))
    assert mixed.title == "Registering 1 GiB pays off after 2 copies to a GPU"
    assert "one of registered memory 20 µs; " in mixed.detail and "1 MiB" in mixed.detail


def test_the_dearest_is_compared_at_a_common_size() -> None:
    """Catches 1 GiB of one memory beside 64 MiB of another, and two that have no size in common."""
    dear = [step("allocate", "cpu0:pinned", took, size, "cpu0") for size, took in ((4096, 1e3), (GIB, 9e8))]
    cheap = [
        step("allocate", "cpu0:pageable", took, size, "cpu0")
        for size, took in ((4096, 1e3), (GIB // 16, 1e6), (GIB, 2e7))
    ]
    [found] = dearest(Index(Fixture([*dear, *cheap])))
    assert found.title == "Allocation cost per GiB: 900 ms for pinned memory, 20 ms for pageable"
    assert found.detail == "Increment per GiB from the smallest to the largest size."
    (claim,) = found.claims
    assert (claim.first.value, claim.second.value) == (9e8, 2e7)
    assert {one.value for one in found.results} == {9e8, 2e7}  # each of its largest size
    assert claim.comparisons == 1
    assert (claim.first.name, claim.second.name) == ("pinned", "pageable")
    apart = [step("allocate", "cpu0:pageable", 1e6, MIB, "cpu0")]
    apart += [step("allocate", "cpu0:pageable", 2e7, GIB // 2, "cpu0")]
    assert not list(dearest(Index(Fixture([*dear, *apart]))))
    smallest = [step("allocate", "cpu0:pageable", 1e3, size, "cpu0") for size in (4096, GIB)]
    [found] = dearest(Index(Fixture([*dear, *smallest])))
    assert found.title.endswith("for pinned memory, no more than for the smallest size for pageable")
