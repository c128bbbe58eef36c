"""The packages of src/byteways: what each is for, which others it may import, and what others import of it.

The only list of them. docs/concepts/architecture.md and the README of each package have their tables from
here (write_tables.py), and tests/unit/house/test_packages.py compares it with the imports of every module.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1] / "src" / "byteways"
#: The native core, as a name in `Package.imports`.
CORE = "_core"


@dataclass(frozen=True)
class Package:
    """A package of byteways with everything inside it, or some modules of byteways itself.

    Attributes:
        name: Below byteways, with dots.
        says: What it is for.
        begin: The module that a reader opens first.
        imports: Packages that it may import, besides `base`.
        modules: Names of the modules of byteways itself.
    """

    name: str
    says: str
    begin: str = ""
    imports: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return ROOT.joinpath(*self.name.split("."))


_WHAT = ("cases", "machine")
_RECORDED = ("record", "plan", *_WHAT)
_MEASURED = ("measure", "models", *_RECORDED)
_ANSWERS = ("answers", *_RECORDED)
_VERDICTS = ("verdicts", "questions", *_ANSWERS)
_SHOWN = ("console", "report", *_VERDICTS)
#: From the ground up: a package imports only packages that are listed before it.
PACKAGES = (
    Package(
        "base",
        "errors, units, settings, text, and files: reading and writing them, TOML with places, words of "
        "other tools",
        "errors",
    ),
    Package(
        "machine",
        "the machine: devices, links, routes and capacities, from this node's sources or files of other "
        "programs",
        "model",
        (CORE,),
    ),
    Package(
        "cases",
        "what is measured: interfaces, memories, patterns, options, cases, and questions about them (pure)",
        "case",
    ),
    Package(
        "record",
        "what a run folder contains: records, manifests, warnings; reading (older versions too) and "
        "exporting them",
        "record",
        _WHAT,
    ),
    Package(
        "plan",
        "from suites to a plan: sweeps, legality, peaks, limits and time of cases (pure); the shipped suites",
        "planner",
        ("record", *_WHAT),
    ),
    Package(
        "models", "machine models for the simulator, every number with its source", "model", ("plan", *_WHAT)
    ),
    Package(
        "measure",
        "measuring: `conduct` is the conductor's process, `work` the worker's, `shared` what both need, "
        "`hosts` runs over several hosts, `doctor` checks of a machine",
        "conduct.conductor",
        ("models", *_RECORDED, CORE),
    ),
    Package(
        "answers",
        "what follows from records: `results` per case, `claims` that compare them, `best` methods",
        "results.index",
        _RECORDED,
    ),
    Package(
        "questions",
        "findings and topics: `subjects` has a file per question, `bottlenecks` explains what limits, "
        "`display` holds tables and charts as data",
        "findings",
        _ANSWERS,
    ),
    Package(
        "verdicts",
        "verdicts on runs: `checks` against what is normal, `two_runs` compared",
        "checks.check",
        ("questions", *_ANSWERS),
    ),
    Package(
        "report",
        "the page of a run, and of two: it only renders",
        "page",
        ("verdicts", "questions", "answers", "record", *_WHAT),
    ),
    Package(
        "console",
        "text for terminals: tables, wrapping, the first screen",
        "layout",
        ("questions", "answers"),
    ),
    Package("cli", "the command line: one verb per file", "frame", (*_SHOWN, "measure", "models", CORE)),
    Package(
        "ext.studies",
        "published experiments repeated: their values and claims, a run compared with them, `reproduce`",
        "published.study",
        ("console", "cli", "measure", "models", "questions", *_ANSWERS),
    ),
    Package(
        "ext.audit",
        "numbers of other programs: `imported` reads them, `judging` says whether they are possible and "
        "normal; `import`, `audit`",
        "imported.reader",
        (*_SHOWN, "cli", "measure", "models"),
    ),
    Package(
        "ext.copy",
        "the copy library from Python and PyTorch, and `plan`, which writes its plans",
        "copies",
        ("console", "cli", "measure", *_ANSWERS),
    ),
    Package(
        "ext.watch",
        "what a program moves: collectors, traces of other profilers, advice; `watch`, `advise`",
        "bins",
        ("ext.audit", "report", "console", "cli", "measure", "models", "questions", *_ANSWERS),
    ),
)
#: Modules of byteways itself: each may import what it names.
TOP = {
    "__init__": (),
    "__main__": ("cli",),
    "start": (),
    "extensions": (),
    "library": ("cli", "console", "report", *_VERDICTS, "measure", "models"),
}
BY_NAME = {package.name: package for package in PACKAGES}


def files() -> dict[str, Path]:
    """Returns the files of all modules by their names below byteways, such as `measure.work.worker`."""
    found = {}
    for file in sorted(ROOT.rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)] = file
    return found


def package_of(module: str) -> Package | None:
    """Returns the package of a module below byteways; None of modules of byteways itself, and of unknown."""
    parts = module.split(".")
    names = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((BY_NAME[name] for name in names if name in BY_NAME), None)


@cache
def parsed(file: Path) -> ast.Module:
    """Returns the tree of a source file, which several rules look at."""
    return ast.parse(file.read_text(encoding="utf-8"))


def imported(file: Path, modules: Iterator[str] | dict[str, Path]) -> set[str]:
    """Returns the modules of byteways that a file imports anywhere, also for type checkers alone."""
    found: set[str] = set()
    for node in ast.walk(parsed(file)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [
                name if name.removeprefix("byteways.") in {*modules, CORE} else node.module for name in inner
            ]
        found |= {
            "__init__" if name == "byteways" else name[len("byteways.") :] for name in names if _own(name)
        }
    return found


def _own(name: str) -> bool:
    return name == "byteways" or name.startswith("byteways.")


def may_import(package: Package, other: str) -> bool:
    """Whether a package may import a module: its own, of `base` or a package it names, or `extensions`."""
    if other == CORE:
        return CORE in package.imports
    target = package_of(other)
    if target is None:
        return other in ("__init__", "start", "extensions")
    return target is package or target.name == "base" or target.name in package.imports


def face(package: Package) -> tuple[str, ...]:
    """Returns the modules that others may import: FACE of the package's `__init__`, relative to it."""
    for node in parsed(package.folder / "__init__.py").body:
        if isinstance(node, ast.Assign) and [getattr(one, "id", "") for one in node.targets] == ["FACE"]:
            names: tuple[str, ...] = ast.literal_eval(node.value)
            return names
    return ()


def module_file(package: Package, name: str) -> Path:
    """Returns the file of a module of a package; that of its `__init__` if it is a package itself."""
    path = package.folder.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def edges() -> dict[str, set[str]]:
    """Returns what each module imports of byteways."""
    every = files()
    return {module: imported(file, every) for module, file in every.items()}


def seen(package: Package) -> dict[str, set[str]]:
    """Returns the modules of a package that others import, relative to it, each with the modules that do."""
    found: dict[str, set[str]] = {}
    for module, others in edges().items():
        if package_of(module) is not package:
            for other in others:
                if package_of(other) is package:
                    name = other[len(package.name) :].lstrip(".")
                    found.setdefault(name, set()).add(module)
    return found


def purpose(file: Path) -> str:
    """Returns the first sentence of a module's docstring, without its end."""
    said = (ast.get_docstring(parsed(file)) or "").split("\n\n")[0].replace("\n", " ")
    return said.partition(". ")[0].rstrip(".")


def lines_of(package: Package) -> int:
    """Returns how many lines of Python a package has."""
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in package.folder.rglob("*.py"))
