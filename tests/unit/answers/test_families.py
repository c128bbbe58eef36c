"""One pair of results has one verdict: its family sets the number of comparisons, whoever compares."""

from __future__ import annotations

import random
from math import exp
from pathlib import Path

from byteways.answers.best.ranking import rank
from byteways.answers.claims.compare import compare
from byteways.answers.results.summary import cells, pool
from byteways.questions.findings import findings
from byteways.record.record import Record
from byteways.record.run_folder import RunFolder
from tests.changed import replace
from tests.report import sample_run
from tests.report.few_records import GB, GIB, flow, record

NAMES = ("memcpy", "memcpy-mt", "memcpy-stream", "kernel", "copy")
HOST = [("cpu0:pageable", "cpu0:pageable", "cpu0")]


def scattered(
    seed: int, names: tuple[str, ...] = NAMES, path: tuple[str, str] = ("gpu0", "gpu1")
) -> list[Record]:
    """Three rounds per interface about one rate."""
    normal = random.Random(seed)
    ends = (f"{path[0]}:device", f"{path[1]}:device", path[0])
    return [
        replace(
            record(name, [flow(*ends)], 9 * GB * exp(normal.gauss(0, 0.1)), GIB), round=number, time_ns=None
        )
        for name in names
        for number in range(3)
    ]


def test_the_family_counts_whoever_asks() -> None:
    """Catches "2 threads are 40 % faster" below "no significant difference" of the same two results."""
    found = cells(scattered(1))
    ranking = rank(found)
    assert ranking is not None
    for rival in ranking.rivals:
        again = compare(pool(ranking.group.cells), rival.group)
        assert (again.verdict, again.low, again.comparisons) == (rival.claim.verdict, rival.claim.low, 10)
        alone = compare(ranking.group.cells[0], rival.group.cells[0])
        assert (alone.verdict, alone.comparisons) == (rival.claim.verdict, 10)


def test_a_part_of_a_family_has_its_verdicts() -> None:
    """Catches a question about two interfaces that is answered more surely than one about all of them."""
    found = cells(scattered(2))
    part = rank(found[:2])
    assert part is not None
    assert part.rivals[0].claim.comparisons == 10


def test_what_is_no_alternative_does_not_count() -> None:
    """Catches a correction for other sizes, other paths of one way, other runs, or results of one round."""
    one, other = cells(scattered(3, NAMES[:2]))
    assert compare(one, other).comparisons == 1
    larger = [replace(one, size_bytes=2 * GIB) for one in scattered(4, NAMES[2:])]
    single = [one for one in scattered(5, NAMES[2:]) if one.round == 0]
    found = cells([*scattered(3, NAMES[:2]), *larger, *single])
    assert compare(found[0], found[1]).comparisons == 1
    first, second = cells(scattered(6, NAMES)), cells(scattered(7, NAMES))
    assert compare(first[0], second[0]).comparisons == 1
    assert compare(first[0], second[1], ways=3).comparisons == 3
    both = cells([*scattered(8), *scattered(9, path=("gpu1", "gpu2"))])
    assert compare(both[0], both[len(NAMES)], match=None).comparisons == 1


def test_another_metric_has_its_own_count() -> None:
    """Catches energy, compared for a few results, corrected for all that have a bandwidth."""
    found = cells(scattered(1))
    assert compare(found[0], found[1], quantity="energy", ways=3).comparisons == 3


def test_findings_of_noisy_hosts_agree(tmp_path: Path) -> None:
    """Catches two findings of one run that tell the same pair of results with different verdicts."""
    normal, differ = random.Random(11), 0
    for number in range(12):
        build = sample_run.Builder(sample_run.topology(0), rounds=3, spread=0.0)
        for name, rate in (("memcpy", 7.0), ("memcpy-mt", 9.5), ("memcpy-stream", 8.0)):
            build.measure(name, HOST, rate, launch={"blocks": 2, "threads": 1})
        build.records[:] = [
            replace(one, bandwidth_bytes_per_s=(one.bandwidth_bytes_per_s or 0) * exp(normal.gauss(0, 0.06)))
            for one in build.records
        ]
        told: dict[object, set[str]] = {}
        for found in findings(RunFolder(build.write(tmp_path / str(number)))):
            for claim in found.claims:
                one = min(claim, claim.turned(), key=lambda side: side.first.case_ids)
                told.setdefault((one.first.case_ids, one.second.case_ids), set()).add(one.verdict)
        assert all(len(verdict) == 1 for verdict in told.values())
        differ += len(set().union(*told.values())) > 1
    assert 0 < differ < 12
