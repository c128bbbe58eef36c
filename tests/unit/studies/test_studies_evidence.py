"""Verdicts and evidence: whose hardware a figure is of, what it is known to, how published ones are told."""

from __future__ import annotations

import random
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.ext.studies.comparison.hardware import products
from byteways.ext.studies.comparison.outcome import compare
from byteways.ext.studies.comparison.topic import topic_of
from byteways.ext.studies.comparison.value_lookup import Sheet
from byteways.ext.studies.comparison.verdicts import (
    DIFFERS,
    DIFFERS_IN_MODEL,
    FAILS_HERE,
    HOLDS,
    NOT_REPRODUCED,
    UNTESTED,
)
from byteways.ext.studies.published.reading import load
from byteways.record.record import Record
from byteways.record.run_folder import RunFolder
from byteways.record.warnings import Warning
from scripts.unpack_examples import recorded
from tests.changed import replace
from tests.unit.study_runs import cell, explicit, flow_case, record, run, topology

GIB = 2**30

# --- whose hardware a run is of


def failing(key: str, claim: str, *records: Record, machine: str, simulated: bool) -> Any:
    outcome = compare(load(key), run(machine, *records, simulated=simulated))
    (found,) = [one for one in outcome.verdicts if one.claim.id == claim]
    return found


@pytest.mark.parametrize(
    ("machine", "simulated", "verdict"),
    [
        ("crusher-mi250x", True, NOT_REPRODUCED),
        ("frontier-mi250x", True, NOT_REPRODUCED),
        ("frontier-mi250x", False, FAILS_HERE),
        ("h200-x4", True, DIFFERS_IN_MODEL),
        ("h200-x4", False, DIFFERS),
    ],
)
def test_who_is_contradicted_is_said(machine: str, simulated: bool, verdict: str) -> None:
    """Would catch a defect of a model, or another GPU, that reads as if it refuted the source."""
    case = flow_case("copy", "gpu0:device", "gpu1:device", "gpu0", options={"batch": 1})
    fast = record(case, 150.0, mean=1.0)
    found = failing("pearson2023", "explicit-ceiling", fast, machine=machine, simulated=simulated)
    assert found.verdict == verdict and found.contradicted
    another = any("frontier-mi250x is another system with such GPUs" in note for note in found.notes)
    assert another == (machine == "frontier-mi250x" and simulated)


def test_a_changed_number_moves_what_rests_on_it() -> None:
    """Catches a number that is assumed to be that of the other direction and yet changes alone, and a change
    of all values.
    """
    to_gpu = flow_case("copy", "cpu0:pinned", "gpu0:device", "gpu0", options={"batch": 1})
    peers = flow_case("copy", "gpu0:device", "gpu1:device", "gpu0", options={"batch": 1})
    made = run(
        "crusher-mi250x", record(to_gpu, 25.0, mean=1.0), record(peers, 51.0, mean=1.0), simulated=True
    )
    sheet = Sheet(load("pearson2023"), made)
    keys = sheet.hardware.tied_to("rates.engine-host-write.efficiency")
    changed = sheet.changed(keys, 0.8)
    found = [
        one.ours(one.study.lines[line], one.study.places[place])[GIB].quantity("GB/s")
        for one in (changed, sheet)
        for line, place in (("pinned to GPU", "cpu0>gpu0"), ("explicit", "quad"))
    ]
    assert found == pytest.approx([20.0, 51.0, 25.0, 51.0])


def test_what_a_model_of_other_gpus_states_is_not_tested() -> None:
    """Catches "differs" of four GPUs that a model was given, held against a source about eight."""
    for simulated, verdict in ((True, UNTESTED), (False, DIFFERS)):
        found = failing("pearson2023", "node", machine="h200-x4", simulated=simulated)
        assert (found.verdict, "expected 8" in found.detail) == (verdict, True)


