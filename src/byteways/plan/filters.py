"""`--only` and `--size`: select cases of a suite.

Several `--only` are alternatives; all keys within one must match; a value is a glob or several separated by
`|`. Other tools' names are accepted for keys and values (byteways.aliases).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase

from byteways.aliases import ALIASES, AmbiguousError, called, translated
from byteways.errors import BytewaysError
from byteways.plan.case import CACHES, PATTERNS, Case
from byteways.plan.interfaces import INTERFACES
from byteways.plan.memory import MEMORIES
from byteways.plan.misplaced import advice, placed
from byteways.plan.sizes import size_filter
from byteways.plan.words import closest
from byteways.topology.device_names import IDENTIFIER, with_names
from byteways.topology.model import Topology
from byteways.units import format_size

#: Whether a case requested by the named sweep is selected.
Filter = Callable[[Case, str], bool]
Values = Callable[[Case, str], tuple[str, ...]]


def _buffers(case: Case, side: str) -> tuple[str, ...]:
    """Returns `gpu0:device` and `gpu0` for every flow's source or destination."""
    ends = dict.fromkeys(getattr(flow, side) for flow in case.flows)
    return tuple(dict.fromkeys(name for end in ends for name in (str(end), end.device)))


def _memories(case: Case) -> tuple[str, ...]:
    ends = (end for flow in case.flows for end in (flow.source, flow.destination))
    return tuple(dict.fromkeys(end.memory for end in ends))


#: The values that each key is compared with; one must match.
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

#: Keys with a fixed set of words: anything else that is not a glob is a mistake.
_WORDS: Mapping[str, Sequence[str]] = {
    "interface": tuple(INTERFACES),
    "pattern": PATTERNS,
    "memory": MEMORIES,
    "access": ("read", "write", "local", "remote"),
    "cache": CACHES,
}
#: Keys whose values name devices.
_OF_DEVICES = ("path", "source", "destination", "executor")
#: Suffix of a path glob: the destination is any other GPU (`gpu*>peer`).
_PEER = ">peer"
#: Devices in a path or buffer; memory kinds follow a colon.
_DEVICE = re.compile(r"(?<![:\w*-])[a-z]+(?=$|[:@<>,])")
_MEMORY = re.compile(r"(?<=:)[^@]+")

#: Maximum number of values that a message suggests, closest first.
HINTED = 6

#: A key after a space, `;` or `&` instead of a comma.
_NO_COMMA = re.compile(r"\s*[\s;&]\s*(?=[A-Za-z_-]+\s*=)")
_NEXT_KEY = re.compile(r",(?=\s*[A-Za-z_-]+\s*=)")  # paths have commas too: gpu0>gpu1,gpu2


def only_filter(texts: Sequence[str], topology: Topology | None = None) -> Filter:
    """Returns a filter for cases that match at least one `--only`; without any, all cases match.

    Args:
        texts: The filters.
        topology: The machine, where UUIDs and PCI addresses are looked up; None: only the syntax is checked.

    Raises:
        BytewaysError: A key is unknown, a text is not a list of key=value, or an identifier is of no device.
    """
    alternatives = [_conditions(text, topology) for text in texts]
    if not alternatives:
        return lambda case, sweep: True
    return lambda case, sweep: any(
        all(condition(case, sweep) for condition in conditions) for conditions in alternatives
    )


def _conditions(text: str, topology: Topology | None) -> list[Filter]:
    return [_condition(text, key, value) for key, value in _pairs(text, topology)]


