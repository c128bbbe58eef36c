"""The errors of the machine models: what would flatter a model, and figures in the files that went stale."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import message_figures
import model_error
import published_values as published
import simulated_messages
import simulated_programs
from byteways.models import load
from byteways.models.model import CategoryError, Fit
from message_figures import Messages
from model_error import Prediction

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "machine-models.md"


@cache
def found(machine: str) -> tuple[model_error.Figures, list[Prediction]]:
    """What the program finds, once for all tests."""
    predictions = model_error.predict(load(machine))
    return model_error.figures_of(machine, predictions), predictions


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
