"""Every error message of the package, read from its source: what follows `error:` and `hint:`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from packages import parsed

PACKAGE = Path(__file__).parents[1] / "src" / "byteways"
#: What makes an error, by name: the form of the message, and which arguments are message and hint.
FORMS = {
    **dict.fromkeys(("BytewaysError", "BudgetError", "NoCaseError"), ("{}", 0, None)),
    **dict.fromkeys(("unusable", "not_read"), ("{}", 0, 2)),
    "cannot_write": ("cannot write …", 0, 2),
    "checked_call": ("{}", 0, None),  # CopyLibrary.checked_call(what, function, …)
    "TomlValueError": ("…: {}", 0, 1),
    "fail": ("…: {}", 1, 2),  # TomlPlace.fail(key, problem, hint)
}
#: Stands for a hint that is put together where the error arises.
MADE_THERE = "The hint lists the valid words."
#: For mistakes in a file that say themselves what is wrong.
THERE = "Correct the line that the message names."


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
        if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Name, ast.Attribute)):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        form, message, place = FORMS.get(name, ("", 0, None))
        if not form or len(node.args) <= message:
            continue
        given = [keyword.value for keyword in node.keywords if keyword.arg == "hint"]
        given += node.args[place : place + 1] if place is not None else []
        hints = [hint for value in given for hint in templates(value, scope, module) or [MADE_THERE]]
        if not hints and form.startswith("…"):
            hints = [THERE]
        for text in templates(node.args[message], scope, module) if "{}" in form else [""]:
            yield form.format(text), hints


def error_messages() -> dict[str, list[str]]:
    """Hints by message, for messages with words of their own; sorted by message, without regard to case."""
    found: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = parsed(path)
        functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
        for function in functions:
            for message, hints in errors_in(function, tree):
                known = found.setdefault(message, [])
                known.extend(hint for hint in hints if hint not in known)
    worded = {message: hints for message, hints in found.items() if message.strip("… ,:'")}
    return dict(sorted(worded.items(), key=lambda item: item[0].lower().lstrip("… '")))
