"""No code reads the sentences that byteways writes: what programs need of them are codes and fields."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import byteways
from rooms import parsed

PACKAGE = Path(byteways.__file__).parent
#: Names of sentences. `text` is one as an attribute; a variable of that name may hold anything.
SENTENCES = frozenset({"reason", "evidence", "engine_evidence", "title", "sentence", "detail"})
#: Methods of texts and of regular expressions that look into a text.
LOOKS = frozenset(
    {
        *("startswith", "endswith", "partition", "rpartition", "split", "removeprefix", "removesuffix"),
        *("search", "match", "fullmatch", "findall", "finditer", "sub", "subn"),
    }
)
#: They take the fields of today from the sentences of older runs.
OLDER_VERSIONS = frozenset({"record/version1.py", "record/version2.py"})
#: Their `text` is what somebody else wrote.
FOREIGN = {"explain/studies/fitting.py: _from": 1}
#: Says once what sentences say of several devices; no decision rests on it.
FOLDING = {"plan/folding.py: form_of": 1}


def names_in(tree: ast.AST) -> Iterator[str]:
    """Yields the names of sentences that an expression uses: variables, attributes, keys."""
    owners = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in SENTENCES | {"text"}:
            yield node.attr
        elif id(node) in owners and isinstance(node, ast.Name):
            continue  # `reason.status`: not the sentence itself
        elif isinstance(node, ast.Name) and node.id in SENTENCES:
            yield node.id
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            yield from SENTENCES & {node.slice.value}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            yield from SENTENCES & {one.value for one in node.args[:1] if isinstance(one, ast.Constant)}


def looks(node: ast.AST) -> bool:
    """Whether an expression looks into a sentence."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LOOKS:
        return any(any(names_in(part)) for part in (node.func.value, *node.args))
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        (within, *_) = node.comparators
        return isinstance(within, (ast.Attribute, ast.Name, ast.BoolOp)) and any(names_in(within))
    return False


def places(tree: ast.Module, file: str) -> Counter[str]:
    """Returns how often each function of a file looks into a sentence, by `file: function`."""
    found: Counter[str] = Counter()

    def visit(node: ast.AST, function: str) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            function = node.name
        if looks(node):
            found[f"{file}: {function}"] += 1
        for child in ast.iter_child_nodes(node):
            visit(child, function)

    visit(tree, "module")
    return found


def test_no_code_reads_our_sentences() -> None:
    """Catches a new regular expression or startswith on a sentence, and a second place that folds them."""
    found: Counter[str] = Counter()
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE).as_posix()
        if file not in OLDER_VERSIONS:
            found += places(parsed(path), file)
    assert dict(found) == FOREIGN | FOLDING


def test_the_rule_sees_each_form() -> None:
    """Catches a rule that finds nothing because it no longer knows how sentences are looked into."""
    forms = (
        "(record.reason or '').startswith('left out')",
        "_WINDOW.search(record.engine_evidence)",
        "re.sub('a', 'b', finding.title)",
        "'warning' in finding.title",
        "reason.partition(';')[0]",
        "outcome['reason'].split()",
        "(outcome.get('reason') or '').endswith('.')",
        "claim.text.removeprefix('x')",
    )
    fine = (
        "text.startswith('#')",
        "order.split(reason.status)",
        "record.reason is None",
        "one.reason in known",
        "reason or 'none'",
    )
    assert [form for form in forms if not places(ast.parse(form), "f")] == []
    assert [form for form in fine if places(ast.parse(form), "f")] == []
