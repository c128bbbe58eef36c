"""Studies as they come with byteways: their files, their places on other machines, and runs beside them."""

from __future__ import annotations

import pytest

from byteways.base.errors import BytewaysError
from byteways.cases.case import Case, Flow
from byteways.ext.studies.comparison.fitting import NEITHER, Fitting, fitting_of
from byteways.ext.studies.comparison.outcome import compare, outcome_of
from byteways.ext.studies.comparison.places import locate
from byteways.ext.studies.comparison.value_lookup import Sheet
from byteways.ext.studies.comparison.verdicts import UNTESTED
from byteways.ext.studies.published import names, split
from byteways.ext.studies.published.reading import load
from byteways.ext.studies.published.split import FITTED, HELD_OUT
from byteways.ext.studies.published.study import Study
from byteways.models import names as machine_names
from byteways.record.record import Record
from tests.changed import replace
from tests.unit import machines
from tests.unit.study_runs import explicit, flow_case, record, run, topology

GIB = 2**30
STUDIES = names()


# --- files


@pytest.mark.parametrize("key", STUDIES)
def test_every_file_of_a_study_is_right(key: str) -> None:
    """Would catch a misspelt line, place, interface or key before a user does."""
    study = load(key)
    assert study.suite.name == key
    assert study.claims and study.figures and study.values
    assert set(study.models) <= set(machine_names())
    assert {value.machine for value in study.values} <= set(study.models)


@pytest.mark.parametrize("key", STUDIES)
def test_claims_name_figures_that_exist(key: str) -> None:
    """On a machine that measured nothing each check is tried and cannot be tested, but those of the node."""
    study = load(key)
    outcome = compare(study, run(study.models[0]))
    of_runs = [one for one in outcome.verdicts if not any(leaf.kind == "node" for leaf in one.claim.leaves())]
    assert {one.verdict for one in of_runs} == {UNTESTED}
    assert all(one.detail.startswith("because ") for one in of_runs)


@pytest.mark.parametrize("key", STUDIES)
def test_figures_have_the_published_values_that_are_theirs(key: str) -> None:
    """Would catch a value that stands in two lines of one figure, so beside a figure of another method."""
    study = load(key)
    sheet = Sheet(study, run(study.models[0]))
    for figure in study.figures:
        seen: list[tuple[str, str]] = []
        for line in figure.lines:
            if study.lines[line].count:  # the same figure, counted otherwise
                continue
            for place in figure.places:
                if not study.lines[line].fits(study.places[place]):  # in figures of several places' own lines
                    continue
                found = sheet.published(study.lines[line], study.places[place])
                seen += [(one.value.machine, one.value.key) for one in found]
        assert len(seen) == len(set(seen)), figure.id


def test_an_unknown_study_is_named() -> None:
    """Would catch an error that does not name the study and its alternatives."""
    with pytest.raises(BytewaysError, match="unknown study 'pearson'"):
        load("pearson")


# --- places


def test_equal_names_of_unequal_links_are_not_the_same() -> None:
    """Two links of MI300A carry more than two of MI250X, and have the same name."""
    found = locate(load("schieffer2025"), topology("elcap-mi300a"))
    assert found["APU3"].devices == ("gpu3", "gpu0") and found["own, by GPU"].devices == ("gpu0", "gpu0")
    assert found["GCD6"].devices is None and "MI250X" in found["GCD6"].reason
    assert locate(load("schieffer2025"), topology("frontier-mi250x"))["GCD6"].devices == ("gpu6", "gpu0")


def test_one_pair_does_not_stand_for_several_of_one_rank() -> None:
    """Two GPUs have one pair: three placements that are claimed to be equal are one there."""
    study, two = load("schieffer2025"), topology("h200-x4")
    kept = tuple(device for device in two.devices if device.name not in ("gpu2", "gpu3"))
    links = tuple(link for link in two.links if not {"gpu2", "gpu3"} & {link.a, link.b})
    found = locate(study, replace(two, devices=kept, links=links))
    assert found["APU1"].devices == ("gpu1", "gpu0")
    assert found["APU2"].devices is None
    assert found["APU2"].reason == "gpu2 is not here: this machine has 2 GPUs"


def test_as_many_gpus_as_the_source_took() -> None:
    """Four of the source's eight GPUs are a GPU of each package: here they are any four, in that order."""
    study = load("schieffer2024")
    h200 = locate(study, topology("h200-x4"))
    assert h200["4 GCDs"].devices == ("gpu0", "gpu1", "gpu2", "gpu3") and h200["4 GCDs"].note
    assert h200["8 GCDs"].reason == "it needs 8 GPUs, and this machine has 4"
    assert h200["2, same GPU"].reason == "no two GPUs of this machine share a package"
    assert locate(study, topology("frontier-mi250x"))["4 GCDs"].note == ""


