"""Every error message of the package, read from its source: what follows `error:` and `hint:`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "byteways"
ERRORS = {"BytewaysError", "BudgetError", "NoCaseError"}
#: Functions of system_errors.py that make one: the message from the first argument, the hint in the third.
OF_SYSTEM = {"unusable": "{}", "not_read": "{}", "cannot_write": "cannot write …"}
#: Stands for a hint that is put together where the error arises.
MADE_THERE = "The hint lists the valid words."


def templates(node: ast.expr | None, scope: ast.AST, module: ast.Module) -> list[str]:
    """The texts an expression may be, with … for what is filled in.

    Names are looked up in their function, and then among the constants of the module.
    """
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        return ["".join(str(part) for part in parts)]
    if isinstance(node, ast.IfExp):
        return templates(node.body, scope, module) + templates(node.orelse, scope, module)
    if isinstance(node, ast.BoolOp):
        return [text for value in node.values for text in templates(value, scope, module)]
    if isinstance(node, ast.Name):
        assigned = _assigned(node.id, ast.walk(scope)) or _assigned(node.id, module.body)
        return [text for value in assigned for text in templates(value, scope, module)]
    return []


def _assigned(name: str, statements: Iterable[ast.AST]) -> list[ast.expr]:
    return [
        statement.value
        for statement in statements
        if isinstance(statement, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == name for target in statement.targets)
    ]


def errors_in(scope: ast.AST, module: ast.Module) -> Iterator[tuple[str, list[str]]]:
    """(message, hints) of every error that is made in a function."""
    for node in ast.walk(scope):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {*ERRORS, *OF_SYSTEM}
            and node.args
        ):
            hint = next((keyword.value for keyword in node.keywords if keyword.arg == "hint"), None)
            form = OF_SYSTEM.get(node.func.id, "{}")
            if node.func.id in OF_SYSTEM:
                hint = node.args[2] if len(node.args) > 2 else None
            hints = templates(hint, scope, module) or ([MADE_THERE] if hint is not None else [])
            for message in templates(node.args[0], scope, module) if "{}" in form else [""]:
                yield form.format(message), hints


def error_messages() -> dict[str, list[str]]:
    """Hints by message, for messages with words of their own; sorted by message, without regard to case."""
    found: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
        for function in functions:
            for message, hints in errors_in(function, tree):
                known = found.setdefault(message, [])
                known.extend(hint for hint in hints if hint not in known)
    worded = {message: hints for message, hints in found.items() if message.strip("… ,:'")}
    return dict(sorted(worded.items(), key=lambda item: item[0].lower().lstrip("… '")))