def test_a_sentence_about_one_machine_is_tested_on_such_machines() -> None:
    """Would catch "One GCD reaches around 1.42 TB/s" that is tested on an A100, of which the source says 1.42
    and 1.35 in another sentence."""
    case = flow_case("stream-copy", "gpu0:device", "gpu0:device", "gpu0", size_bytes=2 * GIB)
    for machine, verdict in (("jureca-a100", UNTESTED), ("h200-x4", UNTESTED), ("jureca-mi250", FAILS_HERE)):
        found = failing("herten2022", "copy-and-triad", record(case, 900.0), machine=machine, simulated=False)
        assert found.verdict == verdict
    a100 = failing("herten2022", "usage", machine="jureca-a100", simulated=False)
    assert a100.detail == "because the statement is about MI250, and this machine has A100"


def test_products_are_told_by_their_number() -> None:
    """Would catch a node of the source's own GPUs whose driver writes the name longer."""
    here = topology("crusher-mi250x")
    longer = replace(
        here, devices=tuple(replace(one, model=f"{one.model} (MCM) OAM AC MBA") for one in here.devices)
    )
    assert products(longer) == products(here) == {"MI250X"}
    assert products(topology("jureca-a100")) == {"A100"} and products(topology("jureca-mi250")) == {"MI250"}


# --- what is evidence


def test_what_is_beyond_the_physical_limit_is_no_evidence() -> None:
    """Would catch a claim that is confirmed, or contradicted, by a figure that no link can carry."""
    study = load("pearson2023")
    void = Warning("beyond-limit", 900e9, 250e9, "look at the timer")
    of = explicit(study, gb_per_s=900.0, warnings=[void])
    line, place = study.lines["explicit"], study.places["quad"]
    sheet = Sheet(study, of)
    assert not sheet.ours(line, place)
    assert "exceeds the physical limit of the path" in sheet.missing(line, place, GIB)


def test_what_rests_on_assumptions_alone_is_not_known() -> None:
    """Would catch a sentence on another GPU that a model's guess contradicts. On the source's own GPUs the
    contradiction is one of the model."""
    case = flow_case("copy", "gpu0:device", "gpu1:device", "gpu0", options={"batch": 1})
    key, claim = "pearson2023", "only-kernels-saturate"
    for rests_on, verdicts in (
        (["assumed"], (NOT_REPRODUCED, UNTESTED)),
        (["assumed", "fitted"], (NOT_REPRODUCED, DIFFERS_IN_MODEL)),
    ):
        slow = record(replace(case, interface="kernel"), 40.0, mean=1.0, rests_on=rests_on)
        fast = record(case, 90.0, mean=1.0, rests_on=rests_on)
        for machine, verdict in zip(("crusher-mi250x", "h200-x4"), verdicts, strict=True):
            found = failing(key, claim, slow, fast, machine=machine, simulated=True)
            assert found.verdict == verdict
            if verdict != UNTESTED:
                assert any("assumed parameters of the model are behind" in note for note in found.notes)


def rounds(*gb_per_s: float) -> list[Record]:
    case = flow_case("copy", "gpu0:device", "gpu1:device", "gpu0", options={"batch": 1})
    return [record(case, rate, mean=1.0, round=number) for number, rate in enumerate(gb_per_s)]


def test_a_figure_has_the_interval_of_its_rounds() -> None:
    """Would catch the interval of one round in place of that between rounds, and one round that is taken for
    certain."""
    study = load("pearson2023")

    def half_width(*gb_per_s: float) -> float:
        return float(cell(study, run("crusher-mi250x", *rounds(*gb_per_s))).half_width)

    assert half_width(50.0) == 0.01  # how far the next one is off, nobody knows
    assert half_width(50.0, 52.0) == pytest.approx(2 / 51, rel=0.01)
    assert half_width(50.0, 50.0, 50.0) == 0.0
    # 4.303 standard errors of three rounds
    assert half_width(50.0, 51.0, 52.0) == pytest.approx(4.303 * 0.0196 / 3**0.5, rel=0.01)
    assert half_width(*[50.0, 51.0, 52.0] * 4) < half_width(50.0, 51.0, 52.0) / 3


