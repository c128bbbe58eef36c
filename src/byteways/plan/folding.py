"""Sentences that differ in a device's name alone said once, and names of devices as ranges. Pure.

A machine of eight GPUs gives every reason eight times; a reader wants it once, and of whom it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

_DEVICE = re.compile(r"\b(?:cpu|gpu)\d+\b")
#: So many names are listed one by one before they become a range.
_FEW = 2


def names_text(devices: Iterable[str]) -> str:
    """`gpu0 to gpu3, gpu6`: devices of one kind that follow each other as a range."""
    parts: list[str] = []
    numbered = [re.fullmatch(r"([a-z]+)(\d+)", name) for name in devices]
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
    sentences of one form differ in several devices, it ends with how many they are.
    """
    forms: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for sentence in dict.fromkeys(sentences):
        form, devices = _form(sentence)
        forms.setdefault(form, []).append((sentence, devices))
    stands: dict[str, str] = {}
    for alike in forms.values():
        first = alike[0][0]
        text = first + _others([devices for _, devices in alike])
        stands |= dict.fromkeys((sentence for sentence, _ in alike), text)
    return stands


def _form(sentence: str) -> tuple[str, tuple[str, ...]]:
    """The sentence with devices by their order of appearance, and the devices in it."""
    devices: dict[str, int] = {}

    def numbered(match: re.Match[str]) -> str:
        return f"<{devices.setdefault(match[0], len(devices))}>"

    return _DEVICE.sub(numbered, sentence), tuple(devices)


def _others(devices: Sequence[tuple[str, ...]]) -> str:
    """What is said at the end of the first of several sentences, by the devices of each."""
    if len(devices) == 1:
        return ""
    varying = [position for position, names in enumerate(zip(*devices, strict=True)) if len({*names}) > 1]
    if len(varying) != 1:
        return f" (and {len(devices) - 1} like it)"
    return f" ({names_text(names[varying[0]] for names in devices[1:])} too)"
