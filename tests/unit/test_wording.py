"""Words of comparison stand in one file, where they need a claim."""

from __future__ import annotations

import ast
import re
from pathlib import Path

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
