"""Which tests run which lines, measured on a copy of the sources, and which of them to run for a mutant."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "mutants"
PACKAGE = Path("src", "byteways")
FOLDERS = ("explain", "plan", "record", "run")
#: Tests of one mutant, the fastest first, take as long together, beside TEXTS; others that cover its lines
#: are not run.
TESTS_S = 20.0
#: Files of tests that are run first.
FOREMOST = 6
#: Files of tests that compare whole texts: run whatever else covers a line.
TEXTS = ("tests/unit/house/test_said_of_runs.py", "tests/cli/test_records_of_models.py")
#: Tests that cover these folders. Native tests measure, which takes longer and says little of Python.
TESTS = ("tests/unit", "tests/report", "tests/cli", "tests/faults", "tests/mpi")
#: What is copied, so that a mutant is seen nowhere else. All else is linked.
COPIED = ("src", "tests")
#: What `measure` finds of no tests.
NOTHING: Mapping[str, Any] = {"seconds": {}, "tests": {}}
#: Workers end with os._exit, a launcher becomes its command: what they ran counts, too.
COVERAGE = """\
[run]
parallel = true
sigterm = true
patch =
    _exit
    execv
data_file = {folder}/covered
source_pkgs = {packages}
context = ${{MUTANTS_TEST-}}
"""


@dataclass(frozen=True)
class Covering:
    """The tests that pass on unchanged sources.

    Attributes:
        seconds: How long each takes, by node id.
        tests: Node ids by file (relative) and line; a file of tests stands for all of its tests.
    """

    seconds: Mapping[str, float]
    tests: Mapping[str, Mapping[int, Sequence[str]]]

    def of(self, file: Path, lines: Iterable[int]) -> list[str]:
        """Tests that run any of these lines, as many as `TESTS_S` allows: first those that import the module,
        then those of all other test files in turn.

        Lines outside of functions run on import only: they are covered by what covers the file, and by the
        files of tests that import the module or compare whole texts.
        """
        if (by_line := self.tests.get(str(file))) is None:
            return []
        inside = within_functions((ROOT / file).read_text(encoding="utf-8"))
        chosen = [line for line in lines if line in inside] or list(by_line)
        names = {name for line in chosen for name in by_line.get(line, ())}
        files = {name for name in names if "::" not in name}
        near = {**dict.fromkeys(TEXTS, -3), **nearness(file)}
        if not inside.intersection(lines):
            files |= near.keys()  # whichever test was the first to import a table, these look at it
        names |= {name for name in self.seconds if name.partition("::")[0] in files}
        return self._in_turn(names & self.seconds.keys(), near)

    def foremost(self, names: Sequence[str]) -> list[str]:
        """Of the tests of a mutant those of a few files, of which the greatest part is among them: they are
        likely to fail, and collected in a tenth of the time that all take.
        """
        whole = Counter(name.partition("::")[0] for name in self.seconds)
        here = Counter(name.partition("::")[0] for name in names)
        files = sorted(here, key=lambda file: -here[file] / whole[file])[:FOREMOST]
        first = {*files, *TEXTS}
        return [name for name in names if name.partition("::")[0] in first]

    def _in_turn(self, names: Iterable[str], near: Mapping[str, int]) -> list[str]:
        """All tests of the files that are near, then the fastest test of every other file, then the second of
        each, until `TESTS_S` are over.
        """
        rank: Counter[str] = Counter()
        order = []
        for name in sorted(names, key=lambda name: (self.seconds[name], name)):
            file = name.partition("::")[0]
            order.append((near.get(file, rank[file]), self.seconds[name], name))
            rank[file] += 1
        left = TESTS_S
        found: list[str] = []
        for _, seconds, name in sorted(order):
            if name.partition("::")[0] in TEXTS:
                found.append(name)  # beside the time for others
            elif seconds <= left or not found:
                found.append(name)
                left -= seconds
        return found


def failing(output: str, names: Sequence[str]) -> list[str]:
    """The test that failed, by the summary of pytest, or one of the file that could not be imported; none
    where pytest was stopped.
    """
    told = [line.partition(" ")[2] for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    for line in told:
        of_file = f"{line.partition(' - ')[0]}::"
        for name in names:
            if line == name or line.startswith(f"{name} - ") or name.startswith(of_file):
                return [name]
    return []


def nearness(file: Path) -> dict[str, int]:
    """Test files that import a module: -2 where they are named after it, else -1."""
    module = ".".join(file.with_suffix("").parts[1:])
    parent, _, stem = module.rpartition(".")
    imports = re.compile(
        rf"^(?:from {re.escape(module)} import|import {re.escape(module)}\b"
        rf"|from {re.escape(parent)} import .*\b{stem}\b)",
        re.MULTILINE,
    )
    found = {}
    for folder in TESTS:
        for path in (ROOT / folder).rglob("test_*.py"):
            if imports.search(path.read_text(encoding="utf-8")):
                found[str(path.relative_to(ROOT))] = -2 if stem in path.stem else -1
    return found


def within_functions(source: str) -> set[int]:
    """Lines of the bodies of all functions of a file."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines |= set(range(node.body[0].lineno, (node.end_lineno or 0) + 1))
    return lines


