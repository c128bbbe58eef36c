"""Suite files: what they read to, and that every mistake is named with file, line and key."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byteways.base.errors import BytewaysError, ExitStatus
from byteways.base.toml_lines import key_lines, line_of
from byteways.cases import vocabulary
from byteways.cases.case import PATTERNS
from byteways.cases.interfaces import INTERFACES
from byteways.cases.memory import MEMORIES
from byteways.plan.suite import Suite, load, names, parse

GOOD = """\
name = "mine"
title = "Mine"

[[sweep]]
name = "pairs"
interface = ["copy",
             "kernel"]   # a list over two lines
source = "gpu*:device"
destination = "gpu*:device"
size = "64KiB..1MiB x4"

[[sweep]]
name = "walk"
interface = "pointer-chase"
buffer = "cpu*:pageable@gpu*"
executor = "cpu*"
size = [4096, "1GiB"]

[[sweep]]
name = "blocks"
interface = "kernel"
source = "gpu0:device"
destination = "gpu1:device"
executor = ["source", "gpu2"]
size = "1MiB"
cache = ["cold", "warm"]
priority = 1
when = "with-gpu"

[sweep.options]
blocks = [8, 16]

[sweep.environment]
NCCL_DEBUG = "WARN"
"""


def changed(old: str, new: str) -> str:
    assert GOOD.count(old) >= 1, old
    return GOOD.replace(old, new, 1)


def message(text: str) -> BytewaysError:
    with pytest.raises(BytewaysError) as caught:
        parse(text, file="my.toml")
    assert caught.value.status == ExitStatus.USAGE
    return caught.value


def test_a_good_suite_reads_to_what_it_says() -> None:
    """Catches a key that is accepted and then ignored, or a default that is not the documented one."""
    suite = parse(GOOD, file="my.toml")
    pairs, walk, blocks = suite.sweeps
    assert (suite.name, suite.title, suite.text, suite.rounds) == ("mine", "Mine", GOOD, 3)
    assert (suite.precision, suite.case_budget_s, suite.budget_s) == (0.01, 1.0, None)
    assert pairs.interfaces == ("copy", "kernel")
    assert pairs.patterns == ("unidirectional",)
    assert pairs.executors == ("both",)
    assert pairs.sizes == (65536, 262144, 2**20)
    assert (pairs.caches, pairs.pairs, pairs.same_device, pairs.priority) == (("cold",), "all", None, 5)
    assert (pairs.precision, pairs.case_budget_s) == (0.01, 1.0)
    assert (walk.sources[0].device, walk.sources[0].memory) == ("cpu*", "pageable")
    assert (walk.sources[0].first_touch, walk.destinations, walk.caches) == ("gpu*", (), ("warm",))
    assert blocks.options == {"blocks": (8, 16)}
    assert blocks.environment == {"NCCL_DEBUG": ("WARN",)}
    assert (blocks.caches, blocks.priority, blocks.when) == (("cold", "warm"), 1, "with-gpu")


MISTAKES = [
    # old, new, line, key, part of the message, part of the hint
    ('title = "Mine"', 'titel = "Mine"', 2, "titel", "unknown key", "did you mean 'title'?"),
    ('title = "Mine"', "", None, "title", "missing", None),
    ('name = "mine"', 'name = "My Suite"', 1, "name", "is not a valid name", "lower-case"),
    ('name = "mine"', "name = 3", 1, "name", "a number instead of a string", None),
    ('title = "Mine"', 'title = " "', 2, "title", "an empty string", None),
    ('title = "Mine"', 'title = "Mine"\nprecision = 2', 3, "precision", "2 is out of range", "0.5"),
    ('title = "Mine"', 'title = "Mine"\nprecision = true', 3, "precision", "a boolean", None),
    ('title = "Mine"', 'title = "Mine"\nrounds = 1.5', 3, "rounds", "is not an integer", None),
    ('title = "Mine"', 'title = "Mine"\nrounds = 0', 3, "rounds", "out of range", "from 1"),
    ('title = "Mine"', 'title = "Mine"\nbudget_s = -1', 3, "budget_s", "out of range", None),
    ('title = "Mine"', 'title = "Mine"\ncase_budget_s = "1"', 3, "case_budget_s", "the string '1'", None),
    ('name = "pairs"', 'name = "walk"', 13, "name", "another sweep already has this name", None),
    ('             "kernel"]', '             "kernl"]', 6, "interface", "'kernl'", "did you mean 'kernel'?"),
    ('source = "gpu*:device"', "", 4, "source", "missing", None),
    ('source = "gpu*:device"', "source = []", 8, "source", "list is empty", None),
    ('source = "gpu*:device"', 'source = "gpu*"', 8, "source", "'gpu*' is not a buffer", "device:memory"),
    ('source = "gpu*:device"', 'source = "GPUX:device"', 8, "source", "'GPUX' is not a device", "gpu*"),
    ('source = "gpu*:device"', 'source = "gpu:device"', 8, "source", "'gpu' is not a device", "gpu*"),
    ('source = "gpu*:device"', 'source = "gpu0:devise"', 8, "source", "'devise'", "did you mean 'device'?"),
    ('source = "gpu*:device"', 'source = "cpu0:pageable@x"', 8, "source", "'x' is not a device", None),
    (
        'source = "gpu*:device"',
        'source = "gpu*:device"\nbuffer = "gpu*:device"',
        9,
        "buffer",
        "copy has two ends",
        None,
    ),
    ('"64KiB..1MiB x4"', '"0"', 10, "size", "positive", None),
    ('"64KiB..1MiB x4"', "0", 10, "size", "positive", None),
    ('"64KiB..1MiB x4"', '"1MiB..64KiB"', 10, "size", "is decreasing", None),
    ('"64KiB..1MiB x4"', '"900000TiB"', 10, "size", "too large", None),
    ('"64KiB..1MiB x4"', "[]", 10, "size", "empty", None),
    ('"64KiB..1MiB x4"', "[true]", 10, "size", "a boolean", None),
    ('"64KiB..1MiB x4"', "1.5", 10, "size", "a number instead of a size", None),
    ('size = "64KiB..1MiB x4"', "", 4, "size", "missing", None),
    (
        'interface = "pointer-chase"',
        'interface = ["pointer-chase", "copy"]',
        14,
        "interface",
        "needs its own sweep",
        None,
    ),
    ('executor = "cpu*"', 'executor = "source"', 16, "executor", "do not apply with one buffer", "gpu*"),
    ('executor = "cpu*"', "", 12, "executor", "missing", None),
    ('executor = "cpu*"', 'executor = "cpu*"\ncache = "cold"', 17, "cache", "no cache setting", None),
    (
        'executor = "cpu*"',
        'executor = "cpu*"\npattern = "bidirectional"',
        17,
        "pattern",
        "unidirectional",
        None,
    ),
    (
        'executor = "cpu*"',
        'executor = "cpu*"\nsource = "cpu*:pageable"',
        17,
        "source",
        "one buffer",
        "buffer =",
    ),
    ('"source", "gpu2"', '"sauce"', 24, "executor", "'sauce'", "did you mean 'source'?"),
    ('["cold", "warm"]', '"hot"', 26, "cache", "'hot'", "cold, warm"),
    ("priority = 1", "priority = 11", 27, "priority", "out of range", "from 0 to 9"),
    ('when = "with-gpu"', 'when = "gpu"', 28, "when", "'gpu'", "with-gpu"),
    ('when = "with-gpu"', 'pairs = "some"', 28, "pairs", "'some'", "per-link-class"),
    ('when = "with-gpu"', 'same_device = "yes"', 28, "same_device", "'yes'", "also"),
    ('when = "with-gpu"', 'pattern = "fan"', 28, "pattern", "'fan'", "fan-in"),
    ('when = "with-gpu"', 'pattern = "interference"', 28, "pattern", "beside_source", None),
    ('when = "with-gpu"', 'beside_source = "gpu*:device"', 28, "beside_source", "interference", None),
    ('when = "with-gpu"', 'wen = "with-gpu"', 28, "wen", "unknown key", "did you mean 'when'?"),
    ("blocks = [8, 16]", "blocks = []", 31, "options.blocks", "empty", None),
    ("blocks = [8, 16]", "blocks = 0", 31, "options.blocks", "blocks must be from 1 to 2147483647", None),
    ("blocks = [8, 16]", 'blocks = "8"', 31, "options.blocks", "the string '8'", None),
    ("blocks = [8, 16]", "blocs = 8", 31, "options.blocs", "no such option", "blocks"),
    ("blocks = [8, 16]", "chunk_bytes = 8", 31, "options.chunk_bytes", "kernel has no such option", "blocks"),
    (
        'NCCL_DEBUG = "WARN"',
        "NCCL_DEBUG = 1",
        34,
        "environment.NCCL_DEBUG",
        "a number instead of a string",
        None,
    ),
    (
        'NCCL_DEBUG = "WARN"',
        '"A B" = "1"',
        34,
        "environment.A B",
        "not a valid name of an environment variable",
        None,
    ),
]


@pytest.mark.parametrize(("old", "new", "line", "key", "problem", "hint"), MISTAKES)
def test_mistakes_name_file_line_and_key(
    old: str, new: str, line: int | None, key: str, problem: str, hint: str | None
) -> None:
    """Catches a mistake that passes, crashes, or is reported at another line or without the way out."""
    error = message(changed(old, new))
    assert error.what.startswith(f"my.toml:{line}: " if line else "my.toml: ")
    assert f"key '{key}'" in error.what
    assert problem in error.what
    if hint is not None:
        assert hint in (error.hint or "")


@pytest.mark.parametrize(
    "interface",
    [
        name
        for name, row in INTERFACES.items()
        if row.buffers == "pair" and row.figure == "bandwidth" and not row.between_ranks
    ],
)
def test_gate_and_batch_are_options_of_every_interface(interface: str) -> None:
    """Catches an option that the worker reads and no suite may name, and a gate that is a number."""
    text = GOOD.replace("blocks = [8, 16]", "gate = [true, false]\nbatch = 4")
    text = text.replace('interface = "kernel"', f'interface = "{interface}"')
    suite = parse(text, file="mine.toml")
    assert any(sweep.options == {"gate": (True, False), "batch": (4,)} for sweep in suite.sweeps)
    assert "true or false" in message(text.replace("[true, false]", "1")).what
    assert "positive integer" in message(text.replace("batch = 4", "batch = true")).what


@pytest.mark.parametrize("value", ["3", '"x"', "[1]"])
@pytest.mark.parametrize("key", ["options", "environment"])
def test_options_and_environment_are_tables(key: str, value: str) -> None:
    """Catches a crash when a table is written as something else."""
    before, _ = GOOD.split("\n[sweep.options]")
    error = message(f"{before}\n{key} = {value}\n")
    assert f"key '{key}'" in error.what
    assert "instead of a table" in error.what


@pytest.mark.parametrize("sweep", ["", "sweep = []", "sweep = 1", "[sweep]\nname = 'x'"])
def test_a_suite_without_sweeps_is_refused(sweep: str) -> None:
    """Catches a suite that would plan nothing, or a crash on [sweep] for [[sweep]]."""
    error = message(f'name = "a"\ntitle = "A"\n{sweep}')
    assert "at least one [[sweep]]" in error.what
    assert "double brackets" in (error.hint or "")


def test_text_that_is_no_toml_says_where() -> None:
    """Catches a parser's traceback reaching the user, or the line getting lost."""
    error = message('name = "mine\ntitle = 3')
    assert error.what == "my.toml:1 is not valid TOML"
    assert "line 1" in (error.cause or "")
    assert message('name = "mine"\n\ntitle = = 3\n').what == "my.toml:3 is not valid TOML"
    assert message('name = "mine"\ntitle = [1,\n').what == "my.toml:2 is not valid TOML"