def test_a_matrix_has_the_pairs_of_this_machine() -> None:
    """Their links are none of the source's, so that no claim is about them, and yet they are measured."""
    study = load("schieffer2024")
    case = flow_case("copy", "gpu0:device", "gpu2:device", "gpu0", size_bytes=160_000_000)
    outcome = compare(study, run("h200-x4", record(case, 390.0, mean=1.0)))
    (matrix,) = [one for one in outcome.figures if one.figure.id == "bandwidth"]
    found = {row.place: row.ours for row in matrix.rows if row.ours is not None}
    assert found == {"gpu0>gpu2": pytest.approx(390.0)}
    assert {one.verdict for one in outcome.verdicts} == {UNTESTED}


def test_cases_of_earlier_options_represent_a_line_that_has_none_of_its_own() -> None:
    """Catches earlier runs whose values no line takes any more, and two values of one line in a new run."""
    study = load("schieffer2024")
    earlier = flow_case("copy", "gpu0:device", "gpu2:device", "gpu0", size_bytes=160_000_000)
    now = replace(earlier, options={"call": "peer"})
    other = replace(earlier, options={"call": "peer-blocking"})
    for cases, figure in (([earlier], 390.0), ([earlier, now], 395.0), ([other], None)):
        values = {earlier.case_id: 390.0, now.case_id: 395.0, other.case_id: 100.0}
        records = [record(case, values[case.case_id], mean=1.0) for case in cases]
        outcome = compare(study, run("h200-x4", *records))
        (matrix,) = [one for one in outcome.figures if one.figure.id == "bandwidth"]
        found = {row.place: row.ours for row in matrix.rows if row.ours is not None}
        assert found == ({} if figure is None else {"gpu0>gpu2": pytest.approx(figure)})


def test_what_the_suite_asks_for_and_the_run_lacks_is_missing() -> None:
    """Would catch a run that was cut short after its first size, and confirms a ceiling with that."""
    study = load("pearson2023")
    cut = explicit(study)
    cut.manifest["state"] = "interrupted"
    sheet = Sheet(study, cut)
    line, place = study.lines["explicit"], study.places["quad"]
    assert {256, 4096, GIB} < set(sheet.asked(line, place))
    assert sheet.missing(line, place, 4096) == "this run ended before explicit, quad at 4 KiB"
    (claim,) = [one for one in compare(study, cut).verdicts if one.claim.id == "explicit-ceiling"]
    assert claim.verdict == UNTESTED and "values it needs are missing" in claim.detail


def test_a_run_of_an_older_suite_lacks_nothing_that_came_later() -> None:
    """Would catch recorded runs whose claims cannot be tested since the study asks for more."""
    study = load("pearson2023")
    older = explicit(study)
    text = study.suite.text.replace('size = ["256B..1GiB x4", "64MiB"]', 'size = "1GiB"')
    older.manifest |= {"study": {"key": study.key}, "suite": {"text": text}}
    assert Sheet(study, older).asked(study.lines["explicit"], study.places["quad"]) == [GIB]


def test_a_machine_without_gpus_has_reasons() -> None:
    """Would catch a claim that is skipped without saying why."""
    bare, _ = machines.two_cores()
    found = locate(load("pearson2023"), bare)
    assert found["quad"].devices is None and "two GPUs" in found["quad"].reason


# --- a run beside a study


def test_a_case_in_another_environment_or_with_other_options_is_another_figure() -> None:
    """Would catch a figure taken from a case with other settings."""
    study = load("pearson2023")
    line, place = study.lines["explicit"], study.places["quad"]
    for fields in ({"environment": {"HSA_ENABLE_SDMA": "0"}}, {"options": {"stream": 1}}, {"cache": "warm"}):
        case = flow_case("copy", "gpu0:device", "gpu1:device", "gpu0", **fields)
        assert not Sheet(study, run("crusher-mi250x", record(case, 51.0))).ours(line, place)