def make_tree(folder: Path) -> None:
    """A copy of sources and tests with an interpreter that imports it and not the editable installation."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in ROOT.iterdir():
        if path.name not in (*COPIED, ".git", ".venv", "build"):
            (folder / path.name).symlink_to(path)
    # Wheels of MPI, where tests look for them; byteways itself must not be found there.
    (folder / ".venv").mkdir()
    (folder / ".venv" / "mpi").symlink_to(ROOT / ".venv" / "mpi")
    native = importlib.util.find_spec("byteways._core")
    if native is None or native.origin is None:
        sys.exit("error: the native core is not built\nhint: make setup")
    for library in Path(native.origin).parent.glob("*.so"):
        shutil.copy(library, folder / PACKAGE)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    # A folder that a .pth file names has its own .pth files ignored: that of the editable installation.
    lines = [folder / "src", *(path for path in sys.path if path.endswith("site-packages"))]
    # The import comes last: coverage is in one of these folders.
    start = "import os; 'COVERAGE_PROCESS_START' in os.environ and __import__('coverage').process_startup()"
    (packages / "tree.pth").write_text("".join(f"{line}\n" for line in [*lines, start]))


def digests() -> dict[str, str]:
    """A digest of each file of sources and tests, by its relative name."""
    return {
        str(path.relative_to(ROOT)): hashlib.sha256(path.read_bytes()).hexdigest()
        for name in COPIED
        for path in sorted((ROOT / name).rglob("*.py"))
    }


def outdated(
    before: Mapping[str, str], now: Mapping[str, str], imports: Mapping[str, Collection[str]]
) -> set[str] | None:
    """Test files to measure again: those that came, went or changed, or import other tests that did; None
    where sources changed, or what pytest finds by itself, so that any test may run other lines.

    Args:
        before: Digests by file, when lines were measured.
        now: The same, now.
        imports: Files of tests that each file of tests imports.
    """
    changed = {name for name in before.keys() | now.keys() if before.get(name) != now.get(name)}
    if any(not name.startswith("tests/") or Path(name).name == "conftest.py" for name in changed):
        return None
    while more := {name for name, used in imports.items() if changed & set(used)} - changed:
        changed |= more
    return {name for name in changed if Path(name).name.startswith("test_")}


def imports_of_tests() -> dict[str, set[str]]:
    """Files of tests by the file of tests that imports them."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "tests").rglob("*.py"):
        used = found.setdefault(str(path.relative_to(ROOT)), set())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "tests":
                module = (node.module or "").replace(".", "/")
                used |= {f"{module}.py", *(f"{module}/{name.name}.py" for name in node.names)}
    return found


