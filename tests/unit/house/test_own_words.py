"""No code reads or edits the sentences that byteways writes: programs have codes and fields, and a sentence
is worded for a simulated run when it is made.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import byteways

PACKAGE = Path(byteways.__file__).parent
#: Fields and variables that are sentences whoever has them, as an attribute `text` is; of others the declared
#: type says it.
SENTENCES = frozenset({"reason", "evidence", "engine_evidence", "title", "sentence", "detail"})
#: Methods of texts and of regular expressions that look into a text.
LOOKS = frozenset(
    {
        *("startswith", "endswith", "partition", "rpartition", "split", "removeprefix", "removesuffix"),
        *("search", "match", "fullmatch", "findall", "finditer", "sub", "subn"),
    }
)
#: Methods whose text is the same sentence.
KEEPING = frozenset({"lower", "upper", "casefold", "strip", "lstrip", "rstrip", "replace"})
#: They take the fields of today from the sentences of older runs.
OLDER_VERSIONS = frozenset({"record/version1.py", "record/version2.py"})
#: Their `text` is what somebody else wrote.
FOREIGN = {"ext/studies/comparison/fitting.py: _from": 1, "ext/audit/imported/value.py: rounding": 1}
#: Readers of other programs' outputs; the room's other files are ours.
READERS, NO_READERS = "imported/", frozenset({"cases.py", "records.py", "value.py"})
#: Says once what sentences say of several devices; no decision rests on it.
FOLDING = {"cases/folding.py: form_of": 1}


#: Packages in whose classes a field that is given words is declared a Sentence.
DECLARING = ("record/", "run/", "doctor/", "explain/", "plan/legality/")


@cache
def trees() -> dict[str, ast.Module]:
    """Returns the parsed files of the package."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8")) for path in paths}


@cache
def classes() -> dict[str, tuple[str, dict[str, str]]]:
    """Returns the file of each class, and the type of each of its fields; none for a name of several."""
    defined = [
        (file, node)
        for file, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]
    number = Counter(node.name for _, node in defined)
    return {
        node.name: (
            file,
            {
                field.target.id: ast.unparse(field.annotation)
                for field in node.body
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
            },
        )
        for file, node in defined
        if number[node.name] == 1
    }


def is_sentence(annotation: str) -> bool:
    return re.search(r"\bSentence\b", annotation) is not None


@cache
def sentences(exact: bool) -> frozenset[str]:
    """Returns the names of fields that are sentences, whoever has them.

    Args:
        exact: Leave out those that another class has and that are no sentence there.
    """
    declared: dict[str, list[str]] = {}
    for _, types in classes().values():
        for name, annotation in types.items():
            declared.setdefault(name, []).append(annotation)
    return SENTENCES | frozenset(
        name
        for name, kinds in declared.items()
        if any(map(is_sentence, kinds))
        and all(is_sentence(kind) or (not exact and kind not in ("str", "str | None")) for kind in kinds)
    )


@cache
def makers() -> frozenset[str]:
    """Returns the functions that are declared to return a sentence."""
    return frozenset(
        node.name
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.returns and is_sentence(ast.unparse(node.returns))
    )


#: Types of variables by name, as they are written: `Warning`, `Sequence[Record]`.
Types = Mapping[str, str]


def type_of(node: ast.AST, types: Types) -> str:
    """Returns the type of an expression as far as declarations tell; '' where they do not."""
    if isinstance(node, ast.Name):
        return types.get(node.id, "")
    if isinstance(node, ast.Attribute):
        _, known = classes().get(type_of(node.value, types).removesuffix(" | None"), ("", {}))
        return known.get(node.attr, "")
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        return name if name in classes() else "Sentence" if name in makers() else ""
    if isinstance(node, ast.Subscript):
        return element_of(type_of(node.value, types))
    return ""


def element_of(kind: str) -> str:
    """`Record` of `Sequence[Record]` and the like."""
    found = re.fullmatch(
        r"(?:Sequence|Iterable|Iterator|list|set|frozenset|tuple)\[([\w |]+)(?:, \.\.\.)?\]", kind
    )
    return found[1] if found else ""


def holds(node: ast.AST, types: Types, exact: bool = False) -> bool:
    """Whether an expression is a sentence: by its type, or by the name of a field of unknown owner."""
    if isinstance(node, ast.Name) and node.id in SENTENCES:
        return True
    if kind := type_of(node, types):
        return is_sentence(kind) or getattr(node, "attr", "") == "text"
    if isinstance(node, ast.Attribute):
        return (
            node.attr in (sentences(exact) if not type_of(node.value, types) else ()) or node.attr == "text"
        )
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value in sentences(exact)
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name == "get" and node.args and isinstance(node.args[0], ast.Constant):
            return node.args[0].value in sentences(exact)
        if name in KEEPING and isinstance(node.func, ast.Attribute):
            return holds(node.func.value, types, exact)
        return name == "str" and any(holds(one, types, exact) for one in node.args)
    if isinstance(node, ast.BoolOp):
        return any(holds(one, types, exact) for one in node.values)
    if isinstance(node, ast.IfExp):
        return holds(node.body, types, exact) or holds(node.orelse, types, exact)
    return False


