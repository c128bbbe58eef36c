"""Reads what records of schema version 2 said in another form: the only place that knows the old forms."""

from __future__ import annotations

from typing import Any

from byteways.record.record import Record

#: Stood for an unknown number in readings of health.
_UNKNOWN = -1
_REASON = "the driver did not answer; an older byteways did not record why"


def translate(record: Record) -> None:
    """Brings a record that was just read into today's form; one that has it stays as it is."""
    for device in (record.health or {}).values():
        if isinstance(device, dict):
            _translate_health(device)


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
