"""The table of memory kinds: by who touched the pages first, and only where there is something to compare."""

from __future__ import annotations

from pathlib import Path

from byteways.answers.results.index import Index
from byteways.questions.subjects import memory_kinds
from tests.changed import replace
from tests.report.run_builder import MIB
from tests.unit.questions.test_series import built


def test_memory_by_who_touched_it(tmp_path: Path) -> None:
    """Catches warm, optional or environment's results in the table of plain ones, and a column's own best."""
    folder = built(
        tmp_path,
        ("copy", "cpu0:pageable", 10.0, {}),
        ("copy", "cpu0:pageable@gpu0", 5.0, {}),
        ("copy", "cpu0:managed@cpu1", 20.0, {}),
        ("kernel", "cpu0:managed@cpu1", 40.0, {}),
        ("copy", "cpu0:pinned", 50.0, {"size": MIB}),  # not of the largest size
        ("copy", "cpu0:pinned", 51.0, {"cache": "warm"}),
        ("copy", "cpu0:pinned", 52.0, {"options": {"gate": "no"}}),
        ("copy", "cpu0:write-combined", 53.0, {}),
    )
    records = [
        replace(one, environment={"A": "1"}) if one.source == "cpu0:write-combined" else one
        for one in folder.records
    ]
    index = Index(folder)
    index.records = records
    found = memory_kinds.topic(index)
    assert found is not None
    (table,) = found.tables
    assert table.headings == (
        "source memory",
        "first touch",
        "copy issued by the destination, GB/s",
        "kernel issued by the destination, GB/s",
    )
    assert table.rows == (
        ("pageable", "its owner", "10.00", ""),
        ("pageable", "a GPU", "5.00", ""),
        ("managed", "another CPU", "20.00", "40.00"),
    )
    assert table.heat == ((None, None, 0.5, None), (None, None, 0.25, None), (None, None, 1.0, 1.0))