@given(st.text(max_size=80))
def test_any_text_gives_a_suite_or_one_kind_of_error(text: str) -> None:
    """Catches files that crash the reader."""
    for candidate in (text, f"{GOOD}\n{text}", f'name = "a"\ntitle = "b"\n[[sweep]]\nname = "c"\n{text}'):
        try:
            assert isinstance(parse(candidate, file="any.toml"), Suite)
        except BytewaysError as error:
            assert error.what.startswith("any.toml")


@pytest.mark.parametrize("name", [name for name, _ in names()])
def test_shipped_suites_are_valid_and_named_as_their_files(name: str) -> None:
    """Catches a suite in the package that does not load, or is listed under another name."""
    suite = load(name)
    assert suite.name == name
    assert suite.title == dict(names())[name]
    assert not suite.title.endswith(".")


def test_a_path_loads_the_users_own(tmp_path: Path) -> None:
    """Catches own suites being looked up among the shipped ones only."""
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    assert load(str(path)).name == "mine"


def test_unknown_names_and_files_say_what_to_do(tmp_path: Path) -> None:
    """Catches a traceback for a suite that is not there, in each way it can be missing."""
    with pytest.raises(BytewaysError, match="unknown suite 'xyzzy'") as unknown:
        load("xyzzy")
    assert (unknown.value.hint or "").startswith("valid: quick, full")
    with pytest.raises(BytewaysError, match="cannot read the suite file") as missing:
        load(str(tmp_path / "no.toml"))
    assert missing.value.cause == "No such file or directory"
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(BytewaysError, match="cannot read the suite file"):
        load(str(tmp_path / "folder.toml"))
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"')
    with pytest.raises(BytewaysError) as latin:
        load(str(tmp_path / "latin.toml"))
    assert "not UTF-8" in (latin.value.cause or "")


