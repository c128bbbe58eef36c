"""Files that list blocks of several sizes: as `--blocks FILE`, and as `block_sizes` of a suite."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from byteways.base.errors import BytewaysError
from byteways.cases.block_list import BlockList, MixedBlocks
from byteways.cases.question import question
from byteways.cli import main
from byteways.plan.block_files import listed_sizes, named_blocks
from byteways.plan.question_suite import suite_of
from byteways.plan.suite import load
from tests.report import sample_run
from tests.report.run_builder import KIB, Builder

LISTED = "# count bytes\n\n 48 16384\n8 64KiB\n16\t16KiB\n"
SUITE = """name = "mine"
title = "Mine"
[[sweep]]
name = "mixed"
interface = "copy-blocks"
source = "cpu0:pinned"
destination = "gpu0:device"
options = {{ block_sizes = {} }}
"""


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    path = tmp_path / "mix.txt"
    path.write_text(LISTED)
    return path


def test_what_a_file_lists(listed: Path) -> None:
    """Catches a comment or an empty line taken for blocks, and equal sizes kept apart."""
    found = named_blocks(str(listed))
    assert isinstance(found, MixedBlocks) and found.sizes == ((64, 16 * KIB), (8, 64 * KIB))
    assert (found.count, found.size_bytes) == (72, 64 * 16 * KIB + 8 * 64 * KIB)
    assert named_blocks("4x8KiB") == BlockList(4, 8 * KIB)
    listed.write_text("3 8KiB\n1 8192\n")
    assert named_blocks(str(listed)) == BlockList(4, 8 * KIB)


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("48 16384\n48x16384\n", ":2: '48x16384' is no count", "48 16384"),
        ("0 16384\n", ":1: '0 16384' is no count", "48 16384"),
        ("-1 16384\n", ":1: '-1 16384' is no count", "48 16384"),
        ("1 2 3\n", ":1: '1 2 3' is no count", "48 16384"),
        ("48 16 KiB\n", ":1: '48 16 KiB' is no count", "48 16384"),
        ("48 many\n", ":1: 'many' is no size", "48 16384"),
        ("# nothing\n", " lists no blocks", "48 16384"),
        (
            "".join(f"1 {8 * size}\n" for size in range(1, 66)),
            " has 65 sizes of blocks, more than 64",
            "power",
        ),
        (f"{2**24} 8\n1 16\n", " has more than 16,777,216 blocks", "one call"),
    ],
)
def test_mistakes_in_a_file(tmp_path: Path, text: str, what: str, hint: str) -> None:
    """Catches a line that is left out or taken for another, and a message without its place and remedy."""
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(BytewaysError) as error:
        listed_sizes(str(path))
    assert error.value.what.startswith(f"{path}{what}") and hint in str(error.value.hint)


def test_the_hint_for_odd_sizes_is_right(tmp_path: Path) -> None:
    """Catches a hint that is refused in its turn."""
    path = tmp_path / "odd.txt"
    path.write_text("3 1001\n")
    with pytest.raises(BytewaysError) as error:
        listed_sizes(str(path))
    path.write_text(str(error.value.hint).removeprefix("round up: "))
    assert listed_sizes(str(path)) == ((3, 1008),)


def test_what_is_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a traceback for a binary file, and a missing file that is taken for a list without a word."""
    path = tmp_path / "binary"
    path.write_bytes(b"\xff\xfe\x00")
    assert main(["best", "host", "gpu0", "--blocks", str(path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: cannot read the blocks in '{path}'") and "\nhint: " in said
    assert main(["best", "host", "gpu0", "--blocks", str(tmp_path / "nowhere")]) == 2
    assert "or a file with a count and a size in each line" in capsys.readouterr().err


@pytest.mark.parametrize("value", ['"mix.txt"', '["mix.txt"]', "'mix.txt'"])
def test_a_suite_names_a_file(listed: Path, value: str) -> None:
    """Catches a file that is not found beside the suite, or that a resumed run would need again."""
    path = listed.parent / "mine.toml"
    path.write_text(SUITE.format(value))
    suite = load(str(path))
    (sweep,) = suite.sweeps
    assert sweep.options == {"block_sizes": ("64x16384,8x65536",)}
    assert sweep.sizes == (named_blocks(str(listed)).size_bytes,)
    assert "mix.txt" not in suite.text


def test_mistakes_in_a_suite(listed: Path) -> None:
    """Catches a missing file that is named by no key, or a bad line that is reported as one of the suite."""
    path = listed.parent / "mine.toml"
    path.write_text("# block_sizes = 'nowhere.txt'\n" + SUITE.format('"nowhere.txt"'))
    with pytest.raises(BytewaysError) as error:
        load(str(path))
    assert f"{path}:9: sweep 'mixed', key 'options.block_sizes'" in error.value.what
    assert "nor a file beside the suite" in error.value.what
    listed.write_text("48 some\n")
    path.write_text(SUITE.format('"mix.txt"'))
    with pytest.raises(BytewaysError) as error:
        load(str(path))
    assert error.value.what.startswith(f"{listed}:1: ")


def test_a_run_answers_for_the_blocks_of_a_file(listed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches an answer from blocks of one size, or from another mix of the same bytes."""
    build = Builder(sample_run.topology(1))
    blocks = named_blocks(str(listed))
    ends = [("cpu0:pinned", "gpu0:device", "gpu0")]
    for sizes, better in (("32x16KiB,4x64KiB", 40.0), ("16x32KiB,16x64KiB", 90.0)):
        for interface, rate, options in (
            ("kernel-blocks", better, {}),
            ("copy-blocks", 10.0, {"submit": "batch"}),
            ("copy-blocks", 5.0, {}),
        ):
            chosen = {"block_sizes": sizes, "gate": False, **options}
            build.measure(interface, ends, rate, size=blocks.size_bytes, options=chosen)
    folder = str(build.write(listed.parent / "run"))
    assert main(["best", "host", "gpu0", "--blocks", str(listed), folder, "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)["answers"]
    assert (answer["interface"], answer["sure"]) == ("kernel-blocks", True)
    assert answer["bandwidth_bytes_per_s"] == pytest.approx(40e9, rel=0.01)
    assert answer["blocks"] == {
        "count": 72,
        "sizes": [{"count": 64, "block_bytes": 16 * KIB}, {"count": 8, "block_bytes": 64 * KIB}],
    }
    listed.write_text("3 8KiB\n1 16KiB\n")
    assert main(["best", "host", "gpu0", "--blocks", str(listed), folder]) == 2
    assert f"byteways best host gpu0 --blocks {listed}" in capsys.readouterr().err


def test_the_question_is_measured_with_these_blocks(listed: Path) -> None:
    """Catches a file that is measured as blocks of one size, or by a method that has no such blocks."""
    asked = question("host", "gpu0", named_blocks(str(listed)))
    suite = suite_of(asked, sample_run.topology(1))
    assert {name for sweep in suite.sweeps for name in sweep.interfaces} >= {"copy-blocks", "kernel-blocks"}
    for sweep in suite.sweeps:
        assert (sweep.options["block_sizes"], sweep.sizes) == (("64x16384,8x65536",), (asked.size_bytes,))
    with pytest.raises(BytewaysError) as error:
        suite_of(question("cpu0", "cpu0", named_blocks(str(listed))), sample_run.topology(1))
    words = str(error.value.hint).split("byteways ")[1].split()
    assert words[:3] == ["best", "cpu0", "cpu0"] and named_blocks(words[-1])
