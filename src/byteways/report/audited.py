"""The page of an audit: how many numbers are of each verdict, and tables of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from byteways.explain.audit.verdict import AUDIT_VERDICTS, Audit
from byteways.explain.audit.wording_audit import audit_notes, audit_summary, audit_table
from byteways.explain.display.table import Table
from byteways.report.render import Deferred, asset, page_environment

#: Most numbers of a verdict on the page; all are in `byteways audit --json`.
MOST_OF_VERDICT = 500


@dataclass(frozen=True)
class AuditPage:
    """The content of the page."""

    title: str
    marks: tuple[str, ...]
    summary: str
    notes: tuple[str, ...]
    tables: tuple[Table, ...]  # one a verdict, the worst first


def content_of(audit: Audit) -> AuditPage:
    """Returns the page of an audit as data."""
    files = list(dict.fromkeys(Path(output.file).name for output in audit.outputs))
    named = files[0] if len(files) == 1 else f"{len(files)} files"
    return AuditPage(
        f"Audit of {named}",
        audit.marks,
        audit_summary(audit),
        audit_notes(audit),
        tuple(_tables(audit)),
    )


def audit_page(audit: Audit) -> str:
    """Returns the HTML text, which loads nothing from elsewhere."""
    template = page_environment().get_template("audit.html.j2")
    return template.render(
        page=content_of(audit), style=asset("page.css"), tips=Deferred(), later=Deferred(), charts=Deferred()
    )


def _tables(audit: Audit) -> Iterator[Table]:
    for verdict, meaning in AUDIT_VERDICTS.items():
        chosen = tuple(one for one in audit.values if one.verdict == verdict)
        if chosen:
            left_out = len(chosen) - MOST_OF_VERDICT
            more = f" ({left_out} more: --json)" if left_out > 0 else ""
            yield audit_table(audit, chosen[:MOST_OF_VERDICT], f"{verdict}: {meaning}{more}")
