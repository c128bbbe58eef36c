"""Whether every part of byteways that names the best interface gives the same answer to the same question.

    python validation/one_answer.py FOLDER [FOLDER ...] [--models] [--all]

A folder is a run, or holds runs at any depth: `examples` checks all that are recorded there. `--models`
simulates `full` on each machine model, too. For each kind of pair, class of links and size it asks the title,
the first table, the findings, the maps of the table and of the chart, and `byteways best`; for each pair of
devices the matrix, the explorer of the page and `byteways best`. All must name the same interface with the
same settings, print the same figure, and do one transfer at a time. The column `own` counts pairs whose own
best interface leads that of their class significantly: the matrix shows one interface for all pairs of a
class. Exit status 1: two answers differ, or there is no run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from byteways.answers.best.answers import Answer, answers
from byteways.answers.best.best_interfaces import best_map, map_by_memory
from byteways.answers.best.decisions import TRANSFERS, Decision, decisions
from byteways.answers.best.headline import Lead, headline
from byteways.answers.best.ranking import Ranking
from byteways.answers.best.title import results, title_decisions
from byteways.answers.claims.phrases import rate
from byteways.answers.results.index import Index
from byteways.answers.results.selection import submits_many
from byteways.answers.results.summary import Result, pool
from byteways.base.errors import BytewaysError
from byteways.cases.question import Question
from byteways.models import names
from byteways.questions.findings import findings
from byteways.questions.node_matrix import node_matrix
from byteways.questions.subjects.transfers import FASTEST_BY_KIND
from byteways.record.run_folder import RunFolder
from byteways.report.explore import explorer
from contradictions import run_folders

#: The ends of a question on all pairs of a kind.
ENDS = {
    "gpu-gpu": ("gpu*", "gpu*"),
    "cpu-gpu": ("host", "gpu*"),
    "gpu-cpu": ("gpu*", "host"),
    "gpu": ("gpu*", "gpu*"),
    "cpu": ("cpu*", "cpu*"),
    "cpu-cpu": ("cpu*", "cpu*"),
}

FASTEST = {priority for both in FASTEST_BY_KIND.values() for priority in both}


@dataclass(frozen=True)
class Said:
    """What one part says: the interface with its settings, and the figure as it prints it."""

    method: str
    figure: str


@dataclass
class Outcome:
    """How many questions were asked, how many answers differ, and how many pairs have an own best."""

    asked: int = 0
    differ: int = 0
    own: int = 0


def said_of(ranking: Ranking) -> Said:
    return Said(ranking.variant.name, rate(ranking.group))


def of_classes(index: Index) -> Iterator[tuple[str, dict[str, Said]]]:
    """Yields every question on a class of pairs, with the answer of each part."""
    found = decisions(index)
    for place in found.plain_places():
        for size in found.sizes(place):
            decision = found.at(place, size)
            if decision and decision.ranking:
                name = f"{place.kind} {place.link_class} {size}"
                said = dict(_parts(index, decision, decision.ranking))
                if any(map(submits_many, decision.ranking.group.cells)):
                    said["one transfer"] = Said("none: many are submitted together", "")
                yield name, said


def _parts(index: Index, decision: Decision, ranking: Ranking) -> Iterator[tuple[str, Said]]:
    for one in title_decisions(index):
        if one.ranking and (one.place, one.size_bytes) == (decision.place, decision.size_bytes):
            text = rate(one.ranking.group)
            yield "title", Said(one.ranking.variant.name, text if text in results(index) else "missing")
    table = headline(index)
    for _, leads in table.rows if table else ():
        for lead in leads:
            if isinstance(lead, Lead) and _same_cells(lead.ranking, decision):
                text = rate(lead.group)  # beside the time of a small transfer
                yield "first table", Said(lead.variant.name, text if text in lead.figure else lead.figure)
    for finding in index.once(findings):
        first = finding.results[0] if finding.priority in FASTEST else None
        if first and {*first.case_ids} <= {cell.record.case_id for cell in decision.cells}:
            text = rate(ranking.group)
            yield "finding", Said(first.name, text if text in finding.title else finding.title)
    memories = {cell.variant.host_memory for cell in index.cells if TRANSFERS.admits(cell)}
    for name, made in (("table of sizes", best_map(index)), ("chart of sizes", map_by_memory(index))):
        for _, rankings in made.rows if made else ():
            whole = name != "chart of sizes" or len(memories) == 1
            for drawn in rankings if whole else ():
                if drawn and _same_cells(drawn, decision):
                    yield name, said_of(drawn)
    asked = Question(*ENDS[decision.place.kind], decision.size_bytes)
    for answer in answers(index, asked):
        if isinstance(answer, Answer) and _same_cells(answer.ranking, decision):
            yield "best", said_of(answer.ranking)


def _same_cells(ranking: Ranking, decision: Decision) -> bool:
    first = ranking.group.cells[0]
    paths = {cell.record.path for cell in decision.cells}
    cold = first.record.cache == "cold"
    return first.record.size_bytes == decision.size_bytes and first.record.path in paths and cold


def of_pairs(index: Index) -> Iterator[tuple[str, dict[str, Said], bool]]:
    """Yields every question on a pair, its answers, and whether its own best leads that of its class."""
    matrix = node_matrix(index, index.once(findings))
    page = explorer(index)
    for (source, destination), cell in (matrix.cells if matrix else {}).items():
        if "/" in source:  # of ranks: `best` asks by devices
            continue
        shown = Said(cell.variant.name, rate(pool([cell])))
        said = {"matrix": shown}
        own = False
        try:
            found = answers(index, Question(source, destination, cell.record.size_bytes))
        except BytewaysError as error:
            said["best"] = Said(str(error), "")
            found = []
        for answer in found:
            if isinstance(answer, Answer) and cell.record.path in {
                one.record.path for one in answer.ranking.group.cells
            }:
                said["best"] = said_of(answer.ranking)
                own = any(
                    rival.variant == cell.variant and rival.claim.leads for rival in answer.ranking.rivals
                )
        if page and (stands := _stands(page.data, cell)):
            said["explorer"] = stands
        yield f"{source} > {destination} {cell.record.size_bytes}", said, own


def _stands(data: Mapping[str, Any], cell: Result) -> Said | None:
    """Returns the result that the explorer marks for the pair at this size."""
    devices, columns = data["devices"], data["cells"]
    ends = cell.source.device, cell.destination.device
    for source, destination, size, mode, _, _, stands in data["order"]:
        wanted = (devices[source], devices[destination]) == ends and mode == 0
        if wanted and data["sizes"][size] == cell.record.size_bytes and stands[0] is not None:
            return Said(data["ways"][columns["way"][stands[0]]], columns["text"][stands[0]])
    return None


def simulated_runs(folder: Path) -> list[Path]:
    """Simulates `full` on each machine model; returns the run folders."""
    made = []
    for machine in names():
        run = folder / machine
        command = [sys.executable, "-m", "byteways", "run", "full", "--machine", machine]
        subprocess.run([*command, "--budget", "120", "--no-report", "--out", str(run)], check=True)
        made.append(run)
    return made


def examine(run: RunFolder, *, every: bool = False) -> Outcome:
    """Asks all questions of a run; prints those with different answers, or every one."""
    index = Index.of(run)
    outcome = Outcome()
    for question, said in of_classes(index):
        outcome.asked += 1
        different = len({*said.values()}) > 1
        outcome.differ += different
        if different or every:
            print(f"  {question}: {said}")
    for question, said, own in of_pairs(index):
        outcome.asked += 1
        different = len({*said.values()}) > 1
        outcome.own += different and own
        outcome.differ += different and not own
        if different or every:
            print(f"  {question}: {said}")
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--models", action="store_true", help="simulate and ask each machine model, too")
    parser.add_argument("--all", action="store_true", help="print every question")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        runs = [run for folder in words.folders for run in run_folders(folder)]
        runs += simulated_runs(Path(made)) if words.models else []
        print(f"{'run':<34}{'questions':>10}{'differ':>8}{'own':>6}")
        whole = Outcome()
        for folder in runs:
            outcome = examine(RunFolder(folder), every=words.all)
            print(f"{'/'.join(folder.parts[-2:]):<34}{outcome.asked:>10}{outcome.differ:>8}{outcome.own:>6}")
            whole.asked += outcome.asked
            whole.differ += outcome.differ
            whole.own += outcome.own
    print(f"{'all':<34}{whole.asked:>10}{whole.differ:>8}{whole.own:>6}")
    sys.exit(1 if whole.differ or not whole.asked else 0)


if __name__ == "__main__":
    main()
