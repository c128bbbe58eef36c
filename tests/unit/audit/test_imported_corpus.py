"""Readers of other programs' outputs against a corpus whose numbers were known before they were written."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from byteways.ext.audit.imported.formats import DOCUMENT_FORMATS, TEXT_FORMATS
from byteways.ext.audit.imported.reader import Found
from byteways.ext.audit.imported.scan import scan_text
from byteways.ext.audit.imported.value import ForeignValue
from tests.imported.write import EXPECTED, FOLDER, files, formats, variants

FILES = [(name, file_name) for name in formats() for file_name in variants(name)]
#: The fewest files a format has, of versions, launchers and damages.
FEWEST = 4


@cache
def outputs_of(name: str, file_name: str) -> list[Found]:
    """Returns the outputs that the readers find in a file; what is refused outside is the last one."""
    content = (FOLDER / name / file_name).read_bytes()
    scan = scan_text(content.splitlines(keepends=True))
    outside = Found("", 1, mistakes=scan.mistakes)
    return [*scan.outputs, outside]


@cache
def expected_of(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((FOLDER / name / EXPECTED).read_text())
    return content


def as_expected(value: ForeignValue) -> dict[str, Any]:
    """Returns a value's fields without those that are None or empty, as expected.json has them."""
    operation = value.operation
    fields = {
        **{name: getattr(value, name) for name in ("line", "test", "column", "text", "value", "statistic")},
        **{name: getattr(value, name) for name in ("counts", "size_bytes", "pointer")},
        **{name: getattr(operation, name) for name in ("interface", "pattern", "source", "destination")},
        **{name: getattr(operation, name) for name in ("executor", "ranks")},
        "unit": value.unit.name,
        "options": dict(operation.options) or None,
        "differences": list(value.differences),
    }
    return {key: item for key, item in fields.items() if item not in (None, "", [])}


@pytest.mark.parametrize(("name", "file_name"), FILES)
def test_every_value_comes_out(name: str, file_name: str) -> None:
    """A reader that loses, adds or misunderstands a number."""
    values = [as_expected(value) for output in outputs_of(name, file_name) for value in output.values]
    assert values == expected_of(name)[file_name]["values"]


@pytest.mark.parametrize(("name", "file_name"), FILES)
def test_every_mistake_has_its_line(name: str, file_name: str) -> None:
    """A damaged line that is taken for a good one, or a good one that is refused."""
    mistakes = [each for output in outputs_of(name, file_name) for each in output.mistakes]
    lines = sorted((each.line for each in mistakes), key=lambda line: line or 0)
    assert lines == sorted(expected_of(name)[file_name]["mistakes"], key=lambda line: line or 0), mistakes


@pytest.mark.parametrize(("name", "file_name"), FILES)
def test_hints_of_the_machine(name: str, file_name: str) -> None:
    """A GPU, host or version that the output contains and the reader does not see."""
    for field, wanted in expected_of(name)[file_name]["hints"].items():
        for output in outputs_of(name, file_name):
            if output.format:
                got = getattr(output.hints, field)
                got = {str(key): item for key, item in got.items()} if isinstance(got, dict) else got
                assert (list(got) if isinstance(got, tuple) else got) == wanted, field


@pytest.mark.parametrize("name", formats())
def test_the_corpus_is_what_its_writer_writes(name: str) -> None:
    """A file or an expected value that was changed by hand."""
    for file_name, content in files(name):
        assert (FOLDER / name / file_name).read_bytes() == content, "python -m tests.imported.write"


def test_each_format_has_enough_variants() -> None:
    """A format that is registered without a corpus."""
    read = {output.format for name, file_name in FILES for output in outputs_of(name, file_name)}
    registered = {known.name for known in TEXT_FORMATS} | {known.name for known in DOCUMENT_FORMATS}
    assert registered <= read
    assert all(len(variants(name)) >= FEWEST for name in formats())


def test_beginnings_exclude_each_other() -> None:
    """A line that two formats would take for their first."""
    for name, file_name in FILES:
        if file_name.endswith((".json", ".jsonl")):
            continue
        for line in (FOLDER / name / file_name).read_text(errors="replace").splitlines():
            assert sum(known.begins.match(line) is not None for known in TEXT_FORMATS) <= 1, line
