"""JSON that every reader accepts, whatever bytes a command line, a variable or a path has."""

from __future__ import annotations

import os
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byteways.base.json_text import json_line, json_text
from byteways.base.text import escaped, restored

#: Texts as Python makes them of any bytes, and any text besides.
FOREIGN = st.one_of(
    st.binary(max_size=30).map(os.fsdecode),
    st.text(st.characters(), max_size=30),
    st.text(st.characters(categories=["Cs"]), max_size=3),
)


@given(st.dictionaries(FOREIGN, st.one_of(FOREIGN, st.lists(FOREIGN, max_size=3)), max_size=4))
def test_whatever_is_written_can_be_read(data: dict[str, object]) -> None:
    """Catches a run that is measured for hours, and then cannot be read for one byte."""
    for text in (json_text(data), json_text(data, indent=1), json_line(data).decode()):
        msgspec.json.decode(text)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_is_not_changed(text: str) -> None:
    """Catches an escape of text that UTF-8 can represent, such as characters beyond 16 bits."""
    assert msgspec.json.decode(json_text([text])) == [text]


@given(st.binary())
def test_a_path_is_restored(path: bytes) -> None:
    """Catches a run that cannot be resumed, as its launcher is looked for under an escaped name."""
    name = os.fsdecode(path)
    if not re.search(r"\\x[89a-f][0-9a-f]", name):  # ambiguous, and nobody's path
        assert restored(escaped(name)) == name


def test_the_escape() -> None:
    """Catches another form than the documented one."""
    assert escaped(os.fsdecode(b"a\x80b")) == "a\\x80b"
    assert escaped("a\ud800b") == "a\\ud800b"


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_is_no_json(number: float) -> None:
    """Catches NaN in a file that other programs read."""
    with pytest.raises(ValueError, match="JSON compliant"):
        json_text([number])
