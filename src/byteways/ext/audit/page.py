"""The page of an audit: how many numbers are of each verdict, and tables of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from byteways.ext.audit.judging.verdict import AUDIT_VERDICTS, Audit
from byteways.ext.audit.judging.wording_audit import audit_notes, audit_summary, audit_table
from byteways.questions.display.table import Table
from byteways.report.simple_page import SimplePage, simple_page

#: Most numbers of a verdict on the page; all are in `byteways audit --json`.
MOST_OF_VERDICT = 500


def audit_page(audit: Audit) -> str:
    """Returns the HTML text, which loads nothing from elsewhere."""
    files = list(dict.fromkeys(Path(output.file).name for output in audit.outputs))
    named = files[0] if len(files) == 1 else f"{len(files)} files"
    return simple_page(
        SimplePage(
            "audit",
            f"Audit of {named}",
            audit.marks,
            audit_summary(audit),
            audit_notes(audit),
            "Numbers",
            tuple(_tables(audit)),
        )
    )


def _tables(audit: Audit) -> Iterator[Table]:
    for verdict, meaning in AUDIT_VERDICTS.items():
        chosen = tuple(one for one in audit.values if one.verdict == verdict)
        if chosen:
            left_out = len(chosen) - MOST_OF_VERDICT
            more = f" ({left_out} more: --json)" if left_out > 0 else ""
            yield audit_table(audit, chosen[:MOST_OF_VERDICT], f"{verdict}: {meaning}{more}")
