"""Marks simulated runs, and gives sentences their words for where values come from.

A simulated run has the same records, tables and sentences as a measured one. So the mark must stand wherever
a value does, and no sentence about it may speak of measuring.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Words that claim a measurement, and their replacement for simulated runs.
_WORDS = {
    "measured": "simulated",
    "measures": "simulates",
    "measuring": "simulating",
    "measurement": "simulation",
    "measurements": "simulations",
    "measure": "simulate",
}
#: Matches such words; quotations, file names and anchors of the page (`#not-measured`) stay.
_CLAIM = re.compile(r"“[^”]*”|(?<![\w/-])measur(?:ed?|es|ing|ements?)(?![\w-]|\.\w)", re.IGNORECASE)


@dataclass(frozen=True)
class Voice:
    """The words of a sentence that say where its values come from: given when the sentence is made."""

    measure: str
    measured: str
    measures: str
    measurement: str
    simulated: bool

    @property
    def measurements(self) -> str:
        return f"{self.measurement}s"

    def quote(self, text: str) -> str:
        """Returns a text of a record: those of a simulated run are written by the code that measures, too."""
        return _CLAIM.sub(_simulated_word, text) if self.simulated else text


MEASURED = Voice("measure", "measured", "measures", "measurement", simulated=False)
SIMULATED = Voice("simulate", "simulated", "simulates", "simulation", simulated=True)
#: Of values that other programs printed.
IMPORTED = Voice("import", "imported", "imports", "imported value", simulated=False)


def voice_of(manifest: Mapping[str, Any]) -> Voice:
    return IMPORTED if is_imported(manifest) else voice(is_simulated(manifest))


def voice(simulated: bool) -> Voice:
    return SIMULATED if simulated else MEASURED


def is_simulated(manifest: Mapping[str, Any]) -> bool:
    return bool(manifest.get("simulated"))


def is_imported(manifest: Mapping[str, Any]) -> bool:
    """Whether other programs measured what the run holds."""
    return manifest.get("imported") is not None


def model_of(manifest: Mapping[str, Any]) -> str:
    """Returns the name of the machine model, '' for a real machine."""
    model = manifest.get("machine_model") or {}
    return str(model.get("name") or "unknown") if is_simulated(manifest) else ""


def subject(manifest: Mapping[str, Any]) -> str:
    """Returns what the values are about: the host, or the simulated model."""
    host = manifest.get("host") or {}
    return model_of(manifest) or str(host.get("name") or "an unknown host")


def mark(name: str, faults: Sequence[str] = ()) -> str:
    """Returns the line above every table of a simulated machine."""
    with_faults = f", with faults {', '.join(faults)}" if faults else ""
    return f"SIMULATED by byteways from the model {name}{with_faults} (not measured)"


def mark_of(manifest: Mapping[str, Any]) -> str:
    """Returns the line above every table of this run, '' if byteways measured it."""
    if is_imported(manifest):
        formats = dict.fromkeys(name for file in manifest["imported"] for name in file["formats"])
        return f"IMPORTED from outputs of {', '.join(formats)} (not measured by byteways)"
    faults = (manifest.get("machine_model") or {}).get("faults") or ()
    return mark(model_of(manifest), faults) if is_simulated(manifest) else ""


def _simulated_word(found: re.Match[str]) -> str:
    if found[0].startswith("“"):
        return found[0]
    word = _WORDS[found[0].lower()]
    return word.capitalize() if found[0][0].isupper() else word
