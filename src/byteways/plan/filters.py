"""`--only` and `--size`: select cases of a suite.

Several `--only` are alternatives; all keys within one must match; a value is a glob or several separated by
`|`. Other tools' names are accepted for keys and values (byteways.base.aliases).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from byteways.base.aliases import ALIASES, AmbiguousError, called, translated
from byteways.base.errors import BytewaysError
from byteways.base.spelling import closest
from byteways.cases.case import Case
from byteways.cases.interfaces import OPTIONS
from byteways.cases.memory import MEMORIES
from byteways.cases.misplaced_words import advice, placed
from byteways.cases.sizes import size_filter
from byteways.machine.device_names import IDENTIFIER, with_names
from byteways.machine.model import Topology
from byteways.plan.filter_keys import KEYS, WORDS, is_key, values_of

#: Whether a case requested by the named sweep is selected.
Filter = Callable[[Case, str], bool]


#: Keys whose values name devices.
_OF_DEVICES = ("path", "source", "destination", "executor")
#: Suffix of a path glob: the destination is any other GPU (`gpu*>peer`).
_PEER = ">peer"
#: Devices in a path or buffer; memory kinds follow a colon.
_DEVICE = re.compile(r"(?<![:\w*-])[a-z]+(?=$|[:@<>,])")
_MEMORY = re.compile(r"(?<=:)[^@]+")

#: A key after a space, `;` or `&` instead of a comma.
_NO_COMMA = re.compile(r"\s*[\s;&]\s*(?=[A-Za-z_][\w-]*\s*=)")
_NEXT_KEY = re.compile(r",(?=\s*[A-Za-z_][\w-]*\s*=)")  # paths have commas too: gpu0>gpu1,gpu2


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
    return [condition(text, key, value) for key, value in pairs_of(text, topology)]


def pairs_of(text: str, topology: Topology | None = None) -> list[tuple[str, str]]:
    """Returns the keys and values of one `--only` in byteways terms. Arguments and errors: only_filter()."""
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
            if not is_key(key):
                raise BytewaysError(f"--only '{text}': unknown key '{key}'", hint=_known_keys(key))
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


def _known_keys(key: str) -> str:
    return f"{closest(key, KEYS)}; or an environment variable"


def _key_hint(word: str, otherwise: str = "write for example --only 'interface=copy,path=gpu0>gpu*'") -> str:
    """Suggests key=value for a bare word that is a value of some key."""
    for key in ("access", "cache"):
        if word in WORDS[key] or (key in ALIASES and called(key, word)):
            return f"write --only '{key}={word}'"
    return placed(word) or otherwise


def _value(text: str, key: str, word: str) -> str:
    """Translates one value of a key to byteways terms.

    Raises:
        AmbiguousError: Other tools use the word for several things.
        BytewaysError: The word is not a value of the key.
    """
    if key in OPTIONS and key in WORDS:
        word = next((known for known in WORDS[key] if known.casefold() == word.casefold()), word)
        if word not in WORDS[key] and not set(word) & set("*?["):
            raise BytewaysError(f"--only '{text}': unknown {key} '{word}'", hint=closest(word, WORDS[key]))
        return word
    if key in WORDS:
        word = translated(key, word, WORDS[key]) if key in ALIASES else word
        if word not in WORDS[key] and not set(word) & set("*?["):
            raise BytewaysError(f"--only '{text}': unknown {key} '{word}'", hint=advice(word, WORDS[key]))
        return word
    if key in OPTIONS:
        _check_number(text, key, word)
    if key not in _OF_DEVICES or IDENTIFIER.search(word):
        return word
    named = translated("path", word) if key == "path" else word
    named = _MEMORY.sub(lambda found: translated("memory", found[0], MEMORIES), named)
    return _DEVICE.sub(lambda found: translated("device", found[0]), named)


def _check_number(text: str, key: str, word: str) -> None:
    """Raises BytewaysError if the option takes numbers and this is none that it can have."""
    span = OPTIONS[key].span
    if span is None or set(word) & set("*?["):
        return
    wrong = span.wrong(key, int(word)) if word.isdecimal() else f"{key} is a number, not '{word}'"
    if wrong:
        raise BytewaysError(
            f"--only '{text}': {wrong}", hint="write a number that the option takes: blocks=8"
        )


def condition(text: str, key: str, value: str) -> Filter:
    """Returns the filter of one key with a value from pairs_of(). Raises BytewaysError on an invalid size."""
    if key == "size":
        try:
            matches = [size_filter(item) for item in value.split("|")]
        except ValueError as error:
            raise BytewaysError(
                f"--only '{text}': {error}", hint="write a size or a range: 64KiB..1GiB"
            ) from error
        return lambda case, sweep: any(match(case.size_bytes) for match in matches)
    globs = value.split("|")
    values = values_of(key)
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
        return size_filter(text)
    except ValueError as error:
        raise BytewaysError(f"--size: {error}", hint="write a size or a range: --size 64KiB..1GiB") from error
