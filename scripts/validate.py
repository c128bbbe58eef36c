"""What must be checked after a change, beyond tests: chosen by the files that changed.

    python scripts/validate.py [--since main] [--list] [--all]

Compares the checkout, with what is not committed, with a commit, and runs each check one of whose paths has a
change. `--list` prints the checks with their paths and runs none. Exit status 1: a check failed. Checks that
need a GPU or a machine of its own are named and not run.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).parents[1]
_VERDICTS = ("src/byteways/answers/*", "src/byteways/questions/*", "src/byteways/verdicts/*")


@dataclass(frozen=True)
class Check:
    """A check of some files.

    Attributes:
        command: Words behind Python; run in the root of the checkout.
        paths: Globs of files whose change asks for it.
        minutes: How long it takes on two idle cores, about.
        needs: What this machine may not have; empty: nothing.
        examples: Whether it reads the recorded runs, which `make examples` unpacks.
    """

    command: str
    paths: tuple[str, ...]
    minutes: float
    needs: str = ""
    examples: bool = False


CHECKS = (
    Check(
        "validation/fuzz.py --minutes 10",
        (
            *(
                "src/byteways/ext/audit/imported/*",
                "src/byteways/ext/watch/traces/*",
                "src/byteways/machine/*",
            ),
            *("src/byteways/record/*", "src/byteways/plan/suite*", "src/byteways/models/*"),
            *("src/byteways/ext/studies/published/*.py", "src/byteways/base/*", "validation/fuzz*"),
        ),
        10,
    ),
    Check(
        "-m validation.fuzz_copies --lists 10000",
        (
            "native/copy_library/*",
            "native/simulator/*",
            "native/interfaces/blocks/*",
            "validation/fuzz_copies.py",
        ),
        0.3,
    ),
    Check("validation/equal_runs.py", _VERDICTS, 10),
    Check("validation/normal.py", ("src/byteways/verdicts/checks/*",), 2, examples=True),
    Check("validation/contradictions.py examples", _VERDICTS, 10, examples=True),
    Check(
        "validation/contradictions.py examples --plant", ("validation/contradictions.py",), 10, examples=True
    ),
    Check("validation/one_answer.py examples", _VERDICTS, 10, examples=True),
    Check(
        "validation/estimated_times.py examples/h200x4-rounds/full examples/h100x4/full",
        ("src/byteways/plan/estimate.py", "src/byteways/plan/budget.py", "native/timing/*"),
        1,
        examples=True,
    ),
    Check("validation/assumed_numbers.py", ("native/simulator/*", "src/byteways/models/*"), 10),
    Check("validation/model_error.py", ("native/simulator/*", "src/byteways/models/*"), 10),
    Check(
        "validation/mission.py",
        (
            "validation/mission/*",
            "src/byteways/ext/studies/*",
            "src/byteways/models/*",
            "src/byteways/plan/suites/*",
        ),
        15,
    ),
    Check(
        "validation/predicted_gains.py",
        ("src/byteways/ext/watch/advice/*",),
        15,
        needs="an idle machine",
    ),
    Check(
        "benchmarks/sanitize.py",
        ("native/interfaces/*/*.cu", "native/interfaces/device/*"),
        10,
        needs="two GPUs with compute-sanitizer",
    ),
)


def changed(since: str) -> list[str]:
    """Returns the files that differ from a commit, those that git does not know included."""
    differ = _git("diff", "--name-only", since, "--")
    return sorted({*differ, *_git("ls-files", "--others", "--exclude-standard")})


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"error: git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def chosen(files: Iterable[str], checks: Sequence[Check] = CHECKS) -> list[Check]:
    """Returns the checks that a change of these files asks for."""
    files = [*files]
    return [one for one in checks if any(fnmatchcase(file, glob) for file in files for glob in one.paths)]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--since", default="HEAD", metavar="COMMIT", help="compare with it [default: HEAD]")
    parser.add_argument("--list", action="store_true", help="print all checks and run none")
    parser.add_argument("--all", action="store_true", help="run all checks, whatever changed")
    options = parser.parse_args()
    if options.list:
        for one in CHECKS:
            sys.stdout.write(f"{one.command} ({one.minutes:g} min)\n    {' '.join(one.paths)}\n")
        return 0
    checks = list(CHECKS) if options.all else chosen(changed(options.since))
    if not checks:
        sys.stdout.write(f"no change since {options.since} asks for a check\n")
        return 0
    able = [one for one in checks if not one.needs]
    for one in checks:
        if one.needs:
            sys.stdout.write(f"not run, because it needs {one.needs}: python {one.command}\n")
    if any(one.examples for one in able):
        subprocess.run([sys.executable, "scripts/unpack_examples.py"], cwd=ROOT, check=True)
    sys.stdout.write(f"{len(able)} checks, about {sum(one.minutes for one in able):.0f} minutes\n")
    failed = []
    for one in able:
        sys.stdout.write(f"python {one.command}\n")
        sys.stdout.flush()
        began = time.monotonic()
        status = subprocess.run([sys.executable, *shlex.split(one.command)], cwd=ROOT, check=False).returncode
        sys.stdout.write(f"    {'failed' if status else 'passed'} after {time.monotonic() - began:.0f} s\n")
        failed += [one.command] if status else []
    for command in failed:
        sys.stdout.write(f"failed: python {command}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
