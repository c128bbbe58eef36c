"""Outcomes of cases without a result: the sentence, and what programs need of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from byteways.cases.reasons import CALL_FAILED, NOT_AS_ASKED, OUT_OF_MEMORY, UNAVAILABLE, WORKER_ERROR
from byteways.measuring.work.outcome_fields import Outcome

#: Codes of errors by the name of their type: those of the native core and of PyTorch exist in a worker alone.
_CODES: Mapping[str, str] = {
    "OutOfMemoryError": OUT_OF_MEMORY,
    "MemoryError": OUT_OF_MEMORY,
    "UnsupportedError": UNAVAILABLE,
}


def device_at_fault(error: BaseException) -> str:
    """Returns the device on which a call failed; '' if the error is not of a call on a device."""
    of_a_vendor = getattr(error, "text", "")  # without the vendor's message the call was refused, not failed
    return str(getattr(error, "device", "")) if of_a_vendor else ""


def code_of(error: BaseException) -> str:
    """Returns the code of the reason for a case that an error ended."""
    other = CALL_FAILED if hasattr(error, "call") else WORKER_ERROR
    return _CODES.get(type(error).__name__, other)


def failed_by(
    error: BaseException,
    reason: str = "",
    *,
    rank: int | None = None,
    members: Sequence[int] = (),
    host: str | None = None,
) -> Outcome:
    """Returns the outcome of a case that an error ended.

    Args:
        error: What ended it.
        reason: The sentence; '': that of the error.
        rank: Whose error it is, if the error names none.
        members: Ranks of the case in the order of the team that the error numbers.
        host: Where it happened.
    """
    if (place := getattr(error, "rank", None)) is not None and place < len(members):
        rank = members[place]
    told = {"device": device_at_fault(error) or None, "rank": rank, "host": host}
    blame = {name: value for name, value in told.items() if value is not None}
    outcome: Outcome = {
        "status": "failed",
        "reason": reason or str(error),
        "reason_code": code_of(error),
    }
    if call := getattr(error, "call", ""):
        outcome["reason_fields"] = {"call": call, "error": getattr(error, "code", "")}
    if blame:
        outcome["blame"] = blame
    return outcome


def refuted(reason: str) -> Outcome:
    """Returns the outcome of a case whose pages were not where it asks."""
    return {"status": "failed", "reason": reason, "reason_code": NOT_AS_ASKED}


def skipped(reason: str) -> Outcome:
    """Returns the outcome of a case that a runtime or library of the worker refuses."""
    return {"status": "skipped", "reason": reason, "reason_code": UNAVAILABLE}
