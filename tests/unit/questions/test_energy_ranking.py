"""Energy of interfaces: ranked as far as intervals tell, and reasons where there is none."""

from __future__ import annotations

import pytest

from byteways.answers.results.index import Index
from byteways.answers.results.summary import cells
from byteways.cases.option_set import NO_OPTIONS, OptionSet
from byteways.questions.subjects import energy as rules
from tests.report.few_records import GB, Fixture, flow, in_rounds, record

COPY = flow("gpu0:device", "gpu1:device", "gpu0")
HOST = flow("cpu0:pageable", "cpu0:pageable", "cpu0")
SPENT = {
    "watts": 250.0,
    "idle_watts": 120.0,
    "duration_s": 2.1,
    "counter_updates": 21,
    "bytes_per_s": 390 * GB,
    "counted": ["gpu0", "gpu1"],
    "not_counted": [],
}
REASON = {"reason": "no energy counter on cpu0"}


def spent(interface: str, joules: float, half: float | None = None) -> dict[str, object]:
    told = {"joules_per_GB": joules, **SPENT}
    if half is not None:
        told["joules_per_GB_ci95"] = [joules - half, joules + half]
    return told


def run_of(**figures: tuple[float, float | None]) -> Fixture:
    """Copies between two GPUs by these interfaces, each with joules and the half width of their interval."""
    return Fixture(
        [
            record(name.replace("_", "-"), [COPY], 370 * GB, energy=spent(name, *figure))
            for name, figure in figures.items()
        ]
    )


@pytest.mark.parametrize(
    ("write", "name"), [(0.424, "copy"), (0.6, "copy issued by the destination")], ids=["tied", "told apart"]
)
def test_a_way_is_named_only_where_it_leads(write: float, name: str) -> None:
    """Catches a read named as the least where a write of the same interface cannot be told from it."""
    run = run_of(kernel=(0.71, 0.02))
    for access, joules in (("read", 0.423), ("write", write)):
        told = spent("copy", joules, 0.007)
        copies = [record("copy", [COPY], 390 * GB, access=access, case_id=access, energy=told)]
        run.records += in_rounds(copies)
    [finding] = rules.energy(Index(run))
    assert f"{name}, 0.423 J/GB; kernel" in finding.title


@pytest.mark.parametrize(("joules", "told"), [(0.36, False), (0.50, True)])
def test_a_record_without_interval_is_known_to_a_step_of_its_counter(joules: float, told: bool) -> None:
    """Catches figures of older runs that are ranked as if they were exact, or never."""
    # 250 and 120 W in 20 steps between the first and the last: 14 W, at 390 GB/s 0.036 J/GB either way.
    [finding] = rules.energy(Index(run_of(kernel=(joules, None), copy=(0.33, None))))
    assert ("Least energy" in finding.title) is told


def test_no_energy_is_one_finding_with_its_reason() -> None:
    """Catches a run that asked for energy, has none, and says nothing; or one that says it for every case."""
    cpu = [record(name, [HOST], 10 * GB, energy=REASON) for name in ("memcpy", "memcpy-mt")]
    [alone] = rules.no_energy(Index(Fixture(cpu)))
    assert alone.title == "No energy result for 2 cases: no energy counter on cpu0"
    assert alone.importance < 100  # what could not be had is no result
    [beside] = rules.no_energy(Index(Fixture([*cpu, *run_of(copy=(0.33, 0.02)).records])))
    assert beside.importance < 100
    assert not list(rules.no_energy(Index(run_of(copy=(0.33, 0.02)))))


def test_one_replicate_with_a_figure_is_enough() -> None:
    """Catches a case that is ranked and called unmeasured at once, as its first round failed."""
    failed = record("copy", [COPY], 390 * GB, energy={"reason": "its counter did not advance"})
    assert not list(rules.no_energy(Index(Fixture([failed, *run_of(copy=(0.33, 0.02)).records]))))
    [finding] = rules.no_energy(Index(Fixture([failed, failed])))
    assert finding.title == "No energy result for 1 case: its counter did not advance"


def test_asking_for_energy_is_no_way_to_move_bytes() -> None:
    """Catches `copy (energy=true)` where every case of the run has it, and it left out where one has not."""
    asked = [record("copy", [COPY], 390 * GB, options={"energy": True}, size=size) for size in (4096, 8192)]
    assert {cell.variant.options for cell in cells(asked)} == {NO_OPTIONS}
    plain = record("kernel", [COPY], 370 * GB)
    both = {cell.variant.options for cell in cells([*asked, plain])}
    assert both == {OptionSet({"energy": True}), NO_OPTIONS}
