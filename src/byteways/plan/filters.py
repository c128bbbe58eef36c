"""`--only` and `--size`: which of a suite's cases to plan.

Several `--only` are alternatives; the keys of one must all match; a value is one glob or several with `|`.
Other tools' names are accepted for keys and values (byteways.aliases).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase

from byteways.aliases import ALIASES, AmbiguousError, translated
from byteways.errors import BytewaysError
from byteways.plan.case import CACHES, MEMORIES, PATTERNS, Case
from byteways.plan.interfaces import INTERFACES
from byteways.plan.sizes import size_filter
from byteways.plan.words import closest
from byteways.units import format_size

#: Whether a case, asked for by a sweep of that name, is wanted.
Filter = Callable[[Case, str], bool]
Values = Callable[[Case, str], tuple[str, ...]]


def _buffers(case: Case, side: str) -> tuple[str, ...]:
    """`gpu0:device` and `gpu0`, of every flow's source or destination."""
    ends = dict.fromkeys(getattr(flow, side) for flow in case.flows)
    return tuple(dict.fromkeys(name for end in ends for name in (str(end), end.device)))


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

#: Keys whose values are words, with these words: anything else that is no glob is a mistake.
_WORDS: Mapping[str, Sequence[str]] = {
    "interface": tuple(INTERFACES),
    "pattern": PATTERNS,
    "memory": MEMORIES,
    "access": ("read", "write", "local", "remote"),
    "cache": CACHES,
}
#: Ends a path glob whose destination is any other GPU: `gpu*>peer`.
_PEER = ">peer"
#: Devices of a path or buffer, and kinds of memory, which follow a colon.
_DEVICE = re.compile(r"(?<![:\w*-])[a-z]+(?=$|[:@<>,])")
_MEMORY = re.compile(r"(?<=:)[^@]+")

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
    return [_condition(text, key, value) for key, value in _pairs(text)]


def _pairs(text: str) -> list[tuple[str, str]]:
    """Keys and values of one `--only` in our words. Raises BytewaysError."""
    pairs = []
    for part in _NEXT_KEY.split(text):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise BytewaysError(f"--only '{text}': '{part.strip()}' is not key=value", hint=_key_hint(key))
        try:
            key = translated("key", key, KEYS)
            if key not in KEYS:
                raise BytewaysError(f"--only '{text}': unknown key '{key}'", hint=closest(key, KEYS))
            if key == "pattern" and translated("path", value) != value:
                key = "path"  # h2d and the like, which say who takes part
            if key != "size":
                value = "|".join(_value(text, key, item.strip()) for item in value.split("|"))
        except AmbiguousError as error:
            raise BytewaysError(f"--only '{text}': {error}", hint=error.hint) from error
        pairs.append((key, value))
    return pairs


def _key_hint(word: str) -> str:
    """How to write a word that stands alone, where it is one of a key's."""
    for key, words in _WORDS.items():
        if word in words or any(word in alias.theirs for alias in ALIASES.get(key, ())):
            return f"write --only '{key}={word}'"
    return "write for example --only 'interface=copy,path=gpu0>gpu*'"


def _value(text: str, key: str, word: str) -> str:
    """One value of a key in our words.

    Raises:
        AmbiguousError: Others use the word for several things.
        BytewaysError: The key has no such word.
    """
    if key in _WORDS:
        word = translated(key, word, _WORDS[key]) if key in ALIASES else word
        if word not in _WORDS[key] and not set(word) & set("*?["):
            raise BytewaysError(f"--only '{text}': unknown {key} '{word}'", hint=closest(word, _WORDS[key]))
        return word
    if key not in ("path", "source", "destination", "executor"):
        return word
    named = translated("path", word) if key == "path" else word
    named = _MEMORY.sub(lambda found: translated("memory", found[0], MEMORIES), named)
    return _DEVICE.sub(lambda found: translated("device", found[0]), named)


def _condition(text: str, key: str, value: str) -> Filter:
    if key == "size":
        try:
            matches = [size_filter(item) for item in value.split("|")]
        except ValueError as error:
            raise BytewaysError(
                f"--only '{text}': {error}", hint="write a size or a range: 64KiB..1GiB"
            ) from error
        return lambda case, sweep: any(match(case.size_bytes) for match in matches)
    globs = value.split("|")
    values = KEYS[key]
    return lambda case, sweep: any(
        _between_peers(case, glob) if key == "path" and glob.endswith(_PEER) else fnmatchcase(actual, glob)
        for actual in values(case, sweep)
        for glob in globs
    )


def _between_peers(case: Case, glob: str) -> bool:
    """Whether every flow goes from one GPU to another, the first of them from one that the glob names."""
    pairs = [(flow.source.device, flow.destination.device) for flow in case.flows]
    return fnmatchcase(pairs[0][0], glob.removesuffix(_PEER)) and all(
        a != b and a.startswith("gpu") and b.startswith("gpu") for a, b in pairs
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
        raise BytewaysError(f"--size: {error}", hint="write a size or a range: --size 64KiB..1GiB") from error


def nothing_matches(
    cases: Sequence[tuple[Case, str]], only: Sequence[str], sizes: str | None
) -> BytewaysError:
    """The error for filters that let nothing through, with the values there would have been."""
    filters = " or ".join(f"--only '{text}'" for text in only)
    filters += (" and " if only and sizes else "") + (f"--size {sizes}" if sizes else "")
    asked = {key: value for text in only for key, value in _pairs(text)}
    hints = []
    for key in asked:
        values = dict.fromkeys(value for case, sweep in cases for value in KEYS[key](case, sweep))
        near = difflib.get_close_matches(asked[key], [*values], n=HINTED, cutoff=0.0)
        hints.append(f"values of {key}: {', '.join(near)}" if key != "size" else _size_hint(cases))
    if sizes and "size" not in asked:
        hints.append(_size_hint(cases))
    return BytewaysError(f"no case matches {filters}", hint="; ".join(hints) or None)


def _size_hint(cases: Sequence[tuple[Case, str]]) -> str:
    sizes = sorted({case.size_bytes for case, _ in cases})
    return f"size is one of {', '.join(format_size(size) for size in sizes)}"
