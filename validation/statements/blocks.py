"""Block copies: where the lead of the kernel is said to end, against the claims on the measured blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from statements.claims import LEADS
from statements.outcome import Statement, check
from statements.records import RunData

#: "leads up to 32–64 KiB a block", "leads at all sizes, up to 64 KiB", and the list of all numbers.
_TITLE = re.compile(
    r"for ([\d,]+) blocks of [^,]+, and leads (up to (.+?) a block|at all sizes, up to (.+?))$"
)
_EACH = re.compile(r"([\d,]+) blocks: (none|over [\d.]+ \w+|[^;.]+?)(?=[;.] )")
_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def check_blocks(run: RunData, finding: Mapping[str, Any], name: str) -> Iterator[Statement]:
    """Yields whether each lead ends where the claims say so."""
    title = _TITLE.search(finding["title"])
    if not title:
        return
    verdicts = _verdicts(run, finding)
    said = {title[1]: title[3] or f"over {title[4]}", **dict(_EACH.findall(finding["detail"]))}
    for count, ends in said.items():
        known = verdicts.get(int(count.replace(",", "")), {})
        sizes = sorted(known)
        leading = next((place for place, size in enumerate(sizes) if not known[size]), len(sizes))
        if not leading:
            expected: tuple[float, ...] = ()
        else:
            expected = (sizes[leading - 1], *sizes[leading : leading + 1])
        yield check("block sizes", f"{name}: {count} blocks: {ends}", _sizes(ends) == expected, f"{expected}")


def _verdicts(run: RunData, finding: Mapping[str, Any]) -> dict[int, dict[int, bool]]:
    """Returns whether the kernel leads, by number and bytes of the blocks."""
    found: dict[int, dict[int, bool]] = {}
    for claim in finding["claims"]:
        record = run.cases[claim["first"]["case_ids"][0]].record
        size = record["options"]["block_bytes"]
        found.setdefault(record["size_bytes"] // size, {})[size] = claim["verdict"] == LEADS
    return found


def _sizes(ends: str) -> tuple[float, ...]:
    """Returns (32768, 65536) for '32–64 KiB', (65536,) for 'over 64 KiB', () for 'none'."""
    if ends == "none":
        return ()
    *low, high = ends.removeprefix("over ").split("–")
    number, unit = high.split()
    first = [one if " " in one else f"{one} {unit}" for one in low]
    return (*(_bytes(*one.split()) for one in first), _bytes(number, unit))


def _bytes(number: str, unit: str) -> float:
    return float(number) * _UNITS[unit]
