"""`--only` and `--size`: which of a suite's cases to plan.

Several `--only` are alternatives; the keys of one must all match; a value is one glob or several with `|`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase

from byteways.errors import BytewaysError
from byteways.plan.case import Case
from byteways.plan.sizes import size_filter
from byteways.plan.words import closest
from byteways.units import format_size

#: Whether a case, asked for by a sweep of that name, is wanted.
Filter = Callable[[Case, str], bool]
Values = Callable[[Case, str], tuple[str, ...]]


def _buffers(case: Case, side: str) -> tuple[str, ...]:
    """`gpu0:device` and `gpu0`, of every flow's source or destination."""
    ends = dict.fromkeys(getattr(flow, side) for flow in case.flows)
    return tuple(dict.fromkeys(name for end in ends for name in (str(end), end.agent)))


def _memories(case: Case) -> tuple[str, ...]:
    ends = (end for flow in case.flows for end in (flow.source, flow.destination))
    return tuple(dict.fromkeys(end.memory for end in ends))


#: What each key compares with; one of the values has to match.
KEYS: Mapping[str, Values] = {
    "interface": lambda case, sweep: (case.interface,),
    "pattern": lambda case, sweep: (case.pattern,),
    "path": lambda case, sweep: (case.path,),
    "source": lambda case, sweep: _buffers(case, "source"),
    "destination": lambda case, sweep: _buffers(case, "destination"),
    "executor": lambda case, sweep: case.executors,
    "access": lambda case, sweep: (case.access,),
    "memory": lambda case, sweep: _memories(case),
    "size": lambda case, sweep: (format_size(case.size_bytes).replace(" ", ""),),
    "cache": lambda case, sweep: (case.cache,),
    "sweep": lambda case, sweep: (sweep,),
    "category": lambda case, sweep: (case.category, case.category.replace(" ", "-")),
}

#: Values that a message names, the closest to what was asked for.
HINTED = 6

_NEXT_KEY = re.compile(r",(?=\s*[A-Za-z_-]+\s*=)")  # paths have commas too: gpu0>gpu1,gpu2


def only_filter(texts: Sequence[str]) -> Filter:
    """The cases that at least one `--only` lets through; all of them when there is none.

    Raises:
        BytewaysError: A key is unknown, or a text is no list of key=value.
    """
    alternatives = [_conditions(text) for text in texts]
    if not alternatives:
        return lambda case, sweep: True
    return lambda case, sweep: any(
        all(condition(case, sweep) for condition in conditions) for conditions in alternatives
    )


def _conditions(text: str) -> list[Filter]:
    conditions = []
    for part in _NEXT_KEY.split(text):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise BytewaysError(
                f"--only '{text}': '{part.strip()}' is no key=value",
                hint="write for example --only 'interface=copy,path=gpu0>gpu*'",
            )
        if key not in KEYS:
            raise BytewaysError(f"--only '{text}': unknown key '{key}'", hint=closest(key, KEYS))
        conditions.append(_condition(text, key, value))
    return conditions


def _condition(text: str, key: str, value: str) -> Filter:
    if key == "size":
        try:
            matches = [size_filter(item) for item in value.split("|")]
        except ValueError as error:
            raise BytewaysError(f"--only '{text}': {error}", hint="sizes are such as 64KiB..1GiB") from error
        return lambda case, sweep: any(match(case.size_bytes) for match in matches)
    globs = [item.strip() for item in value.split("|")]
    values = KEYS[key]
    return lambda case, sweep: any(
        fnmatchcase(actual, glob) for actual in values(case, sweep) for glob in globs
    )


def sizes_filter(text: str | None) -> Callable[[int], bool]:
    """`--size`: a size, a range with both ends, or several separated by commas; None lets everything through.

    Raises:
        BytewaysError: The text is none of these.
    """
    if text is None:
        return lambda size_bytes: True
    try:
        return size_filter(text)
    except ValueError as error:
        raise BytewaysError(f"--size: {error}", hint="write for example --size 64KiB..1GiB") from error


def nothing_matches(
    cases: Sequence[tuple[Case, str]], only: Sequence[str], sizes: str | None
) -> BytewaysError:
    """The error for filters that let nothing through, with the values there would have been."""
    filters = " or ".join(f"--only '{text}'" for text in only)
    filters += (" and " if only and sizes else "") + (f"--size {sizes}" if sizes else "")
    asked = {
        key.strip(): value.strip()
        for text in only
        for key, _, value in (part.partition("=") for part in _NEXT_KEY.split(text))
    }
    hints = []
    for key in asked:
        values = dict.fromkeys(value for case, sweep in cases for value in KEYS[key](case, sweep))
        near = difflib.get_close_matches(asked[key], [*values], n=HINTED, cutoff=0.0)
        hints.append(f"{key} is such as {', '.join(near)}" if key != "size" else _size_hint(cases))
    if sizes and "size" not in asked:
        hints.append(_size_hint(cases))
    return BytewaysError(f"no case matches {filters}", hint="; ".join(hints) or None)


def _size_hint(cases: Sequence[tuple[Case, str]]) -> str:
    sizes = sorted({case.size_bytes for case, _ in cases})
    return f"size is one of {', '.join(format_size(size) for size in sizes)}"
