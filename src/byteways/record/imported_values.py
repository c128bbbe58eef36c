"""Values of other programs in a run folder: where they are, and why some are no results of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

#: In the folder of an imported run: every value of the files, one a line.
VALUES_FILE = "imported.jsonl"

#: What makes a value another quantity than ours, by code. A value with one of these has no case of ours
#: that it equals; the sentence completes "it is not comparable: …".
DIFFERENCES: Mapping[str, str] = {
    "data-wrong": "its program calls the data wrong that it moved",
    "devices-unknown": "the output does not contain the devices that took part",
    "memory-unknown": "the output does not contain where the buffers were",
    "method-unknown": "the output does not contain what moved the bytes",
    "size-unknown": "the output does not contain the size",
    "count-unknown": "the output does not contain which bytes it counts",
    "one-of-two-directions": "it is one of two directions that ran at once, and byteways has their sum",
    "sum-of-turns": "it adds values that were measured one after another",
    "first-iterations": "it includes the first iterations",
    "rounded-to-zero": "its program rounded it to zero",
    "extreme": "it is the fastest or slowest repetition, not a middle one",
    "no-case": "byteways measures nothing that is defined like it",
}


def without_equal_case(manifest: Mapping[str, Any]) -> str:
    """Returns why values of an imported run are no results; empty: all are, or it is no imported run."""
    codes: Counter[str] = Counter()
    for file in manifest.get("imported", ()):
        codes.update(file.get("differences", {}))
    reasons = (f"{DIFFERENCES.get(code, code)} ({number} values)" for code, number in codes.most_common())
    return "; ".join(reasons)
