"""Words of comparison stand in one file, where they need a claim."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.explain.claims.wording import by_factor, difference, faster, keeps_speed, least_gain, slower

PACKAGE = Path(__file__).parents[2] / "src" / "byteways"
#: What compares in its own words what somebody else says, and the words themselves.
EXEMPT = (
    "explain/studies/",
    "explain/subjects/study.py",
    "explain/claims/wording",
    "explain/best/wording",
    "explain/two_runs/wording",
    "explain/checks/wording",
)
COMPARES = re.compile(
    r"\b(fastest|slowest|faster|slower|quicker|as fast|as slow|times as|cannot be told|no intervals?|"
    r"outperforms?|beats|wins|longer|shorter|dearest|cheapest|least energy|significant|leads with|"
    r"not decided|loses most|largest (?:loss|increase|relative)|full speed|keeps its speed|"
    r"not slowed down)\b",
    re.IGNORECASE,
)


def literals(path: Path) -> list[str]:
    """The strings of a file that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    ]


def test_only_wording_compares() -> None:
    """Catches "fastest", "twice as fast", "no intervals overlap" typed where no claim bears it out."""
    found = []
    for room in ("explain", "report", "cli"):
        for path in sorted((PACKAGE / room).rglob("*.py")):
            name = path.relative_to(PACKAGE).as_posix()
            if not name.startswith(EXEMPT):
                found += [f"{name}: {text}" for text in literals(path) if COMPARES.search(text)]
    assert found == []


def test_factors_are_told_of_claims_alone() -> None:
    """Catches "7 times" of two medians that nobody compared."""
    found = [
        path.name
        for path in sorted((PACKAGE / "explain" / "subjects").rglob("*.py"))
        if re.search(r"\btimes\(", path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_only_one_module_compares_values() -> None:
    """Catches a lead by `first.low > second.high`: intervals for one comparison, of unlike results."""
    compares = re.compile(r"\.low\s*[<>]=?\s*\w+(\.\w+)*\.high|\.high\s*[<>]=?\s*\w+(\.\w+)*\.low")
    found = [
        path.name
        for path in sorted((PACKAGE / "explain").rglob("*.py"))
        if path.name != "compare.py" and compares.search(path.read_text(encoding="utf-8"))
    ]
    assert found == []


#: Methods that edit or read a text.
EDITS = {
    "endswith",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rpartition",
    "rstrip",
    "split",
    "startswith",
    "strip",
    "sub",
}


def worded() -> set[str]:
    """The functions that return words."""
    sources = [path for path in (PACKAGE / "explain").rglob("*.py") if path.stem.startswith("wording")]
    sources.append(PACKAGE / "explain" / "claims" / "phrases.py")
    return {
        node.name
        for path in sources
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }


def edits(source: str, words: set[str]) -> list[str]:
    """The calls that edit or read what functions of these names return, or the title of something."""
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in EDITS
        and any(is_worded(part, words) for part in (node.func.value, *node.args))
    ]


def is_worded(node: ast.expr, words: set[str]) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in words
    if isinstance(node, ast.Name):
        return node.id == "title"
    return isinstance(node, ast.Attribute) and node.attr in ("title", "detail")


def test_nothing_edits_what_was_worded() -> None:
    """Catches "than" cut off a comparison, and a pattern that searches a finding's title."""
    words = worded()
    assert edits("longer(claim).removesuffix(' than')\nre.sub('#', '', one.title)", words | {"longer"}) == [
        "longer(claim).removesuffix(' than')",
        "re.sub('#', '', one.title)",
    ]
    found = {
        path.relative_to(PACKAGE).as_posix(): calls
        for path in sorted((PACKAGE / "explain").rglob("*.py"))
        if (calls := edits(path.read_text(encoding="utf-8"), words))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("leads", "trails", "said"),
    [(True, False, "10 % more"), (False, True, "50 % less"), (False, False, "no significant gain")],
)
def test_the_smallest_of_several_gains(leads: bool, trails: bool, said: str) -> None:
    """Catches a loss told as a gain."""
    low: Any = SimpleNamespace(effect=1.1, low=1.09, high=1.11, leads=leads, trails=trails, differ=True)
    low.undecided = False
    low.turned = lambda: SimpleNamespace(effect=2.0, low=1.99, high=2.01)
    high: Any = SimpleNamespace(effect=3.0)
    assert least_gain({"a": low, "b": high}) == f" Smallest gain of 2: a, {said}."
    assert least_gain({"a": low}) == ""


def test_what_keeps_its_speed_is_shown_to() -> None:
    """Catches words of equality for a claim that does not show it."""
    unequal: Any = SimpleNamespace(equal=False)
    equal: Any = SimpleNamespace(equal=True)
    assert keeps_speed([equal]) == "is not slowed down"
    for claims in ([], [unequal], [equal, unequal]):
        with pytest.raises(ValueError, match="no equality"):
            keeps_speed(claims)


def test_no_greater_time_is_faster() -> None:
    """Catches the words of rates on a claim about times, which would name the slower side the faster one."""
    claim: Any = SimpleNamespace(quantity="latency", differ=True, leads=True)
    for words in (difference, faster, slower):
        with pytest.raises(ValueError, match="claim on latency"):
            words(claim)


@pytest.mark.parametrize(
    ("effect", "said"), [(3.9, "3.9 times"), (999.0, "999 times"), (1500.0, "more than 1000 times")]
)
def test_factors_of_claims(effect: float, said: str) -> None:
    """Catches a factor with digits that nobody needs, and a bound told of small ones."""
    claim: Any = SimpleNamespace(effect=effect, low=effect * 0.9999, high=effect * 1.0001)
    assert by_factor(claim) == said
