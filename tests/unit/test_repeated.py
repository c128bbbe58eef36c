"""Texts and tables that the records of a run share."""

from __future__ import annotations

from pathlib import Path

from byteways.results.run_folder import RunFolder
from tests.report import sample_run


def test_records_share_what_they_repeat(tmp_path: Path) -> None:
    """Would catch a reader that keeps a copy of each text for every record, or that shares unequal ones."""
    build = sample_run.cpu_only()
    records = RunFolder(build.write(tmp_path)).records
    assert [record.to_json() for record in records] == [record.to_json() for record in build.records]
    assert len(records) > len({record.path for record in records})
    assert len({id(record.path) for record in records}) == len({record.path for record in records})
    for record in records:
        first = next(one for one in records if one.case_id == record.case_id)
        assert record.flows is first.flows
        assert record.environment is first.environment
