"""Reads what records of schema versions 1 and 2 said in another form: the only place that knows these forms.

They had −1 for unknown numbers, and facts in sentences that are fields since version 3.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from msgspec.structs import force_setattr

from byteways.cases.reasons import OUT_OF_TIME, PAGES_LAND_ELSEWHERE
from byteways.record.blame import FailureBlame
from byteways.record.evidence import EvidenceFields, Fallback
from byteways.record.record import Record

#: Stood for an unknown number in readings of health.
_UNKNOWN = -1
_REASON = "the driver did not answer; an older byteways did not record why"
_WINDOW = re.compile(r"windows of (\d+) messages?\b")
_LIBRARY = re.compile(r"(?P<name>\w+) (?P<version>[\d.]+): ")
_FELL_BACK = re.compile(r"(?:^|; )(?P<asked>[\w-]+) fell back to (?P<used>[\w-]+): (?P<reason>.*?)(?:; |$)")
#: A call of a driver that failed: `cuMemAlloc: CUDA_ERROR_UNKNOWN (unknown error) on gpu2`.
_FAILED_ON = re.compile(r"\) on ((?:cpu|gpu)\d+)\b")
#: A rank that a reason names as the cause, and not as one that waits for it.
_AT_FAULT = re.compile(
    r"\brank (\d+)(?: \([^)]*\))? "
    r"(?:has left|is dead|waits for nothing|is stopped|is gone|ended first|failed in)\b"
)
#: The rank whose error a reason quotes.
_TOLD_BY = re.compile(r"(?:^|: )rank (\d+)(?: \([^)]*\))?: ")
#: Starts of reasons, and their codes.
_REASON_CODES = {
    "left out to fit": OUT_OF_TIME,
    "dropped to fit": OUT_OF_TIME,
    "the pages would land on ": PAGES_LAND_ELSEWHERE,
}


def translate(record: Record) -> None:
    """Brings a record that was just read into today's form."""
    if record.engine_evidence is not None:
        force_setattr(record, "evidence", evidence_in(record.engine_evidence))
    if record.status == "skipped" and record.reason is not None:
        reason = record.reason
        code = next((code for start, code in _REASON_CODES.items() if reason.startswith(start)), None)
        force_setattr(record, "reason_code", code)
    if record.reason is not None:
        force_setattr(record, "blame", _blame_in(record.reason))
    for device in (record.health or {}).values():
        if isinstance(device, dict):
            _translate_health(device)


def _blame_in(reason: str) -> FailureBlame | None:
    """Returns the device and the rank that a reason blames in words."""
    devices, ranks = _FAILED_ON.findall(reason), _AT_FAULT.findall(reason) or _TOLD_BY.findall(reason)
    if not devices and not ranks:
        return None
    return FailureBlame(devices[-1] if devices else None, int(ranks[0]) if ranks else None)


def _translate_health(device: dict[str, Any]) -> None:
    """Turns -1 in the readings of a device into null with a reason."""
    missing: dict[str, str] = {}
    for side in ("before", "after"):
        reading = device.get(side)
        if not isinstance(reading, dict):
            continue
        for name, value in reading.items():
            if value == _UNKNOWN:
                reading[name] = None
                missing[name] = _REASON
    if missing:
        device["unknown"] = missing


@lru_cache(maxsize=4096)
def evidence_in(sentence: str) -> EvidenceFields | None:
    """Returns the fields that the evidence of a result says in words; None if it has none of them."""
    window, library, fell_back = (
        _WINDOW.search(sentence),
        _LIBRARY.match(sentence),
        _FELL_BACK.search(sentence),
    )
    if not (window or library or fell_back):
        return None
    return EvidenceFields(
        int(window[1]) if window else None,
        library["name"] if library else None,
        library["version"] if library else None,
        Fallback(**fell_back.groupdict()) if fell_back else None,
    )