def could_look(node: ast.AST) -> bool:
    """Whether an expression looks into a text."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr in LOOKS
    return isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn))


def looks(node: ast.AST, types: Types) -> bool:
    """Whether an expression looks into a sentence."""
    if not could_look(node):
        return False
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return any(holds(part, types) for part in (node.func.value, *node.args))
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        (within, *_) = node.comparators
        return isinstance(within, (ast.Attribute, ast.Name, ast.BoolOp)) and holds(within, types, exact=True)
    return False


def declared(function: ast.AST, owner: str, outer: Types) -> dict[str, str]:
    """Returns the types of a function's variables: declared, or of what they are given or run over."""
    types, nodes = {**outer, "self": owner}, [*ast.walk(function)]
    for node in nodes:
        if isinstance(node, ast.arg) and node.annotation:
            types[node.arg] = ast.unparse(node.annotation)
    for _ in range(2):  # what was given is given on
        for node in nodes:
            if isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.target, ast.Name):
                if kind := element_of(type_of(node.iter, types)):
                    types[node.target.id] = kind
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                types[node.target.id] = ast.unparse(node.annotation)
            elif isinstance(node, (ast.Assign, ast.NamedExpr)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                kind = "Sentence" if holds(node.value, types) else type_of(node.value, types)
                types |= {one.id: kind for one in targets if kind and isinstance(one, ast.Name)}
    return types


def places(tree: ast.AST, file: str) -> Counter[str]:
    """Returns how often each function of a file looks into a sentence, by `file: function`."""
    found: Counter[str] = Counter()

    def visit(node: ast.AST, owner: str, function: str, types: Types) -> None:
        if isinstance(node, ast.ClassDef):
            owner = node.name
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            function = node.name
            if any(could_look(one) for one in ast.walk(node)):
                types = declared(node, owner, types)
        if looks(node, types):
            found[f"{file}: {function}"] += 1
        for child in ast.iter_child_nodes(node):
            visit(child, owner, function, types)

    visit(tree, "", "module", {})
    return found


def test_no_code_reads_our_sentences() -> None:
    """Catches a new regular expression or startswith on a sentence, and a second place that folds them."""
    found: Counter[str] = Counter()
    for file, tree in trees().items():
        foreign = file.startswith(READERS) and Path(file).name not in NO_READERS
        if file not in OLDER_VERSIONS and not foreign:
            found += places(tree, file)
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
        # by the declared type of a field, of a variable's elements, of what a function returns
        "str(one['observed']).split()[1]",
        "def f(one: Warning):\n    words = str(one.advice)\n    return words.split()",
        "def f(record: Record): return [one.advice.split() for one in record.warnings]",
        "def f():\n    cases: list[Judged] = []\n    return sum(one.basis.startswith('1') for one in cases)",
        "format_bandwidth(rate).removesuffix(' GB/s')",
    )
    fine = (
        "text.startswith('#')",
        "order.split(reason.status)",
        "record.reason is None",
        "one.reason in known",
        "reason or 'none'",
        "def f(one: Diagnosis): return one.section.split()",  # a code
        "def f(one: Option): return one.advice.split()",  # another class's
    )
    assert [form for form in forms if not places(ast.parse(form), "f")] == []
    assert [form for form in fine if places(ast.parse(form), "f")] == []


def worded(node: ast.AST) -> bool:
    """Whether an expression is written as words: three of them, or a phrase with something filled in."""
    if isinstance(node, ast.JoinedStr):
        parts = [part.value for part in node.values if isinstance(part, ast.Constant)]
        return any(re.search("[a-z] |^ [a-z]", part) for part in parts if isinstance(part, str))
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.search("[a-z],? [a-z]+ [a-z]", node.value) is not None
    if isinstance(node, ast.IfExp):
        return worded(node.body) or worded(node.orelse)
    return isinstance(node, ast.BoolOp) and any(map(worded, node.values))


def given_words(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yields (`Class.field`, type) of each field of text that is given words where its class is called."""
    for node in ast.walk(tree):
        name = getattr(getattr(node, "func", None), "attr", getattr(getattr(node, "func", None), "id", ""))
        if not isinstance(node, ast.Call) or name not in classes():
            continue
        file, types = classes()[name]
        values = [
            *zip(types, node.args, strict=False),
            *((one.arg, one.value) for one in node.keywords if one.arg in types),
        ]
        for field, value in values:
            if file.startswith(DECLARING) and "[" not in types[field] and worded(value):
                yield f"{name}.{field}", types[field]


def test_a_field_of_words_is_declared_one() -> None:
    """Catches a new field that holds a sentence and that the rule above does not know: it goes by types."""
    found = {one for tree in trees().values() for one in given_words(tree)}
    plain = {name for name, kind in found if re.search(r"\bstr\b", kind)}
    assert plain <= {"_Role.options"}  # joined options of a suite: names and values, no words
    assert {name for name, kind in found if is_sentence(kind)} >= {"Diagnosis.text", "Mistake.reason"}


#: Speaks of measuring: wrong of a simulated run.
OF_MEASURING = re.compile(r"(?<![\w/.{-])measur(ed?|es|ing|ements?)(?![\w-]|\.\w)", re.IGNORECASE)
#: What prints or draws sentences on a run.
SHOWING = ("explain", "report", "console/overview.py", "cli/show", "console/node_text.py", "library.py")
#: Hints and reasons of verbs, which name the kinds of runs or say what to do: not what a run shows.
OF_VERBS = ("explain/checks/", "verdicts/two_runs/comparison.py")
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
