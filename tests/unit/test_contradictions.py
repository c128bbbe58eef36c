"""What a run says, against its records: a true account holds, and every false statement in it is found."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import contradictions
from byteways.cases.interfaces import COLLECTIVES
from byteways.measuring.work.figures import bus_factor
from statements import plants_of_pages
from statements.claims import matched
from statements.outcome import CONTRADICTED, HOLDS
from statements.pages import page_statements
from statements.plants import PLANTS
from statements.quoted import numbers
from statements.ranks import FACTORS, bus_statements
from statements.records import RunData
from statements.sentences import sentence_statements
from tests.unit import said_run

BENCHMARKS = Path(contradictions.__file__).parent
#: As many false statements must be found, each of a kind of its own.
LEAST_PLANTS = 20


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    return RunData(said_run.write(tmp_path_factory.mktemp("run")))


def contradicted(run: RunData, data: dict[str, Any]) -> list[str]:
    found = contradictions.examine(run, data)
    return [f"{one.kind}: {one.said}: {one.why}" for one in found if one.outcome == CONTRADICTED]


def test_what_is_true_holds(run: RunData) -> None:
    """Catches a check that contradicts the truth, and one that checks nothing."""
    assert contradicted(run, said_run.said()) == []
    kinds = {one.kind for one in contradictions.examine(run, said_run.said()) if one.outcome == HOLDS}
    assert kinds >= {
        *("run", "limit", "result", "first table", "fastest", "claim", "operand", "ties", "agreement"),
        *("rounds", "link classes", "like with like", "scope", "sizes", "settings", "doubts", "rests on"),
        *("records", "order", "numbers", "digits", "percentages", "ratios", "rank tables"),
    }


@pytest.mark.parametrize("plant", PLANTS, ids=[plant.__name__ for plant in PLANTS])
def test_what_is_false_is_found(plant: Callable[[RunData, dict[str, Any]], bool], run: RunData) -> None:
    """Catches a false figure, table, claim or sentence that passes for true."""
    data = said_run.said()
    assert plant(run, data), "it has no place in this run"
    assert data != said_run.said()
    assert contradicted(run, data)


def test_there_are_enough_false_statements() -> None:
    """Catches plants that are lost as functions are renamed."""
    assert len(PLANTS) >= 2 * LEAST_PLANTS


def test_numbers_of_a_sentence() -> None:
    """Catches parts of names, settings and links that are read as figures."""
    found = numbers(
        "gpu0>gpu1 (PCIe 5.0 ×16), copy (blocks=8) at 64 KiB: 197 to 395 GB/s, 3.9 times, 2 % of 9"
    )
    told = [(one.text, one.unit) for one in found]
    assert told == [("64", "KiB"), ("197", ""), ("395", "GB/s"), ("3.9", "times"), ("2", "%"), ("9", "")]


def test_records_of_schema_1(tmp_path: Path) -> None:
    """Catches old names that are read as other cases than those that the program shows."""
    folder = said_run.write(tmp_path)
    line = said_run.record(0, said_run.CASES[-3])
    line["pattern"], line["replicate"] = "two-way", line.pop("round")
    (folder / "measurements.jsonl").write_text(json.dumps(line) + "\n")
    manifest = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**manifest, "schema_version": 1}))
    from byteways.record import version1

    (case,) = RunData(folder).cases.values()
    assert case.case_id == version1.record(line)["case_id"]
    assert (case.record["pattern"], case.record["round"]) == ("bidirectional", 0)


@pytest.mark.parametrize("changed", ["median", "n", "bandwidth_bytes_per_s"])
def test_a_record_that_is_not_of_its_samples(changed: str, tmp_path: Path) -> None:
    """Catches statistics that are not those of the samples, and a bandwidth that is not that of the time."""
    folder = said_run.write(tmp_path)
    record = said_run.record(0, said_run.CASES[0])
    told = record if changed in record else record["time_ns"]
    told[changed] = 2 * told[changed]
    with (folder / "measurements.jsonl").open("a") as journal:
        journal.write("\n" + json.dumps(record))
    found = contradicted(RunData(folder), said_run.said())
    assert any(one.startswith("records: copy gpu0>gpu1") for one in found)


def test_a_limit_is_known_without_the_program(run: RunData) -> None:
    """Catches an impossible rate that passes as long as no warning was recorded with it."""
    record = said_run.record(0, ("copy", "gpu0>gpu1", 4096, 692e9, {}))
    assert not run.beyond(said_run.record(0, said_run.CASES[0]))
    assert run.beyond({**record, "warnings": [], "limit_bytes_per_s": None})
    assert run.beyond({**record, "warnings": [], "directions": {}})


@pytest.mark.parametrize(("false", "status"), [(False, 0), (True, 1)])
def test_the_program(false: bool, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches an exit status that says nothing, and a table without the figures that are wanted of it."""
    data = said_run.said()
    data["cells"][2]["rounds"] += false
    (tmp_path / "said.json").write_text(json.dumps(data))
    program = tmp_path / "byteways"
    program.write_text(f"#!/bin/sh\n[ \"$1 $3\" = 'show --json' ] && cat {tmp_path}/said.json\n")
    program.chmod(0o755)
    folder = said_run.write(tmp_path / "run")
    assert contradictions.main([str(folder), "--plant", "--byteways", str(program)]) == status
    text = capsys.readouterr().out
    assert "contradicted" in text and f"planted {len(PLANTS)} of {len(PLANTS)}, not found 0" in text
    assert ("contradicted, result: kernel gpu0>gpu1" in text) == false