def test_lines_of_keys() -> None:
    """Catches lines that are miscounted after long values, strings with brackets and sub-tables."""
    text = (
        'a = """\nb = 1\n"""\n[[sweep]]\nc = [\n  "d = 3",\n]\ne = "[["\n'
        '[sweep.options]\nf = 1\n[[sweep]]\n# c = 0\nc = { g = [1] }\n"h" = 2\ni.j = 3\n'
    )
    lines = key_lines(text)
    expected = {
        ("a",): 1,
        ("sweep", 0): 4,
        ("sweep", 0, "c"): 5,
        ("sweep", 0, "e"): 8,
        ("sweep", 0, "options"): 9,
        ("sweep", 0, "options", "f"): 10,
        ("sweep", 1): 11,
        ("sweep", 1, "c"): 13,
        ("sweep", 1, "h"): 14,
        ("sweep", 1, "i", "j"): 15,
    }
    assert {place: lines.get(place) for place in expected} == expected
    assert ("b",) not in lines
    assert line_of(lines, ("sweep", 1, "c", "g")) == 13
    assert line_of(lines, ("nothing",)) is None


def test_every_word_has_a_meaning_and_options() -> None:
    """Catches a new interface, memory or pattern that `list` and the documentation would not know."""
    assert tuple(vocabulary.MEMORY_MEANINGS) == MEMORIES
    assert tuple(vocabulary.PATTERN_MEANINGS) == PATTERNS
