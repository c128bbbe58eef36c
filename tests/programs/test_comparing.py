"""The harness of other people's programs finds what differs, and takes for equal what was compared alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs import running
from tests.programs.__main__ import table
from tests.programs.counting import unlike
from tests.programs.mpich_tests import Listed, listed
from tests.programs.pins import LIST, pins
from tests.programs.program import Program
from tests.programs.running import Once, Place, Seen, Verdict, compare, differences, missing
from tests.programs.table import PROGRAMS


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "work", tmp_path / "builds")


def test_a_program_that_is_the_same(place: Place) -> None:
    """Catches a collector whose own output counts as the program's, and a run that is lost."""
    verdict = compare(
        Program("echo", "echo one; echo two >&2; exit 3", status=3), place, ["watch", "hugepage"]
    )
    assert verdict.good
    assert {name: seen.kind for name, seen in verdict.seen.items()} == {"watch": "same", "hugepage": "same"}


@pytest.mark.parametrize(
    ("command", "stream"),
    [
        ('echo "${LD_PRELOAD:+other}"', "out"),
        ('echo "${LD_PRELOAD:+other}" >&2', "err"),
        ('exit "${LD_PRELOAD:+4}0"', "status"),
    ],
)
def test_a_program_that_differs(place: Place, command: str, stream: str) -> None:
    """Catches a harness that compares too little: each stream and the status count."""
    verdict = compare(Program("differs", command, status=None), place, ["watch"])
    assert not verdict.good
    assert any(line.startswith(stream) for line in verdict.seen["watch"].what)


def test_a_program_that_differs_alone(place: Place) -> None:
    """Catches a filter that lets through what varies: such a program cannot be compared."""
    verdict = compare(Program("process", "echo $$"), place, ["watch"])
    assert verdict.failed
    assert not verdict.seen
    optional = compare(Program("process", "echo $$", optional=True), place, ["watch"])
    assert optional.good
    assert optional.left_out
    assert compare(Program("process", "echo $$", vary=((r"\d+", "#"),)), place, ["watch"]).good


def test_a_program_that_hangs(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a hang that ends the harness or leaves processes behind."""
    monkeypatch.setattr(running, "HANG_LEAST_S", 5.0)
    verdict = compare(Program("waits", 'if [ "$LD_PRELOAD" ]; then sleep 4321 & wait; fi'), place, ["watch"])
    assert any("hangs" in line for line in verdict.seen["watch"].what)
    assert not any(b"4321" in line for line in _command_lines())


def _command_lines() -> Iterator[bytes]:
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended
            yield file.read_bytes()


def test_a_program_started_directly(place: Place) -> None:
    """Catches runs of `--try` that are taken for one."""
    verdict = compare(Program("direct", "seq 3", direct=True), place, ["watch", "hugepage"])
    assert verdict.good


def test_what_is_missing_is_named() -> None:
    """Catches a program that counts as compared where it is not installed."""
    assert missing(Program("none", "none", needs=("sh", "no-such-program"))) == ["no-such-program"]
    assert not Verdict(Program("none", "none"), missing="no-such-program").good


def test_differences_name_lines() -> None:
    """Catches reports without the line that differs."""
    found = differences(Once("0", ["one", "two"], []), Once("139", ["one"], ["bad"]))
    assert found == ["status 0 -> 139", "out: -two", "err: +bad"]


def test_counts_are_compared_both_ways() -> None:
    """Catches functions that one side alone has, and a counter that did not run."""
    assert unlike({"MPI_Send": (2, 16)}, {"MPI_Send": (2, 16)}) == []
    assert len(unlike({"MPI_Send": (2, 16)}, {"MPI_Send": (2, 8), "MPI_Recv": (1, 8)})) == 2
    assert unlike({}, {})


def test_lists_of_mpich() -> None:
    """Catches tests that MPICH expects to fail, and those for more ranks than two cores can run."""
    text = (
        "# list\none 2 arg=-x=1 env=A=b=c\none 2\ntwo 8\nthree 2 xfail=ticket1\nfolder\nfour 4 timeLimit=9\n"
    )
    assert [*listed(text)] == [Listed("one", 2, ("-x=1",), (("A", "b=c"),)), Listed("four", 4)]


def test_every_package_has_a_version() -> None:
    """Catches a package that is not pinned."""
    assert len({(pin.kind, pin.name) for pin in pins(LIST.read_text(encoding="utf-8"))}) > 30
    with pytest.raises(ValueError, match="hpcc"):
        list(pins("hpcc\n"))


def test_names_are_unique() -> None:
    """Catches two programs whose results would be one."""
    names = [one.name for one in PROGRAMS]
    assert len({*names}) == len(names)


def test_table_counts_a_group() -> None:
    """Catches a row that hides one program that differs among many."""
    verdicts = [
        Verdict(Program(name, "", group="row"), seen={"watch": Seen(kind)})
        for name, kind in (("a", "same"), ("b", "differs"), ("c", "same"))
    ]
    assert "2 same, 1 differs" in table(verdicts, ["watch"])


def test_a_known_limitation_is_named_in_the_table() -> None:
    """Catches a difference that is hidden because it is known, and one that is known of another program."""
    known = Verdict(Program("a", "", known="weak symbols"), seen={"watch": Seen("differs")})
    other = Verdict(Program("b", ""), seen={"watch": Seen("differs")})
    assert known.good and not other.good
    assert "known (weak symbols)" in table([known, other], ["watch"])


@pytest.mark.slow
@pytest.mark.parametrize("program", [one for one in PROGRAMS if one.quick], ids=lambda one: one.name)
def test_quick_programs(program: Program, place: Place) -> None:
    """Catches collectors that change programs with allocators, processes and ends of other kinds."""
    if absent := missing(program):
        pytest.skip(f"not installed: {', '.join(absent)}")
    problem = running.built(program, place)
    assert not problem
    verdict = compare(program, place, [*running.COLLECTORS])
    assert verdict.good, (verdict.failed, {name: seen.what for name, seen in verdict.seen.items()})
