"""Block copies: where the lead of the kernel is said to end, against the claims on the measured blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from statements.claims import LEADS, TRAILS
from statements.outcome import Statement, check
from statements.records import RunData

#: "leads up to 32–64 KiB a block", "leads at all sizes, up to 64 KiB", and the list of all numbers.
_TITLE = re.compile(
    r"for ([\d,]+) blocks of [^,]+, and leads (up to (.+?) a block|at all sizes, up to (.+?))( or more)?$"
)
_EACH = re.compile(r"([\d,]+) blocks: (none|over [\d.]+ \w+|[^;.]+?)(?=[;.] )")
_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def check_blocks(run: RunData, finding: Mapping[str, Any], name: str) -> Iterator[Statement]:
    """Yields whether each lead ends where the claims say so."""
    title = _TITLE.search(finding["title"])
    if not title:
        return
    verdicts = _verdicts(run, finding)
    open_end = title[5] or title[4]
    said = {title[1]: f"over {title[3] or title[4]}" if open_end else title[3]}
    said |= dict(_EACH.findall(finding["detail"]))
    for count, ends in said.items():
        expected = _expected(verdicts.get(int(count.replace(",", "")), {}))
        yield check("block sizes", f"{name}: {count} blocks: {ends}", _sizes(ends) == expected, f"{expected}")


def _expected(verdicts: Mapping[int, str]) -> tuple[float, ...]:
    """Returns the largest size at which the kernel leads, and the first at which the call does."""
    sizes = sorted(verdicts)
    call = next((size for size in sizes if verdicts[size] == TRAILS), None)
    leading = [size for size in sizes if verdicts[size] == LEADS and (call is None or size < call)]
    return (leading[-1], *([] if call is None else [call])) if leading else ()


def _verdicts(run: RunData, finding: Mapping[str, Any]) -> dict[int, dict[int, str]]:
    """Returns the verdict on the kernel, by number and bytes of the blocks."""
    found: dict[int, dict[int, str]] = {}
    for claim in (one for one in finding["claims"] if one["kind"] == "blocks"):
        record = run.cases[claim["first"]["case_ids"][0]].record
        size = record["options"]["block_bytes"]
        found.setdefault(record["size_bytes"] // size, {})[size] = claim["verdict"]
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
