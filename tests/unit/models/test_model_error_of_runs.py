"""The error of a machine model is that of the categories which a run has."""

from __future__ import annotations

import pytest

from byteways.answers.results.model_error import NOT_CHECKED, categories_of, model_error
from byteways.cases.error_categories import ERROR_CATEGORIES, error_category
from byteways.cases.interfaces import INTERFACES
from byteways.models import load

FIT = {"categories": {"copies": {"values": 3, "median_error": 0.007, "p90_error": 0.02}}}


@pytest.mark.parametrize("interface", INTERFACES)
def test_every_interface_has_a_category(interface: str) -> None:
    """Catches a new interface whose errors nobody shows."""
    for executor in INTERFACES[interface].kernels:
        assert error_category(interface, f"{executor}0") in ERROR_CATEGORIES


def test_errors_of_copies_are_not_those_of_messages() -> None:
    """Catches the error of one category shown for a run of another, and one that nobody checked left out."""
    assert "0.7 %" in model_error(FIT, ["copies"])
    assert NOT_CHECKED not in model_error(FIT, ["copies"])
    assert model_error(FIT, ["MPI", "latencies"]) == f"MPI, latencies: {NOT_CHECKED}"
    both = model_error(FIT, ["copies", "MPI"])
    assert both.startswith("copies: median error 0.7 %") and both.endswith(f"MPI: {NOT_CHECKED}")
    assert model_error(None, ["copies"]) == f"copies: {NOT_CHECKED}"


def test_a_shipped_model_has_errors_by_category() -> None:
    """Catches files whose errors were not written by category."""
    fit = load("mi300x-8").fit
    assert fit is not None and {"kernels", "NCCL and RCCL"} <= fit.categories.keys()
    assert categories_of([]) == ()
