"""What simulated memory holds is described, not held: it must be what real memory would hold."""

from __future__ import annotations

from .conftest import Play


def test_against_real_memory(play: Play) -> None:
    """Would catch any word, and any finding of a check, that differs from a brute-force twin's."""
    told = play("against-twins")
    assert told["changes"] == [["10000"]]
    assert told["wrong-words"] == told["wrong-checks"] == [["0"]]
    assert int(told["clean-checks"][0][0]) > 100  # else the checks never met what they look for


def test_equal_runs_are_one(play: Play) -> None:
    """Would catch descriptions that grow with every operation, and gigabytes that get slow by it."""
    told = play("runs")
    keys = ("filled", "copied", "spotted", "spotted-again", "spotted-with-its-own")
    assert told == {key: [["1"]] for key in keys}


def test_pattern_is_inverted(play: Play) -> None:
    """Would catch a constant that is taken for a pattern's word, or the other way round."""
    assert play("pattern") == {"wrong": [["0"]]}


def test_chase_is_inverted(play: Play) -> None:
    """Would catch a walk that ends on another line than the real one, for any number of lines up to 2^33."""
    assert play("chase-inverse")["wrong"] == [["0"]]


def test_pages(play: Play) -> None:
    """Would catch managed pages that are elsewhere than they were moved, and lists of them that grow."""
    assert play("pages") == {"wrong": [["0"]], "runs-too-many": [["0"]]}


def test_sums_are_those_of_their_words(play: Play) -> None:
    """Catches a sum that is shifted, covers other elements, or is cut off at the end of a run."""
    told = play("sums")
    assert told["wrong"] == [["0"]] and int(told["checked"][0][0]) == 500 * 3 * 64
    assert told["elements"] == [[str(0x0201), "1", "15"]]  # bytes do not carry


def test_repeated_sums_are_sums_of_the_first_data(play: Play) -> None:
    """Catches sums of sums that grow with every repetition, and a check that takes another factor."""
    told = play("repeated-sums")
    assert told["wrong"] == [["0"]] and told["runs"] == [["1"]]
    assert told["own"] == [["4096", "0"]]
    assert told["planted"] == [["1", "9", "1"]]
