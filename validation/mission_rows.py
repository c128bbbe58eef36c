"""What the published works contain, and what byteways shows for each item: validation/mission/<source>.csv.

A row is one figure, table, claim, method, artefact, application or plan for the future. Its columns:

- `id`, `place`, `kind`, `item`, `quote`: the item, where it stands, and the sentence as printed;
- `status`: one of STATUSES; empty: nobody has decided yet;
- `evidence`: what shows it, separated by `; ` (see Evidence);
- `reason`: why another thing stands for it, or why nothing can show it.
"""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).with_name("mission")
ON_A_MODEL, BY_PROXY, HARDWARE_ONLY, NOT_DECIDABLE = (
    "on a model",
    "by proxy",
    "hardware only",
    "not decidable",
)
STATUSES = (ON_A_MODEL, BY_PROXY, HARDWARE_ONLY, NOT_DECIDABLE)
#: What has to be shown on a model or by proxy, unless it is a claim that no test can decide.
SHOWN_KINDS = ("figure", "table")
#: Parts of study.toml that `study:` may name.
STUDY_PARTS = ("differences", "defects", "statistic", "timing")
_LINK = re.compile(r"(?P<one>\w+)-(?P<other>\w+)=(?P<peak>\d+(\.\d+)?)")


@dataclass(frozen=True)
class Evidence:
    """One thing that shows an item.

    - `claim:ID[@MODEL]`: a claim of the study reaches a verdict on the model;
    - `figure:ID[@MODEL]`: the figure has a value at each line, place and size; several models may share it;
    - `run:SUITE ARGUMENTS`: `byteways run SUITE ARGUMENTS` gives verified records;
    - `topology:MODEL [gpu0-gpu1=200 …]`: the model's node, with nominal peaks per direction in GB/s;
    - `docs:PATH#HEADING`: a section of the docs;
    - `study:PART`: what the study says of its source (STUDY_PARTS).
    """

    kind: str
    subject: str
    model: str = ""  # empty: the study's first

    @property
    def arguments(self) -> list[str]:
        """The words of a `run`."""
        return shlex.split(self.subject)

    @property
    def peaks(self) -> dict[tuple[str, str], float]:
        """Of a `topology`: GB/s per direction by pair of devices."""
        return {
            (found["one"], found["other"]): float(found["peak"]) for found in _LINK.finditer(self.subject)
        }


KINDS = ("claim", "figure", "run", "topology", "docs", "study")


@dataclass(frozen=True)
class Row:
    """One item of a source."""

    source: str
    id: str
    place: str
    kind: str
    item: str
    quote: str
    status: str
    evidence: tuple[Evidence, ...]
    reason: str

    @property
    def is_shown(self) -> bool:
        """Whether something has to show it."""
        return self.status in (ON_A_MODEL, BY_PROXY)


def sources() -> list[str]:
    """Names of the sources, in the order of their files."""
    return sorted(path.stem for path in FOLDER.glob("*.csv"))


def read(source: str) -> list[Row]:
    """Rows of a source.

    Raises:
        ValueError: The evidence of a row cannot be read; the text names the row.
    """
    rows = []
    with (FOLDER / f"{source}.csv").open(newline="", encoding="utf-8") as file:
        for entry in csv.DictReader(file):
            try:
                shown = tuple(_evidence(text) for text in entry.pop("evidence").split("; ") if text.strip())
            except ValueError as error:
                raise ValueError(f"{entry['id']}: {error}") from error
            rows.append(Row(source=source, evidence=shown, **entry))
    return rows


def _evidence(text: str) -> Evidence:
    kind, colon, subject = text.strip().partition(":")
    subject = subject.strip()
    if kind not in KINDS or not colon or not subject:
        raise ValueError(f"'{text}' is no evidence: it begins with one of {', '.join(KINDS)} and a colon")
    if kind in ("claim", "figure"):
        name, _, model = subject.partition("@")
        return Evidence(kind, name, model)
    if kind == "topology":
        model, _, peaks = subject.partition(" ")
        return Evidence(kind, peaks, model)
    return Evidence(kind, subject)


def wrong(row: Row) -> Iterator[str]:
    """What is wrong with a row by itself."""
    if row.status and row.status not in STATUSES:
        yield f"{row.id}: there is no status '{row.status}'"
    if row.is_shown and not row.evidence:
        yield f"{row.id}: nothing shows it, and it is '{row.status}'"
    if row.status and row.status != ON_A_MODEL and not row.reason:
        yield f"{row.id}: '{row.status}' needs a reason"
    if row.status and not row.is_shown and row.kind in SHOWN_KINDS:
        yield f"{row.id}: a {row.kind} has to be shown on a model or by proxy"
    for shown in row.evidence:
        if shown.kind == "study" and shown.subject not in STUDY_PARTS:
            yield f"{row.id}: a study has no part '{shown.subject}'"
