"""The error for filters that select no case: which keys match nothing, the values there are, and the suites
that have what is asked for.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from fnmatch import fnmatchcase

from byteways.base.errors import BytewaysError
from byteways.base.units import format_size
from byteways.cases.case import Case
from byteways.cases.interfaces import INTERFACES, OPTIONS
from byteways.machine.model import Topology
from byteways.plan.filter_keys import VARIABLE, values_of
from byteways.plan.filters import condition, pairs_of
from byteways.plan.suite_types import Sweep

#: Maximum number of values that a message suggests, closest first.
HINTED = 6

#: Cases with the sweep that requested each.
Cases = Sequence[tuple[Case, str]]


def nothing_matches(
    cases: Cases,
    only: Sequence[str],
    sizes: str | None,
    topology: Topology | None = None,
    suite: str = "",
) -> BytewaysError:
    """Returns the error for filters that match nothing.

    Args:
        cases: What there is, of a suite or a run.
        only: The `--only` filters.
        sizes: `--size`.
        topology: The machine, where identifiers of devices are looked up.
        suite: The name of the suite; empty: the cases are those of a run.
    """
    filters = " or ".join(f"--only '{text}'" for text in only)
    filters += (" and " if only and sizes else "") + (f"--size {sizes}" if sizes else "")
    of_what = f"suite '{suite}'" if suite else "this run"
    causes: list[str] = []
    hints: list[str] = []
    sizes_named = False
    for text in only:
        pairs = pairs_of(text, topology)
        lacking = [pair for pair in pairs if not _having(cases, text, [pair])]
        if lacking:
            causes.append(
                f"no case of {of_what} has {' or '.join(f'{key}={value}' for key, value in lacking)}"
            )
        elif not _having(cases, text, pairs):
            causes.append(
                f"no case of {of_what} has {', '.join(f'{key}={value}' for key, value in pairs)} at once"
            )
        hints += [_values(cases, text, pairs, pair) for pair in lacking or pairs]
        sizes_named |= any(key == "size" for key, _ in lacking or pairs)
        if elsewhere := _elsewhere(text, pairs, suite):
            hints.append(elsewhere)
    if sizes and not sizes_named:
        hints.append(_size_hint(cases))
        if suite == "quick":
            hints.append(f"more sizes: byteways run full --size {sizes}")
    return BytewaysError(
        f"no case matches {filters}", cause="; ".join(causes) or None, hint="; ".join(hints) or None
    )


def _having(cases: Cases, text: str, pairs: Sequence[tuple[str, str]]) -> Cases:
    """Returns the cases that match these keys of a filter."""
    conditions = [condition(text, key, value) for key, value in pairs]
    return [(case, sweep) for case, sweep in cases if all(one(case, sweep) for one in conditions)]


def _values(cases: Cases, text: str, pairs: Sequence[tuple[str, str]], pair: tuple[str, str]) -> str:
    """Returns the values of a key: of the cases that match the other keys, as far as there are any."""
    key, asked = pair
    others = [one for one in pairs if one != pair and _having(cases, text, [one])]
    among = _having(cases, text, others) or cases
    if key == "size":
        return _size_hint(among)
    found = _found(among, key) or _found(cases, key)
    if found:
        return f"values of {key}: {', '.join(difflib.get_close_matches(asked, found, n=HINTED, cutoff=0.0))}"
    if key in OPTIONS:
        owners = [name for name, row in INTERFACES.items() if key in row.takes]
        there = {case.interface for case, _ in cases}
        own = [name for name in owners if name in there]
        if not own:
            return f"{key} is an option of {', '.join(owners[:HINTED])}"
        return f"its {', '.join(own[:HINTED])} cases leave {key} to the program"
    variables = dict.fromkeys(name for case, _ in cases for name in case.environment)
    return f"variables that its cases set: {', '.join(variables) or 'none'}"


def _found(cases: Cases, key: str) -> list[str]:
    values = values_of(key)
    return [*dict.fromkeys(value for case, sweep in cases for value in values(case, sweep))]


def _size_hint(cases: Cases) -> str:
    sizes = sorted({case.size_bytes for case, _ in cases})
    return f"size is one of {', '.join(format_size(size) for size in sizes)}"


def _elsewhere(text: str, pairs: Sequence[tuple[str, str]], suite: str) -> str:
    """Returns which shipped suites have the options and variables asked for, and a command; empty if none."""
    asked = [pair for pair in pairs if pair[0] in OPTIONS or VARIABLE.fullmatch(pair[0])]
    if not asked or not suite:
        return ""
    from byteways.plan.suite import load, names  # late: suites of other questions are read for this only

    others = [name for name, _ in names() if name != suite]
    found = [name for name in others if any(_asks_for(sweep, pairs) for sweep in load(name).sweeps)]
    if not found:
        return ""
    has = "suite {} has" if len(found) == 1 else "suites {} have"
    return f"{has.format(', '.join(found))} such cases: byteways run {found[0]} --only '{text}'"


def _asks_for(sweep: Sweep, pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether a sweep's axes have the values, on a machine that has all it asks for."""
    axes = {
        "interface": sweep.interfaces,
        "pattern": sweep.patterns,
        "cache": sweep.caches,
        "sweep": (sweep.name,),
    }
    for key, value in pairs:
        axis: Sequence[object]
        if key in axes:
            axis = axes[key]
        elif key in OPTIONS:
            axis = sweep.options.get(key, (OPTIONS[key].left_out,))
        elif VARIABLE.fullmatch(key):
            axis = sweep.environment.get(key, ())
        else:
            continue  # depends on the machine
        texts = [str(one).lower() if isinstance(one, bool) else str(one) for one in axis]
        if not any(fnmatchcase(one, glob) for one in texts for glob in value.split("|")):
            return False
    return True
