"""The cost of memory in plan and analysis: refusals with their sentences, and when registering pays."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from byteways.answers.results.index import Index
from byteways.answers.results.summary import cells
from byteways.cases.case import Buffer, Case, Flow
from byteways.cases.memory_steps import held_bytes
from byteways.plan.legality import refusal
from byteways.questions.subjects.memory_cost import costs, pay_offs, pools, registering
from byteways.record.record import Record
from byteways.record.times import Times
from byteways.record.warnings import Warning
from tests.changed import replace
from tests.report.few_records import in_rounds
from tests.unit import machines

H200X4 = machines.h200x4()
MIB, GIB = 2**20, 2**30


def case(interface: str, buffer: str, executor: str, size: int = MIB, **options: str) -> Case:
    end = Buffer.parse(buffer)
    return Case(interface, "unidirectional", (Flow(end, end, executor),), size, "warm", options)


@pytest.mark.parametrize(
    "what, reason",
    [
        (case("allocate", "cpu0:pageable", "cpu0", touched="yes"), None),
        (case("allocate", "gpu0:pool", "gpu0", pool="kept"), None),
        (case("register", "cpu0:hugepage", "gpu1"), None),
        (case("map-peer", "gpu1:vmm", "gpu0"), None),
        (
            case("allocate", "gpu0:device", "gpu1"),
            "allocate is executed by the device that owns the memory, gpu0",
        ),
        (case("allocate", "cpu0:registered", "cpu0"), "allocate pageable, then register"),
        (case("allocate", "gpu0:device", "gpu0", touched="yes"), "populated on allocation"),
        (case("free", "gpu0:device", "gpu0", pool="kept"), "does not come from a pool"),
        (case("allocate", "cpu0:pageable@gpu0", "cpu0"), "touch"),
        (
            case("register", "gpu0:device", "gpu0"),
            "device memory is GPU memory: nothing to register",
        ),
        (case("register", "cpu0:pinned", "gpu0"), "already page-locked"),
        (case("register", "cpu0:managed", "gpu0"), "never page-locked"),
        (
            case("register", "cpu0:pageable", "cpu0"),
            "register is a call of a GPU runtime, and cpu0 is a CPU",
        ),
        (case("map-peer", "gpu0:device", "gpu0"), "gpu0 reaches its own memory"),
        (case("map-peer", "cpu0:pinned", "gpu0"), "accessible from every GPU: nothing to map-peer"),
        (case("open-ipc", "gpu0:vmm", "gpu1"), "receive its file descriptor"),
        (case("open-ipc", "gpu0:pool", "gpu1"), "cannot be shared"),
        (case("allocate", "cpu0:pageable", "cpu0", 5000), "pages of 4096 bytes; 5000 is not a multiple"),
        (case("allocate", "cpu0:pageable", "cpu0", 0), "a size of 0 bytes moves nothing"),
        (case("allocate", "gpu0:device", "gpu0", 128 * GIB), "its buffers need 128 GiB of gpu0"),
    ],
)
def test_what_exists_for_which_memory(what: Case, reason: str | None) -> None:
    """Catches a step that cannot be and is planned, one that can and is refused, and a wrong reason."""
    found = refusal(what, *H200X4)
    assert found is None if reason is None else reason in (found or "")


def test_peers_that_are_not_open_are_refused() -> None:
    """Catches a pool that no access was proved to: opening it would fail on the machine."""
    closed = replace(H200X4[1], granted={})
    assert "no verified access to pool memory" in (
        refusal(case("map-peer", "gpu1:pool", "gpu0"), H200X4[0], closed) or ""
    )


@pytest.mark.parametrize("size, held", [(4096, 64 * 4096), (64 * MIB, 256 * MIB), (4 * GIB, 4 * GIB)])
def test_what_a_case_holds_is_bounded(size: int, held: int) -> None:
    """Catches a plan that counts less than the native core takes."""
    assert held_bytes(size) == held


def record(
    interface: str,
    source: str,
    destination: str,
    executor: str,
    size: int,
    time_ns: float,
    spread: float = 0.0,
) -> Record:
    step = interface != "copy"
    ends = source.split(":")[0], destination.split(":")[0]
    return Record(
        case_id=f"{interface} {source} {destination} {size}",
        round=0,
        sweep="s",
        category="memory" if step else "explicit",
        interface=interface,
        executor=executor,
        access="read",
        pattern="unidirectional",
        path=f"{ends[0]}>{ends[1]}",
        source=source,
        destination=destination,
        flows=[],
        size_bytes=size,
        cache="warm" if step else "cold",
        options={},
        environment={},
        status="measured",
        reason=None,
        method_version=2,
        time_ns=Times(
            time_ns, (time_ns * (1 - spread), time_ns * (1 + spread)), time_ns, time_ns, time_ns, 0.0, 20
        ),
        latency_ns=time_ns if step else None,
        bandwidth_bytes_per_s=None if step else size / time_ns * 1e9,
    )


def scene(plain_ns: float, locked_ns: float, spread: float = 0.0) -> list[Record]:
    return [
        record("register", "cpu0:pageable", "cpu0:pageable", "gpu0", MIB, 100e3),
        record("unregister", "cpu0:pageable", "cpu0:pageable", "gpu0", MIB, 50e3),
        record("copy", "cpu0:pageable", "gpu0:device", "gpu0", MIB, plain_ns, spread),
        record("copy", "cpu0:registered", "gpu0:device", "gpu0", MIB, locked_ns, spread),
        record("copy", "cpu0:pinned", "gpu0:device", "gpu0", MIB, 1e3),
    ]


def test_registering_pays_after_so_many_copies() -> None:
    """Catches unregistering left out, pinned memory taken for registered, or rounding down."""
    (paid,) = pay_offs(cells(in_rounds(scene(plain_ns=100e3, locked_ns=20e3))))
    assert (paid.path, paid.step_ns, paid.copies) == ("cpu0>gpu0", 150e3, 2)  # 150 / 80 = 1.875


def test_registering_never_pays_within_the_intervals() -> None:
    """Catches a number of copies from a difference that nobody measured."""
    (paid,) = pay_offs(cells(in_rounds(scene(plain_ns=100e3, locked_ns=99e3, spread=0.05))))
    assert paid.copies is None
    assert paid.said == "open"
    (slower,) = pay_offs(cells(in_rounds(scene(plain_ns=100e3, locked_ns=120e3))))
    assert slower.copies is None
    assert slower.said == "never"


def test_a_noisy_copy_makes_the_pay_off_unsure() -> None:
    """Catches a number of copies said as sure where one of the four figures is noisy."""
    quiet = scene(plain_ns=100e3, locked_ns=20e3)
    [sure] = registering(facts(quiet))
    assert sure.title == "Registering 1 MiB pays off after 2 copies to a GPU"
    noisy = [replace(quiet[0], warnings=[Warning("noisy", 0.2, 0.01, "")]), *quiet[1:]]
    [finding] = registering(facts(noisy))
    assert finding.title == f"{sure.title} (noisy: 1 of 4 results)"


def test_allocate_and_free_are_of_one_size() -> None:
    """Catches a GiB allocated and a MiB freed in one sum, where the pool was freed at one size alone."""
    steps = []
    for memory, options, took in (("device", {}, 500e3), ("pool", {"pool": "kept"}, 40e3)):
        for interface, sizes in (("allocate", (MIB, GIB)), ("free", (MIB, GIB)[: 2 - bool(options)])):
            for size in sizes:
                end = f"gpu0:{memory}"
                step = record(interface, end, end, "gpu0", size, took * (1 if size == MIB else 100))
                steps.append(replace(step, options=options))
    [finding] = pools(facts(steps))
    assert "saves 920 µs for each 1 MiB allocated and freed" in finding.title


def facts(records: list[Record]) -> Index:
    run = SimpleNamespace(records=in_rounds(records), topology=None, manifest={}, damaged_lines=0)
    return Index(run)  # type: ignore[arg-type]


def test_a_gib_is_not_told_from_small_pieces() -> None:
    """Catches what a GiB costs made up from the first page of 4 and of 64 KiB, and less than nothing."""
    small = [
        record("register", "cpu0:hugepage", "cpu0:hugepage", "gpu0", size, took)
        for size, took in ((4096, 133e3), (65536, 148e3))
    ]
    large = [
        record("free", "cpu0:pageable", "cpu0:pageable", "cpu0", size, took, 0.1)
        for size, took in ((4096, 2e3), (GIB, 1.9e3))
    ]
    assert [cost.per_gib_ns for cost in costs(cells([*small, *large]))] == [None, 0.0]
