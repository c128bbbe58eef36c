"""All that is said of a run, and planned for a machine, as text to be compared with files of tests/unit/said.

    python -m tests.unit.said_of_runs

writes the files again, after a change of what is said that is meant: the difference of the files shows it.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path

from byteways.answers.claims.claim import Claim
from byteways.answers.claims.finding import Finding
from byteways.answers.results.index import Index
from byteways.cases.interfaces import INTERFACES
from byteways.cases.options import Option
from byteways.plan.limits import limit
from byteways.plan.planner import make_plan
from byteways.plan.suite import load
from byteways.questions.findings import findings
from byteways.questions.topics import topics
from byteways.record.run_folder import RunFolder
from scripts.unpack_examples import recorded
from tests.report import rank_runs, sample_run
from tests.report.run_builder import Builder
from tests.unit import machines
from tests.unit.plans_of_machines import of_legality, of_plans
from tests.unit.tables_of_runs import lines_of_chart, lines_of_table, of_tables

FOLDER = Path(__file__).with_name("said")
#: Runs on real machines, each of another subject.
RECORDED = (
    "h200x4-rounds/quick",
    "h200x4-rounds/full",
    *(
        f"h200x2/{name}"
        for name in (
            "concurrency",
            "copies",
            "energy",
            "interference",
            "latency",
            "loaded-latency",
            "managed",
            "memory-cost",
            "routes",
            "saturation",
            "schieffer2025",
            "stream",
        )
    ),
)
#: Synthetic runs.
BUILT: Mapping[str, Callable[[], Builder]] = {
    "gpus": sample_run.h200x4,
    "one-round": lambda: sample_run.h200x4(rounds=1, sizes=sample_run.SIZES[-1:], gpus=2),
    "host": lambda: sample_run.cpu_only(cpus=2),
    "slow-pair": lambda: sample_run.four_pairs(slow=200.0),
    "messages": rank_runs.sent,
    "collectives": rank_runs.of_all,
}
#: Of these the tables would fill a hundred kilobytes, with more of the same.
LARGE = ("h200x4-rounds/full", "gpus")
#: Suites and the machines that they are planned for, with a budget that drops cases of the larger ones.
PLANNED = {
    "two_cores": ("quick", "full", "latency", "memory-cost", "stream"),
    "h200x4": ("quick", "full", "latency", "memory-cost", "stream"),
    "frontier": ("quick", "memory-cost", "stream"),
}
BUDGET_S = 300.0
#: Bytes of each side that the flows of a planned case touch together: more than caches hold.
TOUCHED = {"source": 8 << 30, "destination": 8 << 30}


def of_run(folder: Path, but: str = "") -> str:
    """Every topic (but one) and finding of a run, a line for each row, point and claim."""
    run = RunFolder(folder)
    lines: list[str] = []
    for topic in topics(Index.of(run)):
        if topic.anchor == but:
            continue
        lines += [f"# {topic.title} ({topic.anchor})", topic.lead]
        for table in topic.tables:
            lines += lines_of_table(table)
        for chart in topic.charts:
            lines += lines_of_chart(chart)
    for number, finding in enumerate(findings(run), 1):
        lines += _finding(number, finding)
    return "\n".join(lines) + "\n"


def _finding(number: int, finding: Finding) -> Iterator[str]:
    yield f"{number}. {finding.title} [{finding.importance:.2f}]"
    yield f"   {finding.detail}"
    for one in finding.results:
        ends = f"{one.value:.4g} ({one.low:.4g} to {one.high:.4g}) of {one.least:.4g} to {one.most:.4g}"
        yield f"   result {one.name}: {ends}, {len(one.paths)} paths, {len(one.case_ids)} cases"
    for claim in finding.claims:
        yield f"   claim {_claim(claim)}"


def _claim(claim: Claim) -> str:
    effect = f"{claim.effect:.4g} ({claim.low:.4g} to {claim.high:.4g})"
    votes = f"{claim.agree} for and {claim.against} against of {claim.pairs}; {claim.comparisons} comparisons"
    unlike = f"differ in {', '.join(claim.differs)}; alike in {', '.join(name for name, _ in claim.scope)}"
    sides = f"{claim.first.name} / {claim.second.name}"
    return f"{claim.kind} of {claim.quantity}: {sides}: {claim.verdict} {effect}; {votes}; {unlike}"


def of_plan(machine: str) -> str:
    """Each sweep of each suite on a machine: cases, seconds, limits, and why others are not there."""
    topology, capabilities = getattr(machines, machine)()
    lines: list[str] = []
    for name in PLANNED[machine]:
        plan = make_plan(load(name), topology, capabilities, budget_s=BUDGET_S)
        lines.append(f"# {name}: {plan.estimated_s:.4g} s; notes: {'; '.join(plan.notes)}")
        for sweep in dict.fromkeys(one.sweep for one in plan.cases):
            own = [one for one in plan.cases if one.sweep == sweep]
            some = [one for one in own if one.reason is None]
            seconds = sum(one.estimated_s for one in some)
            lines.append(f"{sweep}: {len(some)} of {len(own)} cases, {seconds:.4g} s")
            first = some[:1] + some[len(some) // 2 :][:1] + some[-1:]
            for one in {one.case.case_id: one for one in first}.values():
                found = limit(topology, one.case, TOUCHED)
                rate = "" if found.bytes_per_s is None else f"{found.bytes_per_s / 1e9:.4g} GB/s "
                what = f"{one.case.interface} {one.case.path} {one.case.size_bytes} {one.case.options}"
                lines.append(f"  {what}: {one.estimated_s:.4g} s; {rate}by {found.source}")
            reasons = Counter(one.reason for one in own if one.reason is not None)
            lines += [f"  not {count}: {reason}" for reason, count in sorted(reasons.items())]
    return "\n".join(lines) + "\n"


def of_interfaces() -> str:
    """What planning knows of each interface, a line for each field that is not as of most."""
    lines: list[str] = []
    for name, row in INTERFACES.items():
        lines.append(f"# {name}")
        for field in fields(row):
            if (value := getattr(row, field.name)) != field.default and field.name != "meaning":
                lines.append(f"{field.name}: {_plainly(value)}")
    return "\n".join(lines) + "\n"


def _plainly(value: object) -> str:
    """Options by their names: their bounds are in the reference of suites."""
    if isinstance(value, tuple):
        return ", ".join(value_.name if isinstance(value_, Option) else str(value_) for value_ in value)
    return ", ".join(f"{name} {value[name]}" for name in value) if isinstance(value, Mapping) else str(value)


def _of_recorded(name: str, of: Callable[[Path], str] = of_run) -> str:
    return of(recorded(name))


def _of_built(make: Callable[[], Builder], of: Callable[[Path], str] = of_run) -> str:
    with tempfile.TemporaryDirectory() as folder:
        return of(make().write(Path(folder) / "run"))


#: What computes each text, by its name.
TEXTS: Mapping[str, Callable[[], str]] = {
    **{name.replace("/", "-"): partial(_of_recorded, name) for name in RECORDED},
    **{f"built-{name}": partial(_of_built, make) for name, make in BUILT.items()},
    **{
        f"tables-{name.replace('/', '-')}": partial(_of_recorded, name, of_tables)
        for name in RECORDED
        if name not in LARGE
    },
    **{
        f"tables-built-{name}": partial(_of_built, make, of_tables)
        for name, make in BUILT.items()
        if name not in LARGE
    },
    "interfaces": of_interfaces,
    "plans": of_plans,
    "legality": of_legality,
    **{f"plan-{name}": partial(of_plan, name) for name in PLANNED},
}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, compute in TEXTS.items():
        (FOLDER / f"{name}.txt").write_text(compute(), encoding="utf-8")
