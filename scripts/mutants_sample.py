"""Mutants of the sources, drawn at random: cosmic-ray's operators, less those that no test can tell."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import cosmic_ray.plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.work_item import MutationSpec

from mutants_unseen import Place, is_unseen

#: Left out: `==` instead of `is` and the like give the same for None, literals and enums.
SAME = ("Operator_Is_", "Operator_IsNot_")
SAME_TO = ("_Is", "_IsNot")
KEPT = ("core/ReplaceComparisonOperator_Is_IsNot", "core/ReplaceComparisonOperator_IsNot_Is")


@dataclass(frozen=True, eq=False)
class Mutant:
    """One change of one file.

    Attributes:
        folder: The part of byteways that it is counted in.
        spec: Where and how, as cosmic-ray wants it.
        before: Source lines that the change is in, without indentation.
        after: What becomes of them.
        lines: Their numbers.
    """

    folder: str
    spec: Any
    before: str
    after: str
    lines: tuple[int, ...]


def operators() -> dict[str, Any]:
    """Operators of cosmic-ray that need no configuration, by name."""
    found = {}
    for name in sorted(cosmic_ray.plugins.operator_names()):
        operator = cosmic_ray.plugins.get_operator(name)
        identity = any(part in name for part in SAME) or name.endswith(SAME_TO)
        if name == "core/NoOp" or operator.arguments() or (identity and name not in KEPT):
            continue
        found[name] = operator()
    return found


def annotated(source: str) -> list[tuple[Place, Place]]:
    """Where annotations are: nothing evaluates them (`from __future__ import annotations`)."""
    parts: list[ast.expr | None] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.AnnAssign, ast.arg)):
            parts.append(node.annotation)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            parts.append(node.returns)
    return [
        ((part.lineno, part.col_offset), (part.end_lineno or part.lineno, part.end_col_offset or 0))
        for part in parts
        if part is not None
    ]


def mutants(file: Path, folder: str, draw: random.Random) -> Iterator[Mutant]:
    """Mutants of a file in random order: one for each place, its operator drawn among those that apply."""
    source = file.read_text(encoding="utf-8")
    texts = annotated(source)
    nodes = list(ast_nodes(get_ast(source)))
    found: dict[tuple[Place, Place], list[tuple[str, Any, int]]] = {}
    for name, operator in operators().items():
        positions = (place for node in nodes for place in operator.mutation_positions(node))
        for occurrence, (start, end) in enumerate(positions):
            if not any(first <= start and end <= last for first, last in texts):
                found.setdefault((start, end), []).append((name, operator, occurrence))
    places = sorted(found)
    draw.shuffle(places)
    for start, end in places:
        name, operator, occurrence = draw.choice(found[start, end])
        try:
            after = mutate_code(source, operator, occurrence)
        except AttributeError:  # cosmic-ray 8.7 cannot replace exceptions with dots in their names
            continue
        if after and not is_unseen(source, start, name, after) and _runs_differently(source, after):
            yield Mutant(
                folder,
                MutationSpec(file, name, occurrence, start, end),
                _lines(source, start, end),
                _lines(after, start, end),
                tuple(range(start[0], end[0] + 1)),
            )


def _lines(source: str, start: Place, end: Place) -> str:
    return " ".join(line.strip() for line in source.splitlines()[start[0] - 1 : end[0]])


def _runs_differently(before: str, after: str) -> bool:
    try:
        return ast.dump(ast.parse(before)) != ast.dump(ast.parse(after))
    except SyntaxError:  # no program: nothing to test
        return False


def sample(folders: Mapping[str, Sequence[Path]], count: int, seed: int) -> list[Mutant]:
    """The same mutants for the same sources and seed, folder by folder.

    Args:
        folders: Files by the name of their folder.
        count: How many of each folder.
        seed: Of the generator.
    """
    draw = random.Random(seed)
    found: list[Mutant] = []
    for folder, files in folders.items():
        # Only some files are read, as that takes a second each: drawn by size, as places would be.
        weights = [file.stat().st_size for file in files]
        chosen = draw.choices(range(len(files)), weights, k=count)
        for index in sorted(set(chosen)):
            found += islice(mutants(files[index], folder, draw), chosen.count(index))
    draw.shuffle(found)  # so that what a time limit cuts off is a sample, too
    return found