def _pairs(text: str, topology: Topology | None = None) -> list[tuple[str, str]]:
    """Returns the keys and values of one `--only` in byteways terms. Raises BytewaysError."""
    pairs = []
    for part in _NEXT_KEY.split(text):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise BytewaysError(f"--only '{text}': '{part.strip()}' is not key=value", hint=_key_hint(key))
        if _NO_COMMA.search(value):
            hint = f"separate them by commas: --only '{_NO_COMMA.sub(',', text.strip())}'"
            raise BytewaysError(f"--only '{text}': '{part.strip()}' is more than one key=value", hint=hint)
        try:
            key = translated("key", key, KEYS)
            if key not in KEYS:
                raise BytewaysError(f"--only '{text}': unknown key '{key}'", hint=closest(key, KEYS))
            if key == "pattern" and translated("path", value) != value:
                key = "path"  # h2d and similar names describe the path
            if key in _OF_DEVICES and topology is not None:
                value = with_names(topology, value)
            if key != "size":
                value = "|".join(_value(text, key, item.strip()) for item in value.split("|"))
        except AmbiguousError as error:
            hint = error.hint if key in KEYS else _key_hint(value, error.hint)  # direction=h2d: a path
            raise BytewaysError(f"--only '{text}': {error}", hint=hint) from error
        pairs.append((key, value))
    return pairs


def _key_hint(word: str, otherwise: str = "write for example --only 'interface=copy,path=gpu0>gpu*'") -> str:
    """Suggests key=value for a bare word that is a value of some key."""
    for key in ("access", "cache"):
        if word in _WORDS[key] or (key in ALIASES and called(key, word)):
            return f"write --only '{key}={word}'"
    return placed(word) or otherwise


def _value(text: str, key: str, word: str) -> str:
    """Translates one value of a key to byteways terms.

    Raises:
        AmbiguousError: Other tools use the word for several things.
        BytewaysError: The word is not a value of the key.
    """
    if key in _WORDS:
        word = translated(key, word, _WORDS[key]) if key in ALIASES else word
        if word not in _WORDS[key] and not set(word) & set("*?["):
            raise BytewaysError(f"--only '{text}': unknown {key} '{word}'", hint=advice(word, _WORDS[key]))
        return word
    if key not in _OF_DEVICES or IDENTIFIER.search(word):
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
    """Whether every flow connects two GPUs and the glob matches the source of the first."""
    pairs = [(flow.source.device, flow.destination.device) for flow in case.flows]
    return fnmatchcase(pairs[0][0], glob.removesuffix(_PEER)) and all(
        a != b and a.startswith("gpu") and b.startswith("gpu") for a, b in pairs
    )


def sizes_filter(text: str | None) -> Callable[[int], bool]:
    """Parses `--size`: a size, a range including both ends, or a comma-separated list; None accepts all.

    Raises:
        BytewaysError: The text is invalid.
    """
    if text is None:
        return lambda size_bytes: True
    try:
        return size_filter(text, decimal=True)
    except ValueError as error:
        raise BytewaysError(f"--size: {error}", hint="write a size or a range: --size 64KiB..1GiB") from error


def nothing_matches(
    cases: Sequence[tuple[Case, str]],
    only: Sequence[str],
    sizes: str | None,
    topology: Topology | None = None,
    suite: str = "",
) -> BytewaysError:
    """Returns the error for filters that match nothing in a suite, with the available values."""
    filters = " or ".join(f"--only '{text}'" for text in only)
    filters += (" and " if only and sizes else "") + (f"--size {sizes}" if sizes else "")
    asked = {key: value for text in only for key, value in _pairs(text, topology)}
    hints = []
    for key in asked:
        values = dict.fromkeys(value for case, sweep in cases for value in KEYS[key](case, sweep))
        near = difflib.get_close_matches(asked[key], [*values], n=HINTED, cutoff=0.0)
        hints.append(f"values of {key}: {', '.join(near)}" if key != "size" else _size_hint(cases))
    if sizes and "size" not in asked:
        hints.append(_size_hint(cases))
        if suite == "quick":
            hints.append(f"more sizes: byteways run full --size {sizes}")
    return BytewaysError(f"no case matches {filters}", hint="; ".join(hints) or None)


def _size_hint(cases: Sequence[tuple[Case, str]]) -> str:
    sizes = sorted({case.size_bytes for case, _ in cases})
    return f"size is one of {', '.join(format_size(size) for size in sizes)}"
