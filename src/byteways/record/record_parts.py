"""Checks the nested tables of a record, as far as readers use them (part_types.py).

Additional keys are allowed: this only prevents, for example, text where a sum is computed.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from byteways.base.decoding import converted
from byteways.record.part_types import (
    ChoiceFields,
    Clocks,
    Corruption,
    DeviceHealth,
    Energy,
    FirstUse,
    HostEnd,
    NoEnergy,
    OtherCount,
    PairMeeting,
    RankTimes,
)
from byteways.record.record import Record

#: The type of each table that readers compute with.
TYPES_OF_PARTS: dict[str, Any] = {
    "hosts": dict[str, HostEnd],
    "clocks": Clocks,
    "tournament": PairMeeting,
    "ranks": list[RankTimes],
    "first_use": FirstUse,
    "library_choice": ChoiceFields,
    "other_count": OtherCount,
    "corruption": Corruption,
    "health": dict[str, DeviceHealth],
    "energy": Energy,
}
_parts = attrgetter(*TYPES_OF_PARTS)


def wrong_part(record: Record) -> str:
    """Returns which table has an invalid value; empty if none has."""
    values = _parts(record)
    if values.count(None) == len(values):  # so are most
        return ""
    for value, (name, kind) in zip(values, TYPES_OF_PARTS.items(), strict=True):
        if value is not None and (reason := _wrong(name, value, kind)):
            return reason
    return ""


def _wrong(name: str, value: Any, kind: Any) -> str:
    if name == "energy" and "reason" in value:
        kind = NoEnergy
    try:
        converted(value, kind)
    except ValueError as error:
        return f"{name}: {error}"
    return ""
