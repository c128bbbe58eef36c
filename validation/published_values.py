"""The published values that machine models are fitted to and checked against, and which are which.

    python validation/published_values.py

prints how many values of each machine are fitted, held out and excluded. The values are in
`published/<machine>.csv` (columns: published/README.md) and, those of works that `byteways reproduce`
repeats, in src/byteways/ext/studies/published; the split is `model_split.toml` there. A whole group is on one side: values
of one source that share method, executor, access, buffers, pattern, options and environment, whatever their
size.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from byteways.ext.audit.imported.nccl_tests import PROGRAMS, operation_of
from byteways.ext.audit.imported.value import ForeignValue, Operation, Unit
from byteways.ext.studies.published import with_values
from byteways.ext.studies.published.split import EXCLUDED, FITTED, HELD_OUT, patterns
from byteways.ext.studies.published.values import (  # noqa: F401 - the words of the tables, for who imports this
    EXACTNESS,
    METHODS,
    METRICS,
    PUBLISHED_COUNTS,
    PUBLISHED_PATTERNS,
    PublishedValue,
    read_values,
    values_of_study,
)

#: Words of the tables for what a record counts.
COUNTS = {
    "one direction": "per-direction",
    "sum of both directions": "sum-of-directions",
    "bus bandwidth": "bus",
}
#: Options of a collective that leave it what ours is.
_OF_COLLECTIVES = frozenset(("program", "ranks", "processes", "library"))

FOLDER = Path(__file__).parent / "published"


class SplitError(ValueError):
    """The split does not fit the values: a group on no side or on two, or a pattern of no group."""


def machines() -> list[str]:
    """Names of the machines that have published values, in alphabetic order."""
    return sorted(
        {*(path.stem for path in FOLDER.glob("*.csv")), *(value.machine for value in _of_studies())}
    )


def load(machine: str) -> list[PublishedValue]:
    """All published values of a machine: those of studies, then those of its file, in their order.

    Raises:
        ValueError: a cell is no number or no buffer.
    """
    path = FOLDER / f"{machine}.csv"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [value for value in _of_studies() if value.machine == machine] + read_values(lines, machine)


def references() -> list[PublishedValue]:
    """What is published of machines that byteways has no model of, with the vendors' peaks of their links.

    Raises:
        ValueError: a cell is no number or no buffer.
    """
    return read_values((FOLDER.parent / "references.csv").read_text(encoding="utf-8").splitlines())


@cache
def _of_studies() -> tuple[PublishedValue, ...]:
    return tuple(value for key in with_values() for value in values_of_study(key))


def foreign(value: PublishedValue) -> ForeignValue | None:
    """Returns a published bandwidth of a copy, kernel or collective as a value; None: it is none."""
    if value.size_bytes is None or value.metric != "bandwidth" or value.counts not in COUNTS:
        return None
    if value.method in ("copy", "kernel") and value.pattern in ("unidirectional", "bidirectional"):
        operation = Operation(
            value.method, value.pattern, str(value.source), str(value.destination), value.executor
        )
    elif value.method == "xccl" and value.pattern == "collective" and value.options.keys() <= _OF_COLLECTIVES:
        pattern = PROGRAMS.get(value.options["program"])
        if pattern is None:
            return None
        operation = operation_of(pattern, int(value.options["ranks"]), in_place=False)
    else:
        return None
    return ForeignValue(
        line=None,
        test=value.source_key,
        column="",
        text=f"{value.value / 1e9:.12g}",
        unit=Unit("GB/s"),
        statistic=value.statistic or "mean",
        counts=COUNTS[value.counts],
        size_bytes=value.size_bytes,
        operation=operation,
    )


def library_of(value: PublishedValue) -> str:
    """Returns the version of NCCL or RCCL; empty: not stated."""
    return value.options.get("library", "").partition("-")[2]


def split(machine: str) -> tuple[list[PublishedValue], list[PublishedValue], list[PublishedValue]]:
    """The machine's values as (fitted, held out, excluded).

    Approximate values and second prints of a measurement are excluded whatever their group.

    Raises:
        SplitError: a group is on no side or on two, or a pattern of the split names no group.
    """
    values = load(machine)
    side_of = assign({value.group for value in values if _usable(value)}, patterns(machine))
    sides: dict[str, list[PublishedValue]] = {FITTED: [], HELD_OUT: [], EXCLUDED: []}
    for value in values:
        sides[side_of[value.group] if _usable(value) else EXCLUDED].append(value)
    return sides[FITTED], sides[HELD_OUT], sides[EXCLUDED]


def assign(groups: Iterable[str], patterns: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The side of each group by (side, shell-style pattern) pairs.

    Raises:
        SplitError: a group matches no pattern or more than one, or a pattern no group.
    """
    matches = {
        group: [entry for entry in patterns if fnmatchcase(group, entry[1])] for group in sorted(groups)
    }
    for group, found in matches.items():
        if len(found) != 1:
            raise SplitError(f"'{group}' is on {len(found)} sides: {found}")
    used = {found[0] for found in matches.values()}
    for entry in patterns:
        if entry not in used:
            raise SplitError(f"'{entry[1]}' ({entry[0]}) names no group")
    return {group: found[0][0] for group, found in matches.items()}


def _usable(value: PublishedValue) -> bool:
    return value.exactness != "approximate" and not value.same_as


def main() -> int:
    print(f"{'machine':16}{'fitted':>8}{'held out':>10}{'excluded':>10}{'groups fitted':>15}{'held out':>10}")
    for machine in machines():
        sides = split(machine)
        counts = [len(side) for side in sides]
        groups = [len({value.group for value in side}) for side in sides[:2]]
        print(f"{machine:16}{counts[0]:8}{counts[1]:10}{counts[2]:10}{groups[0]:15}{groups[1]:10}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
