"""Modules import each other in one direction: each can be imported first."""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

from rooms import parsed

SOURCE = Path(__file__).parents[3] / "src"


def name_of(file: Path) -> str:
    parts = file.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(file): file for file in (SOURCE / "byteways").rglob("*.py")}


def imports(node: ast.AST, *, late: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that run, `late` with those in functions; none for type checkers."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        elif late or not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield from imports(child, late=late)


def needed(module: str, *, late: bool = False) -> set[str]:
    """What must have been imported before a module can be, with the packages around it; `late`: to run."""
    found: set[str] = set()
    for node in imports(parsed(MODULES[module]), late=late):
        if isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (inner & MODULES.keys()) or {node.module}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    around = {name.rsplit(".", up)[0] for name in found for up in range(1, name.count(".") + 1)}
    inside = {module.rsplit(".", up)[0] for up in range(1, module.count(".") + 1)}
    return {name for name in found | around if name in MODULES} - inside - {module}


def cycle_among(graph: dict[str, set[str]]) -> list[str]:
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_each_other() -> None:
    """Catches a module that can be imported only after another one, as by chance in a whole test run."""
    assert cycle_among({module: needed(module) for module in MODULES}) == []


def test_no_modules_need_each_other() -> None:
    """Catches two modules that only work together, one of which imports the other late to hide it."""
    packages = {name for name in MODULES if any(other.startswith(f"{name}.") for other in MODULES)}
    graph = {name: needed(name, late=True) - packages for name in MODULES.keys() - packages}
    assert cycle_among(graph) == []


def test_a_cycle_is_found() -> None:
    """Catches a check that no cycle could fail."""
    assert cycle_among({"a": {"b"}, "b": {"a"}}) != []
    assert "byteways.questions.subjects.faults" in needed("byteways.questions.subjects")
