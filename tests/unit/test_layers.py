"""Which package may import which: lower layers know nothing of those above them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src/byteways"
#: What a layer never imports.
ABOVE = {
    "topology": {"plan", "simulate", "record", "run", "explain", "report", "doctor", "cli"},
    "plan": {"simulate", "record", "run", "explain", "report", "doctor", "cli"},
    "record": {"run", "explain", "report", "doctor", "cli"},
    "run": {"explain", "report", "doctor", "cli"},
    "explain": {"run", "report", "doctor", "cli"},
    "report": {"run", "doctor", "cli"},
}


def imported(file: Path) -> set[str]:
    """Packages of byteways that a file imports anywhere."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        found |= {name.split(".")[1] for name in names if name.startswith("byteways.")}
    return found


@pytest.mark.parametrize("layer", ABOVE)
def test_no_layer_imports_one_above_it(layer: str) -> None:
    """Catches a worker that needs the analysis to put a record together, and the like."""
    wrong = {
        file.name: names
        for file in (SOURCE / layer).rglob("*.py")
        if (names := imported(file) & ABOVE[layer])
    }
    assert wrong == {}
