"""Checks that every quotation of a study stands word by word in its source, and notes where.

The sources are texts of the published works, which are not part of this repository. What was found is kept in
src/byteways/ext/studies/published/quotations.csv, by the digest of the quotation: a quotation that is changed, or new, is
missing there until it was checked again (tests/unit/house/test_quotations.py).

    python scripts/check_quotations.py FOLDER   # with the texts, as .txt files
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from byteways.ext.studies.published import names
from byteways.ext.studies.published.claim_file import bare, digest
from byteways.ext.studies.published.reading import load
from byteways.ext.studies.published.study import Study

LIST = Path(__file__).resolve().parents[1] / "src" / "byteways" / "studies" / "quotations.csv"
#: Captions of figures, tables and their parts.
CAPTION = re.compile(r"(Figure|Table) \d+[:.]|\([a-d]\) ")
COLUMNS = ("study", "claim", "sha256", "text", "text_sha256", "line")


def main(folder: Path) -> int:
    """Writes the list; 1, with the quotations that stand in no text, where there are some."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.txt"))}
    rows, lost = [], []
    for study in map(load, names()):
        found, missing = _of_study(study, texts)
        rows += found
        lost += missing
    for name in lost:
        print(f"in no text: {name}", file=sys.stderr)  # noqa: T201
    if lost:
        return 1
    with LIST.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([COLUMNS, *rows])
    return 0


def _of_study(
    study: Study, texts: Mapping[Path, str]
) -> tuple[list[tuple[str, str, str, str, str, str]], list[str]]:
    """Rows of the list, and what is in no text. All quotations of a study are of one text."""
    quoted = {claim.id: claim.quote for claim in study.claims if claim.quote}
    best: dict[str, int] = {}
    chosen = None
    for path, text in texts.items():
        lines = {name: line for name, quote in quoted.items() if (line := _line_of(quote, text))}
        if len(lines) > len(best):
            best, chosen = lines, path
    if chosen is None:
        return [], [f"{study.key} {name}" for name in quoted]
    kind = sha256(texts[chosen].encode()).hexdigest()
    rows = [
        (study.key, name, digest(quoted[name]), chosen.stem, kind, str(line)) for name, line in best.items()
    ]
    return rows, [f"{study.key} {name}" for name in quoted if name not in best]


def _line_of(quote: str, text: str) -> int:
    """Of a text, where the quotation begins, from 1; 0 where it is not in it. White space counts nothing.

    Figures may stand within a sentence where a page ends: their captions are left out in a second search.
    """
    lines = [bare(line) for line in text.splitlines()]
    without = ["" if CAPTION.match(line) else bare(line) for line in text.splitlines()]
    for some in (lines, without):
        place = "".join(some).find(bare(quote))
        if place < 0:
            continue
        for number, line in enumerate(some, 1):
            if place < len(line):
                return number
            place -= len(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
