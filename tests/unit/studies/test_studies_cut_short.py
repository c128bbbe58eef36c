"""Recorded runs of studies, cut off at any record: what is left gives the same answers, or none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from byteways.ext.studies.comparison.outcome import compare
from byteways.ext.studies.comparison.topic import topic_of
from byteways.ext.studies.comparison.verdicts import UNTESTED
from byteways.ext.studies.published.reading import load
from byteways.record.run_folder import JOURNAL, MANIFEST, RunFolder
from scripts.unpack_examples import recorded

PARTS = (0.02, 0.5)


@pytest.mark.parametrize("key", ["herten2022", "memcpy-peer", "pearson2023", "schieffer2025"])
def test_a_part_of_a_run_gives_no_other_answer(tmp_path: Path, key: str) -> None:
    """Would catch a verdict on the sizes that came first, and a figure that is taken for given."""
    study, run = load(key), recorded(f"h200x2/{key}")
    whole = {one.claim.id: one.verdict for one in compare(study, RunFolder(run)).verdicts}
    lines = (run / JOURNAL).read_text(encoding="utf-8").splitlines(keepends=True)
    manifest = json.loads((run / MANIFEST).read_text(encoding="utf-8"))
    (tmp_path / MANIFEST).write_text(json.dumps({**manifest, "state": "interrupted"}), encoding="utf-8")
    for part in PARTS:
        kept = lines[: max(1, int(part * len(lines)))]
        (tmp_path / JOURNAL).write_text("".join(kept), encoding="utf-8")
        outcome = compare(study, RunFolder(tmp_path))
        assert topic_of(outcome).tables
        for one in outcome.verdicts:
            assert one.verdict in (UNTESTED, whole[one.claim.id]), (part, one.claim.id, one.detail)
