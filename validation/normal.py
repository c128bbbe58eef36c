"""How well `byteways check --against normal` knows healthy machines: each recorded machine left out in turn.

    python validation/normal.py

What is normal is learned from all other machines, and the runs of the left-out one are checked against it,
those of one round too. Every one was healthy, so each FAIL is false; a run of `quick` that has no FAIL when
it is a tenth slower everywhere is missed. Prints the cases judged; and by kind of setting how far results lie
from what is expected, and which loss of speed would be FAIL (the median).
"""

from __future__ import annotations

import sys
from collections import defaultdict
from math import exp, log
from pathlib import Path
from statistics import median

from byteways.answers.results.index import Index
from byteways.verdicts.checks.learning import learned
from byteways.verdicts.checks.machines import uuids_of
from byteways.verdicts.checks.normal import Normal
from byteways.verdicts.checks.normal_reference import against_normal
from byteways.verdicts.checks.verdict import DEFAULT_TOLERANCE, FAIL, HIGH, UNKNOWN, Bounds, Judged

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from equal_runs import slower
from learn_normal import recorded_runs


def main() -> int:
    runs = [(Index(run), name) for run, name in recorded_runs()]
    machines = list(dict.fromkeys(uuids_of(run) for run, _ in runs))
    away: dict[str, list[tuple[float, float]]] = defaultdict(list)
    totals = [0, 0, 0, 0, 0]
    missed = 0
    print(f"{'run':34}{'cases':>7}{'judged':>8}{'FAIL':>5}{'HIGH':>6}{'a tenth slower: FAIL':>22}")
    for machine in machines:
        normal = learned([one for one in runs if uuids_of(one[0]) != machine], least_rounds=1)
        for run, name in (one for one in runs if uuids_of(one[0]) == machine):
            cases, _ = against_normal(run, normal, (name, "the others"), bounds=Bounds(), least_rounds=False)
            judged = [one for one in cases if one.verdict != UNKNOWN]
            found = [
                len(cases),
                len(judged),
                *(sum(one.verdict == word for one in judged) for word in (FAIL, HIGH)),
                fails_slower(run, normal),
            ]
            missed += run.manifest["suite"]["name"] == "quick" and not found[-1]
            totals = [a + b for a, b in zip(totals, found, strict=True)]
            print(f"{name:34}{found[0]:7}{found[1]:8}{found[2]:5}{found[3]:6}{found[4]:22}")
            for one in judged:
                speed, high = one.speed or 1.0, (one.interval or (1.0, 1.0))[1]
                away[_kind(one)].append((abs(log(speed)), max(1 - speed / high, DEFAULT_TOLERANCE)))
                if one.verdict in (FAIL, HIGH):
                    print(
                        f"    {one.verdict} {one.case}: {100 * ((one.speed or 1) - 1):+.1f} % ({one.basis})"
                    )
    print(f"{'all':34}{totals[0]:7}{totals[1]:8}{totals[2]:5}{totals[3]:6}{totals[4]:22}")
    print(f"\n{'beside what is expected':34}{'cases':>7}{'median':>9}{'largest':>9}{'loss found from':>17}")
    for kind, some in sorted(away.items()):
        distances, losses = zip(*some, strict=True)
        middle, most = (100 * (exp(value) - 1) for value in (median(distances), max(distances)))
        print(f"{kind:34}{len(some):7}{middle:8.1f}%{most:8.1f}%{100 * median(losses):16.0f}%")
    return 1 if totals[2] or missed else 0


def fails_slower(run: Index, normal: Normal) -> int:
    """Returns how many cases are FAIL if the machine is a tenth slower everywhere."""
    slow = Index(slower(run, 0.9))
    cases, _ = against_normal(slow, normal, ("run", "the others"), bounds=Bounds(), least_rounds=False)
    return sum(one.verdict == FAIL for one in cases)


def _kind(one: Judged) -> str:
    place = "with CPUs" if any(part.startswith("cpu") for part in one.parts) else "GPUs alone"
    return f"{one.figure}, {place}"


if __name__ == "__main__":
    sys.exit(main())
