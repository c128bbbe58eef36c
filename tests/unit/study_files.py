"""Studies of one's own: copies of built-in ones with a change."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest

from byteways.base.errors import BytewaysError
from byteways.ext.studies.published.reading import load

#: Writes a study of one's own, with a text of one of its files replaced by another.
Edit = Callable[[str, str, str], Path]


def edited_study(place: Path, study: str, name: str, old: str, new: str) -> Path:
    folder = place / "mine"
    shutil.copytree(str(resources.files("byteways.ext.studies.published") / study), folder)
    text = (folder / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new), encoding="utf-8")
    return folder


def mistake_in(folder: Path) -> str:
    """Returns the message of a study that cannot be read."""
    with pytest.raises(BytewaysError) as caught:
        load(str(folder))
    assert caught.value.status == 2
    return "\n".join(caught.value.lines())
