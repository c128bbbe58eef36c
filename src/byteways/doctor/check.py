"""What a check found: one line for the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

STATES = ("ok", "warning", "problem")


@dataclass(frozen=True)
class Check:
    """One finding.

    Args:
        section: Group it is printed in: "libraries", "GPUs", "host", "process".
        name: What was looked at.
        state: "ok", "warning" (figures may suffer) or "problem" (something cannot be measured at all).
        text: What was found, one sentence without a full stop.
        advice: What to do; None when there is nothing to do.
        details: More of it for --json.
    """

    section: str
    name: str
    state: str
    text: str
    advice: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
