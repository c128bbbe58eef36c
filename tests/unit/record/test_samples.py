"""The samples of a run, line by line, whatever is in the file."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byteways.base.errors import BytewaysError
from byteways.record import samples as samples_module
from byteways.record.samples import Samples, SamplesFile, encode, of_outcome

KEYS = st.tuples(st.sampled_from(["a", "b", "é"]), st.integers(0, 3))
LINES = st.lists(
    st.tuples(KEYS, st.lists(st.floats(0.1, 1e9), max_size=3)) | st.binary(max_size=20), max_size=8
)


@given(lines=LINES, torn=st.binary(max_size=10))
def test_the_last_whole_line_of_each_record_is_found(
    lines: list[Any], torn: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Catches samples of another record, of an earlier attempt or of a torn line, and a good line lost behind
    a damaged one.
    """
    path = tmp_path_factory.mktemp("samples") / "samples.jsonl"
    expected: dict[tuple[str, int], list[float]] = {}
    with path.open("wb") as file:
        for line in lines:
            if isinstance(line, bytes):
                file.write(line.replace(b"\n", b"") + b"\n")
            else:
                (case_id, number), values = line
                expected[case_id, number] = values
                file.write(encode(Samples(case_id, number, values)))
        file.write(torn.replace(b"\n", b""))
    found = SamplesFile(path)
    for case_id, number in [(name, at) for name in ("a", "b", "é", "c") for at in range(5)]:
        samples = found.of(case_id, number)
        assert (None if samples is None else samples.samples_ns) == expected.get((case_id, number))


def test_a_line_without_its_end_is_none(tmp_path: Path) -> None:
    """Catches a line that may be cut within a number."""
    path = tmp_path / "samples.jsonl"
    line = encode(Samples("a", 0, [1.0]))
    path.write_bytes(line + encode(Samples("a", 0, [2.0]))[:-1])
    found = SamplesFile(path).of("a", 0)
    assert found is not None and found.samples_ns == [1.0]
    assert SamplesFile(tmp_path / "missing").of("a", 0) is None


def test_a_line_of_wrong_values_is_none(tmp_path: Path) -> None:
    """Catches text where a median is computed."""
    path = tmp_path / "samples.jsonl"
    path.write_text('{"case_id": "a", "round": 0, "samples_ns": "many"}\n')
    assert SamplesFile(path).of("a", 0) is None


@pytest.mark.parametrize(
    ("outcome", "samples"),
    [
        ({}, None),
        ({"samples_ns": None, "samples": None}, None),
        ({"samples_ns": [1.0]}, Samples("a", 2, [1.0])),
        ({"samples_ns": []}, Samples("a", 2, [])),
        ({"samples": {}}, Samples("a", 2, [])),
        (
            {"samples_ns": [1.0], "samples": {"host_ns": [2.0], "case_id": "b", "round": 9}},
            Samples("a", 2, [1.0], host_ns=[2.0]),
        ),
    ],
)
def test_samples_of_an_answer(outcome: dict[str, Any], samples: Samples | None) -> None:
    """Catches a record without its samples, and samples under another record's key."""
    assert of_outcome("a", 2, outcome) == samples


@pytest.mark.parametrize("outcome", [{"samples": [1.0]}, {"samples_ns": "x"}, {"samples": {"host_ns": 1}}])
def test_samples_that_are_none(outcome: dict[str, Any]) -> None:
    """Catches a traceback of the conductor because of an answer."""
    with pytest.raises(ValueError, match=r"."):
        of_outcome("a", 0, outcome)


def test_what_a_line_has() -> None:
    """Catches absent fields written, and a line without its samples because there were none."""
    line = encode(Samples("a", 1, [], device_ns=[], submit_ns=[1.0], flows=None))
    assert line == b'{"case_id":"a","round":1,"samples_ns":[],"submit_ns":[1.0]}\n'
    with pytest.raises(ValueError, match="JSON"):
        encode(Samples("a", 1, [math.inf]))
    assert json.loads(encode(Samples("a", 1, [1.5])))["samples_ns"] == [1.5]


def test_samples_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a traceback for a file of another user."""

    def refuse(path: Path) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(samples_module, "open_regular", refuse)
    with pytest.raises(BytewaysError, match="cannot read") as caught:
        SamplesFile(tmp_path / "samples.jsonl").of("a", 0)
    assert caught.value.cause == "Permission denied"


def test_a_missing_file_of_samples_has_none(tmp_path: Path) -> None:
    """Catches a traceback from runs that were recorded before samples had a file."""
    assert SamplesFile(tmp_path / "samples.jsonl").of("a", 0) is None
