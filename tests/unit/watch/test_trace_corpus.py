"""Readers of other profilers' traces against a corpus whose bins were known before they were read."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from byteways.ext.watch.traces.formats import TRACE_FORMATS
from byteways.ext.watch.traces.scan import watched_of_trace
from tests.watched.traces.corpus import EXPECTED, FOLDER, as_expected, formats, trace_file, variants

FILES = [(name, file) for name in formats() for file in variants(name)]
#: The fewest files a format has, of versions and damages.
FEWEST = 3


@cache
def expected_of(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((FOLDER / name / EXPECTED).read_text())
    return content


@pytest.mark.parametrize(("name", "file"), FILES)
def test_every_bin_comes_out(name: str, file: str, tmp_path: Path) -> None:
    """A reader that loses, adds or misunderstands an operation, or takes a damaged one for a good one."""
    read = as_expected(watched_of_trace(trace_file(name, file, tmp_path)))
    assert read == expected_of(name)[file]


@pytest.mark.parametrize(("name", "file"), [each for each in FILES if not each[1].endswith(".sql")])
def test_a_compressed_trace_is_the_same(name: str, file: str, tmp_path: Path) -> None:
    """A reader that takes compressed content for damaged content."""
    path = tmp_path / file
    path.write_bytes(gzip.compress((FOLDER / name / file).read_bytes()))
    wanted = expected_of(name)[file]
    read = as_expected(watched_of_trace(path))
    beside = name == "rocprof_csv" and file.startswith("197")  # the files beside it are not there
    assert beside or read["bins"] == wanted["bins"]
    assert read["format"] == wanted["format"]


def test_each_format_has_variants_and_each_folder_one_format() -> None:
    """A format without a corpus, or a corpus whose files another format takes."""
    assert {name: len(variants(name)) for name in formats() if len(variants(name)) < FEWEST} == {}
    named = [{expected_of(name)[file]["format"] for file in variants(name)} for name in formats()]
    assert sorted(name for names in named for name in names) == sorted(known.name for known in TRACE_FORMATS)
    for name in formats():
        assert [*expected_of(name)] == variants(name)
