"""Which mistakes the tests would miss: plants mutants in the sources and runs the tests that cover each.

    make mutants ARGS='[--seed N] [--count N] [--minutes N] [FOLDER ...]'

cosmic-ray makes the mutants, a seeded random sample of each folder. coverage says which tests run a line, in
their own process or in a child; that is measured once and kept until sources or tests change. Mutants are
planted in copies of the sources below build/mutants, each with an interpreter that imports them from there.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import shlex
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.testing import run_tests
from cosmic_ray.work_item import TestOutcome

from mutants_covering import BUILD, FOLDERS, PACKAGE, ROOT, Covering, covering, failing, make_tree
from mutants_sample import Mutant, sample

#: What pytest says of a test that is not there: its exit status would pass for a caught mutant.
_NOT_FOUND = "ERROR: not found"
#: What is said of a test that may have failed for lack of time.
_OF_TIME = re.compile(r"time[_d]?[ -]?out|within \d+ s", re.IGNORECASE)
#: Below this share of caught mutants the program fails.
LEAST = 0.85
#: Stops at the first failure.
PYTEST = "venv/bin/python -m pytest -x -q -p no:cacheprovider -p no:xdist --hypothesis-seed=0"
#: A mutant that takes so much longer than its tests do hangs, and that is noticed.
HANG_S = 60.0


def enter(trees: Any) -> None:
    """A process for each tree: cosmic-ray changes files below the working directory."""
    os.chdir(trees.get())


def caught(mutant: Mutant, stages: Sequence[Sequence[str]], limit_s: float) -> bool | None:
    """Whether any of the tests fails, or hangs, with this mutant in the tree of this process: those of the
    first stage, then those of the second. None where that happens without the mutant, too.
    """
    commands = _commands([list(names) for names in stages if names])
    if not commands:
        return False
    result = mutate_and_test([mutant.spec], _shell(commands), limit_s)
    if result.worker_outcome != "normal" or _NOT_FOUND in result.output:
        raise RuntimeError(result.output)
    if not result.is_killed:
        return False
    if not _OF_TIME.search(result.output):
        return True
    # Another program may have taken the time that the tests needed, which is likely to last.
    failed = failing(result.output, [name for names in stages for name in names])
    control, _ = run_tests(_shell(_commands([failed]) if failed else commands), limit_s)
    return True if control == TestOutcome.SURVIVED else None


def _commands(stages: Sequence[Sequence[str]]) -> list[str]:
    for number, names in enumerate(stages):
        Path(f"tests-{number}.txt").write_text("".join(f"{name}\n" for name in names))
    return [f"{PYTEST} @tests-{number}.txt" for number in range(len(stages))]


def _shell(commands: Sequence[str]) -> str:
    return shlex.join(["sh", "-c", " && ".join(commands)])


def run(
    chosen: Sequence[Mutant], cover: Covering, trees: Sequence[Path], until: float
) -> dict[Mutant, bool | None]:
    """Prints survivors as they are found. What `caught` says, less mutants that no time was left for."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    for tree in trees:
        queue.put(str(tree))
    outcome: dict[Mutant, bool | None] = {}
    with ProcessPoolExecutor(len(trees), context, initializer=enter, initargs=(queue,)) as pool:
        waiting = {}
        for mutant in chosen:
            tests = cover.of(mutant.spec.module_path, mutant.lines)
            limit_s = HANG_S + 3 * sum(cover.seconds[name] for name in tests)
            first = cover.foremost(tests)
            stages = first, [name for name in tests if name not in set(first)]
            waiting[pool.submit(caught, mutant, stages, limit_s)] = mutant
        for done in as_completed(waiting):
            if done.cancelled():
                continue
            mutant = waiting[done]
            outcome[mutant] = done.result()
            if not outcome[mutant]:
                what = "survived" if outcome[mutant] is False else "unclear"
                where = f"{mutant.spec.module_path}:{mutant.lines[0]}"
                print(f"{what}: {where} ({len(outcome)} of {len(chosen)})")
                print(f"  - {mutant.before}\n  + {mutant.after}", flush=True)
            if time.monotonic() > until:
                for other in waiting:
                    other.cancel()
    return outcome


def tell(outcome: Mapping[Mutant, bool | None], folders: Sequence[str]) -> bool:
    """Prints a row for each folder; whether enough were caught in each."""
    found = Counter((mutant.folder, was_caught) for mutant, was_caught in outcome.items())
    if unclear := sum(number for (_, was_caught), number in found.items() if was_caught is None):
        print(f"{unclear} are not counted: their tests fail, or take too long, without them too")
    print(f"{'folder':10} {'mutants':>8} {'caught':>8} {'survived':>9} {'percent':>8}")
    enough = True
    for folder in folders:
        good, bad = found[folder, True], found[folder, False]
        share = good / (good + bad) if good + bad else 0.0
        enough = enough and share >= LEAST
        print(f"{folder:10} {good + bad:8} {good:8} {bad:9} {100 * share:7.1f}%")
    return enough


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", default=FOLDERS, metavar="FOLDER", help=" ".join(FOLDERS))
    parser.add_argument("--seed", type=int, default=1, help="another one gives other mutants")
    parser.add_argument("--count", type=int, default=40, help="mutants of each folder")
    parser.add_argument("--minutes", type=float, default=10.0, help="after which no other mutant is begun")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 8), help="processes")
    options = parser.parse_args()
    if unknown := set(options.folders) - set(FOLDERS):
        parser.error(f"no such folder: {', '.join(sorted(unknown))}")
    os.chdir(ROOT)
    trees = [BUILD / f"tree-{number}" for number in range(options.jobs)]
    for tree in trees:
        make_tree(tree)
    cover = covering(trees[0], options.jobs)
    until = time.monotonic() + 60 * options.minutes
    files = {name: sorted((PACKAGE / name).rglob("*.py")) for name in options.folders}
    chosen = sample(files, options.count, options.seed)
    print(f"{len(chosen)} mutants, seed {options.seed}", flush=True)
    outcome = run(chosen, cover, trees, until)
    if len(outcome) < len(chosen):
        print(f"{len(chosen) - len(outcome)} of {len(chosen)} were left out: the time was up")
    return 0 if tell(outcome, options.folders) else 1


if __name__ == "__main__":
    sys.exit(main())
