"""The fields of a record that say how a result came about, from what the native core noted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from byteways._core import EvidenceFields


def evidence_of(noted: EvidenceFields) -> dict[str, Any] | None:
    """Returns the fields of record.evidence.EvidenceFields; None if none applies."""
    fields: dict[str, Any] = {}
    if noted.window_messages:
        fields["window"] = noted.window_messages
    if noted.library:
        fields |= {"library": noted.library, "library_version": noted.library_version}
    if noted.fallback.from_:
        fallback = noted.fallback
        fields["fallback"] = {"asked": fallback.from_, "used": fallback.to, "reason": fallback.reason}
    return fields or None
