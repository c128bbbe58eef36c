"""The errors of the machine models: what would flatter a model, and figures in the files that went stale."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path

import pytest

import message_figures
import model_error
import published_values as published
import simulated_messages
import simulated_programs
from byteways.cases.case import Buffer
from byteways.models import load
from byteways.models.model import CategoryError, Fit
from message_figures import Messages
from model_error import Prediction

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "machine-models.md"
DEVICE = Buffer.parse("gpu0:device")
VALUE = dataclasses.replace(
    published.load("frontier-mi250x")[0], metric="bandwidth", value=100e9, source=DEVICE, destination=DEVICE
)
MANAGED = Buffer.parse("gpu0:managed")


def prediction(predicted: float = 100e9, side: str = published.HELD_OUT, **changes: object) -> Prediction:
    value = dataclasses.replace(VALUE, **{"size_bytes": 2**30, "method": "copy", **changes})  # type: ignore[arg-type]
    return Prediction(value, side, predicted, "a family")


@cache
def found(machine: str) -> tuple[model_error.Figures, list[Prediction]]:
    """What the program finds, once for all tests."""
    predictions = model_error.predict(load(machine))
    return model_error.figures_of(machine, predictions), predictions


def test_errors_are_by_category() -> None:
    """Catches errors of copies that pass for those of messages, and values that count in no category."""
    predictions = [
        prediction(101e9),
        prediction(103e9),
        prediction(110e9, method="kernel"),
        prediction(150e9, method="mpi"),
        prediction(200e9, size_bytes=4096),
        prediction(200e9, side=published.FITTED),
    ]
    found = model_error.by_category(predictions)
    assert {name: (one["values"], one["median_error"]) for name, one in found.items()} == {
        "copies": (2, 0.02),
        "kernels": (1, 0.1),
        "MPI": (1, 0.5),
    }


@cache
def messages() -> list[Messages]:
    return message_figures.of_machines([(load(name), found(name)[1]) for name in published.machines()])


@pytest.mark.parametrize("machine", published.machines())
def test_fit_in_the_machine_file_is_what_the_program_finds(machine: str) -> None:
    """Would catch errors in a machine file that are not those of the model as it is now."""
    figures, _ = found(machine)
    errors = [None if e is None else round(e, 4) for e in (figures.median_error, figures.p90_error)]
    categories = {name: CategoryError(**one) for name, one in figures.categories.items()}  # type: ignore[arg-type]
    assert load(machine).fit == Fit(figures.fitted_values, figures.with_aim, *errors, categories)


def test_page_shows_what_the_program_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """Catches errors on the page that are those of an older model."""
    results = [found(machine) for machine in published.machines()]
    for figures, predictions in results:
        model_error.print_families(figures.machine, predictions, held_out_only=True)
    model_error.print_summary([figures for figures, _ in results])
    message_figures.print_table(messages())
    assert f"```text\n{capsys.readouterr().out.strip()}\n```" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("machine", published.machines())
def test_every_checked_value_has_a_program_and_its_environment(machine: str) -> None:
    """Would catch a published value that is compared without its settings."""
    fitted, held_out, _ = published.split(machine)
    for value in [*fitted, *held_out]:
        operation = simulated_programs.operation_of(value)
        assert operation.program in simulated_programs.PROGRAMS
        assert operation.environment.items() >= value.environment.items()
        if operation.program == "messages":
            assert operation.message in simulated_messages.PROGRAMS and operation.ranks > 1
            continue
        flows = {"unidirectional": 1, "bidirectional": 2, "all-pairs": 56}[value.pattern]
        assert len(operation.flows) == flows


def test_an_error_counts_in_both_directions_and_only_where_there_is_an_aim() -> None:
    """Would catch errors that cancel, and values without an aim that fail the check."""
    figures = model_error.figures_of(
        "crusher-mi250x",
        [
            prediction(98e9),
            prediction(104e9),
            prediction(90e9, size_bytes=2**19),
            prediction(10e9, source=MANAGED, destination=MANAGED),
            prediction(10e9, method="prefetch"),
            prediction(1e3, metric="time"),
            prediction(10e9, side=published.FITTED),
        ],
    )
    assert (figures.fitted_values, figures.held_out_values, figures.with_aim) == (1, 6, 2)
    assert figures.median_error == pytest.approx(0.03)
    assert figures.p90_error == pytest.approx(0.038)
    assert figures.good and not figures.missed


def test_many_equal_pairs_do_not_hide_a_family_that_is_far_off() -> None:
    """Would catch a large error of few values hidden by many values of one family."""
    good = [dataclasses.replace(prediction(), family="pairs") for _ in range(56)]
    bad = dataclasses.replace(prediction(50e9), family="own memory")
    figures = model_error.figures_of("crusher-mi250x", [*good, bad])
    assert figures.good
    assert figures.family_median_error == pytest.approx(0.25)
    assert figures.missed == ("own memory",)


def test_a_model_beyond_an_aim_is_not_good_and_one_without_values_is() -> None:
    """Would catch a poor model called good, and one without published values called poor."""
    assert not model_error.figures_of("crusher-mi250x", [prediction(94e9)]).good
    assert model_error.figures_of("crusher-mi250x", []).good


def test_messages_stay_near_their_aims_with_few_numbers() -> None:
    """Would catch a simulated MPI or RCCL that moves away from what was published, and a model that has a
    number for every few values.
    """
    assert [one.machine for one in messages()] == ["elcap-mi300a", "frontier-mi250x", "mi300x-8", "all"]
    assert message_figures.missed(messages()) == ["time_median"]
    assert (messages()[-1].time_median or 1) <= 0.14  # what the models reach
    assert messages()[-1].bandwidths >= 50 and messages()[-1].times >= 34
    for one in messages():
        assert 0 < one.numbers * message_figures.VALUES_FOR_A_NUMBER <= one.fitted_values, one.machine


def test_few_times_that_are_far_off_show_in_the_percentile() -> None:
    """Catches times far off that the median hides, and fitted ones or bandwidths that count among them."""
    message = {"method": "mpi", "options": {"program": "osu_latency"}}
    seen = [prediction(101e9, metric="time", **message) for _ in range(8)]
    seen += [prediction(250e9, metric="time", **message) for _ in range(2)]
    seen += [prediction(900e9, **message), prediction(900e9, published.FITTED, metric="time", **message)]
    figures = message_figures.of_machines([(load("crusher-mi250x"), seen)])[-1]
    assert (figures.times, figures.time_median) == (10, pytest.approx(0.01))
    assert figures.time_p90 == pytest.approx(1.5)


def test_a_message_is_no_copy_and_a_copy_no_message() -> None:
    """Would catch figures of copies that messages flatter, or the reverse, and aims that nobody looks at."""
    message = {"method": "mpi", "options": {"program": "osu_bw"}}
    seen = [prediction(70e9, **message), prediction(74e9, **message), prediction(100e9)]
    assert model_error.figures_of("crusher-mi250x", seen).with_aim == 1
    (one, every) = message_figures.of_machines([(load("crusher-mi250x"), seen)])
    assert (one.bandwidths, one.times, every.machine) == (2, 0, "all")
    assert one.bandwidth_median == pytest.approx(0.28) and not message_figures.good([one, every])
    assert not message_figures.of_machines([(load("crusher-mi250x"), [prediction()])])


@pytest.mark.parametrize(
    ("counts", "method", "flows", "wanted"),
    [
        ("one direction", "copy", [1.0], 1e9),
        ("read+write", "copy", [1.0], 2e9),
        ("read+write", "stream-triad", [1.0], 3e9),
        ("sum of both directions", "kernel", [1.0, 2.0], 1.5e9),
    ],
)
def test_bytes_count_as_the_source_counts_them(
    counts: str, method: str, flows: list[float], wanted: float
) -> None:
    """Would catch a prediction in other units than the published value."""
    value = prediction(counts=counts, method=method, size_bytes=1).value
    assert simulated_programs.figure(value, flows) == pytest.approx(wanted)
    assert simulated_programs.figure(dataclasses.replace(value, metric="time"), [7.0]) == 7.0
