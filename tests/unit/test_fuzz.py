"""validation/fuzz.py finds what it looks for, and nothing else."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import fuzz
from byteways.base.errors import BytewaysError

SEEDS = [{"a.toml": b'name = "x"\nsize = 1\n', "b.jsonl": b'{"a": [1, 2]}\n{"b": {"c": "d"}}\n'}]


def fails(folder: Path) -> None:
    raise KeyError("colour")


def refuses(folder: Path) -> None:
    raise BytewaysError("no")


def hangs(folder: Path) -> None:
    while True:
        pass


def waits(folder: Path) -> None:
    time.sleep(600)


def eats(folder: Path) -> None:
    _ = bytearray(4 * fuzz.MOST_BYTES)


@pytest.mark.parametrize(
    ("reader", "said"),
    [
        (fails, "KeyError: 'colour' (test_fuzz.py:"),
        (eats, "MemoryError"),
        (hangs, "no end within 0.2 s"),
        (waits, "waited 0.5 s"),
    ],
)
def test_finds(reader: object, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a fuzzer that runs for an hour and could not have found anything."""
    monkeypatch.setattr(fuzz, "MOST_S", 0.2)
    monkeypatch.setattr(fuzz, "MOST_WAIT_S", 0.5 if reader is waits else 60.0)
    target = fuzz.Target("it", SEEDS, reader)  # type: ignore[arg-type]
    finds = fuzz.run_batch(target, 1, range(1), tmp_path / "case")
    assert [(number, what.startswith(said)) for number, what in finds] == [(0, True)]
    assert target.outcomes["find"] == target.cases == 1


def test_what_is_refused_is_no_find(tmp_path: Path) -> None:
    """Would catch a fuzzer that cries for every file that is told to be wrong."""
    target = fuzz.Target("it", SEEDS, refuses)
    assert fuzz.run_batch(target, 1, range(20), tmp_path / "case") == []
    assert (target.cases, target.outcomes["refused"]) == (20, 20)


def test_a_case_can_be_made_again() -> None:
    """Would catch a find that nobody can repeat, or cases that are all the same."""
    target = fuzz.Target("it", SEEDS, refuses)
    cases = [target.case(1, number) for number in range(50)]
    assert cases == [target.case(1, number) for number in range(50)]
    assert len({tuple(case.items()) for case in cases}) > 30
    assert all(case.keys() == SEEDS[0].keys() for case in cases)


def test_a_text_of_comments_alone_is_damaged(tmp_path: Path) -> None:
    """Would catch a fuzzer that looks for a key in a file that has none."""
    target = fuzz.Target("it", [{"s.toml": b"# Nothing yet.\n"}], refuses)
    fuzz.run_batch(target, 1, range(20), tmp_path / "case")
    assert target.cases == 20


def test_a_case_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """Would catch a fuzzer that spends its time on a target of which it can make no case."""
    target = fuzz.Target("it", [{"s.unknown": b""}], refuses)
    with pytest.raises(RuntimeError, match="case it:0 cannot be made"):
        fuzz.run_batch(target, 1, range(20), tmp_path / "case")