def test_one_direction_is_a_part_of_the_peak_of_one_direction() -> None:
    """Would catch 81 % of a link that reads 40 %, as the peak counts both directions."""
    study = load("schieffer2025")
    case = flow_case("stream-copy", "gpu1:device", "gpu1:device", "gpu0")
    other = {"counts": "between-agents", "read_bytes_per_s": 104e9, "written_bytes_per_s": 104e9}
    measured = record(case, 208.0, mean=1.0, other_count=other, peak_bytes_per_s=256e9)
    one = cell(study, run("elcap-mi300a", measured), "STREAM copy, one direction", "APU1")
    assert one.quantity("of peak") == pytest.approx(0.8125)


# --- how published values are told


def test_a_matrix_says_which_of_its_figures_are_derived() -> None:
    """Would catch the halved diagonal of the source's matrix that passes for what it prints."""
    told = topic_of(compare(load("schieffer2024"), run("frontier-mi250x"))).tables
    (note,) = [table.note for table in told if "all pairs" in table.title and "GB/s" in table.title]
    assert note == (
        "derived, 0.5 of the source's count: gpu0>gpu0, gpu1>gpu1, gpu2>gpu2, gpu3>gpu3 and 4 more"
    )


@pytest.mark.parametrize("key", ["herten2022", "memcpy-peer", "pearson2023", "schieffer2025"])
def test_no_verdict_on_a_recorded_run_turns_round_with_noise(key: str) -> None:
    """Would catch a verdict that another minute on the same machine contradicts: what one round gives is
    known to 1 %, so that as much noise makes no contradiction of "holds", nor the reverse."""
    study, whole = load(key), RunFolder(recorded(f"h200x2/{key}"))
    told = {one.claim.id: one for one in compare(study, whole).verdicts}
    draw = random.Random(key)
    for _ in range(2):
        records = [shaken(one, draw.uniform(1 / 1.01, 1.01)) for one in whole.records]
        moved = SimpleNamespace(
            manifest=whole.manifest, topology=whole.topology, records=records, damaged_lines=0
        )
        for one in compare(study, moved).verdicts:
            before = told[one.claim.id]
            assert not (before.verdict == HOLDS and one.contradicted), one.detail
            assert not (before.contradicted and one.verdict == HOLDS), one.detail


def shaken(one: Record, factor: float) -> Record:
    """With its time and its rates changed by a factor."""
    if one.time_ns is None:
        return one
    times = asdict(one.time_ns)
    scaled = {name: value * factor for name, value in times.items() if isinstance(value, float)}
    changed: dict[str, Any] = {"time_ns": replace(one.time_ns, **scaled)}
    for name, part in (("bandwidth_bytes_per_s", 1 / factor), ("latency_ns", factor), ("submit_ns", factor)):
        value = getattr(one, name)
        changed[name] = None if value is None else value * part
    return replace(one, **changed)


def test_a_ratio_to_a_range_is_to_its_nearer_end() -> None:
    """Would catch a ratio to the wrong end of a published range."""
    case = flow_case("torch-copy", "gpu0:device", "gpu1:device", "gpu0", size_bytes=100_000, cache="warm")
    for rate, ratio in ((12.0, 1.0), (20.0, 20 / 15), (5.0, 0.5)):
        peer = compare(load("memcpy-peer"), run("mi300x-8", record(case, rate, mean=1.0)))
        (row,) = [row for row in peer.figures[0].rows if row.size_bytes == 100_000]
        assert row.ratio == pytest.approx(ratio)
        told = {cells[-2] for table in topic_of(peer).tables for cells in table.rows if "100 kB" in cells}
        assert ("within" in told) == (ratio == 1.0)


def test_a_mean_that_no_source_states_is_none() -> None:
    """The source repeated its copies ten times and does not say what of them it shows."""
    study = load("schieffer2025")
    assert study.statistic == "not stated"
    assert {value.statistic for value in study.values} == {"not stated"}
