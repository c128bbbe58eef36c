"""Writes what `byteways check` takes for normal, from the recorded runs of examples/ and published values.

    python scripts/learn_normal.py

Results of one round count beside those of other machines: they only widen what machines vary by. Published
values are those of benchmarks/published and of the studies that fix the same things as one of our cases.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from byteways.analyse.checks.learning import learned
from byteways.analyse.checks.normal import FILE
from byteways.results.run_folder import RunFolder
from unpack_examples import EXAMPLES, unpack

PLACE = Path(__file__).parents[1] / "src/byteways/analyse/checks" / FILE


def recorded_runs() -> Iterator[tuple[RunFolder, str]]:
    """Every measured run of examples/, with the name that its source has in the file."""
    unpack()
    for manifest in sorted(EXAMPLES.rglob("run.json")):
        run = RunFolder(manifest.parent)
        yield run, manifest.parent.relative_to(EXAMPLES.parent).as_posix()


def main() -> int:
    PLACE.write_text(learned([*recorded_runs()], least_rounds=1).text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
