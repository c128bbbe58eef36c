"""The cache of what tests build: the same inputs give the same file, others another, a failure none."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cache import cached, digest


def test_inputs_that_differ_have_another_digest(tmp_path: Path) -> None:
    """Catches a kernel or compiler that changed while a test goes on reading what the old one made."""
    source = tmp_path / "a.cu"
    source.write_text("one")
    before = digest([source, "-O3"])
    assert before == digest([source, "-O3"])
    assert before != digest([source, "-O2"])
    source.write_text("two")
    assert before != digest([source, "-O3"])
    assert digest(["ab", "c"]) != digest(["a", "bc"])


def test_a_file_is_made_once(tmp_path: Path) -> None:
    """Catches workers that make the same file at the same time, and read what is half written."""
    made: list[Path] = []

    def make(path: Path) -> None:
        made.append(path)
        path.write_text("content")

    with ThreadPoolExecutor(4) as pool:
        files = set(pool.map(lambda _: cached("toy.o", ["source"], make, tmp_path), range(8)))
    assert len(made) == len(files) == 1
    (file,) = files
    assert file.read_text() == "content" and file.suffix == ".o"
    assert cached("toy.o", ["other"], make, tmp_path) != file


def test_a_failure_is_not_kept(tmp_path: Path) -> None:
    """Catches the torn output of a compiler that failed, which every later session would take for good."""

    def fail(path: Path) -> None:
        path.write_text("torn")
        raise RuntimeError("no such architecture")

    with pytest.raises(RuntimeError, match="no such architecture"):
        cached("toy.o", ["source"], fail, tmp_path)
    assert list(tmp_path.glob("toy-*.o")) == []
    file = cached("toy.o", ["source"], lambda path: path.write_text("whole"), tmp_path)
    assert file.read_text() == "whole"
