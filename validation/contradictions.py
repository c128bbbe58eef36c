"""Whether anything that a run says is contradicted by its own records.

    python validation/contradictions.py FOLDER [FOLDER ...] [--all] [--plant]

A folder is a run, or holds runs at any depth: `examples` checks all that are recorded there. Reads what
`byteways show RUN --json` says and the records in the run folder, of schema 1 or 2, and computes every
statement again: results, the first table, claims and the sentences of findings. Imports nothing of byteways,
so that a mistake there is not repeated here. `--all` lists what could not be checked, too. `--plant` puts
false statements among what was said and tells which of them are not found. Exit status 1: a statement is
contradicted, a planted one is not found, or a folder has no run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from statements.outcome import CONTRADICTED, HOLDS, NOT_CHECKABLE, Statement
from statements.pages import page_statements
from statements.pairs import pair_statements
from statements.plants import PLANTS
from statements.ranks import rank_table_statements
from statements.records import RunData
from statements.results import cell_statements, record_statements, run_statements, table_statements
from statements.sentences import sentence_statements

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))
from unpack_examples import EXAMPLES, unpack

#: Rendering the largest run takes half a minute.
SHOW_TIMEOUT_S = 600


def shown(folder: Path, byteways: str) -> dict[str, Any]:
    """What the run says, as JSON."""
    command = [byteways, "show", str(folder), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SHOW_TIMEOUT_S, check=False)
    if done.returncode:
        sys.exit(f"error: {' '.join(command)} failed\n  caused by: {done.stderr.strip()}")
    return dict(json.loads(done.stdout))


def run_folders(folder: Path) -> list[Path]:
    """The run in a folder, or all runs below it."""
    if folder.resolve() == EXAMPLES:
        unpack()
    found = sorted(one.parent for one in folder.rglob("run.json"))
    if not found:
        sys.exit(
            f"error: no run in {folder}\n"
            "  caused by: neither the folder nor any folder below it has a run.json\n"
            "  hint: name a folder that `byteways run --out` wrote; `make examples` unpacks the recorded runs"
        )
    return found


def examine(run: RunData, data: Mapping[str, Any]) -> list[Statement]:
    """All statements of a run, each with its outcome."""
    return [
        *run_statements(run, data),
        *record_statements(run),
        *cell_statements(run, data),
        *table_statements(run, data),
        *rank_table_statements(run, data),
        *sentence_statements(run, data),
        *pair_statements(data),
        *page_statements(run, data),
    ]


def table(statements: Sequence[Statement]) -> str:
    """Statements by kind and outcome."""
    counted = Counter((one.kind, one.outcome) for one in statements)
    lines = [f"{'statements on':<16}{'checked':>9}{'contradicted':>14}{'not checkable':>15}"]
    for kind in [*dict.fromkeys(one.kind for one in statements), ""]:
        of_kind = [counted[kind, outcome] for outcome in (HOLDS, CONTRADICTED, NOT_CHECKABLE)]
        if not kind:
            of_kind = [
                sum(one.outcome == outcome for one in statements)
                for outcome in (HOLDS, CONTRADICTED, NOT_CHECKABLE)
            ]
        lines.append(f"{kind or 'all':<16}{of_kind[0] + of_kind[1]:>9}{of_kind[1]:>14}{of_kind[2]:>15}")
    return "\n".join(lines)


def planted(run: RunData, data: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Names of the false statements that could be planted, and of those that were not found."""
    before = {(one.kind, one.said) for one in examine(run, data) if one.outcome == CONTRADICTED}
    sown, missed = [], []
    for plant in PLANTS:
        text = json.dumps(data)
        changed = json.loads(text)
        if not plant(run, changed) or json.dumps(changed) == text:
            continue
        sown.append(plant.__name__)
        found = {(one.kind, one.said) for one in examine(run, changed) if one.outcome == CONTRADICTED}
        if not found - before:
            missed.append(plant.__name__)
    return sown, missed


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--all", action="store_true", help="list what could not be checked, too")
    parser.add_argument(
        "--plant", action="store_true", help="plant false statements and tell which are not found"
    )
    parser.add_argument(
        "--byteways", default=str(Path(sys.executable).with_name("byteways")), help="the program"
    )
    chosen = parser.parse_args(arguments)
    wrong = False
    for folder in [run for named in chosen.runs for run in run_folders(named)]:
        run, data = RunData(folder), shown(folder, chosen.byteways)
        statements = examine(run, data)
        print(f"{folder}\n{table(statements)}")
        for one in statements:
            if one.outcome == CONTRADICTED or (chosen.all and one.outcome == NOT_CHECKABLE):
                print(f"  {one.outcome}, {one.kind}: {one.said}{': ' * bool(one.why)}{one.why}")
        wrong |= any(one.outcome == CONTRADICTED for one in statements)
        if chosen.plant:
            sown, missed = planted(run, data)
            names = ", ".join(missed) or "none"
            print(f"planted {len(sown)} of {len(PLANTS)}, not found {len(missed)}: {names}")
            wrong |= bool(missed)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
