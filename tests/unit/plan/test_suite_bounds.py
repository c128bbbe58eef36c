"""Bounds of every number of a suite, of its text, and of how many cases it may have."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from byteways.base.errors import BytewaysError
from byteways.base.toml_bounds import MOST_DEPTH, MOST_DIGITS, MOST_PARTS, excess
from byteways.plan.bounds import MOST_PLANNED_CASES, choices, within
from byteways.plan.suite import parse

ENDS = 'source = "cpu*:pageable"\ndestination = "cpu*:pageable"\n'
SWEEP = f'name = "s"\ninterface = "memcpy"\n{ENDS}size = "1MiB"\n'


def suite(head: str = "", sweep: str = "") -> Any:
    return parse(f'name = "mine"\ntitle = "Mine"\n{head}\n[[sweep]]\n{SWEEP}{sweep}\n', file="my.toml")


@pytest.mark.parametrize(
    ("place", "key", "least", "most", "step", "default"),
    [
        ("head", "precision", 1e-4, 0.5, 1e-5, 0.01),
        ("head", "case_budget_s", 0.001, 3600, 1e-4, 1.0),
        ("head", "budget_s", 1, 86400, 0.1, None),
        ("head", "rounds", 1, 100, 1, 3),
        ("sweep", "precision", 1e-4, 0.5, 1e-5, 0.01),
        ("sweep", "case_budget_s", 0.001, 3600, 1e-4, 1.0),
        ("sweep", "priority", 0, 9, 1, 5),
    ],
)
def test_bounds_of_numbers(
    place: str, key: str, least: float, most: float, step: float, default: float | None
) -> None:
    """Catches a value beyond what was thought of, one refused at its bound, and another default."""

    def value(text: str) -> Any:
        found = suite(**{place: text})
        return getattr(found if place == "head" else found.sweeps[0], key)

    assert value("") == default
    for good in (least, most):
        assert value(f"{key} = {good}") == good
    for bad in (least - step, most + step):
        with pytest.raises(BytewaysError, match=f"key '{key}': .* is out of range"):
            value(f"{key} = {bad}")


def test_sweeps_inherit_from_their_suite() -> None:
    """Catches a precision or time of the suite that its sweeps do not have."""
    found = suite("precision = 0.2\ncase_budget_s = 7").sweeps[0]
    assert (found.precision, found.case_budget_s) == (0.2, 7.0)
    own = suite("precision = 0.2\ncase_budget_s = 7", "precision = 0.3\ncase_budget_s = 8").sweeps[0]
    assert (own.precision, own.case_budget_s) == (0.3, 8.0)


def nested(depth: int) -> str:
    return "a = " + "[" * depth + "]" * depth


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (nested(MOST_DEPTH), None),
        (nested(MOST_DEPTH + 1), (1, f"brackets nested more than {MOST_DEPTH} deep")),
        ("]" * 9 + nested(MOST_DEPTH), None),
        ("[" + "[]" * 5 + "[" * MOST_DEPTH, (1, f"brackets nested more than {MOST_DEPTH} deep")),
        ("x = 1\n" + nested(MOST_DEPTH + 1), (2, f"brackets nested more than {MOST_DEPTH} deep")),
        (f"a = '{nested(99)}'", None),
        (f"# {nested(99)}", None),
        (".".join("a" * MOST_PARTS), None),
        (".".join("a" * (MOST_PARTS + 1)), (1, f"a key of more than {MOST_PARTS} parts")),
        ("\n\n" + " . ".join(["a-b"] * (MOST_PARTS + 1)), (3, f"a key of more than {MOST_PARTS} parts")),
        ("\n".join("a" * 99), None),
        (f"a = {'1' * MOST_DIGITS}", None),
        (f"a = {'1' * (MOST_DIGITS + 1)}", (1, f"a number of more than {MOST_DIGITS} digits")),
        (f"a = 0x{'f' * MOST_DIGITS}", (1, f"a number of more than {MOST_DIGITS} digits")),
        (f"a = 1\nb = {'1_' * 30}1", (2, f"a number of more than {MOST_DIGITS} digits")),
        (f"a = '{'1' * 99}'", None),
        (f'a = """\n\n{"1" * 99}"""\nb = {"1" * 99}', (4, f"a number of more than {MOST_DIGITS} digits")),
        (f"a{'1' * 99} = 1", None),
    ],
    ids=[f"text {number}" for number in range(18)],
)
def test_texts_that_take_no_parser(text: str, found: tuple[int, str] | None) -> None:
    """Catches a short text that takes gigabytes, one refused that is plain, and a wrong line."""
    assert excess(text) == found


def test_bounds_are_told_by_file_and_line() -> None:
    """Catches a message that leaves the place to be searched for."""
    with pytest.raises(BytewaysError, match=r"my\.toml"):
        parse(f"\n{nested(99)}", file="my.toml")


def test_how_many_cases_there_may_be() -> None:
    """Catches a plan that takes days, and one refused at the limit."""
    within(MOST_PLANNED_CASES, "it")
    within(5, "it", 5)
    with pytest.raises(BytewaysError, match="it has 100,001 cases, more than 100,000"):
        within(MOST_PLANNED_CASES + 1, "it")
    with pytest.raises(BytewaysError, match="it has 6 cases, more than 5"):
        within(6, "it", 5)


def test_how_many_cases_a_set_of_flows_has() -> None:
    """Catches an axis that is not counted, and an empty one that counts as no case."""
    axes: dict[str, Any] = {
        "sizes": (1, 2),
        "caches": ("cold", "warm", "x"),
        "options": {"a": (1, 2), "b": ()},
        "environment": {"A": ("1", "2", "3")},
        "beside_interfaces": ("copy", "kernel"),
        "beside_sizes": (),
        "beside_options": {"c": (1, 2, 3, 4, 5)},
    }
    sweep: Any = SimpleNamespace(**axes)
    assert choices(sweep) == 2 * 3 * 2 * 3 * 2 * 5
    sweep.beside_sizes = (1, 2, 3)
    assert choices(sweep) == 2 * 3 * 2 * 3 * 2 * 3 * 5
