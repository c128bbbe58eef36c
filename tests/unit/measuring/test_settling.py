"""Further rounds: which comparisons ask for them, and when they end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.answers.best.open_comparisons import is_open, open_cases, open_comparisons, what_is_open
from byteways.answers.claims.claim import LEADS, TIE
from byteways.answers.results.index import Index
from byteways.cases.case import Buffer, Case, Flow, PlannedCase
from byteways.cli.measure_and_report import settled_text
from byteways.measuring.conduct.interruption import Interruption
from byteways.measuring.conduct.measure_from_python import Quiet, measure_from_python
from byteways.measuring.conduct.settling import LEAST_FURTHER_S, MOST_MEASUREMENTS, Settling, settling
from byteways.measuring.conduct.simulation import simulation_of
from byteways.measuring.shared.options import RunOptions
from byteways.plan.suite import load
from byteways.plan.suite_types import MOST_ROUNDS
from byteways.record.run_folder import RunFolder
from tests.changed import replace
from tests.report import sample_run

PAIR = [("gpu0:device", "gpu1:device", "gpu0")]


def planned(name: str = "memcpy", **more: Any) -> PlannedCase:
    end = Buffer("cpu0", "pageable")
    case = Case(name, "unidirectional", (Flow(end, end, "cpu0"),), 4096)
    return PlannedCase(case, "s", more.pop("round", 0), 0.1, 0.1, **{"estimated_s": 1.0, **more})


PLAN = [planned(name, round=number) for number in range(3) for name in ("memcpy", "load", "store")]


def wanted(*names: str) -> list[str]:
    return [one.case.case_id for one in PLAN[:3] if one.case.interface in names]


def rounds_of(left_s: float, answers: Sequence[list[str]], plan: Sequence[PlannedCase] = PLAN) -> list[Any]:
    """The cases of each further round, of which the comparisons ask for these cases one by one."""
    asked = iter([answer] if answer else [] for answer in answers)
    further = Settling(Path(), plan, left_s).rounds(lambda _: next(asked))
    return [[(one.case.interface, one.round) for one in cases] for cases in further]


def test_rounds_until_nothing_is_open() -> None:
    """Catches cases that nobody asks for, and rounds in which one side always comes first."""
    both = wanted("memcpy", "store")
    assert rounds_of(60.0, [both, both, []]) == [
        [("store", 3), ("memcpy", 3)],
        [("memcpy", 4), ("store", 4)],
    ]


def test_the_first_comparisons_have_the_time() -> None:
    """Catches a run that repeats nothing because its time does not hold all that is open."""
    pairs = [wanted("memcpy", "load"), wanted("load", "store")]
    further = Settling(Path(), PLAN, 2.5).rounds(lambda _: pairs)
    assert [[one.case.interface for one in cases] for cases in further] == [["load", "memcpy"]]


def test_time_and_number_of_rounds_are_limited() -> None:
    """Catches rounds without an end for methods that are equal, and a round that the time does not hold."""
    both = wanted("memcpy", "store")
    assert len(rounds_of(1e9, [both] * 99)) == MOST_ROUNDS - 3
    assert len(rounds_of(5.0, [both] * 99)) == 2
    assert rounds_of(1e9, [both] * 99, PLAN[:6]) == []  # two rounds: nothing is ranked yet
    unmeasured = [replace(one, reason="no memory") for one in PLAN]
    assert rounds_of(1e9, [both] * 99, unmeasured) == []


@pytest.mark.parametrize(
    ("options", "budget_s", "spent_s", "left_s"),
    [
        (RunOptions(), None, 5.0, 2.25),
        (RunOptions(), 60.0, 5.0, 2.25),  # a suite's own budget is an upper limit
        (RunOptions(), 10.0, 9.0, 1.0),
        (
            RunOptions(budget_s=60.0),
            60.0,
            0.0,
            51.0,
        ),  # the user's is used up; a simulated run has spent nothing
        (RunOptions(budget_s=60.0), 60.0, 5.0, 55.0),
        (RunOptions(budget_s=60.0), 60.0, 20.0, 40.0),
        (RunOptions(rounds=3), None, 5.0, None),
        (RunOptions(for_s=60.0), None, 5.0, None),
    ],
)
def test_time_for_further_rounds(
    options: RunOptions, budget_s: float | None, spent_s: float, left_s: float | None
) -> None:
    """Catches rounds beyond a budget, also on a machine that takes longer than estimated, and further ones
    where the user chose how many.
    """
    found = settling(Path(), PLAN, options, budget_s, spent_s)
    assert (found and found.left_s) == left_s
    assert LEAST_FURTHER_S < 2.25
    slow = settling(Path(), PLAN, options, budget_s, spent_s, 2.0)
    assert (slow and slow.left_s) == (left_s and left_s / 2)
    whole = settling(Path(), PLAN, options, budget_s, spent_s, to_budget=True)
    if budget_s is not None and options.for_s is None:
        assert whole and whole.left_s == budget_s - (spent_s or 9.0)
    fast = settling(Path(), PLAN, options, budget_s, spent_s, 0.5)
    twice = 2 if options.budget_s else 1  # a suite's own budget is planned with its estimates
    assert (fast and fast.left_s) == (left_s and left_s * twice)
    large = PLAN[:1] * (MOST_MEASUREMENTS + 1)
    assert settling(Path(), large, options, budget_s, spent_s) is None


def test_a_run_adds_rounds_to_its_plan(tmp_path: Path) -> None:
    """Catches further rounds without a record, a plan that does not have them, and an incomplete run."""
    only = ["interface=copy,path=gpu0>gpu1"]
    asked: list[int] = []

    def open_cases(folder: Path) -> list[list[str]]:
        records = RunFolder(folder).records
        asked.append(len(records))
        return [[records[0].case_id]] if len(asked) < 3 else []

    limit = Interruption()
    run = measure_from_python(
        load("quick"),
        RunOptions(only=tuple(only)),
        tmp_path / "run",
        ["test"],
        lambda cases, interruption: Quiet(interruption),
        limit,
        simulation_of("h200-x4", None),
        open_cases,
    )
    counts = Counter(record.case_id for record in run.records)
    assert asked == [len(run.records) - 2, len(run.records) - 1, len(run.records)]
    assert counts[run.records[0].case_id] == 5 and set(counts.values()) <= {3, 5}
    assert (run.manifest["state"], run.manifest["planned"]) == ("complete", len(run.records))
    assert {record.round for record in run.records} == set(range(5))


def table(tmp_path: Path, second: float, half_width: float) -> Index:
    """A run of two methods between GPUs, of 400 GB/s and this rate."""
    build = sample_run.Builder(sample_run.topology(2), half_width=half_width)
    build.measure("copy", PAIR, 400.0)
    build.measure("kernel", PAIR, second)
    return Index(RunFolder(build.write(tmp_path)))


@pytest.mark.parametrize(
    ("second", "half_width", "is_open_"),
    [(360.0, 0.001, False), (399.0, 0.001, False), (375.0, 0.05, True), (399.0, 0.2, True)],
)
def test_what_is_open(tmp_path: Path, second: float, half_width: float, is_open_: bool) -> None:
    """Catches rounds for what is decided, and none for a difference within a wide interval."""
    found = open_comparisons(table(tmp_path, second, half_width))
    assert bool(found) is is_open_
    for one in found:
        assert one.claim.verdict == TIE and is_open(one.claim)
        assert {cell.record.interface for cell in one.cells} == {"copy", "kernel"}
        assert not is_open(replace(one.claim, verdict=LEADS))


@pytest.mark.parametrize(("batch", "spread", "sizes"), [(28.0, 0.25, [16, 64]), (10.0, 0.002, [])])
def test_crossovers_are_settled_first(tmp_path: Path, batch: float, spread: float, sizes: list[int]) -> None:
    """Catches cells of block copies that tie after three noisy rounds and are never measured again."""
    build = sample_run.Builder(sample_run.topology(2), spread=spread)
    ends = [("cpu0:pinned", "gpu0:device", "gpu0")]
    for size in (16, 64):
        chosen = {"block_bytes": size * sample_run.KIB, "gate": False}
        of = {"size": 1024 * size * sample_run.KIB}
        build.measure("kernel-blocks", ends, 30.0, options=chosen, **of)
        build.measure("copy-blocks", ends, batch, options={**chosen, "submit": "batch"}, **of)
        build.measure("copy-blocks", ends, 1.0, options=chosen, **of)
    build.measure("copy", PAIR, 400.0)
    build.measure("kernel", PAIR, 395.0)
    folder = build.write(tmp_path)
    record = {one.case_id: one for one in RunFolder(folder).records}
    cases = [[record[case] for case in some] for some in open_cases(folder)]
    of_blocks = [some for some in cases if some[0].interface == "kernel-blocks"]
    assert of_blocks == cases[: len(of_blocks)]
    assert [one.options["block_bytes"] // sample_run.KIB for one, _ in of_blocks] == sizes
    assert all(call.options["submit"] == "batch" for _, call in of_blocks)


def test_rounds_that_would_decide(tmp_path: Path) -> None:
    """Catches rounds that do not grow with the square of the width over the difference."""
    (one,) = open_comparisons(table(tmp_path, 375.0, 0.05))
    half = replace(one.claim, low=one.claim.effect * 0.9, high=one.claim.effect / 0.9)
    narrow = replace(one, claim=half)
    equal = replace(one, claim=replace(half, effect=1.0))
    assert narrow.rounds == 3
    assert narrow.rounds_needed == 8  # (0.1054 / 0.0645)² × 3
    assert equal.rounds_needed == inf
    assert what_is_open([equal]) != what_is_open([narrow])


def test_the_outcome_says_what_is_not_decided(tmp_path: Path) -> None:
    """Catches a run that ends without a word on an open comparison, or with one about decided ones."""
    plan = [planned(round=number) for number in range(3)]
    manifest = {"options": RunOptions().to_json(), "suite": {"rounds": 3}}
    ended: Any = SimpleNamespace(planned=plan, state="complete", manifest=manifest)
    wide = table(tmp_path / "wide", 399.0, 0.2)
    clear = table(tmp_path / "clear", 300.0, 0.001)
    assert settled_text(ended, wide) and not settled_text(ended, clear)
    ended.planned = [*plan, planned(round=3)]
    assert "4" in settled_text(ended, clear)
    ended.state = "interrupted"
    assert not settled_text(ended, wide)
