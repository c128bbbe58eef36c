"""The list of what the published works contain, and the program that checks what shows each item."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import mission
import mission_rows
from byteways.ext.studies.published.reading import load
from mission_rows import ON_A_MODEL, Row

#: Items of each source.
ITEMS = {"herten2022": 85, "memcpy-peer": 50, "pearson2023": 89, "schieffer2024": 25, "schieffer2025": 265}
ITEM = Row("pearson2023", "X1", "Sec. 1", "claim", "an item", "", ON_A_MODEL, (), "")


@pytest.mark.parametrize("source", sorted(ITEMS))
def test_no_item_is_lost_or_malformed(source: str) -> None:
    """Would catch an item that is deleted because nothing shows it, and evidence that cannot be looked up."""
    rows = mission_rows.read(source)
    assert len(rows) >= ITEMS[source]
    assert [name for name, times in Counter(one.id for one in rows).items() if times > 1] == []
    assert [text for one in rows for text in mission_rows.wrong(one)] == []


@pytest.mark.parametrize("source", sorted(ITEMS))
def test_claims_and_figures_that_are_named_exist(source: str) -> None:
    study = load(source)
    there = {"claim": {claim.id for claim in study.claims}, "figure": {one.id for one in study.figures}}
    named = [(one.id, shown) for one in mission_rows.read(source) for shown in one.evidence]
    assert [
        (name, shown) for name, shown in named if shown.subject not in there.get(shown.kind, [shown.subject])
    ] == []
    docs = [shown for _, shown in named if shown.kind == "docs"]
    examiner = mission.Examiner(mission.Program(Path("nowhere")))
    assert [text for shown in docs if (text := examiner._docs(ITEM, shown))] == []
