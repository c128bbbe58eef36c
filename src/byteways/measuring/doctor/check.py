"""The result of a check: one line for the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from byteways.base.text import Sentence

CHECK_STATES = ("ok", "warning", "problem")


@dataclass(frozen=True)
class Diagnosis:
    """One finding.

    Args:
        section: Group in the output: "libraries", "GPUs", "host", "process".
        name: What was checked.
        state: "ok", "warning" (results may suffer) or "problem" (something cannot be measured at all).
        text: The finding, one sentence without full stop.
        advice: What to do; None if nothing.
        details: Additional data for --json.
    """

    section: str
    name: Sentence
    state: str
    text: Sentence
    advice: Sentence | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
