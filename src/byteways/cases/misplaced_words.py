"""Hints for words that are known, but were written where they mean nothing: `h2d` as a suite or a device."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from byteways.base.aliases import SUITES, AmbiguousError, called
from byteways.base.spelling import closest
from byteways.base.units import parse_size
from byteways.cases.case import PATTERNS
from byteways.cases.interfaces import INTERFACES
from byteways.cases.memory import MEMORIES

#: Our words by kind, in the order of looking up: `cudaMallocHost` is memory before it is a call.
_OURS: Mapping[str, Sequence[str]] = {
    "pattern": PATTERNS,
    "path": (),
    "memory": MEMORIES,
    "interface": tuple(INTERFACES),
}
#: Test cases of nvbandwidth, by copy engine or kernel.
_OF_NVBANDWIDTH = re.compile(r"(?:host|device|all)_.*memcpy_.*(ce|sm)")
#: A path, or a device.
_PATH = re.compile(r"[cg]pu[0-9*]+(?:<?>[cg]pu[0-9*]+)?")
#: How a word of each kind is written for `byteways run`, and for a question.
OF_RUN: Mapping[str, str] = {kind: f"--only '{kind}={{}}'" for kind in _OURS}
OF_QUESTION: Mapping[str, str] = {
    "pattern": "--pattern {}",
    "path": "name both ends: best host gpu0 1MiB",
    "memory": "--memory {}",
    "interface": "best compares all interfaces",
}
#: The same for the command line without a verb.
OF_PROGRAM: Mapping[str, str] = {kind: f"byteways run quick {form}" for kind, form in OF_RUN.items()}


def placed(word: str, forms: Mapping[str, str] = OF_RUN) -> str:
    """Returns what a word is called here and where to write it; empty if it is unknown.

    Args:
        word: What the user wrote.
        forms: How words of each kind are written there.
    """
    for kind, ours in _OURS.items():
        try:
            name = called(kind, word, ours)
        except AmbiguousError as error:
            return f"{error}; write the {kind} you mean: {forms[kind].format(error.ours[0])}"
        if name is not None:
            same = "" if name == word else f" {name}"
            return f"'{word}' is the {kind}{same}: {forms[kind].format(name)}"
    if test := _OF_NVBANDWIDTH.fullmatch(word):
        interface = "copy" if test[1] == "ce" else "kernel"
        return f"what is nearest to {word}: byteways run quick --only 'interface={interface}'"
    if forms is not OF_QUESTION and (part := _part(word)):
        return f"{forms['path'].partition('--only')[0]}{part}"
    suite = SUITES.get(word.casefold().replace("_", "-"))
    return f"what is nearest to {word}: byteways run {suite}" if suite else ""


def _part(word: str) -> str:
    """Returns the option that selects a path, a device or a size of a suite; empty for other words."""
    if _PATH.fullmatch(word):
        return f"--only 'path={word if '>' in word else f'{word}>*'}'"
    try:
        parse_size(word)
    except ValueError:
        return ""
    return f"--size {word}"


def advice(word: str, valid: Iterable[str], forms: Mapping[str, str] = OF_RUN) -> str:
    """Returns a hint for an invalid word: where it belongs, else the closest valid word and the list."""
    return placed(word, forms) or closest(word, valid)
