"""The rooms of the package: each imports what its row of scripts/rooms.py allows, and nothing else."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import rooms
from rooms import BY_NAME, CORE, ROOMS, Room
from tests.unit.house.test_import_cycles import MODULES, imports, needed

FILES = rooms.files()
#: Programs that measure; `byteways.measuring.hosts.worker` is started on each host.
WORKERS = ["byteways.measuring.hosts.worker"] + [
    name
    for name, file in MODULES.items()
    if name.startswith("byteways.measuring.work.")
    and '__name__ == "__main__"' in file.read_text(encoding="utf-8")
]
#: What a worker never loads.
ABOVE_WORKERS = (
    "byteways.measuring.conduct",
    "byteways.questions",
    "byteways.report",
    "byteways.measuring.doctor",
    "byteways.cli",
)
#: What modules of one kind call the same: text around a table or chart; parts of what was watched (bins.py).
#: Variables of types are local, too.
COMMON_NAMES = {
    "End",
    "Process",
    "Series",
    "CAPTION",
    "CAPTION_OF_TWO_RUNS",
    "HEADINGS",
    "INTRODUCTION",
    "NOTE",
    "Item",
    "T",
    "Value",
}


def test_every_module_is_in_a_room() -> None:
    """Catches a new folder that nobody says what it is for, or may import."""
    assert [module for module in FILES if rooms.room_of(module) is None] == []


def test_no_room_is_empty() -> None:
    """Catches a row of a folder that is gone."""
    assert {room.name for room in map(rooms.room_of, FILES) if room} == {*BY_NAME}


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_room_imports_what_its_row_allows(room: Room) -> None:
    """Catches a worker that needs the conductor, or a record that needs the analysis."""
    wrong = {
        module: sorted(others)
        for module, file in FILES.items()
        if rooms.room_of(module) is room
        and module != "__init__"  # it imports nothing until a name of the library is used
        and (others := {one for one in rooms.imported(file, FILES) if not rooms.may_import(room, one)})
    }
    assert wrong == {}


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_row_allows_what_is_imported(room: Room) -> None:
    """Catches a row that allows more than the room needs."""
    others = {
        CORE if one == CORE else target.name
        for module, file in FILES.items()
        if rooms.room_of(module) is room
        for one in rooms.imported(file, FILES)
        if one == CORE or (target := rooms.room_of(one))
    }
    others |= {name.partition(".")[0] for name in others}
    assert [name for name in room.imports if name not in others] == []


def test_rooms_stand_on_rooms_before_them() -> None:
    """Catches two rooms that need each other."""
    for number, room in enumerate(ROOMS):
        assert {*room.imports} - {CORE} <= {other.name for other in ROOMS[:number]}, room.name


def test_an_import_is_found(tmp_path: Path) -> None:
    """Catches a search that looks past late imports, modules taken from a package, or the native core."""
    file = tmp_path / "module.py"
    file.write_text(
        "from byteways import _core, units\nimport byteways.measuring.work.worker\n"
        "def late():\n    from byteways.measuring.conduct import process\n"
        "    from byteways.base.errors import BytewaysError\n"
    )
    found = {"_core", "units", "run.work.worker", "run.conduct.process", "errors"}
    assert rooms.imported(file, FILES) == found
    assert not rooms.may_import(BY_NAME["run.work"], "run.conduct.process")
    assert not rooms.may_import(BY_NAME["run.conduct"], "_core")


def reached(program: str, *, late: bool) -> set[str]:
    """All modules that a program loads; `late` with imports inside functions."""
    found: set[str] = set()
    new = {program}
    while new:
        found |= new
        new = {other for module in new for other in needed(module, late=late)} - found
    return found


def foreign(module: str) -> set[str]:
    """Packages of others that a module imports at its start."""
    names: set[str] = set()
    for node in imports(rooms.parsed(MODULES[module]), late=False):
        full = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        names |= {name.partition(".")[0] for name in full}
    return names - {"byteways", *sys.stdlib_module_names}


@pytest.mark.parametrize("program", WORKERS)
def test_workers_load_nothing_of_the_conductor(program: str) -> None:
    """Catches a worker that reaches the conductor through a module which both share."""
    assert [name for name in sorted(reached(program, late=True)) if name.startswith(ABOVE_WORKERS)] == []


@pytest.mark.parametrize("program", WORKERS)
def test_workers_start_with_the_standard_library(program: str) -> None:
    """Catches a package of others that every worker would load before it measures."""
    assert {name: names for name in reached(program, late=False) if (names := foreign(name))} == {}


def public_names(file: Path) -> Iterator[str]:
    """Classes and constants that other modules may import."""
    for node in rooms.parsed(file).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        parts = [part for one in targets for part in (one.elts if isinstance(one, ast.Tuple) else [one])]
        names = [part.id for part in parts if isinstance(part, ast.Name)]
        names += [node.name] if isinstance(node, ast.ClassDef) else []
        yield from (name for name in names if not name.startswith("_"))


def test_classes_and_constants_have_names_of_their_own() -> None:
    """Catches a second Line, Table or LEAD, which a search cannot tell from the first."""
    places: dict[str, set[str]] = defaultdict(set)
    for module, file in FILES.items():
        for name in public_names(file):
            places[name].add(module)
    assert {
        name: where for name, where in places.items() if len(where) > 1 and name not in COMMON_NAMES
    } == {}
