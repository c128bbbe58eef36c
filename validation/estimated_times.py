"""How long runs were predicted to take, beside what their records show.

    python validation/estimated_times.py [--most 1.5] RUN...

Plans the suite of each run again, for its machine, and compares the cases that were measured: estimates,
which include starts of processes, and the time that passed. Prints a line for each run, and its sweeps that
differ most. The exit status is 1 if the estimate of a run is wrong by more than `--most`; simulated runs and
suites that this version does not read are left out.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from byteways.base.errors import BytewaysError
from byteways.machine.model import Capabilities
from byteways.measuring.shared.options import RunOptions
from byteways.plan.planner import make_plan
from byteways.plan.suite import parse
from byteways.record.run_folder import RunFolder

#: Sweeps that are printed of a run.
SWEEPS = 3
#: Runs shorter than this are decided by a single start.
LEAST_S = 5.0


@dataclass
class Times:
    """Seconds of cases that were planned and measured."""

    cases: int = 0
    estimated_s: float = 0.0
    measured_s: float = 0.0

    def add(self, estimated_s: float, measured_s: float) -> None:
        self.cases += 1
        self.estimated_s += estimated_s
        self.measured_s += measured_s

    @property
    def factor(self) -> float:
        """By how much the estimate is wrong; at least 1."""
        ratio = self.estimated_s / max(self.measured_s, 1e-9)
        return max(ratio, 1 / max(ratio, 1e-9))

    def __str__(self) -> str:
        return (
            f"{self.cases:5d} cases  {self.estimated_s:7.1f} s estimated  {self.measured_s:7.1f} s measured"
        )


@dataclass
class Compared:
    """A run."""

    whole: Times = field(default_factory=Times)
    sweeps: defaultdict[str, Times] = field(default_factory=lambda: defaultdict(Times))

    def worst(self) -> Iterator[tuple[str, Times]]:
        """Yields the sweeps that differ most in seconds."""
        rows = self.sweeps.items()
        yield from sorted(rows, key=lambda row: -abs(row[1].estimated_s - row[1].measured_s))[:SWEEPS]


def compare(run: RunFolder) -> Compared:
    """Compares a run with its plan by this version. Raises BytewaysError if its suite cannot be read."""
    suite = parse(run.manifest["suite"]["text"], file="suite")
    options = RunOptions.from_json(run.manifest["options"])
    plan = make_plan(
        replace(options.applied(suite), budget_s=None),
        run.topology,
        Capabilities.from_json(run.manifest["capabilities"]),
        only=options.only,
        sizes=options.sizes,
        ranks=options.ranks,
        with_self=options.with_self,
    )
    measured = {(one.case_id, one.round): one.wall_s for one in run.records if one.wall_s}
    found = Compared()
    for planned in plan.cases:
        if planned.reason is None and (wall_s := measured.get(planned.key)):
            for times in (found.whole, found.sweeps[planned.sweep]):
                times.add(planned.estimated_s, wall_s)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--most", type=float, default=1.5, help="factor by which an estimate may be wrong")
    arguments = parser.parse_args()
    wrong = 0
    for path in arguments.runs:
        run = RunFolder(path)
        if run.manifest["simulated"]:
            continue
        try:
            found = compare(run)
        except BytewaysError as error:
            print(f"{path}: left out, {error.what}")
            continue
        bad = found.whole.measured_s >= LEAST_S and found.whole.factor > arguments.most
        wrong += bad
        print(f"{path}: {found.whole}, factor {found.whole.factor:.2f}{' WRONG' if bad else ''}")
        for name, times in found.worst():
            print(f"    {name:24s}{times}")
    print(f"{wrong} estimates are wrong by more than a factor of {arguments.most:g}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