def test_runs_are_found_below_a_folder(tmp_path: Path) -> None:
    """Catches a folder of runs that is taken for a run, and a folder without any that passes."""
    inner = [said_run.write(tmp_path / "deep" / "b"), said_run.write(tmp_path / "a")]
    assert contradictions.run_folders(tmp_path) == sorted(inner)
    assert contradictions.run_folders(inner[0]) == inner[:1]
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit, match=r"error: no run in .*empty\n.*caused by: .*\n.*hint: "):
        contradictions.main([str(tmp_path / "empty")])


def test_bus_bandwidth_is_that_of_the_pattern_and_the_ranks() -> None:
    """Catches a factor of another pattern or number of ranks, and other factors here than in a run."""
    record = said_run.collective(1)
    assert [one.outcome for one in bus_statements(record, "")] == [HOLDS, HOLDS]
    for wrong in ({"pattern": "allgather"}, {"flows": [{**record["flows"][0], "others": []}]}):
        assert CONTRADICTED in [one.outcome for one in bus_statements({**record, **wrong}, "")]
    assert set(FACTORS) == set(COLLECTIVES)
    for pattern, factor in FACTORS.items():
        assert [factor(n) for n in (2, 3, 8)] == pytest.approx([bus_factor(pattern, n) for n in (2, 3, 8)])


def test_it_shares_nothing_with_byteways() -> None:
    """Catches a check that uses what it checks."""
    code = "import sys, contradictions; sys.exit('byteways' in {one.split('.')[0] for one in sys.modules})"
    assert subprocess.run([sys.executable, "-c", code], cwd=BENCHMARKS, check=False).returncode == 0


def test_the_load_beside_a_walk_is_that_of_its_window(tmp_path: Path) -> None:
    """Catches a load that no record has, and one of another round than the latency is of."""
    folder = said_run.write(tmp_path)
    walk = next(case for case in said_run.CASES if case[0] == "pointer-chase")
    rounds = [
        said_run.record(number, walk) | {"load_bytes_per_s": load}
        for number, load in enumerate((20e9, 26.04e9, 30e9))
    ]
    (folder / "measurements.jsonl").write_text("\n".join(map(json.dumps, rounds)))
    run = RunData(folder)
    case = said_run.name_of(*walk[:3])
    for load, outcome in (("26.04", HOLDS), ("29", CONTRADICTED), ("27", CONTRADICTED)):
        title = f"Latency of gpu0:device from gpu0: 490 ns alone, 500 ns (2 % more) under copy at {load} GB/s"
        finding = {
            "title": title,
            "detail": "",
            "importance": 1.0,
            "claims": [],
            "results": [said_run.operand("walk", [case])],
        }
        found = sentence_statements(run, {"findings": [finding], "cells": [], "void": []})
        said = [one for one in found if one.kind == "numbers" and one.said.endswith(f"{load} GB/s")]
        assert [one.outcome for one in said] == [outcome]


def test_latencies_are_paired_by_who_walks(tmp_path: Path) -> None:
    """Catches a true ratio called false: the path of a walk names the memory, not the GPU that waits."""
    folder = said_run.write(tmp_path)
    walks = [("far", "gpu1", "cpu0", 350.0), ("near", "gpu0", "cpu0", 220.0), ("own", "gpu1", "cpu1", 200.0)]
    rounds = []
    for name, walker, memory, latency in walks:
        plain = ("pointer-chase", f"{memory}>{memory}", said_run.GIB, latency, {})
        rounds += [said_run.record(n, plain) | {"case_id": name, "executor": walker} for n in range(3)]
    (folder / "measurements.jsonl").write_text("\n".join(map(json.dumps, rounds)))
    run = RunData(folder)
    sides = [[run.cases["far"]], [run.cases["near"], run.cases["own"]]]
    for kind, second in (("latency", 200.0), ("difference", 220.0)):
        pairs = matched({"kind": kind, "quantity": "latency"}, sides)
        assert pairs is not None
        assert [round(one[1] / second, 3) for _, one in pairs] == [1.0]


@pytest.mark.parametrize(
    ("plant", "kind"),
    [
        (plants_of_pages.sentence_two_figures, "one figure"),
        (plants_of_pages.sentence_slower_way, "faster ways"),
        (plants_of_pages.sentence_median_of_unlike, "medians"),
        (plants_of_pages.sentence_outlier_among_outliers, "outliers"),
        (plants_of_pages.sentence_more_slow_pairs, "outliers"),
        (plants_of_pages.sentence_as_predicted, "predictions"),
        (plants_of_pages.sentence_tie_by_path, "ties"),
    ],
)
def test_the_page_contradicts_itself(
    plant: Callable[[RunData, dict[str, Any]], bool], kind: str, run: RunData
) -> None:
    """Catches a false statement that is found by chance alone: by a number that stands in it."""
    data = said_run.said()
    assert plant(run, data)
    found = [one for one in page_statements(run, data) if one.outcome == CONTRADICTED]
    assert [one.kind for one in found] == [kind]
    assert not [one for one in page_statements(run, said_run.said()) if one.outcome == CONTRADICTED]
