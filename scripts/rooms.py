"""The rooms of src/byteways: what each is for, and which others it may import.

The only list of them. docs/concepts/architecture.md has its table from here (write_tables.py), and
tests/unit/test_rooms.py compares it with the imports of every module.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "byteways"
#: The native core, as a name in `Room.imports`.
CORE = "_core"


@dataclass(frozen=True)
class Room:
    """A package of byteways without the rooms inside it, or some modules of byteways itself.

    Attributes:
        name: Of the package, or of the group of modules.
        says: What it is for.
        imports: Rooms that it may import besides `shared tables`. `explain` is also each room in explain/.
        modules: Names of the modules of a room that is no package.
    """

    name: str
    says: str
    imports: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


SHARED_TABLES = "shared tables"
_RECORDED = ("record", "plan", "topology")
_RESULTS = ("explain.results", *_RECORDED)
_CLAIMS = ("explain.claims", *_RESULTS)

#: From the ground up: a room imports only rooms that are listed before it.
ROOMS = (
    Room(
        SHARED_TABLES,
        "what all rooms share: errors, units, settings, text, reading and writing of files",
        modules=(
            *("__init__", "aliases", "decoding", "errors", "files", "json_text", "private_folder"),
            "quantities",
            *(
                "safe_folders",
                "settings",
                "start",
                "system_errors",
                "text",
                "units",
                "vendor_query",
                "writing",
            ),
        ),
    ),
    Room(
        "topology",
        "the machine: one discovery source per file (sysfs, SMBIOS, NVML, KFD, AMD SMI), "
        "one reader of other programs' files per file, links, "
        "routes, capacities",
        (CORE,),
    ),
    Room(
        "plan",
        "suite files, sweeps, cases, legality, peaks and physical limits of cases (pure)",
        ("topology",),
    ),
    Room("suites", "the suites that are shipped: quick.toml, full.toml and one for each question"),
    Room(
        "simulate",
        "machine models for the simulator, every number with its source; faults",
        ("plan", "topology"),
    ),
    Room("studies", "published experiments to repeat: values, figures, claims", ("plan", "topology")),
    Room(
        "record",
        "what a run folder contains: types of records and manifests, reading (older versions too), warnings, "
        "exporters",
        ("simulate", "plan", "topology"),
    ),
    Room(
        "watch",
        "what a watched program moves: its bins, their folder, how it is started with collectors",
        ("plan",),
    ),
    Room(
        "imported",
        "outputs of other programs: one reader a format, one registry, one form of a value; their cases and "
        "records",
        ("record", "plan", "topology"),
    ),
    Room(
        "watch.traces",
        "traces of other profilers as bins: one reader a format, one registry",
        ("watch", "imported", "topology"),
    ),
    Room(
        "run.shared",
        "what conductor and worker both need: protocol, launchers, health of hosts",
        (*_RECORDED, CORE),
    ),
    Room(
        "copying",
        "the copy library from Python and PyTorch: plans, arrays, operators; loaded when a program copies",
        ("run.shared",),
    ),
    Room(
        "run.work",
        "the worker's process: it measures with the standard library and the native core",
        ("run.shared", *_RECORDED, CORE),
    ),
    Room(
        "run.conduct",
        "the conductor's process: starts workers, follows the plan, writes the run folder",
        ("run.shared", "simulate", *_RECORDED),
    ),
    Room(
        "run.hosts",
        "runs between hosts: their conductor, and the worker of each rank",
        ("run.conduct", "run.work", "run.shared", *_RECORDED, CORE),
    ),
    Room("explain.results", "one result per case over its rounds; the index of a run", _RECORDED),
    Room(
        "explain.claims",
        "comparisons (compare.py) and their sentences (wording.py)",
        ("explain.results", "record", "plan"),
    ),
    Room(
        "explain.display",
        "tables, charts and pictures as plain data",
        ("explain.results", "record", "topology"),
    ),
    Room("explain.best", "which interface is best: ranking, recommendation, answers, title", _CLAIMS),
    Room(
        "explain.bottlenecks",
        "prediction of concurrent flows, what limits slower ones, and which part is slow",
        _CLAIMS,
    ),
    Room("explain.two_runs", "comparison of runs with each other", ("explain.bottlenecks", *_CLAIMS)),
    Room(
        "explain.studies",
        "comparison of a run with a published study",
        ("explain.display", "studies", "simulate", *_RESULTS),
    ),
    Room(
        "explain.subjects",
        "one file per question: its numbers, its findings, its part of the report",
        ("explain.best", "explain.bottlenecks", "explain.display", "explain.studies", "studies", *_CLAIMS),
    ),
    Room(
        "explain.checks",
        "verdicts of `check`, and what is normal",
        ("explain.subjects", "explain.two_runs", "explain.bottlenecks", *_CLAIMS),
    ),
    Room(
        "explain.watched",
        "what a program would gain: its bins beside a run",
        ("explain.best", "explain.display", "watch", "explain.claims", "explain.results", "record", "plan"),
    ),
    Room(
        "explain.audit",
        "verdicts on numbers that other programs printed",
        (
            *("explain.checks", "explain.subjects", "explain.two_runs", "explain.display", "imported"),
            *("simulate", *_RESULTS),
        ),
    ),
    Room(
        "explain",
        "all findings, topics and tables of a run; the node as a matrix",
        (
            "explain.best",
            "explain.display",
            "explain.subjects",
            "explain.claims",
            "explain.results",
            "plan",
        ),
    ),
    Room("report", "the page: model, template, charts; it only renders", ("explain", "watch", *_RECORDED)),
    Room(
        "doctor",
        "checks of a machine, one subject per file",
        ("run.conduct", "run.shared", "plan", "topology"),
    ),
    Room(
        "cli",
        "one verb per file",
        (
            *("doctor", "report", "explain", "run.hosts", "run.conduct", "run.shared"),
            *("imported", "watch", "studies", "simulate", *_RECORDED, CORE),
        ),
    ),
    Room(
        "library",
        "what `import byteways` gives, loaded when first used",
        ("cli", "explain", "run.conduct", *_RECORDED),
        modules=("library", "__main__"),
    ),
)
BY_NAME = {room.name: room for room in ROOMS}
#: Packages of rooms, with nothing in them but rooms.
_HALLS = ("run",)
_BY_MODULE = {module: room for room in ROOMS for module in room.modules}


def files() -> dict[str, Path]:
    """Returns the files of all modules by their names below byteways, such as `run.work.worker`."""
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
        if name not in _HALLS:
            found[name] = file
    return found


def room_of(module: str) -> Room | None:
    """Returns the room of a module below byteways; None if it is in none."""
    if module == CORE:
        return None
    if module in _BY_MODULE:
        return _BY_MODULE[module]
    parts = module.split(".")
    names = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((BY_NAME[name] for name in names if name in BY_NAME and not BY_NAME[name].modules), None)


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


def may_import(room: Room, other: str) -> bool:
    """Whether a room may import a module."""
    if other == CORE:
        return CORE in room.imports
    target = room_of(other)
    if target is None or target is room or target.name == SHARED_TABLES:
        return target is not None
    return target.name in room.imports or target.name.partition(".")[0] in room.imports


def lines_of(room: Room) -> int:
    """Returns how many lines of Python a room has."""
    return sum(
        len(file.read_text(encoding="utf-8").splitlines())
        for module, file in files().items()
        if room_of(module) is room
    )
