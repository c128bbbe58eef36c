"""Which items of the published works byteways shows, and whether it does.

    python validation/mission.py [--source NAME ...] [--keep FOLDER]

Reads validation/mission/<source>.csv, runs what the evidence names (each study once per machine model, each
suite once, as many at a time as there are processors) and checks that every item got its record, figure or
verdict. All machines are simulated. Says on standard error what runs and how far it is, then prints a table
by source and what is missing. `--keep` keeps the runs, and takes up those that are there. Exit status 1
if an item is not accounted for, or its evidence is not there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

from mission_rows import NOT_DECIDABLE, SHOWN_KINDS, STATUSES, Evidence, Row, read, sources, wrong

ROOT = Path(__file__).resolve().parents[1]
BYTEWAYS = Path(sys.executable).with_name("byteways")
#: The verdict of claims whose data are missing.
UNTESTED = "cannot be tested here"
LIMIT_S = 1200


class Program:
    """Answers of the program, each asked for once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._answers: dict[tuple[str, ...], dict[str, Any]] = {}

    def asked(self, *arguments: str) -> dict[str, Any]:
        """The JSON answer of a command.

        Raises:
            RuntimeError: The command failed; the text is what it said.
        """
        if arguments not in self._answers:
            self._answers[arguments] = _answered(arguments)
        answer = self._answers[arguments]
        if "failure" in answer:
            raise RuntimeError(answer["failure"])
        return answer

    def study(self, key: str, model: str) -> dict[str, Any]:
        """A study on a machine model: figures and verdicts."""
        folder = self._folder / f"{key}-{model}"
        if (folder / "run.json").exists():
            return self.asked("reproduce", key, "--from", str(folder), "--json")
        options = ("--machine", model, "--out", str(folder), "--json", "--no-report")
        return self.asked("reproduce", key, *options)

    def verified(self, words: Sequence[str]) -> int:
        """How many results of a run are right, word by word."""
        folder = self._folder / re.sub(r"[^\w.-]+", "-", "-".join(words))
        if not (folder / "run.json").exists():
            self.asked("run", *words, "--out", str(folder), "--json", "--no-report")
        lines = (folder / "measurements.jsonl").read_text(encoding="utf-8").splitlines()
        return sum(_is_verified(json.loads(line)) for line in lines)

    def run_all(self, rows: Sequence[Row]) -> None:
        """Runs what the evidence of the rows names, the longest ones first."""
        studies = {
            (row.source, shown.model or self.first_models[row.source])
            for row in rows
            for shown in row.evidence
            if shown.kind in ("claim", "figure", "study")
        }
        suites = {tuple(shown.arguments) for row in rows for shown in row.evidence if shown.kind == "run"}
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            begun = [pool.submit(self.study, *words) for words in sorted(studies, reverse=True)]
            begun += [pool.submit(self.verified, words) for words in sorted(suites)]
        for each in begun:
            each.exception()  # the rows that need it say why it failed

    @cached_property
    def first_models(self) -> dict[str, str]:
        """The first machine model of each study."""
        from byteways.ext.studies.published.reading import load

        return {source: load(source).models[0] for source in sources()}


