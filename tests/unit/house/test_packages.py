"""The packages: each imports what its row of scripts/packages.py allows, and of others only their faces."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

import packages
from byteways.base.devices import device_number, is_cpu, is_gpu
from packages import BY_NAME, CORE, PACKAGES, TOP, Package
from tests.unit.house.test_import_cycles import MODULES, imports, needed

FILES = packages.files()
#: Programs that measure; `byteways.measuring.hosts.worker` is started on each host.
WORKERS = ["byteways.measuring.hosts.worker"] + [
    name
    for name, file in MODULES.items()
    if name.startswith("byteways.measuring.work.")
    and '__name__ == "__main__"' in file.read_text(encoding="utf-8")
]
#: What a worker never loads.
ABOVE_WORKERS = (
    *("byteways.measuring.conduct", "byteways.measuring.doctor", "byteways.answers", "byteways.questions"),
    *("byteways.verdicts", "byteways.report", "byteways.console", "byteways.cli", "byteways.ext"),
)


def test_every_module_is_in_a_package() -> None:
    """Catches a new folder that nobody says what it is for, or may import."""
    assert [one for one in FILES if one not in TOP and one != "ext" and not packages.package_of(one)] == []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_package_imports_what_its_row_allows(package: Package) -> None:
    """Catches a worker that needs the conductor, or a core that needs an extension."""
    wrong = {
        module: forbidden
        for module, others in packages.edges().items()
        if packages.package_of(module) is package
        and (forbidden := [one for one in others if not packages.may_import(package, one)])
    }
    assert wrong == {}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_row_allows_what_is_imported(package: Package) -> None:
    """Catches a row that allows more than the package needs."""
    used = {
        CORE if one == CORE else target.name
        for module, others in packages.edges().items()
        if packages.package_of(module) is package
        for one in others
        if one == CORE or (target := packages.package_of(one))
    }
    assert [name for name in package.imports if name not in used] == []


@pytest.mark.parametrize("module", [module for module in TOP if module != "__init__"])
def test_a_module_of_byteways_itself_imports_what_it_may(module: str) -> None:
    """Catches a start that loads more than the command line. `__init__` loads names when they are used."""
    used = {found.name for one in packages.edges()[module] if (found := packages.package_of(one))}
    assert used - {"base", *TOP[module]} == set()


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_others_import_the_face(package: Package) -> None:
    """Catches a module that reaches behind the face of another package, and a face that nobody looks at."""
    seen = {name: sorted(who) for name, who in packages.seen(package).items() if name}
    face = packages.face(package)
    assert {name: who for name, who in seen.items() if name not in face} == {}
    assert [name for name in face if name not in seen] == []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_package_says_where_to_begin(package: Package) -> None:
    """Catches a README that is missing, or names a module that has moved."""
    assert (package.folder / "README.md").is_file()
    assert packages.module_file(package, package.begin).is_file()


def test_packages_stand_on_packages_before_them() -> None:
    """Catches two packages that need each other."""
    for number, package in enumerate(PACKAGES):
        assert {*package.imports} - {CORE} <= {other.name for other in PACKAGES[:number]}, package.name


def test_an_import_is_found(tmp_path: Path) -> None:
    """Catches a search that looks past late imports, modules taken from a package, or the native core."""
    file = tmp_path / "module.py"
    file.write_text(
        "from byteways import _core, extensions\nimport byteways.measuring.work.worker\n"
        "def late():\n    from byteways.measuring.conduct import process\n"
        "    from byteways.base.errors import BytewaysError\n"
    )
    found = {"_core", "extensions", "measure.work.worker", "measure.conduct.process", "base.errors"}
    assert packages.imported(file, FILES) == found
    assert not packages.may_import(BY_NAME["record"], "measure.conduct.process")
    assert not packages.may_import(BY_NAME["report"], "ext.watch.page")
    assert not packages.may_import(BY_NAME["record"], "_core")


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
    for node in imports(packages.parsed(MODULES[module]), late=False):
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


def test_kinds_of_devices_are_read_in_one_place() -> None:
    """Catches a module that takes the name of a device apart itself."""
    forms = re.compile(r"startswith\(\"[cg]pu\"\)|\bint\([\w.]+\[3:\]\)")
    found = [one for one, file in FILES.items() if forms.search(file.read_text(encoding="utf-8"))]
    assert found == ["base.devices"]


@pytest.mark.parametrize(("name", "gpu", "number"), [("gpu3", True, 3), ("cpu12", False, 12)])
def test_a_name_says_what_a_device_is(name: str, gpu: bool, number: int) -> None:
    """Catches a NUMA domain that passes for a GPU."""
    assert (is_gpu(name), is_cpu(name), device_number(name)) == (gpu, not gpu, number)
