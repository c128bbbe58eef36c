"""`byteways audit`: are the numbers of another program possible, and normal? No GPU is needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from byteways.base.errors import BytewaysError, ExitStatus
from byteways.base.json_text import json_text
from byteways.cli.runs import Every
from byteways.console.terminal import echo

if TYPE_CHECKING:
    from byteways.ext.audit.judging.audit import ReadFile
    from byteways.ext.audit.judging.verdict import Audit

#: Most rows that are printed without --all.
MOST_NUMBERS = 40


def audit(
    files: Annotated[
        list[Path], typer.Argument(help="Outputs of other programs: logs, CSV or JSON.", metavar="FILE…")
    ],
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine",
            help="The machine they are of: a name from `list machines`, a run folder, or a topology file. "
            "[default: what the files say of GPUs]",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all verdicts as JSON.")] = False,
    page: Annotated[
        Path | None, typer.Option("--html", help="Write the verdicts as a page.", metavar="FILE")
    ] = None,
    every: Every = False,
) -> int:
    """Judge each number; exit with status 1 if any is impossible, low, odd or of wrong data."""
    from byteways.ext.audit.imported.scan import formats_hint
    from byteways.ext.audit.judging.audit import audited
    from byteways.ext.audit.verbs.machine_of_outputs import machine_of_outputs
    from byteways.verdicts.checks.normal import read_normal

    read = [_read(file) for file in files]
    known = machine_of_outputs(machine, [output.hints for file in read for output in file.outputs])
    found = audited(read, known.topology, read_normal(None), machine=known.name, marks=[known.mark])
    if not found.values:
        wrong = [one for *_, one in found.wrong]
        raise BytewaysError(
            "the files have no number that can be read",
            cause="; ".join(one.what for one in (*wrong, *(one for _, one in found.mistakes[:3]))) or None,
            hint=formats_hint(),
        )
    if page is not None:
        from byteways.cli.check import write_file
        from byteways.ext.audit.page import audit_page

        write_file(page, audit_page(found), "--html")
    if as_json:
        echo(json_text(found.to_json(), indent=1))
    else:
        _print(found, every)
    return ExitStatus.FAILED if found.failed else ExitStatus.GOOD


def _read(file: Path) -> ReadFile:
    from byteways.ext.audit.imported.scan import read_outputs
    from byteways.ext.audit.judging.audit import ReadFile

    found = read_outputs(file)
    return ReadFile(str(file), tuple(found.outputs), tuple(found.mistakes))


def _print(found: Audit, every: bool) -> None:
    from byteways.console.layout import Lines, show
    from byteways.ext.audit.judging.verdict import AUDIT_VERDICTS, HIGH_NUMBER
    from byteways.ext.audit.judging.wording_audit import audit_notes, audit_sentences, audit_summary
    from byteways.questions.display.table import Table

    for mark in found.marks:
        echo(mark)
    order = [*AUDIT_VERDICTS]
    chosen = [one for one in found.values if every or one.failing or one.verdict == HIGH_NUMBER]
    chosen.sort(key=lambda one: order.index(one.verdict))
    shown = chosen if every else chosen[:MOST_NUMBERS]
    lines = [audit_summary(found), *audit_notes(found)]
    if len(shown) < len(chosen):
        lines.append(f"{len(chosen) - len(shown)} more: --all")
    blocks: list[Table | Lines] = [Lines("result", tuple(lines))]
    if shown:
        blocks.append(audit_sentences(found, tuple(shown), "numbers, the worst first"))
    show(blocks)
