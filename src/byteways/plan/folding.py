"""Sentences that differ in an agent's name alone said once, and names of agents as ranges. Pure.

A machine of eight GPUs gives every reason eight times; a reader wants it once, and of whom it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

_AGENT = re.compile(r"\b(?:cpu|gpu)\d+\b")
#: So many names are listed one by one before they become a range.
_FEW = 2


def names_text(agents: Iterable[str]) -> str:
    """`gpu0 to gpu3, gpu6`: agents of one kind that follow each other as a range."""
    parts: list[str] = []
    numbered = [re.fullmatch(r"([a-z]+)(\d+)", name) for name in agents]
    known = [(match[1], int(match[2])) for match in numbered if match]
    for kind, group in groupby(known, key=lambda item: item[0]):
        numbers = [number for _, number in group]
        for _, run in groupby(enumerate(numbers), key=lambda item: item[1] - item[0]):
            together = [f"{kind}{number}" for _, number in run]
            parts += together if len(together) <= _FEW else [f"{together[0]} to {together[-1]}"]
    return ", ".join(parts)


def folded(sentences: Iterable[str]) -> dict[str, str]:
    """For every sentence the one that stands for it and those like it.

    `gpu0 has no pool memory: …` stands for what is said of gpu1 too, and then ends with `(gpu1 too)`. Where
    sentences of one form differ in several agents, it ends with how many they are.
    """
    forms: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for sentence in dict.fromkeys(sentences):
        form, agents = _form(sentence)
        forms.setdefault(form, []).append((sentence, agents))
    stands: dict[str, str] = {}
    for alike in forms.values():
        first = alike[0][0]
        text = first + _others([agents for _, agents in alike])
        stands |= dict.fromkeys((sentence for sentence, _ in alike), text)
    return stands


def _form(sentence: str) -> tuple[str, tuple[str, ...]]:
    """The sentence with agents by their order of appearance, and the agents in it."""
    agents: dict[str, int] = {}

    def numbered(match: re.Match[str]) -> str:
        return f"<{agents.setdefault(match[0], len(agents))}>"

    return _AGENT.sub(numbered, sentence), tuple(agents)


def _others(agents: Sequence[tuple[str, ...]]) -> str:
    """What is said at the end of the first of several sentences, by the agents of each."""
    if len(agents) == 1:
        return ""
    varying = [position for position, names in enumerate(zip(*agents, strict=True)) if len({*names}) > 1]
    if len(varying) != 1:
        return f" (and {len(agents) - 1} like it)"
    return f" ({names_text(names[varying[0]] for names in agents[1:])} too)"
