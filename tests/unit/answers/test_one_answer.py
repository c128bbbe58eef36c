"""validation/one_answer.py: every part that names the best interface gives the same answer."""

from __future__ import annotations

from dataclasses import replace

import pytest

import one_answer
from byteways.answers.best.best_interfaces import BestMap, best_map
from byteways.answers.results.index import Index
from byteways.record.run_folder import RunFolder
from scripts.unpack_examples import recorded


@pytest.mark.parametrize("name", ["h100x2/quick", "h100x2/full", "h200x4-rounds/quick", "h200x2/routes"])
def test_each_question_has_one_answer(name: str) -> None:
    """Would catch a table, finding, map, matrix or page that ranks by rules of its own."""
    outcome = one_answer.examine(RunFolder(recorded(name)))
    assert outcome.differ == 0
    assert outcome.asked or name.endswith("routes")


def test_a_map_with_other_figures_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a comparison that cannot fail."""

    def other(index: Index) -> BestMap | None:
        found = best_map(index)
        assert found is not None
        rows = tuple(
            (label, tuple(one and replace(one, group=replace(one.group, value=1e9)) for one in rankings))
            for label, rankings in found.rows
        )
        return replace(found, rows=rows)

    monkeypatch.setattr(one_answer, "best_map", other)
    assert one_answer.examine(RunFolder(recorded("h100x2/quick"))).differ > 0