def without(found: Mapping[str, Any], files: Collection[str]) -> dict[str, Any]:
    """What `measure` found, less that of some test files."""

    def kept(name: str) -> bool:
        return name.partition("::")[0] not in files

    seconds = {name: took for name, took in found["seconds"].items() if kept(name)}
    tests = {
        file: {line: list(filter(kept, names)) for line, names in by_line.items()}
        for file, by_line in found["tests"].items()
    }
    return {"seconds": seconds, "tests": tests}


def together(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """What `measure` found of different test files."""
    tests = {file: dict(by_line) for file, by_line in one["tests"].items()}
    for file, by_line in other["tests"].items():
        lines = tests.setdefault(file, {})
        for line, names in by_line.items():
            lines[line] = sorted({*lines.get(line, ()), *names})
    return {"seconds": {**one["seconds"], **other["seconds"]}, "tests": tests}


def measure(tree: Path, jobs: int, files: Iterable[str]) -> dict[str, Any]:
    """Runs tests under coverage; only those count that pass."""
    folder = BUILD / "coverage"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    packages = "".join(f"\n    byteways.{name}" for name in FOLDERS)
    (folder / "coveragerc").write_text(COVERAGE.format(folder=folder, packages=packages))
    environment = {
        **os.environ,
        "MUTANTS_FOLDER": str(folder),
        "MUTANTS_TEST": "",
        "COVERAGE_PROCESS_START": str(folder / "coveragerc"),
        "PYTHONPATH": str(ROOT / "scripts"),
    }
    command: list[str | Path] = [
        tree / "venv" / "bin" / "python",
        "-m",
        "pytest",
        "-q",
        "-p",
        "mutants_coverage",
        *files,
    ]
    command += ["-p", "no:cacheprovider", "-n", str(jobs), "--dist", "worksteal"]
    with (folder / "log").open("w") as log:
        subprocess.run(command, cwd=tree, env=environment, stdout=log, stderr=log, check=False)
    seconds: dict[str, float] = {}
    for path in folder.glob("seconds-*.json"):
        seconds |= json.loads(path.read_text())
    if not seconds:
        sys.exit(f"error: no test passed under coverage\nhint: {folder / 'log'} says why")
    return {"seconds": seconds, "tests": _lines(tree, folder)}


def _lines(tree: Path, folder: Path) -> dict[str, dict[str, list[str]]]:
    """Tests by file and line, of what all processes have written."""
    import coverage  # of the extra `mutants`

    found: dict[str, dict[str, set[str]]] = {}
    for path in folder.glob("covered.*"):
        data = coverage.CoverageData(basename=str(path))
        try:
            data.read()
        except coverage.exceptions.DataError:  # of a worker that was killed while it wrote
            continue
        for file in data.measured_files():
            by_line = found.setdefault(str(Path(file).relative_to(tree)), {})
            for line, names in data.contexts_by_lineno(file).items():
                by_line.setdefault(str(line), set()).update(name for name in names if name)
    return {file: {line: sorted(names) for line, names in by_line.items()} for file, by_line in found.items()}


def covering(tree: Path, jobs: int) -> Covering:
    """What `measure` found for these sources and tests, now or earlier."""
    kept = BUILD / "covering.json"
    found = json.loads(kept.read_text()) if kept.is_file() else {}
    now = digests()
    changed = outdated(found["digests"], now, imports_of_tests()) if "digests" in found else None
    if changed is None or changed:
        print("measuring which tests run which lines (kept until sources or tests change)", flush=True)
        if changed is None:
            measured = measure(tree, jobs, TESTS)
        else:
            files = sorted(name for name in changed & now.keys() if name.startswith(TESTS))
            again = measure(tree, jobs, files) if files else NOTHING
            measured = together(without(found, changed), again)
        found = {"digests": now, **measured}
        kept.write_text(json.dumps(found))
    tests = {
        file: {int(line): names for line, names in by_line.items()}
        for file, by_line in found["tests"].items()
    }
    return Covering(found["seconds"], tests)
