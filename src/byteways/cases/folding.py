"""Merges sentences that differ only in device names, and abbreviates device lists as ranges. Pure.

On a machine with eight GPUs every reason occurs eight times; it is shown once, with the devices it applies
to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

_DEVICE = re.compile(r"\b(?:cpu|gpu)\d+\b")
#: Up to this many names are listed individually.
_FEW = 2


def names_text(devices: Iterable[str]) -> str:
    """Formats `gpu0 to gpu3, gpu6`: consecutive devices of one kind as a range."""
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
    """Maps every sentence to one that represents it and similar ones.

    `gpu0 has no pool memory: …` also represents gpu1 and then ends with `(gpu1 too)`. If sentences differ in
    several devices, it ends with their number.
    """
    forms: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for sentence in dict.fromkeys(sentences):
        form, devices = form_of(sentence)
        forms.setdefault(form, []).append((sentence, devices))
    stands: dict[str, str] = {}
    for alike in forms.values():
        first = alike[0][0]
        text = first + _others([devices for _, devices in alike])
        stands |= dict.fromkeys((sentence for sentence, _ in alike), text)
    return stands


def form_of(sentence: str) -> tuple[str, tuple[str, ...]]:
    """Returns the sentence with devices replaced by their order of appearance, and the devices.

    Only to say once what several sentences say of different devices: no decision may rest on it.
    """
    devices: dict[str, int] = {}

    def numbered(match: re.Match[str]) -> str:
        return f"<{devices.setdefault(match[0], len(devices))}>"

    return _DEVICE.sub(numbered, sentence), tuple(devices)


def _others(devices: Sequence[tuple[str, ...]]) -> str:
    """Returns the suffix of the representative sentence, from the devices of each sentence."""
    if len(devices) == 1:
        return ""
    varying = [position for position, names in enumerate(zip(*devices, strict=True)) if len({*names}) > 1]
    if len(varying) != 1:
        return f" (and {len(devices) - 1} like it)"
    return f" ({names_text(names[varying[0]] for names in devices[1:])} too)"
