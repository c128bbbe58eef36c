"""Whether slow links that are planted in machine models are found and named: by two runs, and by one alone.

    python validation/planted_links.py [--suite quick] [--only FILTER] [--seeds 3] [MODEL ...]

Plants each link of each model (all if none is named) twice, slowed by two of FRACTIONS, under another seed of
the model's noise than the healthy run that `byteways compare` compares it with. A link counts as found if a
case is slower, as named if the comparison names this link and no other. The last columns are of findings of
the planted run alone; only losses of 5 % and more can be found there, of links that have equals.

Healthy runs under further seeds must have no slower or faster case, and no finding on a slow link. Prints
what is missed. The exit status is 1 if more than MISSED of the links are not found or not named, or there is
a false alarm.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from byteways.models.library import names
from byteways.questions.bottlenecks.culprits import joined, parts_of
from byteways.questions.findings import findings
from byteways.record.run_folder import RunFolder
from byteways.verdicts.two_runs.comparison import compare_runs

#: Fractions of its rate that a planted link delivers.
FRACTIONS = (0.97, 0.95, 0.9, 0.8, 0.7, 0.5)
#: Links that deliver no more than this are found by one run alone.
LARGE = 0.95
#: Largest fraction of the planted links that may be missed.
MISSED = 0.02
#: Transfers of single flows over every link: what concurrent ones add takes most of the time.
ONLY = ("sweep=pairs|pairs-read|from-host|to-host|local",)


@dataclass(frozen=True)
class Planted:
    """A planted link and what was said of it; an empty link: a healthy run."""

    link: str
    fraction: float
    compared: int  # cases
    slower: int
    faster: int
    named: str  # by the comparison
    alone: tuple[str, ...]  # names by the findings of the run alone

    @property
    def right(self) -> bool:
        return self.named == self.link

    @property
    def false_alarms(self) -> int:
        """Of a healthy run: cases that differ, and findings on a slow link."""
        return 0 if self.link else self.slower + self.faster + len(self.alone)

    @property
    def wrong(self) -> bool:
        """Whether the run alone names another part than the planted link."""
        return bool({*self.alone} - {self.link})

    @property
    def missed(self) -> bool:
        """Whether it is worth a line: not named by two runs, by one run though large, or wrongly."""
        if not self.link:
            return self.false_alarms > 0
        return not self.right or self.wrong or (self.large and not self.alone)

    @property
    def large(self) -> bool:
        return self.fraction <= LARGE

    def __str__(self) -> str:
        what = f"{self.link} at {self.fraction:g}" if self.link else "healthy"
        alone = " and ".join(self.alone) or "none"
        return (
            f"{what}: {self.slower} of {self.compared} cases slower, {self.faster} faster, "
            f"{self.named or 'nothing'} named; by one run {alone}"
        )


def simulated(folder: Path, name: str, suite: str, only: Sequence[str], seed: int, fault: str) -> Path:
    """Runs a suite on a model under a seed, with a fault unless it is empty. Returns the folder."""
    out = folder / f"{name}-{seed}-{fault.replace(':', '-')}"
    command = [sys.executable, "-m", "byteways", "run", suite, "--machine", name, "--out", str(out)]
    command += ["--seed", str(seed), "--no-report", *(part for one in only for part in ("--only", one))]
    command += ["--fault", fault] if fault else []
    subprocess.run(command, check=True, capture_output=True, text=True)
    return out


def links_of(run: RunFolder) -> tuple[list[str], list[str]]:
    """Returns the links with a rate: those that a transfer of a run crosses, and the others."""
    used = set[str]().union(*(parts_of(record, run.topology) for record in run.records))
    links = {joined(link.a, link.b) for link in run.topology.links if link.peak_bytes_per_s}
    return sorted(links & used), sorted(links - used)


def plan(links: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Yields each link twice, with fractions that take turns over the links."""
    for place, link in enumerate(links):
        for step in (0, len(FRACTIONS) // 2):
            yield link, FRACTIONS[(place + step) % len(FRACTIONS)]


def judge(reference: RunFolder, run: RunFolder, link: str, fraction: float) -> Planted:
    """Compares a run with the healthy one, and reads the findings of the run alone."""
    (found,) = compare_runs((reference, run), ("healthy", "planted"))
    alone = tuple(str(one.data["culprit"]) for one in findings(run) if one.data.get("culprit"))
    named = found.suspect.name if found.suspect else ""
    return Planted(link, fraction, len(found.pairs), len(found.slower), len(found.faster), named, alone)


def of_a_model(name: str, suite: str, only: Sequence[str], seeds: int) -> tuple[list[Planted], list[str]]:
    """Plants the links of a model, and repeats its healthy run under further seeds.

    Returns:
        What was found; and the links that no transfer crosses, so that none can find them.
    """
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        run = partial(simulated, Path(folder), name, suite, only)
        reference = RunFolder(run(1, ""))
        crossed, others = links_of(reference)
        cases = [*plan(crossed), *[("", 1.0)] * (seeds - 1)]
        runs = [
            pool.submit(run, 2 + place, f"slow:{link}:{fraction:g}" if link else "")
            for place, (link, fraction) in enumerate(cases)
        ]
        found = [
            judge(reference, RunFolder(one.result()), *case) for one, case in zip(runs, cases, strict=True)
        ]
        return found, others


def row(name: str, found: Iterable[Planted]) -> str:
    """The line of a model below HEADING."""
    found = [*found]
    planted = [one for one in found if one.link]
    large = [one for one in planted if one.large]
    healthy = [one for one in found if not one.link]
    numbers = (
        len(planted),
        sum(one.slower > 0 for one in planted),
        sum(one.right for one in planted),
        len(large),
        sum(one.alone == (one.link,) for one in large),
        sum(one.wrong for one in planted),
        sum(one.compared for one in healthy),
        sum(one.false_alarms for one in healthy),
    )
    return f"{''.join(f'{number:>9}' for number in numbers)}  {name}"


_COLUMNS = ("planted", "found", "named", "by 5 %", "named", "wrong", "cases", "alarms")
HEADING = f"{'  two runs':<29}{'one run':<27}healthy\n{''.join(f'{word:>9}' for word in _COLUMNS)}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Whether planted slow links are found and named.")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="machine models; all if none is named")
    parser.add_argument("--suite", default="quick")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--seeds", type=int, default=3)
    chosen = parser.parse_args(arguments)
    print(HEADING)
    everything: list[Planted] = []
    missed: list[str] = []
    for name in chosen.models or names():
        found, others = of_a_model(name, chosen.suite, chosen.only or ONLY, chosen.seeds)
        print(row(name, found), flush=True)
        everything += found
        missed += [f"{name}: {one}" for one in found if one.missed]
        missed += [f"{name}: no transfer crosses {', '.join(others)}"] if others else []
    print(row("all (simulated)", everything))
    print(*missed, sep="\n")
    planted = [one for one in everything if one.link]
    right = sum(one.right for one in planted)
    alarms = sum(one.false_alarms for one in everything)
    return 0 if right >= (1 - MISSED) * len(planted) and not alarms else 1


if __name__ == "__main__":
    sys.exit(main())
