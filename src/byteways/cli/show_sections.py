"""The sections of `byteways show` as text, and the page of terminal that it prints unless a section is named.

The page has the status, the node, the recommended interfaces and the findings, the most important first; then
whole tables while there is room, and the names of all sections.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from byteways.answers.results.counting import count
from byteways.base.errors import BytewaysError
from byteways.base.spelling import closest
from byteways.console.overview import (
    hanging,
    print_findings,
    print_headline,
    print_matrix,
    rendered,
)
from byteways.console.show_tables import print_table

if TYPE_CHECKING:
    from rich.console import Console

    from byteways.answers.claims.finding import Finding
    from byteways.answers.results.index import Index
    from byteways.questions.display.table import Table

#: Lines of the page: what a tall terminal shows without scrolling.
PAGE_LINES = 60
#: Lines of the page that findings have at least, if there are any: three of them, as at the end of `run`.
FINDING_LINES = 12
#: Most lines of the node on the page, which 16 GPUs need; a larger one is printed by name.
NODE_LINES = 24
NODE_SECTION, BEST_SECTION, FINDINGS_SECTION, MATRICES_SECTION = "node", "recommended", "findings", "matrices"
#: Sections whose name is not the anchor of their topic, which links and JSON keep.
SECTION_OF = {"together": "contention"}
OF_OVERVIEW = (NODE_SECTION, BEST_SECTION, FINDINGS_SECTION)


@dataclass(frozen=True)
class Overview:
    """What the page begins with: before the tables."""

    index: Index
    findings: Sequence[Finding]

    @property
    def rows(self) -> int:
        """The number of rows of the recommended interfaces."""
        from byteways.answers.best.headline import headline

        first = headline(self.index)
        return len(first.rows) if first else 0

    def sections(self) -> dict[str, str]:
        """Returns node, recommended interfaces and findings in full, those with data."""
        texts = {
            NODE_SECTION: rendered(lambda console: print_matrix(console, self.index, self.findings)),
            BEST_SECTION: rendered(lambda console: print_headline(console, self.index)),
            FINDINGS_SECTION: rendered(lambda console: print_findings(console, self.findings)),
        }
        return {name: text for name, text in texts.items() if text}


def table_sections(index: Index) -> dict[str, str]:
    """Returns the tables as text by the name of their section: the topics, then what belongs to none."""
    from byteways.questions.tables import tables
    from byteways.questions.topics import topics

    def fill(named: Sequence[tuple[str, Table]]) -> Callable[[Console], None]:
        def print_tables(console: Console) -> None:
            for title, table in named:
                _print_table(console, title, table)

        return print_tables

    others = tables(index)
    sections: dict[str, list[tuple[str, Table]]] = {}
    for topic in topics(index):
        titles = [": ".join(dict.fromkeys(filter(None, (topic.title, part.title)))) for part in topic.tables]
        sections[SECTION_OF.get(topic.anchor, topic.anchor)] = list(zip(titles, topic.tables, strict=True))
    sections[MATRICES_SECTION] = [(part.title, part) for part in others.grids]
    for topic in others.parts.values():
        sections[topic.anchor] = [(part.title or topic.title, part) for part in topic.tables]
    return {name: rendered(fill(named)) for name, named in sections.items() if named}


def chosen(names: Sequence[str], texts: Mapping[str, str]) -> list[str]:
    """Returns the sections of these names. Raises BytewaysError if the run has none of a name."""
    for name in names:
        if name not in texts:
            raise BytewaysError(f"no section '{name}' in this run", hint=closest(name, texts))
    return [texts[name] for name in dict.fromkeys(names)]


def page(head: str, overview: Overview, texts: Mapping[str, str], command: Sequence[str]) -> str:
    """Returns the page, of at most PAGE_LINES lines.

    Args:
        head: What precedes the sections.
        overview: The node, the recommended interfaces and the findings.
        texts: All sections in full by name.
        command: What prints this, and a section if its name follows.
    """
    whole = "\n".join([head, *texts.values()])
    if len(whole.splitlines()) <= PAGE_LINES:
        return whole
    found = overview.findings
    lines = head.splitlines()
    last = PAGE_LINES - len(_ending(len(found), texts, command))
    lines += _node(overview, texts)
    lines += _recommended(overview, last - len(lines) - (FINDING_LINES if found else 0))
    shown, titles = _titles(found, last - len(lines))
    lines += titles
    if shown == len(found):
        for name, text in texts.items():
            if name not in OF_OVERVIEW and len(part := text.splitlines()) <= last - len(lines):
                lines += part
    return "\n".join([*lines, *_ending(len(found) - shown, texts, command)])


def _node(overview: Overview, texts: Mapping[str, str]) -> list[str]:
    """Returns the node: in full, without the shares of the peak, or nothing, by what NODE_LINES allow."""
    full = texts.get(NODE_SECTION, "").splitlines()
    if len(full) <= NODE_LINES:
        return full
    rates = rendered(
        lambda console: print_matrix(console, overview.index, overview.findings, rates_alone=True)
    ).splitlines()
    return rates if len(rates) <= NODE_LINES else []


def _recommended(overview: Overview, room: int) -> list[str]:
    """Returns the recommended interfaces without their details, as many rows as have room."""

    def fill(most: int, console: Console) -> None:
        if left := print_headline(console, overview.index, most):
            console.print(f"{count(left, 'more row')}: {BEST_SECTION}", style="dim")

    return _longest((partial(fill, most) for most in range(1, overview.rows + 1)), room)[1]


def _titles(found: Sequence[Finding], room: int) -> tuple[int, list[str]]:
    """Returns the number of findings whose titles have room below their heading, and the lines."""

    def fill(number: int, console: Console) -> None:
        print_findings(console, found[:number], details=False)

    return _longest((partial(fill, number) for number in range(1, len(found) + 1)), room)


def _longest(growing: Iterable[Callable[[Console], None]], room: int) -> tuple[int, list[str]]:
    """Returns how many of these texts, from short to long, have room, and the lines of the last one."""
    number, lines = 0, list[str]()
    for number, fill in enumerate(growing):
        longer = rendered(fill).splitlines()
        if len(longer) > room:
            return number, lines
        lines = longer
    return number + bool(lines), lines


def _ending(left: int, texts: Mapping[str, str], command: Sequence[str]) -> list[str]:
    """Returns what else there is, and the command for it."""
    more = f"{count(left, 'more finding')} and the tables" if left else "Details and tables"

    def fill(console: Console) -> None:
        console.print(f"\n{more}, by name:", style="bold")
        hanging(console, "  ", f"{shlex.join(command)} SECTION")
        hanging(console, "  ", f"{', '.join(texts)}; or --all")

    return rendered(fill).splitlines()


def _print_table(console: Console, title: str, table: Table) -> None:
    rows = table.rows
    warned = ""
    if table.results:
        rows = tuple(
            tuple(
                f"{text}*" if result and result.warned else text for text, result in zip(*both, strict=True)
            )
            for both in zip(table.rows, table.results, strict=True)
        )
        warned = "* has a warning (see warnings)" if rows != table.rows else ""
    named = f"{title}, {table.unit}" if table.unit else title
    print_table(console, named, table.headings, rows or table.rows, table.numeric)
    if notes := [note for note in (table.note, warned) if note]:
        console.print("; ".join(notes), style="dim")
    if table.advice:
        console.print(f"\nWhat to do about the {title.lower()}", style="bold")
        for row, advice in zip(table.rows, table.advice, strict=True):
            hanging(console, f"{row[0]}: ", advice)
