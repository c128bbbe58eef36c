"""Texts and tables that the records of a run share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from byteways.record.journal_lines import MOST_LINE_BYTES, JournalLines
from byteways.record.record import Record
from byteways.record.run_folder import RunFolder
from tests.report import sample_run

MIB = 2**20


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


def rounds_of_one_case() -> list[bytes]:
    """The lines of a case as a journal has them."""
    records = sample_run.cpu_only().records
    lines = [json.dumps(one.to_json(), separators=(",", ":")).encode() for one in records]
    case = json.loads(lines[0])["case_id"].encode()
    return [line for line in lines if case in line]


def test_lines_in_any_order_of_fields() -> None:
    """Would catch a round that has the definition of another line with the same begin."""
    first, second, *_ = rounds_of_one_case()
    fields = json.loads(second)
    late = {"size_bytes": fields.pop("size_bytes") + 64}  # after the status
    moved = json.dumps({**fields, **late}, separators=(",", ":")).encode()
    spaced = json.dumps(json.loads(second)).encode()
    for lines in ((first, second), (moved, first), (first, moved), (first, spaced), (moved, moved)):
        reader = JournalLines()
        for line in lines:
            assert reader.record(line) == Record.from_json(json.loads(line))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b'"status":"measured"', b'"status":"lucky"', "status 'lucky' is unknown"),
        (b'"status":"measured"', b'"status":5', "Expected `str`, got `int`"),
        (b'"method_version":', b'"method":', "missing required field `method_version`"),
        (b'"round":1,', b'"round":01,', "JSON is malformed"),
        (b'"n":', b'"count":', "missing required field `n`"),
        (b'"warnings":', b'"warnings":[],"launch":{"blocks":"many"},"warning":', "Expected `int`, got `str`"),
        (b"}", b"", "JSON is malformed|truncated"),
    ],
)
def test_later_round_that_is_damaged(old: bytes, new: bytes, said: str) -> None:
    """Would catch a round that is believed because the first one of its case was plausible."""
    first, second, *_ = rounds_of_one_case()
    reader = JournalLines()
    assert reader.record(first).round == 0
    assert old in second
    with pytest.raises(ValueError, match=said):
        reader.record(second.replace(old, new))
    assert reader.record(second) == Record.from_json(json.loads(second))


@pytest.mark.parametrize("depth", [400, 900, 960, 999, 5000])
def test_a_line_that_is_nested_too_deeply(depth: int) -> None:
    """Would catch one line that makes a run unreadable: each step of reading has its own limit of depth."""
    first, second, *_ = rounds_of_one_case()
    nested = b'"options":{"zz":' + b"[" * depth + b"]" * depth + b"}"
    for line in (first, second):
        reader = JournalLines()
        with pytest.raises(ValueError, match=r"nested too deeply|option zz|recursion"):
            reader.record(line.replace(b'"options":{}', nested))
        assert reader.record(first).round == 0


def test_a_record_of_version_1_without_a_field() -> None:
    """Catches a traceback from a line that lacks what the converter reads."""
    with pytest.raises(ValueError, match="not a record"):
        JournalLines(schema_version=1).record(b'{"case_id": "a"}')


def test_the_longest_line_of_a_journal() -> None:
    """Catches another limit than the one that is told."""
    with pytest.raises(ValueError, match=f"more than {MOST_LINE_BYTES // MIB} MiB"):
        JournalLines().record(b" " * (MOST_LINE_BYTES + 1))
