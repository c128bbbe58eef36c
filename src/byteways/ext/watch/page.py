"""The page of a watched program: what it moved, when, and what it would gain beside a run."""

from __future__ import annotations

import shlex
from pathlib import Path

from byteways.base.units import format_duration
from byteways.ext.watch.advice.advice import Advice
from byteways.ext.watch.advice.operations import links_table, simulation_mark, watch_table
from byteways.ext.watch.advice.pictures import size_chart, time_chart
from byteways.ext.watch.advice.wording_advice import advice_lines, advice_table
from byteways.ext.watch.folder import WatchFolder
from byteways.ext.watch.problems import sentence
from byteways.questions.display.table import Table
from byteways.report.simple_page import SimplePage, simple_page

#: Words of a command that the title has.
_TITLE_WORDS = 4


def watched_page(found: WatchFolder, advised: Advice | None, name: str, changes: Table | None = None) -> str:
    """Returns the HTML text, which loads nothing from elsewhere.

    Args:
        found: What was seen.
        advised: What it would gain; None: it is compared with nothing.
        name: Of the run that it is compared with.
        changes: What changes of the program gave.
    """
    command = [Path(word).name or word for word in found.manifest.command[:1]] + found.manifest.command[1:]
    named = shlex.join(command[:_TITLE_WORDS]) + (" …" if len(command) > _TITLE_WORDS else "")
    seconds = (found.manifest.duration_ns or 0) / 1e9
    processes = len(found.watched.processes)
    notes = [*advice_lines(advised, every=True)] if advised else []
    notes += [sentence(problem) for problem in found.problems]
    tables = [advice_table(advised, name, every=True)] if advised else []
    charts = size_chart(found.watched), time_chart(found.watched)
    return simple_page(
        SimplePage(
            "watch",
            f"What {named or 'a program'} moved",
            tuple(
                dict.fromkeys(filter(None, [simulation_mark(found), advised.simulated if advised else ""]))
            ),
            f"{processes} process{'es' * (processes != 1)}"
            + (f", {format_duration(seconds)}" if seconds else "")
            + (f", on {found.manifest.host}" if found.manifest.host else ""),
            tuple(notes),
            "Operations",
            (
                *filter(None, [changes]),
                *tables,
                watch_table(found, True),
                *filter(None, [links_table(found)]),
            ),
            tuple(chart for chart in charts if chart is not None),
            "What it gains" if advised else "What was not seen",
        )
    )
