"""No code reads or edits the sentences that byteways writes: programs have codes and fields, and a sentence
is worded for a simulated run when it is made.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import byteways

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
FOREIGN = {"explain/studies/fitting.py: _from": 1, "imported/value.py: rounding": 1}
#: Readers of other programs' outputs; the room's other files are ours.
READERS, NO_READERS = "imported/", frozenset({"cases.py", "records.py", "value.py"})
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


def places(source: str, file: str) -> Counter[str]:
    """Returns how often each function of a file looks into a sentence, by `file: function`."""
    found: Counter[str] = Counter()

    def visit(node: ast.AST, function: str) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            function = node.name
        if looks(node):
            found[f"{file}: {function}"] += 1
        for child in ast.iter_child_nodes(node):
            visit(child, function)

    visit(ast.parse(source), "module")
    return found


def test_no_code_reads_our_sentences() -> None:
    """Catches a new regular expression or startswith on a sentence, and a second place that folds them."""
    found: Counter[str] = Counter()
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE).as_posix()
        foreign = file.startswith(READERS) and path.name not in NO_READERS
        if file not in OLDER_VERSIONS and not foreign:
            found += places(path.read_text(encoding="utf-8"), file)
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
    assert [form for form in forms if not places(form, "f")] == []
    assert [form for form in fine if places(form, "f")] == []


#: Speaks of measuring: wrong of a simulated run.
OF_MEASURING = re.compile(r"(?<![\w/.{-])measur(ed?|es|ing|ements?)(?![\w-]|\.\w)", re.IGNORECASE)
#: What prints or draws sentences on a run.
SHOWING = ("explain", "report", "cli/overview.py", "cli/show", "cli/node_text.py", "library.py")
#: Hints and reasons of verbs, which name the kinds of runs or say what to do: not what a run shows.
OF_VERBS = ("explain/checks/", "explain/two_runs/comparison.py")
#: Fields of a record, or of what follows from one, whose text the measuring code writes.
RECORDED = frozenset({"reason", "advice", "peak_source", "engine_evidence", "why_left_out", "told"})


def speaking(source: str, file: str) -> Iterator[str]:
    """Yields words on measuring in the texts of a file but errors and docstrings, after `file: function`."""

    def visit(node: ast.AST, function: str) -> Iterator[str]:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            function = node.name
        if isinstance(node, ast.Raise) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            return
        text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
        if text != "measured" and (match := OF_MEASURING.search(text)):  # alone it is a status
            yield f"{file}: {function}: {match[0]}"
        for child in ast.iter_child_nodes(node):
            yield from visit(child, function)

    yield from visit(ast.parse(source), "module")


def edited(source: str) -> Iterator[str]:
    """Yields the calls of a voice's quote(), which replaces words, on anything but a recorded text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "quote":
            used = {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
            used |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
            formatted = any(isinstance(one, ast.JoinedStr) for one in ast.walk(node))
            if "shlex" not in used and (formatted or not used & RECORDED):
                yield ast.unparse(node)


def test_a_voice_goes_in_when_a_sentence_is_made() -> None:
    """Catches "measured" in a sentence on any run, and words replaced in one that byteways made."""
    found, quoted = [], []
    for path in sorted(PACKAGE.rglob("*.py")):
        file, source = path.relative_to(PACKAGE).as_posix(), path.read_text(encoding="utf-8")
        if file.startswith(SHOWING) and not file.startswith(OF_VERBS):
            found += list(speaking(source, file))
        if "quote(" in source and "from shlex import quote" not in source:
            quoted += [f"{file}: {call}" for call in edited(source)]
    assert found == [] and quoted == []


def test_the_rule_of_the_voice_sees_each_form() -> None:
    """Catches a rule that finds nothing because it no longer knows how sentences are made."""
    assert list(speaking("def f(n): return f'{n} cases measured'", "x.py")) == ["x.py: f: measured"]
    fine = (
        "status == 'measured'",
        "raise Error('measure it')",
        "'Not measured.'",
        "x = 'measurements.jsonl'",
    )
    assert [one for one in fine if list(speaking(one, "x.py"))] == []
    assert list(edited("voice.quote(f'{n} measured')")) and list(edited("quote(summary(run))"))
    assert not list(edited("voice.quote(record.reason or 'none')"))