def test_gpus_at_once_are_told_by_which_they_are() -> None:
    """Would catch the sum of eight GPUs in the row of four."""
    study = load("schieffer2024")
    line = study.lines["STREAM copy on host arrays"]

    def together(*gpus: str, pattern: str = "fan-out") -> Record:
        ends = {"source": "cpu0:pinned", "destination": "cpu0:pinned"}
        flows = tuple(Flow.from_json({**ends, "executor": gpu}) for gpu in gpus)
        case = Case("stream-copy", pattern, flows, GIB, options={"threads": 128})
        return record(case, 50.0 * len(gpus), mean=1.0)

    of = run(
        "frontier-mi250x",
        together("gpu0", pattern="unidirectional"),
        together("gpu0", "gpu1"),
        together("gpu0", "gpu2", "gpu4", "gpu6"),
        together("gpu0", "gpu1", "gpu2", "gpu3"),
    )
    sums = {
        name: [one.quantity("GB/s") for one in Sheet(study, of).ours(line, study.places[name]).values()]
        for name in ("1 GCD", "2, same GPU", "2, spread", "4 GCDs", "8 GCDs")
    }
    expected = {"1 GCD": [50.0], "2, same GPU": [100.0], "2, spread": [], "4 GCDs": [200.0], "8 GCDs": []}
    assert sums == expected


def test_the_reason_of_a_skipped_case_is_the_reason_of_the_claim() -> None:
    """Would catch a claim without the reason that its case was skipped for."""
    study = load("pearson2023")
    case = flow_case("kernel", "gpu0:device", "gpu1:device", "gpu0", options={"batch": 1})
    skipped = record(case, 1.0, status="skipped", reason="gpu0 and gpu1 have no peer access", time_ns=None)
    outcome = compare(study, run("crusher-mi250x", skipped))
    (claim,) = [one for one in outcome.verdicts if one.claim.id == "only-kernels-saturate"]
    assert (claim.verdict, claim.detail) == (UNTESTED, "because gpu0 and gpu1 have no peer access")


def fitting(study: Study, machine: str, *, simulated: bool = True) -> Fitting | None:
    return fitting_of(study, run(machine, simulated=simulated).manifest)


def test_a_model_that_was_fitted_to_the_source_is_told_from_one_that_was_not() -> None:
    """Would catch agreement with a source reported although the model was fitted to it."""
    study = load("pearson2023")
    told = fitting(study, "crusher-mi250x")
    assert told and told.words == "4 numbers of the model crusher-mi250x are fitted to this publication"
    assert fitting(study, "h200-x4") is None
    assert fitting(study, "crusher-mi250x", simulated=False) is None  # a real machine


def test_a_model_with_numbers_of_a_fitted_one_is_fitted_too() -> None:
    """Would catch a model derived from a fitted one that counts as independent."""
    told = fitting(load("pearson2023"), "jureca-mi250")
    assert told and told.words == (
        "the model jureca-mi250 has numbers of frontier-mi250x, which is fitted to this publication"
    )


def test_figures_are_on_the_side_of_the_values_beside_them() -> None:
    """Would catch a held-out pair that is taken for the one that the model was fitted to."""
    study = load("pearson2023")
    crusher, frontier = (fitting(study, f"{name}-mi250x") for name in ("crusher", "frontier"))
    assert crusher and frontier
    sheet = Sheet(study, run("crusher-mi250x"))

    def side(of: Fitting, line: str, place: str) -> str:
        return of.side(sheet.published(study.lines[line], study.places[place]))

    assert [side(crusher, "explicit", place) for place in ("quad", "dual", "single")] == [
        *(FITTED, HELD_OUT, HELD_OUT)
    ]
    assert side(crusher, "pinned to GPU", "cpu0>gpu0") == FITTED  # by the model that it has the number of
    assert side(crusher, "pinned from GPU", "gpu0>cpu0") == HELD_OUT
    assert side(frontier, "implicit mapped", "dual") == HELD_OUT  # of the other system of the source
    assert side(crusher, "managed from GPU", "gpu0>cpu0") == NEITHER  # excluded from the split


@pytest.mark.parametrize("machine", machine_names())
def test_claims_that_numbers_were_assumed_from_are_there(machine: str) -> None:
    """Would catch a claim that was renamed, and would count as tested from then on."""
    assert not set(split.assumed_from(machine)) & set(split.held_out_claims(machine))
    for told in (*split.assumed_from(machine), *split.held_out_claims(machine)):
        key, _, claim = told.partition(" ")
        assert claim in {one.id for one in load(key).claims}


def test_a_run_of_no_study_has_no_outcome() -> None:
    """Would catch study results in runs of other suites."""
    assert outcome_of(run("crusher-mi250x")) is None
    other = run("crusher-mi250x")
    other.manifest["study"] = {"key": "of a later version", "title": ""}
    assert outcome_of(other) is None