def _answered(arguments: Sequence[str]) -> dict[str, Any]:
    """The JSON answer of a command, or its failure; what it says meanwhile goes to standard error."""
    words = [word for word in arguments if not word.startswith("-") and "/" not in word]
    name, began, said = " ".join(words), time.monotonic(), deque[str](maxlen=20)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as told:
        program = subprocess.Popen(
            [str(BYTEWAYS), *arguments], stdout=told, stderr=subprocess.PIPE, text=True, encoding="utf-8"
        )
        limit = threading.Timer(LIMIT_S, program.kill)
        limit.start()
        for line in program.stderr or ():
            said.append(line)
            print(f"[{name}] {line}", end="", file=sys.stderr, flush=True)
        status = program.wait()
        limit.cancel()
        told.seek(0)
        answer = told.read()
    print(f"[{name}] took {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    try:
        return dict(json.loads(answer))
    except ValueError:
        return {"failure": "".join(said).strip() or f"exit status {status}"}


def _is_verified(record: Mapping[str, Any]) -> bool:
    return record["status"] == "measured" and bool(record["verified"])


class Examiner:
    """Says what is missing of an item's evidence."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def missing(self, row: Row) -> list[str]:
        """Reasons why the evidence of a row shows nothing; empty: it is there."""
        reasons = []
        for shown in row.evidence:
            try:
                if shown.kind == "figure":
                    continue
                reason = getattr(self, f"_{shown.kind}")(row, shown)
            except RuntimeError as error:
                reason = str(error).partition("\n")[0]
            if reason:
                reasons.append(f"{shown.kind} {shown.subject or shown.model}: {reason}")
        return reasons + self._figures(row)

    def _model(self, row: Row, shown: Evidence) -> str:
        return shown.model or self._program.first_models[row.source]

    def _claim(self, row: Row, shown: Evidence) -> str:
        model = self._model(row, shown)
        claims = self._program.study(row.source, model)["claims"]
        found = next((one for one in claims if one["id"] == shown.subject), None)
        if found is None:
            return "there is no such claim"
        return f"{found['detail']} ({model})" if found["verdict"] == UNTESTED else ""

    def _figures(self, row: Row) -> list[str]:
        """What is missing of the figures: models share the places of one."""
        missing = []
        for figure in dict.fromkeys(shown.subject for shown in row.evidence if shown.kind == "figure"):
            cells: dict[tuple[str, str], bool] = {}
            try:
                for shown in row.evidence:
                    if shown.kind == "figure" and shown.subject == figure:
                        self._fill(cells, row, shown)
            except RuntimeError as error:
                missing.append(f"figure {figure}: {str(error).partition(chr(10))[0]}")
                continue
            gone = [" at ".join(filter(None, cell)) for cell, there in cells.items() if not there]
            if not cells or gone:
                missing.append(f"figure {figure}: no value of {', '.join(gone[:4]) or 'anything'}")
        return missing

    def _fill(self, cells: dict[tuple[str, str], bool], row: Row, shown: Evidence) -> None:
        """Notes which lines of a figure have a value at which places."""
        figures = self._program.study(row.source, self._model(row, shown))["figures"]
        found = next((one for one in figures if one["id"] == shown.subject), None)
        if found is None:
            raise RuntimeError("there is no such figure")
        if found["kind"] == "hops":  # of the topology, without rows
            cells["links", "every pair"] = bool(found["hops"])
        for one in found["rows"]:
            cell = one["line"], one["place"]
            cells[cell] = cells.get(cell, False) or one["ours"] is not None

    def _run(self, _: Row, shown: Evidence) -> str:
        return "" if self._program.verified(shown.arguments) else "no verified result"

    def _topology(self, _: Row, shown: Evidence) -> str:
        answer = self._program.asked("topo", "--machine", shown.model, "--json")
        peaks = {
            frozenset((link["a"], link["b"])): (link["peak_bytes_per_s"] or 0) / 1e9
            for link in answer["links"]
        }
        if not peaks:
            return "no link"
        for pair, peak in shown.peaks.items():
            here = peaks.get(frozenset(pair))
            if here != peak:
                return f"{'-'.join(pair)} has {here} GB/s, not {peak:g}"
        return ""

    def _docs(self, _row: Row, shown: Evidence) -> str:
        path, _, heading = shown.subject.partition("#")
        file = ROOT / path
        if not file.is_file():
            return "there is no such file"
        headings = re.findall(r"^#+ +(.+?) *$", file.read_text(encoding="utf-8"), re.MULTILINE)
        return "" if heading in headings else f"no heading '{heading}'"

    def _study(self, row: Row, shown: Evidence) -> str:
        answer = self._program.study(row.source, self._program.first_models[row.source])
        return "" if answer.get(shown.subject) else "the study says nothing"


def table(rows: Sequence[Row], failed: Mapping[str, Sequence[str]]) -> str:
    """Items by source and status."""
    headings = ["source", "items", *STATUSES, "undecided", "not shown"]
    lines = [headings]
    for source in [*dict.fromkeys(row.source for row in rows), "all"]:
        own = [row for row in rows if source in (row.source, "all")]
        by_status = Counter(row.status for row in own)
        numbers = [len(own), *(by_status[status] for status in STATUSES), by_status[""]]
        numbers.append(sum(row.id in failed for row in own))
        lines.append([source, *map(str, numbers)])
    return "\n".join(_aligned(lines))


def _aligned(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """The first column to the left, numbers to the right."""
    first, *others = (max(map(len, column)) for column in zip(*lines, strict=True))
    for name, *numbers in lines:
        cells = (number.rjust(width) for number, width in zip(numbers, others, strict=True))
        yield "  ".join([name.ljust(first), *cells])


def summary(rows: Sequence[Row], failed: Mapping[str, Sequence[str]]) -> str:
    """Figures and tables, and claims that can be decided: how many are shown."""
    parts = []
    figures = [row for row in rows if row.kind in SHOWN_KINDS]
    claims = [row for row in rows if row.kind == "claim" and row.status != NOT_DECIDABLE]
    for kind, own in (("figures and tables", figures), ("decidable claims", claims)):
        there = sum(row.is_shown and row.id not in failed for row in own)
        parts.append(f"{kind} shown: {there} of {len(own)}")
    return "; ".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--source", action="append", choices=sources(), help="only this source; repeatable")
    parser.add_argument("--keep", type=Path, help="keep the runs here, and use those that are here")
    chosen = parser.parse_args(arguments)
    rows = [row for source in chosen.source or sources() for row in read(source)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        program = Program(folder)
        program.run_all(rows)
        examiner = Examiner(program)
        failed = {row.id: found for row in rows if (found := [*wrong(row), *examiner.missing(row)])}
    undecided = [row.id for row in rows if not row.status]
    print("All machines are SIMULATED by byteways; nothing here is measured.")
    print(table(rows, failed))
    print(summary(rows, failed))
    for name, found in failed.items():
        print(f"  {name}: {'; '.join(found)}")
    if undecided:
        print(f"  undecided: {', '.join(undecided)}")
    return int(bool(failed or undecided))


if __name__ == "__main__":
    sys.exit(main())
