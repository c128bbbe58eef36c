"""Outcomes of cases that failed: the sentence, and what programs need of it."""

from __future__ import annotations

from typing import Any


def device_at_fault(error: BaseException) -> str:
    """Returns the device on which a call failed; '' if the error is not of a call on a device."""
    of_a_vendor = getattr(error, "text", "")  # without the vendor's message the call was refused, not failed
    return str(getattr(error, "device", "")) if of_a_vendor else ""


def failed(reason: str, device: str = "") -> dict[str, Any]:
    """Returns the outcome of a case that failed.

    Args:
        reason: Why, as a sentence.
        device: On which a call failed; '' if that is unknown.
    """
    blame = {"blame": {"device": device}} if device else {}
    return {"status": "failed", "reason": reason, **blame}


def failed_by(error: BaseException, before: str = "", after: str = "") -> dict[str, Any]:
    """Returns the outcome of a case that an error ended, with words before and after its own."""
    return failed(f"{before}{error}{after}", device_at_fault(error))
