"""How figures of studies are drawn: plots, order and colours as data; ours and published together."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from byteways.base.errors import BytewaysError
from byteways.cases.case import Case, Flow
from byteways.ext.studies.comparison.outcome import StudyOutcome, compare
from byteways.ext.studies.comparison.pictures import charts_of, colours_of
from byteways.ext.studies.comparison.topic import topic_of
from byteways.ext.studies.comparison.two_machines import check_definitions, check_machines, check_second_run
from byteways.ext.studies.published import names
from byteways.ext.studies.published.drawing import methods_of
from byteways.ext.studies.published.reading import load
from byteways.questions.display.chart import INK, Chart, Series
from byteways.questions.display.topic import Exhibit
from byteways.record.record import Record
from tests.changed import replace
from tests.unit.study_runs import GIB, flow_case, record, run

MIB = 2**20
STUDIES = names()
#: What the sources draw that is not a plain curve over a logarithmic axis.
DRAWN = {
    ("herten2022", "matrix"): {
        *("osu-large", "osu-small", "osu-relative", "osu-a100-large", "osu-a100-small", "osu-a100-relative"),
        *("links", "threads-copy", "threads-scale", "threads-add", "threads-triad"),
    },
    ("pearson2023", "matrix"): {"table3", "numa-from", "numa-to"},
    ("memcpy-peer", "matrix"): {"mesh", "pairs"},
    ("schieffer2024", "matrix"): {"hops", "bandwidth", "latency"},
    ("schieffer2025", "matrix"): {"fig10a", "fig10b"},
    ("schieffer2025", "tiles"): {"fig17"},
    ("schieffer2025", "bars"): {
        *(
            "fig6",
            "fig7",
            "fig11",
            "fig13a",
            "fig13b",
            "fig15",
            "fig15-gain",
            "fig16a",
            "fig16b",
            "fig16-gain",
        ),
    },
}


def stream(interface: str, size: int, gb_per_s: float) -> Record:
    flow = Flow.from_json({"source": "gpu0:device", "destination": "gpu0:device", "executor": "gpu0"})
    return record(Case(interface, "unidirectional", (flow,), size), gb_per_s, low=1.0)


def copy(end: str) -> Case:
    return flow_case("copy", "gpu0:device", f"{end}:device", "gpu0", options={"batch": 1})


def drawn(outcome: StudyOutcome, name: str) -> list[Chart]:
    one = next(figure for figure in outcome.figures if figure.figure.id == name)
    return charts_of(one, outcome, colours_of(outcome))


def ours_of(chart: Chart, name: str) -> Series:
    return next(one for one in chart.series if one.label == name)


def published_of(chart: Chart, name: str) -> dict[str, Series]:
    """The published values of a method by the name in the legend."""
    return {one.label: one for one in chart.series if one.group == name and one.kind == "points"}


def exhibit(outcome: StudyOutcome, name: str) -> Exhibit:
    return next(one for one in topic_of(outcome).exhibits if one.anchor == f"study-{name}")


@pytest.mark.parametrize(("key", "plot"), DRAWN)
def test_figures_have_the_kind_of_plot_of_their_source(key: str, plot: str) -> None:
    """Catches bars drawn as curves, and a matrix as bars."""
    found = {figure.id for figure in load(key).figures if figure.drawing.plot == plot}
    assert found == DRAWN[key, plot]


@pytest.mark.parametrize("key", STUDIES)
def test_a_method_has_one_colour_and_shares_it_with_none_beside_it(key: str) -> None:
    """Catches two methods of one figure in one colour, and a method that changes it between figures."""
    drawings = [figure.drawing for figure in load(key).figures]
    colours = methods_of(drawings)
    for drawing in drawings:
        methods = list(dict.fromkeys(track.method for track in drawing.tracks))
        assert len({colours[method] for method in methods}) == len(methods)
        told = [(colours[track.method], track.dash) for track in drawing.tracks]
        assert len(told) == len(set(told)) or drawing.plot != "lines"
        assert max((colours[method] for method in methods), default=0) < 8  # colours of a page


def test_published_values_and_ratios_are_at_their_sizes() -> None:
    """Catches a ratio upside down, a value of one system in the mark of another, and a missing range."""
    made = record(copy("gpu1"), 61.2)
    (chart,) = drawn(compare(load("pearson2023"), run("crusher-mi250x", made)), "fig2a")
    copies = ours_of(chart, "explicit")
    (ours,) = copies.points
    assert (chart.x.scale, chart.x.unit, chart.y.scale, copies.kind) == ("log", "bytes", "linear", "")
    published = published_of(chart, "explicit")["published, OLCF Crusher"]
    crusher = {point.x: point for point in published.points}
    assert crusher[GIB].y == pytest.approx(51.0)
    assert published.colour == copies.colour and all(point.open for point in published.points)
    entry = next(one for one in chart.series if one.label == published.label and not one.group)
    assert (entry.points, entry.symbol, entry.colour) == ((), published.symbol, INK)  # in the legend
    (panel,) = chart.below
    assert panel.band == (0.9, 1.1) and panel.y.reach == 1.3
    ratio = next(one for one in panel.series if (one.group, one.label) == ("explicit", published.label))
    assert [point.y for point in ratio.points] == [pytest.approx(ours.y / 51.0)]
    assert "61" not in ratio.points[0].text.partition(";")[2]
    assert chart.levels[0].at == 200


def test_a_figure_without_any_value_has_no_picture() -> None:
    """Catches an empty chart."""
    study = load("memcpy-peer")
    bare = replace(study, values=())
    assert drawn(compare(bare, run("mi300x-8")), "pytorch") == []


def test_values_of_this_machine_are_not_those_of_another() -> None:
    """Catches MI250's triad drawn under the name of A100, whose place is a GPU's own memory, too."""
    made = [stream("stream-triad", size, 1000.0) for size in (MIB, 2 * GIB)]
    linear, double = drawn(compare(load("herten2022"), run("jureca-mi250", *made)), "triad")
    assert [(one.x.scale, one.y.scale) for one in (linear, double)] == [("linear",) * 2, ("log",) * 2]
    assert len(ours_of(linear, "MI250 GCD").points) == 2
    assert ours_of(linear, "A100").points == () and published_of(linear, "A100")
    (quotient,) = linear.below[-1].series  # of the published values alone
    assert quotient.kind == "points" and quotient.points[0].y == pytest.approx(1399 / 1349, rel=1e-3)


def test_a_run_beside_has_the_values_of_its_machine() -> None:
    """Catches a run beside that is left out, or drawn in place of this one, and a quotient upside down."""
    here = run("jureca-mi250", *(stream("stream-triad", size, 1000.0) for size in (MIB, 2 * GIB)))
    there = run("jureca-a100", *(stream("stream-triad", size, 1500.0) for size in (MIB, 2 * GIB)))
    for first, second in ((here, there), (there, here)):
        outcome = compare(load("herten2022"), first, second)
        linear, _ = drawn(outcome, "triad")
        tracks = [ours_of(linear, name) for name in ("MI250 GCD", "A100")]
        heights = {one.label: [round(point.y) for point in one.points] for one in tracks}
        assert heights == {"MI250 GCD": [1000, 1000], "A100": [1500, 1500]}
        assert [point.y for point in linear.below[-1].series[0].points] == [pytest.approx(1.5)] * 2
        texts = {one.label: one.points[0].text for one in tracks}
        beside = "A100" if first is here else "MI250 GCD"
        assert " on " in texts[beside] and " on " not in texts[({*texts} - {beside}).pop()]
        figure = next(one for one in outcome.figures if one.figure.id == "triad")
        assert any("from the run beside this one" in note for note in figure.notes)


def test_claims_are_those_of_the_run_itself() -> None:
    """Catches a sentence on A100 that a run of MI250 decides because of the run beside it."""
    here, there = run("jureca-mi250"), run("jureca-a100", stream("stream-triad", 2 * GIB, 1399.0))
    study = load("herten2022")
    alone, paired = (compare(study, here, other) for other in (None, there))
    assert [one.verdict for one in alone.verdicts] == [one.verdict for one in paired.verdicts]


def grouped(
    name: str, *records: Record, key: str = "schieffer2025", machine: str = "elcap-mi300a"
) -> list[Chart]:
    study = load(key)
    alone = replace(study, figures=tuple(one for one in study.figures if one.id == name), claims=())
    return drawn(compare(alone, run(machine, *records)), name)


def test_bars_stand_in_their_groups() -> None:
    """Catches bars in another order than the groups, and a published value beside another bar."""
    flows = {
        "gpu": Flow.from_json({"source": "gpu0:device", "destination": "gpu1:device", "executor": "gpu0"}),
        "cpu": Flow.from_json({"source": "gpu0:device", "destination": "gpu1:device", "executor": "cpu0"}),
    }
    made = [
        record(Case("copy", "unidirectional", (flows["gpu"],), 8 * GIB), 90.0),
        record(Case("memcpy", "unidirectional", (flows["cpu"],), 8 * GIB), 9.6),
    ]
    (chart,) = grouped("fig7", *made)
    group = chart.x.names.index("hipMalloc, GPU touch")
    for name, at in (("hipMemcpy, SDMA on", -1), ("memcpy", 1)):
        one = ours_of(chart, name)
        assert one.kind == "bars"
        assert [point.x for point in one.points] == [pytest.approx(group + at * one.width)]
        (published,) = published_of(chart, name).values()
        assert [point.x for point in published.points] == [one.points[0].x]
        assert published.colour == INK  # seen on a bar of the method's own colour


def test_groups_with_an_axis_of_their_own_are_apart() -> None:
    """Catches ReduceScatter on the axis of the others, which it would flatten (Fig. 13b)."""
    ends = [f"{rank}/gpu{rank}:device" for rank in range(2)]
    made = []
    for pattern in ("allreduce", "reduce-scatter"):
        data = {"source": ends[0], "destination": ends[0], "executor": "gpu0"}
        flow = Flow.from_json({**data, "others": [[ends[1], ends[1]]]})
        made.append(record(Case("mpi", pattern, (flow,), 16 * MIB, "warm", {"timing": "osu"}), 50.0))
    first, second = grouped("fig13b", *made)
    assert second.x.names == ("reduce-scatter",) and "reduce-scatter" not in first.x.names
    assert [len(ours_of(one, "MPI, 2 APUs").points) for one in (first, second)] == [1, 1]
    assert not [one for one in first.series if one.label == "RCCL, 4 APUs"]


def test_the_best_method_has_a_square_at_its_size() -> None:
    """Catches a map of the slowest method, and the square of a tie that is only one of them (Fig. 17)."""
    line = {"source": "gpu0:device", "destination": "gpu1:device"}
    paced = {"pace": "one-at-a-time"}
    made = []
    for size, rates in ((1024, (5.0, 1.0)), (MIB, (5.0, 50.0)), (4096, (5.0, 5.0))):
        for interface, executor, rate in (("memcpy", "cpu0", rates[0]), ("copy", "gpu0", rates[1])):
            flow = Flow.from_json({**line, "executor": executor})
            options = paced if interface == "copy" else {}
            made.append(record(Case(interface, "unidirectional", (flow,), size, "warm", options), rate))
    (chart,) = grouped("fig17", *made)
    row = next(number for number, name in enumerate(chart.y.names) if name.startswith("explicit"))
    squares = {one.label: {point.x: point.y for point in one.points} for one in chart.series}
    assert squares["memcpy"].keys() == {1024, 4096} and squares["hipMemcpy"].keys() == {MIB, 4096}
    assert squares["memcpy"][1024] == row and squares["memcpy"][4096] != squares["hipMemcpy"][4096]
    assert squares["memcpy"][4096] == pytest.approx(2 * row - squares["hipMemcpy"][4096])


def test_a_straight_line_is_drawn_through_times() -> None:
    """Catches a trend that follows the largest time alone (Fig. 14)."""
    ends = [f"{rank}/gpu{rank}:device" for rank in range(2)]
    data = {"source": ends[0], "destination": ends[0], "executor": "gpu0"}
    flow = Flow.from_json({**data, "others": [[ends[1], ends[1]]]})
    made = []
    for size in (4096, 65536, MIB):
        time_ns = 20_000 + size / 10  # 20 µs and 10 GB/s
        case = Case("xccl", "allreduce", (flow,), size, "warm", {"timing": "osu"})
        made.append(record(case, size / time_ns))
    (chart,) = grouped("fig14", *made)
    name = "RCCL, 2 APUs"
    (trend,) = (one for one in chart.series if one.group == name and one.symbol == "none")
    drawn_points = ours_of(chart, name).points
    assert [point.y for point in trend.points] == [pytest.approx(point.y, rel=1e-6) for point in drawn_points]


def test_matrices_are_ordered_as_their_pictures() -> None:
    """Catches GPU 0 above GPU 7, and the diagonal that the source leaves out."""
    outcome = compare(load("schieffer2024"), run("frontier-mi250x"))
    (published,) = exhibit(outcome, "bandwidth").matrices
    assert [row[0] for row in published.rows] == [f"gpu{number}" for number in reversed(range(8))]
    assert published.headings == ("from \\ to", *(f"gpu{number}" for number in range(8)))
    assert [row[-1 - at] for at, row in enumerate(published.rows)] == ["–"] * 8
    assert published.rows[-1][2] == "50.30"  # from GPU 0 to GPU 1


def test_ratios_of_a_matrix_say_whether_they_are_within_the_band() -> None:
    """Catches a ratio of 0.85 that reads as close."""
    made = [
        record(copy(end), rate, mean=1.0) for end, rate in (("gpu1", 50.0), ("gpu2", 38.0), ("gpu6", 43.0))
    ]
    tables = exhibit(compare(load("pearson2023"), run("crusher-mi250x", *made)), "table3").matrices
    assert [table.title for table in tables] == [
        "published, of peak",
        "measured, of peak",
        "measured over published",
    ]
    assert tables[0].headings == ("method \\ place", "quad", "dual", "single")
    assert len(tables[0].rows) == 4 and tables[2].bands[0][1:] and not tables[0].bands
    found = {word for row in tables[2].bands for word in row if word}
    assert found <= {"within", "above", "below"} and found


def test_figures_have_the_verdicts_of_claims_on_their_values() -> None:
    """Catches a strip of all claims at every figure, and a claim that is at none."""
    outcome = compare(load("pearson2023"), run("crusher-mi250x"))
    chips = {one.anchor: {chip.claim for chip in one.chips} for one in topic_of(outcome).exhibits}
    assert "table3-explicit" in chips["study-table3"] and "table3-explicit" not in chips["study-fig3a"]
    assert {chip.kind for one in topic_of(outcome).exhibits for chip in one.chips} <= {"good", "bad", "open"}
    assert len(topic_of(outcome).chips) == len(outcome.verdicts)


def test_a_terminal_has_the_tables_that_a_page_folds() -> None:
    """Catches a table that is on the page alone, or on no page."""
    made = record(copy("gpu1"), 51.0)
    topic = topic_of(compare(load("pearson2023"), run("crusher-mi250x", made)))
    inside = [table for one in topic.exhibits for table in one.tables]
    assert [table.title for table in topic.tables] == [
        "Claims",
        *(t.title for t in inside),
        "About the source",
    ]


@pytest.mark.parametrize("key", STUDIES)
@pytest.mark.parametrize(
    "words", ["warm-up", "device reset|devicereset", "cache", "repetition|stopping", "sizes|steps of"]
)
def test_a_study_says_what_it_does_otherwise(key: str, words: str) -> None:
    """Catches a reproduction whose warm-up, reset, caches, stopping or sizes differ without a word."""
    told = " ".join(load(key).differences).lower()
    assert any(word in told for word in words.split("|"))


def test_values_are_drawn_in_the_unit_of_the_source() -> None:
    """Catches GB/s under an axis of GiB/s, and a table in another unit than it says."""
    flow = Flow.from_json({"source": "0/gpu0:device", "destination": "1/gpu1:device", "executor": "gpu0"})
    made = record(Case("mpi", "unidirectional", (flow,), 64 * MIB, "warm", {"timing": "osu"}), 150.0, low=1.0)
    topic = topic_of(compare(load("herten2022"), run("jureca-mi250", made)))
    one = next(one for one in topic.exhibits if one.anchor == "study-osu-large")
    ours = next(table for table in one.matrices if table.title == "measured, GiB/s")
    assert "139.7" in {text for row in ours.rows for text in row}
    told = next(
        table for table in topic.tables if "64 MiB" in table.title and "measured, GB/s" in table.title
    )
    assert "150.0" in {text for row in told.rows for text in row}


def manifest(**changes: Any) -> dict[str, Any]:
    own = {
        "simulated": False,
        "study": {"key": "herten2022"},
        "method_version": 7,
        "suite": {"text": "a", "name": "s"},
    }
    return {**own, **changes}


def told(machine: str, **changes: Any) -> Any:
    return SimpleNamespace(**{**vars(run(machine)), "manifest": manifest(**changes)})


def test_a_study_of_one_machine_has_no_run_beside() -> None:
    """Catches a run beside that is quietly not drawn."""
    with pytest.raises(BytewaysError, match="no figure of pearson2023 draws two machines") as raised:
        check_second_run(load("pearson2023"), told("jureca-a100"), "B")
    assert raised.value.cause == "all of its places are on crusher-mi250x"


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"study": {"key": "schieffer2025"}}, "it repeats schieffer2025"),
        ({"study": None, "suite": {"name": "quick"}}, "it ran suite quick"),
    ],
)
def test_a_run_beside_is_of_the_same_study(changes: dict[str, Any], cause: str) -> None:
    """Catches values of another study beside those of this one."""
    with pytest.raises(BytewaysError, match="B is not a run of herten2022") as raised:
        check_second_run(load("herten2022"), told("jureca-a100", **changes), "B")
    assert raised.value.cause == cause


def test_a_run_beside_adds_a_machine_of_the_study() -> None:
    """Catches one machine under two names, and a third one in the place of a second."""
    study, here = load("herten2022"), run("jureca-mi250").topology
    check_machines(study, here, told("jureca-a100"), "B", simulated=False)
    for machine, gpus in (("jureca-mi250", "MI250"), ("h200-x4", "H200")):
        with pytest.raises(BytewaysError, match="B adds no machine that herten2022 compares") as raised:
            check_machines(study, here, told(machine), "B", simulated=False)
        assert raised.value.cause == f"it has {gpus}, this run MI250, and the study MI250, A100"


@pytest.mark.parametrize("simulated", [True, False])
def test_simulated_values_are_not_beside_measured_ones(simulated: bool) -> None:
    """Catches a picture in which nobody can tell what was measured."""
    beside = told("jureca-a100", simulated=not simulated)
    with pytest.raises(BytewaysError, match="simulated and measured values are not drawn in one") as raised:
        check_machines(load("herten2022"), run("jureca-mi250").topology, beside, "B", simulated=simulated)
    kinds = ("measured", "simulated") if simulated else ("simulated", "measured")
    assert raised.value.cause == f"B is {kinds[0]}, and this run is {kinds[1]}"


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"method_version": 6}, "the method of"),
        ({"suite": {"text": "b"}}, "the suite of"),
        ({"method_version": 6, "suite": {}}, "the method and the suite of"),
    ],
)
def test_runs_of_different_definitions_are_not_beside_each_other(changes: dict[str, Any], what: str) -> None:
    """Catches a difference of methods that reads as one of machines."""
    check_definitions(manifest(), manifest(), "B")
    with pytest.raises(BytewaysError, match="B measured by another definition than this run") as raised:
        check_definitions(manifest(), manifest(**changes), "B")
    assert raised.value.cause is not None and raised.value.cause.startswith(what)
